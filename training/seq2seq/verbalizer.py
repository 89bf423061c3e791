"""Training of a sequence-to-sequence verbalizer on sentences of the templates, and its completeness."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bgr import __version__
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.verbalize.generator import CANDIDATES, Seq2seqGenerator
from bgr.data.reasongraphqa.verbalize.seq2seq import filter_complete
from training.run import Run, check_folder, prepare_folder
from training.seq2seq.data import train_tokenizer
from training.seq2seq.module import Seq2seqModule, fit_seq2seq, parse_seq2seq
from training.seq2seq.verbalizer_data import Pair, VerbalizerData

MEASURED = 500
"""Number of held-out pairs for the measurement of completeness."""


def train_verbalizer(run: Run, *, overwrite: bool = False) -> dict[str, float]:
    """Train, keep the epoch with the lowest dev loss, and save it to ``run.out`` as a checkpoint of transformers.

    Args:
        run: the training run; `data` is a folder with ``kb.json``.
        overwrite: replace ``run.out`` if it exists.

    Returns:
        The dev loss and the shares of `completeness` on held-out facts.

    Raises:
        BgrError: a setting, the knowledge base or the initial model is invalid; nothing is written in this case.
    """
    check_folder(run, overwrite=overwrite)
    cli = parse_seq2seq(run, VerbalizerData, "verbalizer", monitor="dev/loss", mode="min")
    module: Seq2seqModule = cli.model
    data: VerbalizerData = cli.datamodule
    data.setup()
    texts = (text for pair in data.pairs.train for text in (pair.source, pair.target))
    module.start(lambda vocabulary: train_tokenizer(texts, vocabulary))
    data.prepare(module.tokenizer)
    prepare_folder(run, overwrite=overwrite)
    best = fit_seq2seq(run, cli)
    shares = completeness(str(run.out), data.kb, data.pairs.dev[:MEASURED], seed=data.hparams["seed"])
    metrics = {"dev_loss": best, **shares}
    (run.out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    (run.out / "README.md").write_text(model_card(module, data, metrics), encoding="utf-8")
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


def model_card(module: Seq2seqModule, data: VerbalizerData, metrics: dict[str, float]) -> str:
    """The checkpoint's README."""
    start = module.hparams["init"] or "random weights, own tokenizer"
    config = module.model.config
    rows = {
        "model": f"{config.model_type}, {sum(w.numel() for w in module.model.parameters()):,} weights",
        "started from": start,
        "training pairs": f"{len(data.pairs.train):,}, templates over a knowledge base in KQA Pro's form",
        "dev loss": f"{metrics['dev_loss']:.3f}",
        f"complete candidates ({metrics['facts']} held-out facts, {CANDIDATES} each)": (
            f"{metrics['complete_candidates']:.1%}"
        ),
        "facts with a complete candidate": f"{metrics['facts_by_the_model']:.1%}",
        "written by": f"bgr {__version__}",
    }
    lines = [
        "---",
        "library_name: transformers",
        "license: apache-2.0",
        "tags: [data-to-text, reasongraphqa]",
        "---",
        "",
        "# Verbalizer: facts to sentences",
        "",
        "The input is `HEAD (kind), relation TAIL, relation TAIL (qualifier VALUE)`, one to three facts of one head;",
        "the output is one sentence. `bgr data build --verbalizer THIS_FOLDER` verbalizes a dataset with it and drops",
        "sentences that lack a part.",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {value} |" for name, value in rows.items()),
        "",
        "Complete: every name and value occurs in the sentence, which may still say something else about them.",
    ]
    return "\n".join(lines) + "\n"
