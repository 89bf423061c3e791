"""Multi-hop questions over one corpus of passages, assembled from the questions of any file or of ReasonGraphQA.

The readers of the published forms give a `ParsedQuestion` for each record; `assemble` finds their passages in the
corpus by title and text.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from bgr.collection.corpus import Corpus, Passage, passage_id
from bgr.collection.triples.triple import Triple
from bgr.data.example import Example
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.utils.json_utils import repr_short

DENSITIES = (9, 11, 13)
"""Bounds of the ranges of triple density in GEAR's Table 12."""


@dataclass(frozen=True)
class MultihopQuestion:
    """A question with the evidence that must be found to answer it.

    Args:
        answers: the answer, then its aliases; empty if the file has none.
        gold: ids of the corpus' passages that are needed, each once.
        hops: number of reasoning steps that the file states; else the number of gold passages.
        kind: the file's own name for the type of question; empty if it has none.
        missing: number of gold passages that are not in the corpus; they count as not found.
        sentences: the gold sentences, ``(passage id, number)`` into `MultihopData.sentences`, if the file has them.
        context: ids of the passages that the file gives with this question.
        graph: evidence graph over the gold passages, if the data has one; its facts are numbers into `gold`.
        density: range of the mean number of triples of its gold passages (GEAR, Table 12); empty if not known.
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
    density: str = ""


@dataclass(frozen=True)
class MultihopData:
    """Questions and the corpus that is searched for all of them.

    Args:
        sentences: passage id to the passage's sentences, if the file splits them.
        repeated: number of passages of the corpus file whose title and text were already there.
        left_out: number of questions that the file marks as not answerable.
    """

    name: str
    corpus: Corpus
    questions: tuple[MultihopQuestion, ...]
    sentences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    repeated: int = 0
    left_out: int = 0

    @property
    def missing(self) -> int:
        """Number of gold passages, over all questions, that are not in the corpus."""
        return sum(question.missing for question in self.questions)

    def with_density(self, triples: Iterable[Triple]) -> MultihopData:
        """The data with the density of the triples, numbered as the passages of the corpus, for each question."""
        counts = Counter(triple.passage for triple in triples)
        of_id = {passage.id: counts[index] for index, passage in enumerate(self.corpus)}
        questions = (replace(one, density=_density([of_id[id] for id in one.gold])) for one in self.questions)
        return replace(self, questions=tuple(questions))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the corpus and of every question with its gold evidence."""
        digest = hashlib.sha256(self.corpus.hash.encode())
        for q in self.questions:
            parts = [q.id, q.question, q.answers, q.gold, q.hops, q.kind, q.missing, q.sentences, q.context]
            line = json.dumps([*parts, q.graph.to_json() if q.graph is not None else None])
            digest.update(line.encode() + b"\n")
        return digest.hexdigest()

    def first(self, count: int | None) -> MultihopData:
        """The same corpus with only the first questions; all for ``None``."""
        return replace(self, questions=self.questions[:count])

    def of_contexts(self) -> MultihopData:
        """The same questions over a corpus of only the passages in their contexts."""
        needed = {passage for question in self.questions for passage in question.context}
        return replace(self, corpus=Corpus(passage for passage in self.corpus if passage.id in needed))


