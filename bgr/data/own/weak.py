"""Evidence guessed from an answer alone: the chain of facts by which the question's words lead to the answer.

A chain has one to three facts. Its last fact holds the answer, its first shares a word with the question, and each
other one shares a name with the one before it that the question does not have. Of all chains the one counts whose facts
have most of the question's words, less a charge for each further fact, and among equal ones the one whose weakest link
is the heaviest. Yes, no and most counts stand in no fact, so
that such questions give no chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bgr.data.own.links import Linker, covered, holds, words_of

LENGTH_CHARGE = 0.2
"""Share of the question's words that a further fact has to add."""

MAX_ENDS, MAX_STARTS, MAX_LENGTH = 20, 30, 3
"""Facts with the answer, and facts near the question, that are tried; facts of a chain."""

NO_PLACE = "the answer stands in no fact"
YES_OR_NO = "yes or no stands in no fact"
NO_CHAIN = "no chain of names leads from the question to the answer"


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
