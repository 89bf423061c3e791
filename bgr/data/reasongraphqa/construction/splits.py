"""Splits into train, dev and test: random (paper, section 3.3), or with something held out that train never has.

Structures are classes of evidence graphs that are isomorphic as directed graphs with a fixed root (paper, Table 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import TypeVar

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.metrics.gm_gs import graph_structure_match

ROUNDS = 4


def structure_classes(graphs: Iterable[EvidenceGraph]) -> list[int]:
    """The isomorphism class of each graph, numbered in order of first appearance."""
    classes = StructureClasses()
    return [classes.number(graph) for graph in graphs]


class StructureClasses:
    """Isomorphism classes of graphs that are given one by one. The result is exact: a hash only saves comparisons."""

    def __init__(self) -> None:
        self._buckets: dict[object, list[tuple[EvidenceGraph, int]]] = {}
        self._known: dict[frozenset[Edge], int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, graph: EvidenceGraph) -> int:
        """The class of a graph: that of the first graph isomorphic to it, or a new one."""
        # with facts numbered in the order of reasoning, most isomorphic graphs are equal
        index = {ROOT: ROOT, **{node: n for n, node in enumerate(graph.order())}}
        edges = frozenset((index[a], index[b]) for a, b in graph.edges)
        if edges not in self._known:
            ordered = EvidenceGraph(edges)
            bucket = self._buckets.setdefault(_signature(ordered), [])
            number = next((n for other, n in bucket if graph_structure_match(ordered, other)), None)
            if number is None:
                number = self._count
                self._count += 1
                bucket.append((ordered, number))
            self._known[edges] = number
        return self._known[edges]


def _signature(graph: EvidenceGraph) -> object:
    """A hash that is equal for isomorphic graphs and mostly different for others (Weisfeiler-Lehman refinement)."""
    colors = {ROOT: (0,), **dict.fromkeys(graph.nodes, (1,))}
    for _ in range(ROUNDS):
        signs = {
            node: (
                colors[node],
                tuple(sorted(colors[n] for n in graph.predecessors(node))),
                tuple(sorted(colors[n] for n in graph.successors(node))),
            )
            for node in colors
        }
        names = {sign: (n,) for n, sign in enumerate(sorted(set(signs.values())))}
        colors = {node: names[sign] for node, sign in signs.items()}
        history = tuple(sorted(signs.values()))
    return history


SPLITS = ("train", "dev", "test")
SPLIT_METHODS = ("random", "structure", "entity", "composition", "domain", "wording", "test")
HELD_OUT = 0.1
RARE = 0.01
"""An entity, pair or phrasing is held out only if it is in at most this share of the questions, or in at most five."""

_Item = TypeVar("_Item", str, tuple[str, str])

Pair = tuple[str, str]
"""The predicates of two adjacent facts, in the order of reasoning."""


def random_split(count: int, seed: int) -> list[str]:
    """Random splits of `count` questions: a tenth (rounded) each for dev and test."""
    order = list(range(count))
    Random(f"{seed}|split").shuffle(order)
    tenth = round(count * HELD_OUT)
    split = ["train"] * count
    for rank, number in enumerate(order[: 2 * tenth]):
        split[number] = "test" if rank < tenth else "dev"
    return split


def structure_split(graphs: Sequence[EvidenceGraph], seed: int) -> list[str]:
    """Splits without isomorphic graphs in two of them.

    Whole classes are held out in random order as long as they fit into a tenth, so that frequent ones stay in train.
    """
    classes = structure_classes(graphs)
    sizes = Counter(classes)
    order = sorted(sizes)
    Random(f"{seed}|split").shuffle(order)
    room = {"test": len(graphs) * HELD_OUT, "dev": len(graphs) * HELD_OUT}
    split_of_class = {}
    for number in order:
        name = max(room, key=lambda name: (room[name], name))
        if sizes[number] <= room[name]:
            room[name] -= sizes[number]
            split_of_class[number] = name
    return [split_of_class.get(number, "train") for number in classes]


def entity_split(entities: Sequence[frozenset[str]], seed: int) -> list[str]:
    """Splits in which every question of test (dev) is about an entity that no question of train is about.

    Rare entities are held out in random order until a tenth of the questions is about one; frequent ones, such as
    countries, are in all splits.
    """
    split = ["train"] * len(entities)
    left = {"test": len(entities) * HELD_OUT, "dev": len(entities) * HELD_OUT}
    for questions in _rare(entities, seed):
        name = next((name for name in left if left[name] > 0), None)
        if name is None:
            break
        for number in questions:
            if split[number] == "train":
                split[number] = name
                left[name] -= 1
    return split


def domain_split(in_domain: Sequence[bool], seed: int) -> list[str]:
    """Splits whose test has all questions of the held-out domain; a tenth (rounded) of the others is dev."""
    others = [number for number, held_out in enumerate(in_domain) if not held_out]
    Random(f"{seed}|split").shuffle(others)
    split = ["test" if held_out else "train" for held_out in in_domain]
    for number in others[: round(len(others) * HELD_OUT)]:
        split[number] = "dev"
    return split


def _rare(groups: Sequence[frozenset[_Item]], seed: int) -> list[list[int]]:
    """The numbers of the groups that contain each rare item, for the items in random order."""
    numbers: dict[_Item, list[int]] = {}
    for number, group in enumerate(groups):
        for item in group:
            numbers.setdefault(item, []).append(number)
    rare = sorted(item for item, found in numbers.items() if len(found) <= max(5, len(groups) * RARE))
    Random(f"{seed}|split").shuffle(rare)
    return [numbers[item] for item in rare]


def composition(graph: EvidenceGraph, predicates: Sequence[str]) -> frozenset[Pair]:
    """The composition of a question: the pairs (predicate of a, predicate of b) of the edges a -> b between facts.

    Empty if all edges are from the question. `predicates` has the predicate of each fact of the graph.
    """
    return frozenset((predicates[a], predicates[b]) for a, b in graph.edges if a != ROOT)


def composition_split(compositions: Sequence[frozenset[Pair]], seed: int) -> list[str]:
    """Splits in which dev and test combine known relations in ways that train does not.

    For every input:

    - each question of dev or test has a pair that no question of another split has; hence no composition (the whole
      set of pairs) of dev or test is in another split;
    - each predicate of a composition of dev or test is in a composition of train;
    - dev and test have at most a tenth of the questions each.

    Rare pairs are held out in random order, with all their questions, as long as these fit and every predicate stays
    in train. Frequent pairs are in all splits, and questions without any pair in train. If few pairs are rare, dev and
    test are small.
    """
    split = ["train"] * len(compositions)
    predicates = [frozenset(predicate for pair in pairs for predicate in pair) for pairs in compositions]
    trained = Counter(predicate for group in predicates for predicate in group)
    room = {"test": len(compositions) * HELD_OUT, "dev": len(compositions) * HELD_OUT}
    for questions in _rare(compositions, seed):
        moved = [number for number in questions if split[number] == "train"]
        taken = {split[number] for number in questions} - {"train"}
        name = min(taken, default=max(room, key=lambda name: (room[name], name)))
        lost = Counter(predicate for number in moved for predicate in predicates[number])
        fits = len(moved) <= room[name] and all(trained[predicate] > count for predicate, count in lost.items())
        if fits and len(taken) < 2:
            room[name] -= len(moved)
            trained -= lost
            for number in moved:
                split[number] = name
    return split


def wording_split(phrasings: Sequence[frozenset[str]], seed: int) -> list[str]:
    """Splits in which every question of test is worded by a phrasing that train and dev do not have.

    A phrasing is a template with its table, such as ``relations/director/forward/vp: [made|made|make] {x}``; those of
    one table say the same thing in other words. For every input:

    - each question of test has a held-out phrasing, and no question of train or dev has one;
    - each table of a question of test is in train, with other phrasings or the same, so that only the wording is new;
    - test and dev have at most a tenth (rounded) of the questions each; those of dev are random ones of the others.

    Rare phrasings are held out in random order, of each table in turn one, with all their questions, as long as these
    fit. Frequent phrasings are in all splits. If few phrasings are rare, test is small. Questions with many facts have
    many phrasings, so that test has more of them than train: compare systems within a split, not test with dev.
    """
    split = ["train"] * len(phrasings)
    users: dict[str, list[int]] = {}
    for number, used in enumerate(phrasings):
        for phrasing in used:
            users.setdefault(phrasing, []).append(number)
    tables = [frozenset(map(_table, used)) for used in phrasings]
    trained = Counter(table for found in tables for table in found)
    tenth = round(len(phrasings) * HELD_OUT)
    held_out = [users[phrasing] for phrasing in _in_turn(users, len(phrasings), seed)]
    others = Random(f"{seed}|dev").sample([[n] for n in range(len(phrasings))], len(phrasings))
    for name, groups in {"test": held_out, "dev": others}.items():
        room = tenth
        for group in groups:
            moved = [number for number in group if split[number] == "train"]
            lost = Counter(table for number in moved for table in tables[number])
            if len(moved) <= room and all(trained[table] > count for table, count in lost.items()):
                room -= len(moved)
                trained -= lost
                for number in moved:
                    split[number] = name
    return split


def _table(phrasing: str) -> str:
    return phrasing.partition(": ")[0]


def _in_turn(users: Mapping[str, Sequence[int]], count: int, seed: int) -> list[str]:
    """The rare phrasings in random order: one of each table, then a second of each, and so on."""
    rng = Random(f"{seed}|split")
    by_table: dict[str, list[str]] = {}
    for phrasing in sorted(p for p, found in users.items() if len(found) <= max(5, count * RARE)):
        by_table.setdefault(_table(phrasing), []).append(phrasing)
    order = []
    for table in rng.sample(list(by_table), len(by_table)):
        found = rng.sample(by_table[table], len(by_table[table]))
        order += [(turn, phrasing) for turn, phrasing in enumerate(found)]
    return [phrasing for _, phrasing in sorted(order, key=lambda item: item[0])]
