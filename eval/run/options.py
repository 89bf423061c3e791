"""Options of `bgr evaluate`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from bgr.utils.options import Amount, Folder, Fraction, MachineOptions, Metavar, Positive, option


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(MachineOptions):
    """Options of `bgr evaluate`.

    Args:
        checkpoint: checkpoint folder; without it only baselines are scored.
        data: dataset folder of `bgr data build`.
        split: split to score (default: test; with --sweep dev).
        sweep: score every rule at γ = 0, 0.05, …, 1.
        rule: reconstruction rules (default: all of them).
        gamma: γ of all rules (default: for each rule the checkpoint's).
        baselines: bm25, random, or folders of `bgr train baseline`; may be empty (default: bm25; none with --sweep).
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
    limit: Positive | None = None
    batch_size: Positive = 16
    seed: int = 0
    ged_seconds: Amount = 1.0
    released_ged: bool = False
    errors: bool = False
    out: Folder | None = None
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        if self.sweep:
            if self.checkpoint is None:
                yield "--sweep needs --checkpoint"
            for name, given in (
                ("--gamma", self.gamma is not None),
                ("--baselines", bool(self.baselines)),
                ("--released-ged", self.released_ged),
                ("--errors", self.errors),
            ):
                if given:
                    yield f"--sweep scores every γ of the reconstruction rules: leave out {name}"
        elif self.checkpoint is None and self.baselines == ():
            yield "nothing to evaluate: give --checkpoint, --baselines, or both"
        if self.checkpoint is None and self.out is None and not self.sweep:
            yield "without --checkpoint, --out must name the folder of the report"