class Paragraph(NamedTuple):
    """A passage as a file gives it, with `sentences` if the file splits them."""

    title: str
    text: str
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class ParsedQuestion:
    """A question as a file gives it, before its passages have ids.

    `gold` and the nodes of `graph` are numbers into `context`, `sentences` are pairs of such a number and the number of
    a sentence, and `missing` counts the gold passages of which the file has no text. The rest: see `MultihopQuestion`.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    kind: str
    context: tuple[Paragraph, ...]
    gold: tuple[int, ...]
    hops: int | None = None
    sentences: tuple[tuple[int, int], ...] = ()
    missing: int = 0
    graph: EvidenceGraph | None = None


class PassagePool:
    """Distinct passages (by title and text) in the order of their addition.

    `sentences` are by passage id, `articles` by address (in MultiHop-RAG's corpus); `repeated` counts additions of
    passages that were already there.
    """

    def __init__(self) -> None:
        self.sentences: dict[str, tuple[str, ...]] = {}
        self.articles: dict[str, list[Paragraph]] = {}
        self.repeated = 0
        self._passages: dict[str, Passage] = {}

    def add(self, paragraph: Paragraph) -> str:
        """Add a passage if it is new, and return its id."""
        found = self.find(paragraph)
        if found is not None:
            self.repeated += 1
            return found
        new = passage_id(paragraph.title, paragraph.text)
        self._passages[new] = Passage(new, paragraph.title, paragraph.text)
        if paragraph.sentences:
            self.sentences[new] = paragraph.sentences
        return new

    def find(self, paragraph: Paragraph) -> str | None:
        """The id of the passage with this title and text; sentences may be joined with or without spaces.

        A passage without sentences takes those of `paragraph`, because gold sentences are numbers into them.
        """
        joined = ("".join(paragraph.sentences), " ".join(paragraph.sentences)) if paragraph.sentences else ()
        for text in (paragraph.text, *joined):
            found = passage_id(paragraph.title, text)
            if found in self._passages:
                if paragraph.sentences:
                    self.sentences.setdefault(found, paragraph.sentences)
                return found
        return None

    def corpus(self) -> Corpus:
        return Corpus(self._passages.values())


def join_sentences(sentences: Sequence[str]) -> str:
    """Join sentences to a paragraph. HotpotQA's begin with a space, 2WikiMultihopQA's do not."""
    return ("" if any(sentence[:1].isspace() for sentence in sentences[1:]) else " ").join(sentences)


def assemble(
    name: str, parsed: Iterable[ParsedQuestion], pool: PassagePool | None, *, left_out: int = 0
) -> MultihopData:
    """Questions over the passages of a corpus file, or over the union of their contexts for ``None``.

    Raises:
        DataError: two questions have the same id.
    """
    union = pool is None
    pool = pool or PassagePool()
    repeated = pool.repeated
    questions: dict[str, MultihopQuestion] = {}
    for question in parsed:
        if question.id in questions:
            raise DataError(f"{name}: two questions have the id {repr_short(question.id)}, allowed: unique ids")
        ids = [pool.add(p) if union else pool.find(p) for p in question.context]
        questions[question.id] = _question(question, ids, pool.sentences)
    return MultihopData(name, pool.corpus(), tuple(questions.values()), pool.sentences, repeated, left_out)


def _question(
    parsed: ParsedQuestion, ids: Sequence[str | None], sentences: Mapping[str, Sequence[str]]
) -> MultihopQuestion:
    gold = [ids[number] for number in dict.fromkeys(parsed.gold)]
    known = tuple(dict.fromkeys(passage for passage in gold if passage is not None))
    missing = parsed.missing + gold.count(None)
    found = []
    for index, number in parsed.sentences:
        passage, text = ids[index], parsed.context[index].sentences[number]
        # the corpus may split the passage into other sentences
        if passage is not None and [s.strip() for s in sentences[passage][number : number + 1]] == [text.strip()]:
            found.append((passage, number))
    return MultihopQuestion(
        id=parsed.id,
        question=parsed.question,
        answers=parsed.answers,
        gold=known,
        hops=parsed.hops if parsed.hops is not None else len(known) + missing,
        kind=parsed.kind,
        missing=missing,
        sentences=tuple(found),
        context=tuple(dict.fromkeys(passage for passage in ids if passage is not None)),
        graph=_graph(parsed.graph, ids, known),
    )


def _graph(graph: EvidenceGraph | None, ids: Sequence[str | None], gold: Sequence[str]) -> EvidenceGraph | None:
    """The graph with numbers into the gold passages; ``None`` if a passage is missing or two have the same text."""
    if graph is None:
        return None
    named = [ids[number] for number in graph.nodes]
    if None in named or len(set(named)) < len(named):
        return None
    return graph.relabel({node: gold.index(str(ids[node])) for node in graph.nodes})


def from_examples(name: str, examples: Iterable[Example]) -> MultihopData:
    """ReasonGraphQA's examples as questions over the union of their facts.

    Each fact is a passage without a title; the facts of a question's gold graph are its gold passages. Hops are those
    of the gold graph; the kind is its structure (paper, Table 3).

    Raises:
        DataError: two examples have the same id.
    """
    parsed = (
        ParsedQuestion(
            id=example.id,
            question=example.question,
            answers=(example.answer,) if example.answer else (),
            kind=example.structure,
            context=tuple(Paragraph("", fact, (fact,)) for fact in example.facts),  # a fact is one sentence
            gold=tuple(example.graph.nodes),
            hops=example.graph.hops,
            graph=example.graph,
        )
        for example in examples
    )
    return assemble(name, parsed, None)


def _density(counts: Sequence[int]) -> str:
    """The range of the mean of some numbers of triples; empty without any."""
    if not counts:
        return ""
    names = (f"below {DENSITIES[0]}", *(f"{a} to {b}" for a, b in pairwise(DENSITIES)), f"from {DENSITIES[-1]}")
    return names[bisect(DENSITIES, sum(counts) / len(counts))]
