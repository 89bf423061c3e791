"""Candidate sentences from an encoder-decoder checkpoint (T5 and its like), in batches, by sampling."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm
from transformers import LogitsProcessorList
from transformers.modeling_outputs import BaseModelOutput

from bgr.devices import pick_device
from bgr.errors import CheckpointError
from bgr.reasongraphqa.seq2seq_noise import RowNoise
from bgr.seq2seq import greedy, load_seq2seq

CANDIDATES = 4
MAX_TOKENS = 128


class Seq2seqGenerator:
    """Draws several sentences for each line.

    What is drawn hangs on the seed and the line alone, whatever else is in the batch; only the last bits of the
    probabilities hang on a batch's padding. The model runs in float32 so that these bits hardly ever decide.

    Args:
        source: hub id or local folder.
        candidates: sentences drawn for each line.
        seed: another one gives other draws.
        max_tokens: the longest line and the longest sentence, in tokens. A longer line gets no sentence; a sentence
            that has not ended by then is none.
        top_k, temperature: see `RowNoise`.
        batch_size: lines in a batch.
        device: where to run; ``None`` takes a GPU if there is one.
        progress: show a bar on standard error.

    Raises:
        CheckpointError: no such model, or a setting that is not allowed.
    """

    def __init__(
        self,
        source: str,
        *,
        candidates: int = CANDIDATES,
        seed: int = 0,
        max_tokens: int = MAX_TOKENS,
        top_k: int = 50,
        temperature: float = 0.7,
        batch_size: int = 32,
        device: str | None = None,
        progress: bool = False,
    ) -> None:
        if candidates < 1:
            raise CheckpointError(f"{candidates} candidates for a fact, allowed: 1 or more")
        model, self.tokenizer = load_seq2seq(source)
        self.device = pick_device(device)
        self.model: Any = model.float().to(self.device).eval()
        self.candidates = candidates
        self.seed = seed
        self.max_tokens = max_tokens
        self.top_k = top_k
        self.temperature = temperature
        self.batch_size = batch_size
        self.progress = progress

    def __call__(self, lines: Sequence[str]) -> list[list[str | None]]:
        """For each line its candidates in the order drawn; ``None`` for one that did not end in time."""
        found: list[list[str | None]] = [[None] * self.candidates for _ in lines]
        tokens = self.tokenizer(list(lines))["input_ids"] if lines else []
        # like lengths together: hardly any padding
        order = sorted(range(len(lines)), key=lambda row: (-len(tokens[row]), lines[row]))
        order = [row for row in order if len(tokens[row]) <= self.max_tokens]
        with tqdm(total=len(order), desc="word", unit="fact", disable=not self.progress) as bar:
            for start in range(0, len(order), self.batch_size):
                rows = order[start : start + self.batch_size]
                seeds = [_seed(self.seed, lines[row], number) for row in rows for number in range(self.candidates)]
                texts = self._draw([tokens[row] for row in rows], seeds)
                for place, row in enumerate(rows):
                    found[row] = texts[place * self.candidates : (place + 1) * self.candidates]
                bar.update(len(rows))
        return found

    def fingerprint(self) -> str:
        """SHA-256 of all that decides the candidates of a line: weights, tokenizer, settings, and what adds up."""
        digest = hashlib.sha256()
        for name, weight in sorted(self.model.state_dict().items()):
            digest.update(name.encode() + weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        settings = (self.candidates, self.seed, self.max_tokens, self.top_k, self.temperature, self.batch_size)
        machine = (self.device, torch.get_num_threads(), torch.backends.cpu.get_cpu_capability(), torch.__version__)
        parts = (self.model.config.to_json_string(), sorted(self.tokenizer.get_vocab().items()), settings, machine)
        digest.update("\0".join(map(str, parts)).encode())
        return digest.hexdigest()

    @torch.inference_mode()
    def _draw(self, tokens: list[list[int]], seeds: list[int]) -> list[str | None]:
        """One text a seed; each row of tokens has `candidates` seeds."""
        padded = self.tokenizer.pad({"input_ids": tokens}, return_tensors="pt").to(self.device)
        mask = padded["attention_mask"]  # [n, t]
        # read once, whatever the number of candidates
        states = self.model.get_encoder()(input_ids=padded["input_ids"], attention_mask=mask).last_hidden_state
        noise = RowNoise(torch.tensor(seeds, device=self.device), top_k=self.top_k, temperature=self.temperature)
        rows = self.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=states.repeat_interleave(self.candidates, 0)),
            attention_mask=mask.repeat_interleave(self.candidates, 0),
            generation_config=greedy(self.model, self.max_tokens),
            logits_processor=LogitsProcessorList([noise]),
        )
        texts = self.tokenizer.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        ended = self._ended(rows)
        return [" ".join(text.split()) if whole else None for text, whole in zip(texts, ended, strict=True)]

    def _ended(self, rows: Tensor) -> list[bool]:
        end = self.model.generation_config.eos_token_id
        ends = torch.tensor(end if isinstance(end, list) else [end], device=rows.device)
        # the first token is the start, which some models share with the end
        return torch.isin(rows[:, 1:], ends).any(1).tolist()


def _seed(seed: int, line: str, number: int) -> int:
    digest = hashlib.sha256(f"{seed}|{number}|{line}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little", signed=True)
