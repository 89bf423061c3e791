"""Train, dev and test: at random, by structures held out, or by entities held out (paper, section 3.3: 8:1:1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from bgr.graph import EvidenceGraph
from bgr.reasongraphqa.isomorphism import structure_classes

SPLITS = ("train", "dev", "test")
SPLIT_METHODS = ("random", "structure", "entity")
HELD_OUT = 0.1
RARE = 0.01
"""An entity is held out only if it stands in at most this share of the questions (in five at least)."""


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
