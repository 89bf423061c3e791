"""The evidence of questions as an extractive reader takes it: facts in the order of the graph, with their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.extractive_reader import INSIDE, NAME_WAYS, Evidence
from bgr.models.truncation import token_spans
from bgr.reader.names import WAYS, Shared, name_spans, shared_runs, words_of

Spans = list[tuple[int, int]]
"""The characters of each token of a text; ``(0, 0)`` for special tokens."""


class FactTexts(NamedTuple):
    """The facts of a question: their texts, the characters of each token, and the number that a token is a part of
    (NaN for other tokens); and the same of the question."""

    facts: Sequence[str]
    spans: Sequence[Spans]
    numbers: Sequence[Sequence[float]]
    question: str = ""
    asked_spans: Spans = []  # noqa: RUF012  (never changed)
    asked_numbers: Sequence[float] = ()


class Told(NamedTuple):
    """A question with its facts in the order of the graph, the depth of each fact, and whether it is a leaf."""

    question: str
    facts: tuple[str, ...]
    depths: tuple[int, ...]
    leaves: tuple[bool, ...]

    @classmethod
    def of(cls, question: str, facts: Sequence[str], graph: EvidenceGraph) -> Told:
        """`graph` refers to `facts` by index; facts outside the graph are left out."""
        order, depth = graph.order(), {ROOT: 0}
        for node in order:
            depth[node] = 1 + max(depth[before] for before in graph.predecessors(node))
        return cls(
            question,
            tuple(facts[node] for node in order),
            tuple(depth[node] for node in order),
            tuple(not graph.successors(node) for node in order),
        )


def evidence_batch(
    questions: Sentences, facts: Sentences, texts: EvidenceTexts, told: Sequence[Told]
) -> tuple[Batch, Evidence]:
    """The input of an `ExtractiveReaderModel` for several questions."""
    batch = make_batch(questions, facts, [(one.question, one.facts) for one in told])
    depth = torch.zeros_like(batch.candidates)
    leaf = torch.zeros_like(batch.candidates, dtype=torch.bool)
    for row, one in enumerate(told):
        depth[row, : len(one.depths)] = torch.tensor(one.depths)
        leaf[row, : len(one.leaves)] = torch.tensor(one.leaves)
    case = torch.tensor([code for one in told for fact in one.facts for code in texts.cases[fact]], dtype=torch.long)
    names, ways = texts.names_of(told)
    return batch, Evidence(batch.candidates, depth, leaf, case, names, ways)


class _Name(NamedTuple):
    """A name: its first and last token in a text, the ways in which it was found, and its lower-case letters."""

    start: int
    end: int
    ways: tuple[float, ...]
    text: str

    def holds(self, other: _Name) -> bool:
        """Whether it is longer, and the other one a part of it."""
        return self.start <= other.start and other.end <= self.end and self[:2] != other[:2]


class EvidenceTexts:
    """The texts of facts and questions with the characters, the numbers and the cases of their tokens, from which
    answers are cut out."""

    def __init__(self, facts: Sentences, questions: Sentences, tokenizer: Any, *, limits: tuple[int, int]) -> None:
        """`limits` are the maximum tokens of facts and of questions."""
        self.spans, self.numbers = _read(facts, tokenizer, limits[0])
        self.asked_spans, self.asked_numbers = _read(questions, tokenizer, limits[1])
        self.cases = {text: cases(text, spans) for text, spans in self.spans.items()}
        self.names = {text: _names(text, spans) for text, spans in self.spans.items()}
        self.words = {text: words_of(text) for text in (*self.spans, *self.asked_spans)}

    def of(self, told: Told) -> FactTexts:
        facts, question = told.facts, told.question
        return FactTexts(
            facts,
            [self.spans[one] for one in facts],
            [self.numbers[one] for one in facts],
            question,
            self.asked_spans[question],
            self.asked_numbers[question],
        )

    def names_of(self, told: Sequence[Told]) -> tuple[Tensor, Tensor]:
        """The names of the facts of each question in turn, as in `Evidence`."""
        places: list[tuple[int, int]] = []
        ways: list[tuple[float, ...]] = []
        begin = 0
        for one in told:
            lower = [fact.lower() for fact in one.facts]
            runs = shared_runs(self.words[one.question], [self.words[fact] for fact in one.facts])
            for number, fact in enumerate(one.facts):
                names, recurring = self._with_runs(fact, runs[number])
                beside = [one.question.lower(), *lower[:number], *lower[number + 1 :]]
                shared = [any(name.text in other for other in beside) for name in names]
                for name, found, run in zip(names, shared, recurring, strict=True):
                    around = zip(names, shared, strict=True)
                    longest = found and not any(
                        there and any(other.ways) and other.holds(name) for other, there in around
                    )
                    places.append((begin + name.start, begin + name.end))
                    ways.append((*name.ways, float(found), float(longest), *map(float, run)))
                begin += len(self.spans[fact])
        return torch.tensor(places, dtype=torch.long).reshape(-1, 2), torch.tensor(ways).reshape(-1, NAME_WAYS)

    def _with_runs(self, fact: str, runs: dict[tuple[int, int], Shared]) -> tuple[list[_Name], list[Shared]]:
        """The names of a fact and the runs of words that recur, in the order of their tokens, and with whom each is
        shared."""
        first, last = _token_ends(self.spans[fact])
        shared = {(first[a], last[b]): (a, b) for a, b in runs if a in first and b in last}
        found = {name[:2]: name for name in self.names[fact]}
        for ends, (start, end) in shared.items():
            found.setdefault(ends, _Name(*ends, (0.0,) * WAYS, fact[start:end].lower()))
        names = sorted(found.values())
        return names, [runs[shared[name[:2]]] if name[:2] in shared else Shared(False, False) for name in names]


def _token_ends(spans: Spans) -> tuple[dict[int, int], dict[int, int]]:
    """The token that begins, and the one that ends, at a character."""
    there = [(token, start, end) for token, (start, end) in enumerate(spans) if start < end]
    return {start: token for token, start, _ in there}, {end: token for token, _, end in there}


def cases(text: str, spans: Spans) -> list[int]:
    """What each token begins with (`bgr.models.extractive_reader.CASES`)."""
    found = []
    for start, end in spans:
        letter = text[start:end][:1]
        if not letter.isalnum():
            found.append(0)
        elif start and text[start - 1].isalnum():
            found.append(INSIDE)
        else:
            found.append(3 if letter.isdigit() else 2 if letter.isupper() else 1)
    return found


def _names(text: str, spans: Spans) -> list[_Name]:
    """The names of a text whose tokens are all there, in the order of their first tokens."""
    first, last = _token_ends(spans)
    found = [
        _Name(first[start], last[end], ways, text[start:end].lower())
        for (start, end), ways in name_spans(text).items()
        if start in first and end in last
    ]
    return sorted(found)


def _read(sentences: Sentences, tokenizer: Any, max_tokens: int) -> tuple[dict[str, Spans], dict[str, list[float]]]:
    texts = list(sentences.number)
    spans: dict[str, Spans] = dict(zip(texts, token_spans(tokenizer, texts, max_tokens), strict=True))
    numbers = sentences.rows.numbers.split(sentences.rows.lengths.tolist())
    return spans, dict(zip(texts, (row.tolist() for row in numbers), strict=True))
