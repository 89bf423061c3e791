"""Splits of own data: by seed, with equal questions together, and a report of what the splits share all the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from random import Random

from bgr.data.example import Example
from bgr.data.own.schema import question_key
from bgr.data.reasongraphqa.construction.splits import SPLITS


def grouped(keys: Sequence[Iterable[Hashable]]) -> list[int]:
    """A group number for each item; items that share a key, or are joined by others that do, are in one group."""
    parent = list(range(len(keys)))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    first: dict[Hashable, int] = {}
    for number, own in enumerate(keys):
        for key in own:
            one, other = root(first.setdefault(key, number)), root(number)
            parent[max(one, other)] = min(one, other)
    return [root(number) for number in range(len(keys))]


def assign_splits(groups: Sequence[int], given: Sequence[str | None], shares: Sequence[int], seed: int) -> list[str]:
    """The split of each question: the given one, else that of its group.

    Groups are shuffled by the seed. Each goes where most of the share is missing, so that small data fill all splits.

    Raises:
        ValueError: a share is negative, or all are 0.
    """
    if min(shares) < 0 or not sum(shares):
        raise ValueError(f"the shares are {list(shares)}, allowed: integers from 0, one of them above 0")
    members: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        members.setdefault(group, []).append(number)
    split: list[str | None] = list(given)
    open_groups = []
    for own in members.values():
        known = next((given[number] for number in own if given[number]), None)
        if known is None:
            open_groups.append(own)
        for number in own:
            split[number] = split[number] or known
    free = sum(map(len, open_groups))
    room = {name: free * share / sum(shares) for name, share in zip(SPLITS, shares, strict=True)}
    Random(f"{seed}|split").shuffle(open_groups)
    for own in open_groups:
        name = max((one for one, share in zip(SPLITS, shares, strict=True) if share), key=lambda one: room[one])
        room[name] -= len(own)
        for number in own:
            split[number] = name
    return [name or SPLITS[0] for name in split]


def shared_between(splits: dict[str, list[Example]]) -> dict[str, dict[str, int]]:
    """For dev and test, how many questions have the text, some evidence, or all evidence of one of an earlier split."""
    found: dict[str, dict[str, int]] = {}
    questions: set[str] = set()
    facts: set[str] = set()
    sets: set[frozenset[str]] = set()
    for split in SPLITS:
        own = [(question_key(one.question), frozenset(one.facts[n] for n in one.graph.nodes)) for one in splits[split]]
        if split != SPLITS[0]:
            found[split] = {
                "question text": sum(text in questions for text, _ in own),
                "a fact of the evidence": sum(bool(evidence & facts) for _, evidence in own),
                "all facts of the evidence": sum(evidence in sets for _, evidence in own),
            }
        questions |= {text for text, _ in own}
        facts |= {fact for _, evidence in own for fact in evidence}
        sets |= {evidence for _, evidence in own if evidence}
    return found
