"""Pairs of linearised facts and sentences, from the templates over a knowledge base, to train a verbaliser on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tqdm import tqdm

from bgr.errors import DataError
from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.schema import Fact
from bgr.reasongraphqa.linearise import linearise
from bgr.reasongraphqa.textual_database import TextualDatabase
from bgr.reasongraphqa.verbalize import STYLES, Verbalizer
from bgr.reasongraphqa.wording import value_text


@dataclass(frozen=True)
class Pair:
    """One to three facts of a head: what the model reads, and what it is to write."""

    facts: tuple[Fact, ...]
    source: str
    target: str


@dataclass(frozen=True)
class Pairs:
    """Training pairs, and pairs about heads that no training pair is about."""

    train: list[Pair]
    dev: list[Pair]


def make_pairs(
    kb: KnowledgeBase, *, train: int, dev: int, joined_probability: float, seed: int, progress: bool = False
) -> Pairs:
    """Draw heads at random and word all that the knowledge base says about each, every fact once.

    Args:
        kb: the knowledge base.
        train, dev: pairs of each part; fewer training pairs where the knowledge base ends.
        joined_probability: how often one or two more facts join a fact.
        seed: draws heads, wordings and what is joined.
        progress: show a bar on standard error.

    Raises:
        DataError: the knowledge base gives no pair for one of the parts.
    """
    templates = Verbalizer(kb, seed)
    database = TextualDatabase(kb, templates, (), joined_probability=joined_probability, seed=seed)
    heads = Random(f"{seed}|heads").sample(kb.entities, len(kb.entities))
    found: dict[str, list[Pair]] = {"train": [], "dev": []}
    with tqdm(total=train + dev, desc="pairs", unit="pair", disable=not progress) as bar:
        for head in heads:
            part, wanted = ("dev", dev) if len(found["dev"]) < dev else ("train", train)
            if len(found[part]) >= wanted:
                break
            units = (database.unit(fact) for fact in database.facts_of(head))
            pairs = [_pair(templates, unit.facts, unit.sentence) for unit in units if unit is not None]
            new = [pair for pair in pairs if pair is not None][: wanted - len(found[part])]
            found[part] += new
            bar.update(len(new))
    short = next((part for part in ("dev", "train") if not found[part]), None)
    if short is not None:
        raise DataError(f"{len(kb.entities)} entities give {len(found['dev'])} pairs and none for {short}")
    return Pairs(**found)


def _pair(templates: Verbalizer, facts: Sequence[Fact], sentence: str) -> Pair | None:
    """With the values written alike on both sides, so that there is nothing to learn but to copy them; ``None`` where
    the sentence mixes the ways to write them."""
    values = [value for fact in facts for value in (fact.value, *(v for _, v in fact.qualifiers)) if value is not None]
    for style in range(STYLES):
        if all(value_text(value, style) in sentence for value in values):
            kind = templates.kind(facts[0].head)
            return Pair(tuple(facts), linearise(templates.kb, facts, kind=kind, style=style), sentence)
    return None
