"""Sampling of candidate sentences from an encoder-decoder checkpoint such as T5, in batches.

Sampling is by the Gumbel-max trick, with noise that is a hash of the row's seed, the step and the token. Hence a row's
samples do not depend on the other rows of its batch, as they would with a random generator for the whole batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm
from transformers import LogitsProcessor, LogitsProcessorList
from transformers.modeling_outputs import BaseModelOutput

from bgr.errors import CheckpointError
from bgr.models.seq2seq import greedy, load_seq2seq
from bgr.utils.devices import pick_device

# constants of SplitMix64, signed, because PyTorch has no unsigned 64-bit arithmetic
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST, _SECOND = 0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64)
_DIGITS = 53


class RowNoise(LogitsProcessor):
    """Turns greedy search into sampling from the `top_k` most probable tokens.

    Args:
        seeds: the seed of each row, ``int64 [n]``.
        top_k: number of tokens that can be sampled at a step.
        temperature: above 0; lower values prefer more probable tokens.
    """

    def __init__(self, seeds: Tensor, *, top_k: int, temperature: float) -> None:
        self.seeds = seeds
        self.top_k = top_k
        self.temperature = temperature

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores ``[n, vocabulary]`` → noisy scores of the same shape, minus infinity outside the `top_k` tokens."""
        values, tokens = scores.topk(min(self.top_k, scores.shape[1]), dim=1)  # [n, k]
        seeds = _mixed(self.seeds + input_ids.shape[1])[:, None]
        noisy = values.double() / self.temperature + gumbel(seeds + tokens)
        return torch.full_like(scores, -torch.inf).scatter(1, tokens, noisy.to(scores.dtype))


def gumbel(numbers: Tensor) -> Tensor:
    """Standard Gumbel noise, a function of each ``int64`` number alone; ``float64`` of the same shape."""
    uniform = (_shifted(_mixed(numbers), 64 - _DIGITS).double() + 0.5) / (1 << _DIGITS)
    return -torch.log(-torch.log(uniform))


def _mixed(numbers: Tensor) -> Tensor:
    """SplitMix64 (Steele et al., 2014) at these indices: every output bit depends on every input bit."""
    numbers = (numbers + 1) * _STEP
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, by: int) -> Tensor:
    """Logical shift to the right."""
    return (numbers >> by) & ((1 << (64 - by)) - 1)


CANDIDATES = 4
MAX_TOKENS = 128


class Seq2seqGenerator:
    """Samples several sentences for each line.

    Sampling depends only on the seed and the line, whatever else is in the batch, except that the last bits of the
    probabilities depend on a batch's padding. The model runs in float32, so that these bits hardly ever decide.

    Args:
        source: hub id or local folder.
        candidates: number of sentences for each line.
        max_tokens: maximum length of a line and of a sentence, in tokens. A longer line gets no sentence, and a
            sentence that has not ended by then is discarded.
        top_k, temperature: see `RowNoise`.
        batch_size: number of lines in a batch.
        device: device of the model; ``None`` takes a GPU if there is one.

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
        """The candidates of each line in the order of sampling; ``None`` for one that did not end in time."""
        found: list[list[str | None]] = [[None] * self.candidates for _ in lines]
        tokens = self.tokenizer(list(lines))["input_ids"] if lines else []
        # lines of similar length together, so that there is hardly any padding
        order = sorted(range(len(lines)), key=lambda row: (-len(tokens[row]), lines[row]))
        order = [row for row in order if len(tokens[row]) <= self.max_tokens]
        with tqdm(total=len(order), desc="verbalize", unit="fact", disable=not self.progress) as bar:
            for start in range(0, len(order), self.batch_size):
                rows = order[start : start + self.batch_size]
                seeds = [_seed(self.seed, lines[row], number) for row in rows for number in range(self.candidates)]
                texts = self._sample([tokens[row] for row in rows], seeds)
                for n, row in enumerate(rows):
                    found[row] = texts[n * self.candidates : (n + 1) * self.candidates]
                bar.update(len(rows))
        return found

    def fingerprint(self) -> str:
        """SHA-256 of everything that the candidates of a line depend on: weights, tokenizer, settings, arithmetic."""
        digest = hashlib.sha256()
        for name, weight in sorted(self.model.state_dict().items()):
            digest.update(name.encode() + weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        settings = (self.candidates, self.seed, self.max_tokens, self.top_k, self.temperature, self.batch_size)
        machine = (self.device, torch.get_num_threads(), torch.backends.cpu.get_cpu_capability(), torch.__version__)
        parts = (self.model.config.to_json_string(), sorted(self.tokenizer.get_vocab().items()), settings, machine)
        digest.update("\0".join(map(str, parts)).encode())
        return digest.hexdigest()

    @torch.inference_mode()
    def _sample(self, tokens: list[list[int]], seeds: list[int]) -> list[str | None]:
        """The text of each seed; each row of tokens has `candidates` seeds."""
        padded = self.tokenizer.pad({"input_ids": tokens}, return_tensors="pt").to(self.device)
        mask = padded["attention_mask"]  # [n, t]
        # encoded once for all candidates
        states = self.model.get_encoder()(input_ids=padded["input_ids"], attention_mask=mask).last_hidden_state
        noise = RowNoise(torch.tensor(seeds, device=self.device), top_k=self.top_k, temperature=self.temperature)
        rows = self.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=states.repeat_interleave(self.candidates, 0)),
            attention_mask=mask.repeat_interleave(self.candidates, 0),
            generation_config=greedy(self.model, self.max_tokens),
            logits_processor=LogitsProcessorList([noise]),
        )
        texts = self.tokenizer.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        end = self.model.generation_config.eos_token_id
        ends = torch.tensor(end if isinstance(end, list) else [end], device=rows.device)
        # without the first token, the start, which is the end token in some models
        ended = torch.isin(rows[:, 1:], ends).any(1).tolist()
        return [" ".join(text.split()) if whole else None for text, whole in zip(texts, ended, strict=True)]


def _seed(seed: int, line: str, number: int) -> int:
    digest = hashlib.sha256(f"{seed}|{number}|{line}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little", signed=True)
