"""How facts lead to one another by the names they share, for questions whose data do not say it.

Evidence without edges becomes a tree by `linked`. The question and each fact are sets of words; a link between two of
them weighs as much as the words they share (inverse document frequencies, a quarter for words that are no names). A
link between two facts counts only words that the question does not have: what the question names is found from it. The
tree grows from the question by the heaviest link, as in Prim's algorithm; of equal links the one from the deepest fact
counts. A single fact that holds the answer ends the reasoning: it is linked last, from another fact if they share a
word, and nothing is found from it.

From an answer alone, a chain of one to three facts is guessed (`guess_chain`). Its last fact holds the answer, its
first shares a word with the question, and each other one shares a name with the one before it that the question does
not have. Of all chains the one counts whose facts have most of the question's words, less a charge for each further
fact, and among equal ones the one whose weakest link is the heaviest. Yes, no and most counts stand in no fact, so that
such questions give no chain.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from bgr.collection.mentions import ASKING, plain
from bgr.collection.word_counts import split_words
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.metrics.answers import plain_answer

COMMON_WORD = 0.25
"""Weight of a shared word that neither text has as a name, beside 1 for a word of a name."""

_WORD = re.compile(r"\w+")

LENGTH_CHARGE = 0.2
"""Share of the question's words that a further fact has to add."""

NO_PLACE = "the answer stands in no fact"
YES_OR_NO = "yes or no stands in no fact"
NO_CHAIN = "no chain of names leads from the question to the answer"


@dataclass(frozen=True)
class Words:
    """The words of a text without stop words; `names` are those with a capital (not for its place as the first word)
    or a digit."""

    all: frozenset[str]
    names: frozenset[str]


@lru_cache(maxsize=100_000)
def words_of(text: str) -> Words:
    """The words of a text, without case and accents."""
    found = _WORD.findall(text)
    kept = {plain(word) for word in split_words([text])[0]} - ASKING
    names = {plain(word) for place, word in enumerate(found) if (place and word[0].isupper()) or word[0].isdigit()}
    return Words(frozenset(kept), frozenset(names & kept))


@dataclass(frozen=True)
class Linked:
    """A graph over facts numbered from 0.

    Args:
        ties: facts for which another link was as heavy as the one chosen.
        unlinked: facts that share no word with the question or another fact; they hang on the question.
    """

    graph: EvidenceGraph
    ties: int = 0
    unlinked: int = 0


