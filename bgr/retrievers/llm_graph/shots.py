"""Examples in a prompt: questions of the train split with few facts and their gold graph, written as a reply."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from random import Random

from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.retrievers.llm_graph.forms import Form
from bgr.retrievers.llm_graph.prompts import LlmGraphSettings, clip, fact_lines, prompt

MAX_GOLD = 8
"""Maximum gold facts of an example."""


@dataclass(frozen=True)
class Shot:
    """A question, its gold facts and a few others, and the gold graph over them."""

    question: str
    facts: tuple[str, ...]
    graph: EvidenceGraph


def choose_shots(examples: Iterable[Example], settings: LlmGraphSettings) -> list[Shot]:
    """The first examples by a hash of seed and id, one of each structure in turn, so that all structures occur.

    The choice does not depend on the order of the examples. Examples without a graph, or with more than `MAX_GOLD` gold
    facts, are left out.
    """
    fit = [example for example in examples if 1 <= len(example.graph.nodes) <= MAX_GOLD]
    fit.sort(key=lambda example: hashlib.sha256(f"{settings.seed}|{example.id}".encode(errors="replace")).digest())
    by_structure: dict[str, list[Example]] = {}
    for example in fit:
        by_structure.setdefault(example.structure, []).append(example)
    turns = chain.from_iterable(zip_longest(*by_structure.values()))
    chosen = [example for example in turns if example is not None][: settings.shots]
    return [_shot(example, settings) for example in chosen]


def shot_texts(shots: Sequence[Shot], form: Form, settings: LlmGraphSettings, room: int) -> list[str]:
    """The first examples as texts, with at most `room` characters together."""
    texts: list[str] = []
    for shot in shots:
        text = prompt(
            "shot",
            facts=fact_lines(shot.facts, settings.fact_characters),
            question=clip(shot.question, settings.fact_characters),
            reply=form.write(shot.graph, shot.facts),
        )
        room -= len(text) + 2
        if room < 0:
            break
        texts.append(text)
    return texts


def _shot(example: Example, settings: LlmGraphSettings) -> Shot:
    gold = example.graph.nodes
    others = sorted(set(range(len(example.facts))) - set(gold))
    drawn = Random(f"{settings.seed}|{example.id}").sample(others, min(settings.shot_facts, len(others)))
    kept = sorted([*gold, *drawn])
    graph = example.graph.relabel({fact: place for place, fact in enumerate(kept)})
    return Shot(example.question, tuple(example.facts[fact] for fact in kept), graph)
