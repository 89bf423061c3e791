"""Readers: question and evidence graph in, answer out (paper, section 5.3).

There are three kinds, in the same place. An `extractive` reader points at the evidence and leaves counting and
comparing to code; a `seq2seq` reader, such as the paper's T5, writes the answer; an `llm` reader asks a language model.
`bgr.retrievers.llm_graph.reader.open_reader` finds any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bgr.graph.evidence_graph import EvidenceGraph

SETTINGS = "reader.json"
READER = "reader"
"""Subfolder of a checkpoint that contains its reader."""


@dataclass(frozen=True)
class ReaderInput:
    """A question, its candidate facts, the evidence graph over them, and the probability that the evidence is complete
    (`RetrievalResult.completeness`), ``None`` if it is unknown."""

    question: str
    facts: tuple[str, ...]
    graph: EvidenceGraph
    completeness: float | None = None


@dataclass(frozen=True)
class Span:
    """Characters ``start`` to ``end`` of fact number `fact` of the candidates."""

    fact: int
    start: int
    end: int


@dataclass(frozen=True)
class ReaderAnswer:
    """The answer of a reader.

    Args:
        text: the answer; ``None`` if there is no evidence, or not enough, or the model generated nothing.
        confidence: probability in [0, 1] that the answer is right; 0 without an answer. It is calibrated for an
            `extractive` reader. For the others it is the completeness of the evidence, for a `seq2seq` reader times exp
            of the mean log-probability of the generated tokens; ``None`` if a language model is asked with evidence of
            unknown completeness.
        truncated: true if something was too long, and its end was not read.
        support: numbers of the facts that the answer comes from, if the reader tells.
        spans: what it was read from: the answer itself, or the numbers that were compared.
        failure: why there is no answer although the evidence may be enough: what the model wrote cannot be used.
    """

    text: str | None
    confidence: float | None
    truncated: bool = False
    support: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    failure: str | None = None


NOT_ANSWERABLE = ReaderAnswer(None, 0.0)


class Reader(Protocol):
    """Answers questions from their evidence graphs."""

    def answer(
        self, items: Sequence[ReaderInput], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """One answer for each item, in order; an item without evidence is not answerable.

        An answer depends only on its item, except for rounding in batches.
        """

    def answer_alone(
        self, questions: Sequence[str], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """Answers from the questions alone, which show what the reader says without having read anything."""

    def save(self, folder: Path, *, half: bool = False, checkpoint: Path | None = None) -> None:
        """Write the reader's files to an existing folder, in fp16 if `half`; `load_reader` loads the same reader. A
        reader that is part of a `checkpoint` leaves out what the checkpoint holds or names."""

    @property
    def description(self) -> str:
        """Kind and size, for a model card."""
