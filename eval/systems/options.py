"""Options of `bgr evaluate` and `bgr compare`, and of all that compares systems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from bgr.collection.options import EncoderOptions
from bgr.errors import BgrError
from bgr.llm.options import ServerOptions
from bgr.utils.options import (
    Amount,
    File,
    Folder,
    Fraction,
    MachineOptions,
    Metavar,
    Natural,
    OutFolder,
    Positive,
    option,
)

SystemText = Annotated[str, Metavar("SYSTEM")]
ModelText = Annotated[str, Metavar("SPEC")]
Place = Annotated[Path, Metavar("PLACE")]


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(ServerOptions, MachineOptions):
    """Options of `bgr evaluate`.

    Args:
        checkpoint: checkpoint folder; without it only baselines are scored.
        data: dataset folder of `bgr data build`.
        split: split to score (default: test; with --sweep dev).
        sweep: score every rule at γ = 0, 0.05, …, 1.
        rule: reconstruction rules (default: all of them).
        gamma: γ of all rules (default: for each rule the checkpoint's).
        baselines: bm25, random, or folders of `bgr train baseline`; may be empty (default: bm25; none with --sweep).
        reader: reader of the answers in place of the checkpoint's: a folder of `bgr train reader`, or a language model
            (smollm2, a .gguf file, a folder, or http://host/v1#model).
        limit: only use the first N questions.
        batch_size: number of questions in a batch.
        seed: seed of the random baseline.
        ged_seconds: time limit of one edit distance.
        released_ged: also compute the edit distance of the authors' code.
        errors: also sort failures into kinds, in errors.json and errors.md.
        out: folder of the report (default: CHECKPOINT-evaluation-SPLIT or CHECKPOINT-sweep-SPLIT).
        overwrite: replace the folder if it exists.
    """

    checkpoint: Folder | None = None
    data: Folder
    split: Literal["train", "dev", "test"] | None = None
    sweep: bool = False
    rule: tuple[Annotated[str, Metavar("NAME")], ...] | None = None
    gamma: Fraction | None = None
    baselines: tuple[Annotated[str, Metavar("NAME|DIR")], ...] | None = option(None, nargs="*")
    reader: Annotated[str, Metavar("DIR|MODEL")] | None = None
    limit: Positive | None = None
    batch_size: Positive = 16
    seed: int = 0
    ged_seconds: Amount = 1.0
    released_ged: bool = False
    errors: bool = False
    out: OutFolder | None = None
    overwrite: bool = False

    @property
    def output(self) -> Path:
        """Folder of the report."""
        if self.out is not None:
            return self.out
        if self.checkpoint is None:
            raise BgrError("without --checkpoint, --out must name the folder of the report")
        checkpoint = self.checkpoint.resolve()
        kind = f"sweep-{self.split or 'dev'}" if self.sweep else f"evaluation-{self.split or 'test'}"
        return checkpoint.parent / f"{checkpoint.name}-{kind}"

    def outputs(self) -> Iterator[Path]:
        yield self.output

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.sweep:
            if self.checkpoint is None:
                yield "--sweep needs --checkpoint"
            for name, given in (
                ("--gamma", self.gamma is not None),
                ("--baselines", bool(self.baselines)),
                ("--released-ged", self.released_ged),
                ("--errors", self.errors),
                ("--reader", self.reader is not None),
            ):
                if given:
                    yield f"--sweep scores every γ of the reconstruction rules: leave out {name}"
        elif self.checkpoint is None and self.baselines == ():
            yield "nothing to evaluate: give --checkpoint, --baselines, or both"
        if self.reader is not None and self.checkpoint is None:
            yield "--reader needs --checkpoint"
        if self.checkpoint is None and self.out is None and not self.sweep:
            yield "without --checkpoint, --out must name the folder of the report"


@dataclass(frozen=True, kw_only=True)
class ResourceOptions(ServerOptions, EncoderOptions, MachineOptions):
    """Questions, and the resources that systems on passages share.

    Args:
        data: dataset of `bgr data build`, or a published file of multi-hop questions.
        out: folder of the report.
        overwrite: replace the output folder if it exists.
        limit: only the first N questions (default: all).
        batch_size: questions of a batch, for what runs in this process.
        form: form of a published file: musique, hotpotqa, 2wikimultihopqa, ircot or multihop-rag (default: told
            from its content).
        corpus: file of the passages to search (default: the passages of the data).
        collection: folder of `bgr collection build` with these passages, whose vectors and triples are used; without it
            they are made in the output folder.
        openie: triples of the passages, in the form of HippoRAG's files.
        settings: settings of the methods: a YAML file or a shipped one (gear_musique, gear_hotpotqa, prism,
            bridgerag_musique, bridgerag_hotpotqa, …), and single ones such as gear.beam.width=5; later ones take
            precedence.
        llm: language model: smollm2, a .gguf file, a folder, or http://host/v1#model.
        reader: reader of the answers: a language model, or a folder of `bgr train reader`.
        replay: file in which the language model's replies are kept.
        replay_only: refuse calls that the replay file cannot answer.
        price: price of a million tokens that the model reads and writes, for the cost.
        max_calls: stop before this run calls a model more often.
        max_tokens: stop when this run has used that many tokens of a model.
        max_cost: stop when this run has spent that much; needs a price.
    """

    data: Place
    out: OutFolder
    overwrite: bool = False
    limit: Positive | None = None
    batch_size: Positive = 16
    form: Annotated[str, Metavar("NAME")] | None = None
    corpus: File | None = None
    collection: Folder | None = None
    openie: File | None = None
    settings: tuple[Annotated[str, Metavar("FILE|METHOD.KEY=VALUE")], ...] = option((), nargs="*")
    llm: ModelText | None = None
    reader: ModelText | None = None
    replay: File | None = None
    replay_only: bool = False
    price: tuple[Amount, Amount] | None = option(None, metavar=("IN", "OUT"))
    max_calls: Positive | None = None
    max_tokens: Positive | None = None
    max_cost: Amount | None = None

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.replay_only and self.replay is None:
            yield "--replay-only needs --replay FILE"
        if self.collection is not None and self.openie is not None:
            yield "--openie and --collection exclude each other: a collection has its own triples"


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ResourceOptions):
    """Options of `bgr compare`.

    Args:
        systems: systems to compare.
        split: split of a dataset.
        main: reference system of graph comparisons (default: that of the last folder).
        sweep: folder of `bgr evaluate --sweep`, for Figure 5.
        scope: search the whole corpus, or for each question the passages that come with it (default: corpus for a file,
            question for a dataset).
        samples: samples of the bootstrap.
        seed: seed of the bootstrap and of the random baseline.
        ged_seconds: time limit of one edit distance.
    """

    systems: tuple[SystemText, ...]
    split: Literal["train", "dev", "test"] = "test"
    main: Annotated[str, Metavar("NAME")] | None = None
    sweep: Folder | None = None
    scope: Literal["corpus", "question"] | None = None
    samples: Positive = 10_000
    seed: Natural = 0
    ged_seconds: Amount = 1.0


_OF_GRAPHS_TOO = {"data", "out", "overwrite", "limit", "batch_size", "reader", "device", "precision"} | {
    one.name for one in fields(ServerOptions)
}
PASSAGES_ONLY = ("scope", *(one.name for one in fields(ResourceOptions) if one.name not in _OF_GRAPHS_TOO))
"""Options of `bgr compare` that are only for systems on passages."""
