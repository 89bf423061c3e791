"""Training data of a verbalizer: linearized facts and the templates' sentences over a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.construction.textual_database import TextualDatabase
from bgr.data.reasongraphqa.verbalize.seq2seq import linearize_facts
from bgr.data.reasongraphqa.verbalize.templates import value_text
from bgr.data.reasongraphqa.verbalize.verbalizer import STYLES, Verbalizer
from bgr.errors import DataError
from training.run import at_least, share
from training.seq2seq.data import Seq2seqData


@dataclass(frozen=True)
class Pair:
    """One to three facts of one head, with the input and the output of the model."""

    facts: tuple[Fact, ...]
    source: str
    target: str


@dataclass(frozen=True)
class Pairs:
    """Training pairs and dev pairs, which have no head in common."""

    train: list[Pair]
    dev: list[Pair]


def make_pairs(
    kb: KnowledgeBase, *, train: int, dev: int, joined_probability: float, seed: int, progress: bool = False
) -> Pairs:
    """Sample heads and verbalize all facts of the knowledge base about each, every fact once.

    Args:
        kb: the knowledge base.
        train, dev: number of pairs of each part; there are fewer training pairs if the knowledge base is too small.
        joined_probability: probability of joining one or two more facts to a fact.
        seed: random seed of heads, wordings and joined facts.
        progress: show a progress bar on standard error.

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
    """A pair with the same spelling of values on both sides, so that they only need to be copied; ``None`` if the
    sentence mixes several spellings."""
    values = [value for fact in facts for value in (fact.value, *(v for _, v in fact.qualifiers)) if value is not None]
    for style in range(STYLES):
        if all(value_text(value, style) in sentence for value in values):
            kind = templates.kind(facts[0].head)
            return Pair(tuple(facts), linearize_facts(templates.kb, facts, kind=kind, style=style), sentence)
    return None


class VerbalizerData(Seq2seqData):
    """Pairs from a folder of KQA Pro files.

    Args:
        folder: folder with ``kb.json``.
        pairs: number of training pairs.
        dev_pairs: number of dev pairs, whose heads have no training pair.
        joined_probability: probability of joining one or two more facts to a fact.
        seed: random seed of the pairs.
        batch_size: pairs per batch.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        folder: str,
        pairs: int = 48_000,
        dev_pairs: int = 1_000,
        joined_probability: float = 0.4,
        seed: int = 0,
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        at_least(1, pairs=pairs, dev_pairs=dev_pairs, batch_size=batch_size)
        share(joined_probability=joined_probability)
        self.save_hyperparameters()
        self.kb: KnowledgeBase
        self.pairs = Pairs([], [])

    def setup(self, stage: str | None = None) -> None:
        """Read the knowledge base and make the pairs, once.

        Raises:
            DataError: ``kb.json`` is missing or gives too few pairs.
        """
        if not self.pairs.train:
            own = self.hparams
            self.kb = KnowledgeBase.load(Path(own["folder"]) / "kb.json", progress=True)
            self.pairs = make_pairs(
                self.kb,
                train=own["pairs"],
                dev=own["dev_pairs"],
                joined_probability=own["joined_probability"],
                seed=own["seed"],
                progress=True,
            )

    def prepare(self, tokenizer: Any) -> None:
        """Tokenize the pairs."""
        parts = {"train": self.pairs.train, "dev": self.pairs.dev}
        texts = {name: [(pair.source, pair.target) for pair in part] for name, part in parts.items()}
        self.tokenize(texts, tokenizer)
