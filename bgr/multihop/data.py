"""Multi-hop questions over one corpus of passages, whatever file they came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from bgr.graph import EvidenceGraph
from bgr.search.corpus import Corpus


@dataclass(frozen=True)
class MultihopQuestion:
    """A question with what must be found to answer it.

    Args:
        id: unique in its data.
        question: its text.
        answers: the answer, then other ways to say it; empty where the file has none.
        gold: ids of the corpus' passages that are needed, each once.
        hops: steps of reasoning, as the file tells them; else the number of gold passages.
        kind: the file's own word for the type of question; empty where it has none.
        missing: gold passages that the corpus lacks; they count as not found.
        sentences: the gold sentences, ``(passage id, number)`` into `MultihopData.sentences`, where the file has them.
        context: ids of the passages that the file gives to read with this question.
        graph: how the gold passages hang together, where the data tell; its facts are numbers into `gold`.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold: tuple[str, ...]
    hops: int
    kind: str
    missing: int = 0
    sentences: tuple[tuple[str, int], ...] = ()
    context: tuple[str, ...] = ()
    graph: EvidenceGraph | None = None


@dataclass(frozen=True)
class MultihopData:
    """Questions and the corpus that is searched for all of them.

    Args:
        name: for tables.
        corpus: the passages.
        questions: in the order of the file.
        sentences: of each passage by its id, where the file splits them.
        repeated: passages that stood in the corpus file again, with equal title and text.
        left_out: questions that the file marks as not answerable.
    """

    name: str
    corpus: Corpus
    questions: tuple[MultihopQuestion, ...]
    sentences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    repeated: int = 0
    left_out: int = 0

    @property
    def missing(self) -> int:
        """Gold passages of all questions that the corpus lacks."""
        return sum(question.missing for question in self.questions)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the corpus and of every question with its gold."""
        digest = hashlib.sha256(self.corpus.hash.encode())
        for q in self.questions:
            parts = [q.id, q.question, q.answers, q.gold, q.hops, q.kind, q.missing, q.sentences, q.context]
            line = json.dumps([*parts, q.graph.to_json() if q.graph is not None else None])
            digest.update(line.encode() + b"\n")
        return digest.hexdigest()

    def first(self, count: int | None) -> MultihopData:
        """The same corpus with the first questions only; all for ``None``."""
        return replace(self, questions=self.questions[:count])

    def of_contexts(self) -> MultihopData:
        """The same questions over those passages only that come with one of them."""
        needed = {one for question in self.questions for one in question.context}
        return replace(self, corpus=Corpus(passage for passage in self.corpus if passage.id in needed))
