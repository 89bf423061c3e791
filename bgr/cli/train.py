"""`bgr train`: a retriever, its pruners, a reader, a baseline or a verbalizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgr.cli.parser import Command, Group, Output

if TYPE_CHECKING:
    from pathlib import Path

    from training.options import (
        BaselineOptions,
        PrunerOptions,
        RankerOptions,
        ReaderOptions,
        RetrieverOptions,
        VerbalizerOptions,
    )

SETTINGS = """Settings come from the config; each of them can be overridden here, for example with
    --trainer.max_epochs=3 --model.learning_rate=1e-4 --data.batch_size=8. They are checked when the training starts,
    before anything is written."""


def command() -> Group:
    from training import options

    commands = {
        "retriever": Command(
            summary="train both directions of BGR's retriever, and calibrate the pair on dev",
            description=f"""{SETTINGS}

                Two more sections: --checkpoint.minutes=5 and --checkpoint.steps=0 set how often a checkpoint is written
                inside an epoch, --early_stop.patience=0 after how many epochs without a better dev score training ends
                (0: never).

                The run folder is a checkpoint folder: `bgr evaluate`, `bgr export` and `bgr ask` accept it.""",
            options=options.RetrieverOptions,
            run=_retriever,
            example="bgr train retriever --config demo --data work/data --out work/run --trainer.max_epochs=3",
            passes_settings=True,
        ),
        "pruner": Command(
            summary="train the pruners of a checkpoint on what its own search finds in a collection",
            description="""Pruners decide which candidates the graph model reads, and which of them lead a search on.
                The pools of the search are kept, so that an interrupted run finds them again. The new checkpoint is
                the old one with other pruners; both directions get the same.""",
            options=options.PrunerOptions,
            run=_pruner,
            example="""bgr train pruner --checkpoint work/run --data work/data --collection work/facts --out work/new
                bgr train pruner --checkpoint work/run --data work/data --collection work/whole-collection \\
                    --database work/whole --out work/new""",
        ),
        "ranker": Command(
            summary="train a ranker, which orders what a checkpoint's search finds in a collection",
            description="""A ranker decides which candidates of a collection the graph model reads, and which of them
                lead the search on, by how they hang together. The pools of the search are kept, so that an interrupted
                run finds them again. The new checkpoint is the old one with the ranker.""",
            options=options.RankerOptions,
            run=_ranker,
            example="""bgr train ranker --checkpoint work/run --data work/data --collection work/facts --out work/new
                bgr train ranker --checkpoint work/run --data work/data --collection work/whole-collection \\
                    --database work/whole --out work/new""",
        ),
        "reader": Command(
            summary="train a reader, which answers a question from its evidence graph",
            description=f"""{SETTINGS}

                The default reader points at the evidence (config reader); a T5 writes the answer (reader_t5). For a T5,
                --data.retrieved=predictions.jsonl adds graphs of `bgr evaluate --split train` to the gold ones. `bgr
                export --reader` accepts the folder that is written.""",
            options=options.ReaderOptions,
            run=_seq2seq,
            example="""bgr train reader --config reader --data work/data --out work/reader --retriever work/run
                bgr train reader --config reader_t5 --data work/data --out work/reader --init path/to/t5""",
            passes_settings=True,
        ),
        "baseline": Command(
            summary="train a baseline (DPR, GRR, MDR, SSG) and choose on dev how many facts it selects",
            description=f"""{SETTINGS}

                bm25 and random have nothing to learn: only the number of facts is chosen. `bgr evaluate --baselines`
                accepts the folder that is written.""",
            options=options.BaselineOptions,
            run=_baseline,
            example="""bgr train baseline --config dpr --data work/data --out work/dpr
                bgr train baseline --config bm25 --data work/data --out work/bm25""",
            passes_settings=True,
        ),
        "verbalizer": Command(
            summary="train a small T5 that verbalizes facts, on the sentences of the templates",
            description=f"""{SETTINGS}

                The folder that is written is a checkpoint of transformers, which `bgr data build --verbalizer`
                accepts.""",
            options=options.VerbalizerOptions,
            run=_seq2seq,
            example="""bgr train verbalizer --config verbalizer --kqapro work/atlas --out work/verbalizer
                bgr train verbalizer --config verbalizer --kqapro work/atlas --out work/verbalizer --init path/to/t5""",
            passes_settings=True,
        ),
    }
    return Group(
        summary="train a retriever, its pruners or ranker, a reader, a baseline or a verbalizer", commands=commands
    )


def _retriever(options: RetrieverOptions) -> Output:
    from training.retriever.seeds import SUMMARY, table
    from training.start import start_retriever

    found = start_retriever(options)
    if found is None:
        return Output()
    if options.seeds is not None:
        runs = found.metrics["runs"]
        note = f"mean ± sample standard deviation, n = {len(runs)}; checkpoints in {found.out}: {', '.join(runs)}"
        return Output(f"{table(found.metrics['dev'])}\n{note}; {SUMMARY}", found.metrics)
    lines = [
        f"dev  {name:12} " + "  ".join(f"{key} {value:.3f}" for key, value in row.items())
        for name, row in found.metrics.items()
    ]
    return Output("\n".join([*lines, f"checkpoint in {found.out}"]), found.metrics)


def _pruner(options: PrunerOptions) -> Output:
    from training.search.pruner import train_pruner

    return _recalls(train_pruner(options), options.out)


def _ranker(options: RankerOptions) -> Output:
    from training.search.ranker import train_ranker

    return _recalls(train_ranker(options), options.out)


def _recalls(found: dict[str, dict[str, float]], out: Path) -> Output:
    lines = [
        f"dev  {name:8}" + "  ".join(f"{key.replace('_', ' ')} {value:.3f}" for key, value in row.items())
        for name, row in found.items()
    ]
    return Output("\n".join([*lines, f"checkpoint in {out}"]), found)


def _baseline(options: BaselineOptions) -> Output:
    from training.start import start_baseline

    found = start_baseline(options)
    if found is None:
        return Output()
    metrics = "  ".join(f"{name} {value:.3f}" for name, value in found.metrics.items())
    return Output(f"dev  {found.kind:12} {metrics}\nbaseline in {found.out}", found.metrics)


def _seq2seq(options: ReaderOptions | VerbalizerOptions) -> Output:
    from training import start
    from training.options import ReaderOptions

    found = start.start_reader(options) if isinstance(options, ReaderOptions) else start.start_verbalizer(options)
    metrics = "  ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in found.metrics.items())
    return Output(f"dev  {metrics}\ncheckpoint in {found.out}", found.metrics)
