"""A reader: question and evidence in, answer out. T5 or any other encoder-decoder (paper, section 5.3: t5-base).

Folder::

    reader.json                      settings (`bgr.reader.reader_settings`)
    config.json, model.safetensors   the model
    tokenizer.json, …                its tokenizer

Question and evidence as one text for a reader, in the order of the graph (paper, sections 5.3 and 5.4, Table 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from bgr.errors import CheckpointError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.seq2seq import greedy, load_seq2seq
from bgr.reader.reader_settings import READER, ReaderSettings
from bgr.reader.slots import Masked, mask
from bgr.utils.devices import autocast, pick_device, pick_precision
from bgr.utils.json_utils import one_line

THEN, OTHER = "Then:", "On the other hand:"
"""The paper's words for the next fact of a chain and for the start of another chain."""


def linearise(question: str, facts: Sequence[str], graph: EvidenceGraph, *, structure: bool) -> str:
    """``question: … evidence: fact fact …``, chain by chain (`EvidenceGraph.order`).

    Args:
        question: the question.
        facts: the candidates that `graph` numbers; those it does not hold are left out.
        graph: the evidence; an empty one gives an empty list of evidence.
        structure: say in words how facts hang together. *Then* comes before a fact that follows from the one just
            written, *On the other hand* before one that does not.
    """
    parts, last = [], ROOT
    for number, node in enumerate(graph.order()):
        word = _word(graph, last, node) if structure and number else ""
        parts.append(f"{word} {facts[node]}" if word else facts[node])
        last = node
    return " ".join(["question:", *question.split(), "evidence:", *" ".join(parts).split()])


def _word(graph: EvidenceGraph, last: int, node: int) -> str:
    return THEN if last in graph.predecessors(node) else OTHER


@dataclass(frozen=True)
class ReaderInput:
    """A question, its candidate facts, and the evidence graph over them."""

    question: str
    facts: tuple[str, ...]
    graph: EvidenceGraph


@dataclass(frozen=True)
class ReaderAnswer:
    """What the reader says.

    Args:
        text: the answer; ``None``: not answerable, there is no evidence or nothing was written.
        confidence: exp of the mean log-probability of the tokens written, in [0, 1]; 0 where there is no answer.
    """

    text: str | None
    confidence: float


NOT_ANSWERABLE = ReaderAnswer(None, 0.0)


