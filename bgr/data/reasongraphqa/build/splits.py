"""Train, dev and test: at random, or with structures, entities or compositions held out (paper, section 3.3: 8:1:1).

Evidence graphs by shape: which are isomorphic as directed graphs with their roots pinned (paper, Table 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.metrics.gm_gs import graph_structure_match

ROUNDS = 4


def structure_classes(graphs: Iterable[EvidenceGraph]) -> list[int]:
    """The class of each graph, numbered in order of first appearance."""
    classes = StructureClasses()
    return [classes.number(graph) for graph in graphs]


class StructureClasses:
    """Tells graphs apart by shape, one after the other. Exact: a hash only narrows what is compared."""

    def __init__(self) -> None:
        self._buckets: dict[object, list[tuple[EvidenceGraph, int]]] = {}
        self._known: dict[frozenset[Edge], int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, graph: EvidenceGraph) -> int:
        """The class of a graph: that of the first one isomorphic to it, or a new one."""
        # facts numbered in the order of reasoning make most isomorphic graphs equal
        places = {ROOT: ROOT, **{node: place for place, node in enumerate(graph.order())}}
        edges = frozenset((places[a], places[b]) for a, b in graph.edges)
        if edges not in self._known:
            self._known[edges] = self._compared(EvidenceGraph(edges))
        return self._known[edges]

    def _compared(self, graph: EvidenceGraph) -> int:
        bucket = self._buckets.setdefault(_signature(graph), [])
        number = next((n for other, n in bucket if graph_structure_match(graph, other)), None)
        if number is None:
            number = self._count
            self._count += 1
            bucket.append((graph, number))
        return number


def _signature(graph: EvidenceGraph) -> object:
    """The same for isomorphic graphs, mostly different for others: colours refined a few rounds (Weisfeiler-Lehman)."""
    colours = {ROOT: (0,), **dict.fromkeys(graph.nodes, (1,))}
    for _ in range(ROUNDS):
        signs = {
            node: (
                colours[node],
                tuple(sorted(colours[n] for n in graph.predecessors(node))),
                tuple(sorted(colours[n] for n in graph.successors(node))),
            )
            for node in colours
        }
        names = {sign: (place,) for place, sign in enumerate(sorted(set(signs.values())))}
        colours = {node: names[sign] for node, sign in signs.items()}
        history = tuple(sorted(signs.values()))
    return history


SPLITS = ("train", "dev", "test")
SPLIT_METHODS = ("random", "structure", "entity", "composition")
HELD_OUT = 0.1
RARE = 0.01
"""An entity or pair is held out only if it stands in at most this share of the questions (five may always be)."""

Pair = tuple[str, str]
"""The predicates of two neighbouring facts, in the order of reasoning."""


def random_split(count: int, seed: int) -> list[str]:
    """The split of each of `count` questions: a tenth (rounded) each for dev and test."""
    order = list(range(count))
    Random(f"{seed}|split").shuffle(order)
    tenth = round(count * HELD_OUT)
    split = ["train"] * count
    for place, number in enumerate(order[: 2 * tenth]):
        split[number] = "test" if place < tenth else "dev"
    return split


def structure_split(graphs: Sequence[EvidenceGraph], seed: int) -> list[str]:
    """No graph of dev or test is isomorphic to one of train, nor one of test to one of dev.

    Whole classes are taken in random order as long as they fit into a tenth, so that the frequent ones stay in train.
    """
    classes = structure_classes(graphs)
    sizes = Counter(classes)
    order = sorted(sizes)
    Random(f"{seed}|split").shuffle(order)
    room = {"test": len(graphs) * HELD_OUT, "dev": len(graphs) * HELD_OUT}
    place = {}
    for number in order:
        name = max(room, key=lambda name: (room[name], name))
        if sizes[number] <= room[name]:
            room[name] -= sizes[number]
            place[number] = name
    return [place.get(number, "train") for number in classes]


def entity_split(entities: Sequence[frozenset[str]], seed: int) -> list[str]:
    """Every question of test (dev) is about an entity that no question of train is about.

    Rare entities are held out in random order until a tenth of the questions touches one; frequent ones, such as
    countries, stay with all.
    """
    frequency = Counter(entity for group in entities for entity in group)
    rare = sorted(e for e, n in frequency.items() if n <= max(5, len(entities) * RARE))
    Random(f"{seed}|split").shuffle(rare)
    questions: dict[str, list[int]] = {}
    for number, group in enumerate(entities):
        for entity in group:
            questions.setdefault(entity, []).append(number)
    split = ["train"] * len(entities)
    left = {"test": len(entities) * HELD_OUT, "dev": len(entities) * HELD_OUT}
    for entity in rare:
        name = next((name for name in left if left[name] > 0), None)
        if name is None:
            break
        for number in questions[entity]:
            if split[number] == "train":
                split[number] = name
                left[name] -= 1
    return split


def composition(graph: EvidenceGraph, predicates: Sequence[str]) -> frozenset[Pair]:
    """What a question composes: an edge a -> b between facts gives (predicate of a, predicate of b).

    Empty where every fact hangs from the question alone. `predicates` holds that of each fact of the graph.
    """
    return frozenset((predicates[a], predicates[b]) for a, b in graph.edges if a != ROOT)


def composition_split(compositions: Sequence[frozenset[Pair]], seed: int) -> list[str]:
    """Known relations put together as train never puts them. What is promised, whatever the input:

    - each question of dev or test has a pair that no question of another split has; so no composition (the whole set
      of pairs) of dev or test stands in another split;
    - each predicate of a composition of dev or test stands in a composition of train;
    - dev and test hold a tenth of the questions each at most.

    Rare pairs are held out in random order, all their questions at once, as long as these fit and leave every
    predicate to train. Frequent pairs stay with all, and questions without any pair in train. Where few pairs are
    rare, dev and test stay small.
    """
    questions: dict[Pair, list[int]] = {}
    for number, pairs in enumerate(compositions):
        for pair in sorted(pairs):
            questions.setdefault(pair, []).append(number)
    rare = sorted(pair for pair, found in questions.items() if len(found) <= max(5, len(compositions) * RARE))
    Random(f"{seed}|split").shuffle(rare)
    split = ["train"] * len(compositions)
    predicates = [frozenset(predicate for pair in pairs for predicate in pair) for pairs in compositions]
    trained = Counter(predicate for group in predicates for predicate in group)
    room = {"test": len(compositions) * HELD_OUT, "dev": len(compositions) * HELD_OUT}
    for pair in rare:
        moved = [number for number in questions[pair] if split[number] == "train"]
        taken = {split[number] for number in questions[pair]} - {"train"}
        name = min(taken, default=max(room, key=lambda name: (room[name], name)))
        lost = Counter(predicate for number in moved for predicate in predicates[number])
        fits = len(moved) <= room[name] and all(trained[predicate] > count for predicate, count in lost.items())
        if fits and len(taken) < 2:
            room[name] -= len(moved)
            trained -= lost
            for number in moved:
                split[number] = name
    return split
