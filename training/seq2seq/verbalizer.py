"""Training of a sequence-to-sequence verbalizer on sentences of the templates, and its completeness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.construction.textual_database import TextualDatabase
from bgr.data.reasongraphqa.verbalize.generator import CANDIDATES, Seq2seqGenerator
from bgr.data.reasongraphqa.verbalize.seq2seq import filter_complete, linearize_facts
from bgr.data.reasongraphqa.verbalize.templates import value_text
from bgr.data.reasongraphqa.verbalize.verbalizer import STYLES, Verbalizer
from bgr.errors import DataError
from bgr.utils.progress import progress_bar
from training.run import Run, at_least, share
from training.seq2seq.data import Seq2seqData, train_tokenizer
from training.seq2seq.module import Seq2seqModule, fit_seq2seq, start_seq2seq, write_results

MEASURED = 500
"""Number of held-out pairs for the measurement of completeness."""

CARD = """# Verbalizer: facts to sentences

The input is `HEAD (kind), relation TAIL, relation TAIL (qualifier VALUE)`, one to three facts of one head;
the output is one sentence. `bgr data build --verbalizer THIS_FOLDER` verbalizes a dataset with it and drops
sentences that lack a part.

{table}

Complete: every name and value occurs in the sentence, which may still say something else about them.
"""


class Pair(NamedTuple):
    """Input and output of the model, and the one to three facts of one head that they state."""

    source: str
    target: str
    facts: tuple[Fact, ...]


def make_pairs(
    kb: KnowledgeBase, *, train: int, dev: int, joined_probability: float, seed: int, progress: bool = False
) -> dict[str, list[Pair]]:
    """Sample heads and verbalize all facts of the knowledge base about each, every fact once, for `train` and `dev`
    pairs that have no head in common. There are fewer training pairs if the knowledge base is too small.
    `joined_probability` is that of joining one or two more facts to a fact.

    Raises:
        DataError: the knowledge base gives no pair for one of the parts.
    """
    templates = Verbalizer(kb, seed)
    database = TextualDatabase(kb, templates, (), joined_probability=joined_probability, seed=seed)
    heads = Random(f"{seed}|heads").sample(kb.entities, len(kb.entities))
    found: dict[str, list[Pair]] = {"train": [], "dev": []}
    with progress_bar(train + dev, "pairs", "pair", show=progress) as bar:
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
    return found


def _pair(templates: Verbalizer, facts: Sequence[Fact], sentence: str) -> Pair | None:
    """A pair with the same spelling of values on both sides, so that they only need to be copied; ``None`` if the
    sentence mixes several spellings."""
    values = [value for fact in facts for value in (fact.value, *(v for _, v in fact.qualifiers)) if value is not None]
    for style in range(STYLES):
        if all(value_text(value, style) in sentence for value in values):
            kind = templates.kind(facts[0].head)
            return Pair(linearize_facts(templates.kb, facts, kind=kind, style=style), sentence, tuple(facts))
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

    def setup(self, stage: str | None = None) -> None:
        """Read the knowledge base and make the pairs, once.

        Raises:
            DataError: ``kb.json`` is missing or gives too few pairs.
        """
        if not self.pairs:
            own = self.hparams
            self.kb = KnowledgeBase.load(Path(own["folder"]) / "kb.json", progress=True)
            settings = {name: own[name] for name in ("joined_probability", "seed")}
            self.pairs = dict(make_pairs(self.kb, train=own["pairs"], dev=own["dev_pairs"], progress=True, **settings))


def train_verbalizer(run: Run, *, overwrite: bool = False) -> dict[str, float]:
    """Train on ``kb.json`` of the folder ``run.data``, keep the epoch with the lowest dev loss, and save it to
    ``run.out`` as a checkpoint of transformers.

    Returns:
        The dev loss and the shares of `completeness` on held-out facts.

    Raises:
        BgrError: a setting, the knowledge base or the initial model is invalid; nothing is written in this case.
    """
    cli = start_seq2seq(run, VerbalizerData, "verbalizer", overwrite=overwrite, monitor="dev/loss", mode="min")
    module: Seq2seqModule = cli.model
    data: VerbalizerData = cli.datamodule
    module.start(lambda vocabulary: train_tokenizer(data.training_texts(), vocabulary))
    data.tokenize(module.tokenizer)
    best = fit_seq2seq(run, cli, overwrite=overwrite)
    shares = completeness(str(run.out), data.kb, data.pairs["dev"][:MEASURED], seed=data.hparams["seed"])
    metrics = {"dev_loss": best, **shares}
    complete = f"complete candidates ({metrics['facts']} held-out facts, {CANDIDATES} each)"
    rows = {
        "training pairs": f"{len(data.pairs['train']):,}, templates over a knowledge base in KQA Pro's form",
        "dev loss": f"{best:.3f}",
        complete: f"{metrics['complete_candidates']:.1%}",
        "facts with a complete candidate": f"{metrics['facts_by_the_model']:.1%}",
    }
    write_results(run, module, metrics, task="data-to-text", text=CARD, rows=rows)
    return metrics


def completeness(source: str, kb: KnowledgeBase, pairs: Sequence[Pair], *, seed: int = 0) -> dict[str, float]:
    """Shares of sampled candidates without a missing part, and of facts with at least one such candidate."""
    drawn = Seq2seqGenerator(source, seed=seed, progress=True)([pair.source for pair in pairs])
    sifted = [filter_complete(kb, pair.facts, candidates) for pair, candidates in zip(pairs, drawn, strict=True)]
    missed = sum(one.unfinished + one.incomplete for one in sifted)
    return {
        "facts": len(pairs),
        "complete_candidates": 1 - missed / (CANDIDATES * len(pairs)),
        "facts_by_the_model": sum(bool(one.complete) for one in sifted) / len(pairs),
    }
