"""The sentences that one question may choose from, and the rules for its evidence: what agents may change, which
sub-question a sentence belongs to, and the graph over passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from bgr.collection.corpus import Corpus, Passage, split_sentences
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph

Sentences = Mapping[str, Sequence[str]] | Callable[[Passage], Sequence[str]]
"""The sentences of passages: by the passage's id, or a function of the passage."""

_WORD = re.compile(r"\w+")


def sentences_of(passage: Passage, sentences: Sentences | None) -> tuple[str, ...]:
    """The sentences of one passage, each on one line: those given, else the split text, else the title.

    Given sentences keep their numbers: a blank one is not removed.
    """
    given = sentences.get(passage.id, ()) if isinstance(sentences, Mapping) else sentences(passage) if sentences else ()
    found = given or split_sentences(passage.text) or (passage.title,)
    return tuple(" ".join(sentence.split()) for sentence in found)


class Reference(NamedTuple):
    """A sentence: the index of its passage, and its number in the passage, from 0."""

    passage: int
    sentence: int


Evidence = tuple[Reference, ...]
"""Each sentence once, in the order in which they were added."""


class Candidates:
    """Passages in the order of the search, numbered from 1, and their sentences, numbered from 0.

    The model names a sentence by these two numbers. Titles are not unique.

    `indices` are in the corpus, each once; `sentences` has given sentences of the passages, the others are split.
    """

    def __init__(self, corpus: Corpus, indices: Iterable[int], sentences: Sentences | None = None) -> None:
        self.corpus = corpus
        self.indices = tuple(indices)
        self.sentences = {index: sentences_of(corpus[index], sentences) for index in self.indices}
        self._number = {index: number for number, index in enumerate(self.indices, 1)}

    @property
    def references(self) -> Evidence:
        """Every sentence that is not blank, in order."""
        every = ((Reference(index, n), text) for index in self.indices for n, text in enumerate(self.sentences[index]))
        return tuple(reference for reference, text in every if text)

    def find(self, passage: int, sentence: int) -> Reference | None:
        """The sentence that the model's two numbers name; ``None`` if it does not exist or is blank."""
        if not 1 <= passage <= len(self.indices):
            return None
        index = self.indices[passage - 1]
        exists = 0 <= sentence < len(self.sentences[index]) and self.sentences[index][sentence]
        return Reference(index, sentence) if exists else None

    def pair(self, reference: Reference) -> list[int]:
        """The model's two numbers for a sentence."""
        return [self._number[reference.passage], reference.sentence]

    def text(self, reference: Reference) -> str:
        """The text of a sentence."""
        return self.sentences[reference.passage][reference.sentence]

    def title(self, index: int) -> str:
        """The title of a passage on one line."""
        return " ".join(self.corpus[index].title.split())

    def lines(self, references: Iterable[Reference]) -> str:
        """Numbered sentences below the titles of their passages, in the order of the search, for the model to name."""
        found = sorted(set(references), key=self.pair)
        blocks = []
        for index in dict.fromkeys(one.passage for one in found):
            number = self._number[index]
            rows = [f"[{number}, {one.sentence}] {self.text(one)}" for one in found if one.passage == index]
            blocks.append("\n".join([f"Passage {number}: {self.title(index) or '(no title)'}", *rows]))
        return "\n\n".join(blocks) or "(none)"

    def reading(self, references: Sequence[Reference]) -> str:
        """The sentences of each passage as running text, for the answer; passages in order of first appearance."""
        blocks = []
        for index in dict.fromkeys(one.passage for one in references):
            text = " ".join(self.text(one) for one in sorted(set(references)) if one.passage == index)
            blocks.append(f"{self.title(index)}\n{text}".lstrip("\n"))
        return "\n\n".join(blocks)


def added(evidence: Evidence, new: Iterable[Reference]) -> Evidence:
    """The adder's rule: existing evidence stays in its order, and new sentences follow."""
    return tuple(dict.fromkeys((*evidence, *new)))


def kept(evidence: Evidence, keep: Iterable[Reference]) -> Evidence:
    """The selector's rule: the evidence that is also in `keep`, in its order; nothing is added."""
    named = set(keep)
    return tuple(one for one in evidence if one in named)


def nearest_sub_question(candidates: Candidates, reference: Reference, sub_questions: Sequence[str]) -> int:
    """Number from 0 of the sub-question that shares most distinct words with the title and the sentence; of equals the
    first. Words of up to three letters do not count, as most of them say nothing (was, the, who)."""
    words = _words(f"{candidates.corpus[reference.passage].title} {candidates.text(reference)}")
    shared = [len(words & _words(sub_question)) for sub_question in sub_questions]
    return shared.index(max(shared))


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if len(word) > 3}


def ordered_graph(evidence: Sequence[Reference], purpose: Mapping[Reference, int]) -> EvidenceGraph:
    """The passages of a sub-question follow all passages of the previous one; the root leads to those of the first.

    A passage belongs to the earliest sub-question that one of its sentences is for, so that it occurs once and there is
    no cycle. A sub-question without a passage is skipped.

    `purpose` has the number of the sub-question that each sentence is for.
    """
    step: dict[int, int] = {}
    for one in evidence:
        step[one.passage] = min(purpose[one], step.get(one.passage, purpose[one]))
    edges: list[Edge] = []
    before = [ROOT]
    for wanted in sorted(set(step.values())):
        here = [passage for passage in step if step[passage] == wanted]
        edges += [(a, b) for a in before for b in here]
        before = here
    return EvidenceGraph(edges)
