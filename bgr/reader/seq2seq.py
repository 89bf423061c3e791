"""The trained reader, an encoder-decoder such as T5: question and evidence in, answer out (paper, section 5.3:
t5-base).

The input is one text with question and evidence in the order of the graph (paper, sections 5.3 and 5.4, Table 5). A
reader is stored in a folder::

    reader.json                      settings (`ReaderSettings`)
    config.json, model.safetensors   the model
    tokenizer.json, …                its tokenizer
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor
from tqdm import tqdm

from bgr.errors import CheckpointError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.seq2seq import greedy, load_seq2seq
from bgr.models.truncation import tokenize
from bgr.reader.reader import NOT_ANSWERABLE, SETTINGS, ReaderAnswer, ReaderInput
from bgr.reader.slots import Masked, mask_text
from bgr.utils.atomic_io import write_text
from bgr.utils.devices import autocast, pick_device, pick_precision
from bgr.utils.json_utils import one_line
from bgr.utils.settings import STRICT, load_settings

THEN, OTHER = "Then:", "On the other hand:"
"""The paper's words for the next fact of a chain and for the start of another chain."""

FORMAT = 1
MAX_LENGTH = 100_000


@dataclass(frozen=True)
class ReaderSettings:
    """Settings of a reader's input and output, stored in ``reader.json``.

    Args:
        structure: express the structure of the graph in words (`linearize`).
        slots: replace names and quantities by placeholders (`bgr.reader.slots`).
        words: with placeholders, the words that are not replaced.
        most_tokens: maximum tokens of an input; a longer one is truncated.
        longest_answer: maximum tokens of an answer.
        data_hash: hash of the dataset that the reader was trained on.
        recipe: recipe of that dataset with its version; empty if unknown.
        format: version of the file.
    """

    __pydantic_config__ = STRICT

    structure: bool = True
    slots: bool = False
    words: tuple[str, ...] = ()
    most_tokens: Annotated[int, Field(ge=1, le=MAX_LENGTH)] = 512
    longest_answer: Annotated[int, Field(ge=1, le=MAX_LENGTH)] = 32
    data_hash: str = ""
    recipe: str = ""
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        write_text(folder / SETTINGS, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> ReaderSettings:
        """Read the settings from a folder's ``reader.json``.

        Raises:
            DataError: the file is missing or not JSON.
            CheckpointError: the format is another one, or a field is unknown or not allowed.
        """
        return load_settings(folder / SETTINGS, cls, "reader")


def linearize(question: str, facts: Sequence[str], graph: EvidenceGraph, *, structure: bool) -> str:
    """``question: … evidence: fact fact …``, chain by chain (`EvidenceGraph.order`).

    `graph` refers to `facts` by index; facts outside the graph are left out. With `structure`, *Then* comes before a
    fact that follows from the previous one, *On the other hand* before any other fact.
    """
    parts, last = [], ROOT
    for number, node in enumerate(graph.order()):
        word = THEN if last in graph.predecessors(node) else OTHER
        parts.append(f"{word} {facts[node]}" if structure and number else facts[node])
        last = node
    return " ".join(["question:", *question.split(), "evidence:", *" ".join(parts).split()])


class Seq2seqReader:
    """A trained reader: model, tokenizer and settings.

    Args:
        model: an encoder-decoder of transformers.
        device: device of the model; default: the GPU if there is one.
        precision: ``"32"`` or ``"bf16"``; default: bfloat16 if it is fast on the device.

    Raises:
        ValueError: the precision is another one.
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
    ) -> Seq2seqReader:
        """Load a reader from a folder, without network access. Device and precision are as for the class.

        Raises:
            DataError: ``reader.json`` is missing.
            CheckpointError: a file is missing, damaged or inconsistent with the others, or a test question fails.
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
        except Exception as error:  # weights may fit a configuration that cannot be run
            raise CheckpointError(f"{folder}: the reader cannot be run: {one_line(error)}") from None
        return reader

    def answer(
        self, items: Sequence[ReaderInput], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """One answer for each item, in order; an item without evidence is not answerable.

        An answer depends only on its item, except for rounding in batches.
        """
        rows = [row for row, item in enumerate(items) if item.graph.nodes]
        texts = [self.text(items[row]) for row in rows]
        found = [NOT_ANSWERABLE] * len(items)
        for row, answer in zip(rows, self.read(texts, batch_size=batch_size, progress=progress), strict=True):
            sure = items[row].completeness
            found[row] = answer if sure is None else replace(answer, confidence=(answer.confidence or 0.0) * sure)
        return found

    def answer_alone(
        self, questions: Sequence[str], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """Answers from the questions alone, which show what the reader says without having read anything."""
        structure = self.settings.structure
        texts = [linearize(one, (), EvidenceGraph(), structure=structure) for one in questions]
        return self.read(texts, batch_size=batch_size, progress=progress)

    def text(self, item: ReaderInput) -> str:
        """The item as one text, the input of `read`."""
        return linearize(item.question, item.facts, item.graph, structure=self.settings.structure)

    def read(self, texts: Sequence[str], *, batch_size: int = 32, progress: bool = False) -> list[ReaderAnswer]:
        """Answers to linearized questions, with or without evidence."""
        masked = [mask_text(text, self._words) if self.settings.slots else None for text in texts]
        sources = [text if one is None else one.text for text, one in zip(texts, masked, strict=True)]
        tokens, truncated = tokenize(self.tokenizer, sources, self.settings.most_tokens)
        # similar lengths together, for little padding
        order = sorted(range(len(texts)), key=lambda row: (-len(tokens[row]), texts[row]))
        found = [NOT_ANSWERABLE] * len(texts)
        with tqdm(total=len(texts), desc="read", unit="question", disable=not progress) as bar:
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                generated = self._generate([tokens[row] for row in rows])
                for row, (text, confidence) in zip(rows, generated, strict=True):
                    found[row] = _answer(text, confidence, masked[row])
                bar.update(len(rows))
        for row in truncated:
            found[row] = replace(found[row], truncated=True)
        return found

    @property
    def description(self) -> str:
        """Kind and size, for a model card."""
        return f"{self.model.config.model_type}, {sum(weight.numel() for weight in self.model.parameters()):,} weights"

    def save(self, folder: str | Path, *, half: bool = False, checkpoint: Path | None = None) -> None:
        """Write the reader's files to an existing folder; `from_pretrained` loads the same reader."""
        tensors = {name: tensor.half() if half else tensor.float() for name, tensor in self.model.state_dict().items()}
        self.model.save_pretrained(folder, state_dict=tensors)
        self.tokenizer.save_pretrained(folder)
        self.settings.save(Path(folder))

    @torch.inference_mode()
    def _generate(self, tokens: list[list[int]]) -> list[tuple[str, float]]:
        """The text that the model generates greedily for each row, and its confidence."""
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
        mask = self._until_end(rows)
        confidence = ((chosen * mask).sum(1) / mask.sum(1).clamp(min=1)).exp().tolist()
        special = set(self.tokenizer.all_special_ids)
        if self.settings.slots:  # there they are parts of answers
            special -= set(self._placeholders())
        texts = [
            self.tokenizer.decode([t for t in row if t not in special], clean_up_tokenization_spaces=False)
            for row in rows.tolist()
        ]
        return list(zip(texts, confidence, strict=True))

    def _until_end(self, rows: Tensor) -> Tensor:
        """Mask of generated tokens: 1 up to and including the end token, 0 for the padding after it: ``[n, t]``."""
        end = self.model.generation_config.eos_token_id
        ends = torch.isin(rows, torch.tensor(end if isinstance(end, list) else [end], device=rows.device)).long()
        return (ends.cumsum(1) - ends == 0).long()

    def _placeholders(self) -> list[int]:
        """Ids of T5's placeholders, which are special tokens for the tokenizer."""
        return [
            t for t in self.tokenizer.all_special_ids if self.tokenizer.convert_ids_to_tokens(t).startswith("<extra_")
        ]


def _answer(text: str, confidence: float, masked: Masked | None) -> ReaderAnswer:
    answer = " ".join(text.split()) if masked is None else masked.answer(text)
    return ReaderAnswer(answer, confidence) if answer else ReaderAnswer(None, 0.0, failure="the model wrote nothing")
