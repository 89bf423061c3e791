"""ReasonGraphQA's questions over one corpus of their facts.

Multi-hop questions over one corpus of passages, whatever file they came from.

From what a file says of each question to questions over one corpus: passages found by title and text together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from bgr.collection.corpus import Corpus, Passage
from bgr.data.example import Example
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.utils.json_utils import shown


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


class Paragraph(NamedTuple):
    """A passage as a file gives it; `sentences` where it gives them one by one."""

    title: str
    text: str
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A question before its passages have ids: `gold` are numbers into `context`, `sentences` pairs of such a number
    and that of a sentence, `missing` gold passages of which the file has no text, `graph` says how those of `gold` hang
    together, in numbers into `context`."""

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


class Pool:
    """Passages, each title and text once, in the order in which they came.

    `sentences` by passage id; `repeated` counts what came again.
    """

    def __init__(self) -> None:
        self.sentences: dict[str, tuple[str, ...]] = {}
        self.repeated = 0
        self._passages: dict[str, Passage] = {}

    def add(self, paragraph: Paragraph) -> str:
        """The passage's id, new or not."""
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
        """The id of the passage with this title and text; sentences count as joined with or without spaces.

        A passage that came as one text takes the sentences: gold ones are numbers into them.
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


def passage_id(title: str, text: str) -> str:
    """An id made of title and text alone: the same passage has it in every file."""
    raw = f"{len(title)}:{title}{text}".encode(errors="surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:20]


def join_sentences(sentences: Sequence[str]) -> str:
    """A paragraph of its sentences. HotpotQA's bring the space before them along, 2WikiMultihopQA's do not."""
    return ("" if any(one[:1].isspace() for one in sentences[1:]) else " ").join(sentences)


def assemble(name: str, drafts: Iterable[Draft], pool: Pool | None, *, left_out: int = 0) -> MultihopData:
    """Questions over the corpus of a file, or over all passages of all questions where there is none.

    Args:
        name: of the data.
        drafts: the questions.
        pool: of the corpus file; ``None``: the union of the questions' contexts.
        left_out: see `MultihopData`.

    Raises:
        DataError: two questions have one id.
    """
    drafts = list(drafts)
    repeated = pool.repeated if pool is not None else 0
    union = pool is None
    pool = pool or Pool()
    questions: dict[str, MultihopQuestion] = {}
    for draft in drafts:
        if draft.id in questions:
            raise DataError(f"{name}: two questions have the id {shown(draft.id)}, allowed: each once")
        ids = [pool.add(p) if union else pool.find(p) for p in draft.context]
        questions[draft.id] = _question(draft, ids, pool.sentences)
    return MultihopData(name, pool.corpus(), tuple(questions.values()), pool.sentences, repeated, left_out)


def _question(draft: Draft, ids: Sequence[str | None], sentences: Mapping[str, Sequence[str]]) -> MultihopQuestion:
    gold = [ids[number] for number in dict.fromkeys(draft.gold)]
    there = tuple(dict.fromkeys(one for one in gold if one is not None))
    missing = draft.missing + gold.count(None)
    return MultihopQuestion(
        id=draft.id,
        question=draft.question,
        answers=draft.answers,
        gold=there,
        hops=draft.hops if draft.hops is not None else len(there) + missing,
        kind=draft.kind,
        missing=missing,
        sentences=_sentences(draft, ids, sentences),
        context=tuple(dict.fromkeys(one for one in ids if one is not None)),
        graph=_graph(draft.graph, ids, there),
    )


def _sentences(
    draft: Draft, ids: Sequence[str | None], sentences: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, int], ...]:
    """The gold sentences; without those whose number names another one, where the passage came split otherwise."""
    found = []
    for place, number in draft.sentences:
        passage, text = ids[place], draft.context[place].sentences[number]
        if passage is not None and [one.strip() for one in sentences[passage][number : number + 1]] == [text.strip()]:
            found.append((passage, number))
    return tuple(found)


def _graph(graph: EvidenceGraph | None, ids: Sequence[str | None], gold: Sequence[str]) -> EvidenceGraph | None:
    """In numbers into the gold passages; ``None`` where one of its passages is missing, or two are the same text."""
    if graph is None:
        return None
    named = [ids[number] for number in graph.nodes]
    if None in named or len(set(named)) < len(named):
        return None
    return graph.relabel({place: gold.index(str(ids[place])) for place in graph.nodes})


def from_examples(name: str, examples: Iterable[Example]) -> MultihopData:
    """Every fact of every question is a passage without a title; those of a question's gold graph are its gold.

    The corpus is the union of the questions' facts: give the examples of one split, or of all, to decide what is
    searched. Hops are those of the gold graph; the kind is its structure (paper, Table 3).

    Raises:
        DataError: two examples have one id.
    """
    return assemble(name, (_draft(example) for example in examples), None)


def _draft(example: Example) -> Draft:
    return Draft(
        id=example.id,
        question=example.question,
        answers=(example.answer,),
        kind=example.structure,
        context=tuple(Paragraph("", fact, (fact,)) for fact in example.facts),  # a fact is one sentence
        gold=tuple(example.graph.nodes),
        hops=example.graph.hops,
        graph=example.graph,
    )
