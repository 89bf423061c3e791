"""How facts lead to one another by the names they share, for questions whose data do not say it.

Evidence without edges becomes a tree by `linked`. The question and each fact are sets of words; a link between two of
them weighs as much as the words they share (inverse document frequencies, a quarter for words that are no names). A
link between two facts counts only words that the question does not have: what the question names is found from it. The
tree grows from the question by the heaviest link, as in Prim's algorithm; of equal links the one from the deepest fact
counts. A single fact that holds the answer ends the reasoning: it is linked last, from another fact if they share a
word, and nothing is found from it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bgr.collection.mentions import ASKING, plain
from bgr.collection.word_counts import split_words
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.metrics.answers import plain_answer

COMMON_WORD = 0.25
"""Weight of a shared word that neither text has as a name, beside 1 for a word of a name."""

_WORD = re.compile(r"\w+")


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