class Linker:
    """Weighs links by how rare the words are that two texts share.

    Args:
        texts: the facts of the data; repeated ones count once.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = dict.fromkeys(texts)
        self._counts = Counter(word for text in distinct for word in words_of(text).all)
        self._total = len(distinct)

    def rarity(self, word: str) -> float:
        """Inverse document frequency, above 0."""
        count = self._counts[word]
        return math.log(1 + (self._total - count + 0.5) / (count + 0.5))

    def weight(self, one: str, other: str, without: str = "") -> float:
        """The weight of a link between two texts, by the words that `without` does not have."""
        a, b = words_of(one), words_of(other)
        shared = (a.all & b.all) - words_of(without).all
        return self.mass(shared, a.names | b.names)

    def mass(self, words: Iterable[str], names: frozenset[str]) -> float:
        """The rarity of words, added up; common words count a quarter."""
        # sorted: the order of a sum must not depend on the hashes of strings
        return sum(self.rarity(word) * (1.0 if word in names else COMMON_WORD) for word in sorted(words))


def holds(text: str, answer: str) -> bool:
    """Whether the words of an answer stand in a text, one after the other."""
    words = plain_answer(answer)
    return bool(words) and f" {words} " in f" {plain_answer(text)} "


def linked(question: str, facts: Sequence[str], answer: str, linker: Linker) -> Linked:
    """The tree by which all facts are found from the question; see the module for its rule.

    Args:
        facts: the evidence, at least one.
        answer: empty if it is unknown.
    """
    ends = [number for number, fact in enumerate(facts) if holds(fact, answer)]
    last = ends[0] if len(ends) == 1 and len(facts) > 1 and not holds(question, answer) else None
    weights = {
        (a, b): linker.weight(question, facts[b]) if a == ROOT else linker.weight(facts[a], facts[b], question)
        for a in range(ROOT, len(facts))
        for b in range(len(facts))
        if a not in (b, last)
    }
    if last is not None and any(weights[a, last] for a in range(len(facts)) if a != last):
        del weights[ROOT, last]
    edges: list[Edge] = []
    ties = unlinked = 0
    depth = {ROOT: 0}
    while waiting := set(range(len(facts))) - set(depth):
        open_edges = [(a, b) for a, b in weights if a in depth and b in (waiting - {last} or waiting)]
        # of equal ones the deepest, then the first fact
        a, b = max(open_edges, key=lambda edge: (weights[edge], depth[edge[0]], -edge[1], -edge[0]))
        best = weights[a, b]
        ties += best > 0 and sum(weights.get((c, b)) == best for c in depth) > 1
        unlinked += not best
        edges.append((a, b) if best else (ROOT, b))
        depth[b] = depth[a] + 1 if best else 1
    return Linked(EvidenceGraph(edges), ties, unlinked)


def covered(question: str, facts: Sequence[str], linker: Linker) -> float:
    """The share of the question's words, by weight, that some fact has; in [0, 1]."""
    asked = words_of(question)
    total = linker.mass(asked.all, asked.names)
    found = asked.all & frozenset().union(*(words_of(fact).all for fact in facts))
    return linker.mass(found, asked.names) / total if total else 0.0


MAX_ENDS, MAX_STARTS, MAX_LENGTH = 20, 30, 3
"""Facts with the answer, and facts near the question, that are tried; facts of a chain."""


@dataclass(frozen=True)
class Chain:
    """Numbers of facts in the order of reasoning, and whether another chain scored the same."""

    facts: tuple[int, ...]
    tied: bool


def guess_chain(question: str, facts: Sequence[str], answer: str, linker: Linker) -> Chain | str:
    """The best chain, or why there is none."""
    if answer.casefold() in ("yes", "no"):
        return YES_OR_NO
    near = {number: linker.weight(question, fact) for number, fact in enumerate(facts)}
    ends = sorted((n for n in near if holds(facts[n], answer)), key=lambda n: (-near[n], n))[:MAX_ENDS]
    if not ends:
        return NO_PLACE
    starts = sorted((n for n in near if near[n] > 0), key=lambda n: (-near[n], n))[:MAX_STARTS]
    chains = [chain for end in ends for chain in _chains(end, starts, question, facts)]
    if not chains:
        return NO_CHAIN
    scores = [_score(question, [facts[n] for n in one], linker) for one in chains]
    best = max(scores)
    return Chain(chains[scores.index(best)], scores.count(best) > 1)


def _score(question: str, chain: Sequence[str], linker: Linker) -> tuple[float, float]:
    """The words of the question less the charge for the length; of equal ones, the weight of the weakest link."""
    links = [linker.weight(one, other, question) for one, other in pairwise(chain)]
    weakest = min([linker.weight(question, chain[0]), *links])
    return covered(question, chain, linker) - LENGTH_CHARGE * (len(chain) - 1), weakest


def _chains(end: int, starts: Sequence[int], question: str, facts: Sequence[str]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [(end,)] if end in starts else []
    for before in starts:
        if before == end or not _leads(facts[before], facts[end], question):
            continue
        found.append((before, end))
        others = (n for n in starts if n not in (before, end))
        found += [(first, before, end) for first in others if _leads(facts[first], facts[before], question)]
    return found


def _leads(one: str, other: str, question: str) -> bool:
    """Whether two facts share a name that the question does not have."""
    a, b = words_of(one), words_of(other)
    return bool((a.all & b.all & (a.names | b.names)) - words_of(question).all)