class Reader:
    """Model, tokenizer and settings.

    Args:
        model: an encoder-decoder of transformers.
        tokenizer: its tokenizer.
        settings: how inputs are written.
        device: where the model runs; the GPU if there is one.
        precision: ``"32"`` or ``"bf16"``; bfloat16 where the device is fast at it.

    Raises:
        ValueError: another precision.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        settings: ReaderSettings,
        *,
        device: str | torch.device | None = None,
        precision: str | None = None,
    ) -> None:
        self.device = pick_device(device)
        self.precision = pick_precision(self.device, precision)
        self.model = model.to(self.device).eval()
        self.tokenizer = tokenizer
        self.settings = settings
        self._words = frozenset(settings.words)

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
    ) -> Reader:
        """Load a reader's folder, without the network. Device and precision as of the class.

        Raises:
            DataError: no ``reader.json``.
            CheckpointError: a file is missing, damaged, or does not fit the others, or one small question breaks it.
        """
        folder = Path(folder)
        settings = ReaderSettings.load(folder)
        model, tokenizer = load_seq2seq(str(folder.absolute()))
        words = model.config.vocab_size
        if len(tokenizer) > words:
            raise CheckpointError(f"{folder}: the tokenizer has {len(tokenizer)} tokens, the model {words}")
        if not all(torch.isfinite(weight).all() for weight in model.parameters()):
            raise CheckpointError(f"{folder}: a weight is not a finite number")
        reader = cls(model.float(), tokenizer, settings, device=device, precision=precision)
        try:
            reader.read(["question: ? evidence: ."])
        except Exception as error:  # weights may fit a configuration that yet cannot be run
            raise CheckpointError(f"{folder}: the reader cannot be run: {one_line(error)}") from None
        return reader

    def answer(
        self, items: Sequence[ReaderInput], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """One answer for each item, in order; an item without evidence is not answerable.

        An answer hangs on its item alone, up to the rounding of batches.
        """
        rows = [row for row, item in enumerate(items) if item.graph.nodes]
        texts = [self.text(items[row]) for row in rows]
        found = [NOT_ANSWERABLE] * len(items)
        for row, answer in zip(rows, self.read(texts, batch_size=batch_size, progress=progress), strict=True):
            found[row] = answer
        return found

    def text(self, item: ReaderInput) -> str:
        """The item as one text, as `read` takes it."""
        return linearise(item.question, item.facts, item.graph, structure=self.settings.structure)

    def read(self, texts: Sequence[str], *, batch_size: int = 32, progress: bool = False) -> list[ReaderAnswer]:
        """Answers to linearised questions, whether they hold evidence or not."""
        masked = [mask(text, self._words) if self.settings.slots else None for text in texts]
        sources = [text if one is None else one.text for text, one in zip(texts, masked, strict=True)]
        most = self.settings.most_tokens
        tokens = self.tokenizer(sources, truncation=True, max_length=most)["input_ids"] if sources else []
        # like lengths together: hardly any padding
        order = sorted(range(len(texts)), key=lambda row: (-len(tokens[row]), texts[row]))
        found = [NOT_ANSWERABLE] * len(texts)
        with tqdm(total=len(texts), desc="read", unit="question", disable=not progress) as bar:
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                written = self._write([tokens[row] for row in rows])
                for row, (text, confidence) in zip(rows, written, strict=True):
                    found[row] = _answer(text, confidence, masked[row])
                bar.update(len(rows))
        return found

    def save(self, folder: str | Path) -> None:
        """Write the reader's files into a folder that exists; `from_pretrained` gives the same reader again."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        self.settings.save(Path(folder))

    @torch.inference_mode()
    def _write(self, tokens: list[list[int]]) -> list[tuple[str, float]]:
        """What the model writes greedily for each row, and its confidence."""
        padded = self.tokenizer.pad({"input_ids": tokens}, return_tensors="pt").to(self.device)
        with autocast(self.device, self.precision):
            found = self.model.generate(
                input_ids=padded["input_ids"],
                attention_mask=padded["attention_mask"],
                generation_config=greedy(self.model, self.settings.longest_answer, scored=True),
            )
        rows = found.sequences[:, 1:]  # [n, t], without the start
        logs = torch.stack([logits.float().log_softmax(-1) for logits in found.logits], 1)  # [n, t, v]
        chosen = logs.gather(2, rows[..., None])[..., 0]
        written = self._until_end(rows)
        confidence = ((chosen * written).sum(1) / written.sum(1).clamp(min=1)).exp().tolist()
        special = set(self.tokenizer.all_special_ids) - set(self._placeholders())
        texts = [
            self.tokenizer.decode([t for t in row if t not in special], clean_up_tokenization_spaces=False)
            for row in rows.tolist()
        ]
        return list(zip(texts, confidence, strict=True))

    def _until_end(self, rows: Tensor) -> Tensor:
        """1 for what was written, the end itself with it, 0 for the padding behind it: ``[n, t]``."""
        end = self.model.generation_config.eos_token_id
        ends = torch.isin(rows, torch.tensor(end if isinstance(end, list) else [end], device=rows.device)).long()
        return (ends.cumsum(1) - ends == 0).long()

    def _placeholders(self) -> list[int]:
        """T5's own placeholders are special tokens to its tokenizer, and here they are answers."""
        return [
            t for t in self.tokenizer.all_special_ids if self.tokenizer.convert_ids_to_tokens(t).startswith("<extra_")
        ]


def load_reader(
    checkpoint: Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> Reader | None:
    """The reader that a checkpoint folder holds beside its retriever, if it holds one. Errors: see `Reader`."""
    folder = checkpoint / READER
    return Reader.from_pretrained(folder, device=device, precision=precision) if folder.exists() else None


def _answer(text: str, confidence: float, masked: Masked | None) -> ReaderAnswer:
    answer = " ".join(text.split()) if masked is None else masked.answer(text)
    return ReaderAnswer(answer, confidence) if answer else NOT_ANSWERABLE
