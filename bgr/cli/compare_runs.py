"""The items of `bgr compare --systems`: name, place and part told apart, and what is not evaluated yet run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bgr.data.example import Example
from bgr.errors import BgrError
from bgr.utils.json_utils import shown

if TYPE_CHECKING:
    from bgr.pipeline import BgrPipeline, DirectedGraphs
    from bgr.retrievers.base import Retriever
    from eval.run.evaluate import Predictions

BASELINES = ("bm25", "random")


@dataclass(frozen=True)
class Asked:
    """One item of ``--systems``: ``[NAME=]PLACE[:PART]``."""

    name: str | None
    place: str
    part: str | None

    @property
    def path(self) -> Path:
        return Path(self.place)

    @property
    def is_evaluation(self) -> bool:
        """Whether the place holds predictions; a file is taken for nothing else."""
        return self.path.is_file() or (self.path / "predictions.jsonl").is_file()


def parse_system(text: str) -> Asked:
    """Tell name, place and part apart. A place that exists as it stands has no part, whatever colons it has.

    Raises:
        BgrError: the place is empty, or is nothing that exists.
    """
    name, equals, rest = text.partition("=")
    if not equals or "/" in name or Path(text).exists():
        name, rest = "", text
    place, colon, part = rest.rpartition(":")
    if not colon or Path(rest).exists():
        place, part = rest, ""
    if not place or (equals and rest is not text and not name.strip()):
        raise BgrError(f"--systems {shown(text)}: allowed: [NAME=]PLACE[:PART]")
    if place not in BASELINES and not Path(place).exists():
        raise BgrError(
            f"--systems {shown(text)}: {place} does not exist; a place is a folder of bgr evaluate, a checkpoint, "
            f"a trained baseline, {' or '.join(BASELINES)}"
        )
    return Asked(name or None, place, part or None)


def baselines_of(asked: Asked, args: argparse.Namespace) -> dict[str, Retriever]:
    """The rows of a baseline by their names: one, but for a single-hop one whose k is not named.

    Raises:
        BgrError: the folder is damaged, or has no such part.
    """
    from bgr.retrievers.baselines.trained import baseline_rows, load_baseline, untrained

    if asked.place in BASELINES:
        if asked.part is not None:
            raise BgrError(f"--systems: {asked.place} has no part {shown(asked.part)}")
        return {asked.name or asked.place: untrained(asked.place, None, args.seed)}
    if asked.name is None and asked.part is None:
        return baseline_rows(asked.path, device=args.device, precision=args.precision)
    if asked.part not in (None, "gold", "dev"):
        raise BgrError(f"--systems: {asked.place}: part {shown(asked.part)}, allowed: gold, dev (how k is chosen)")
    k: Literal["gold", "dev"] = "dev" if asked.part == "dev" else "gold"
    name = asked.name or f"{asked.path.name}, k of {k}"
    return {name: load_baseline(asked.path, device=args.device, precision=args.precision, k=k)}


class Runs:
    """Runs what is not evaluated yet, on one list of questions; a checkpoint named several times is run once."""

    def __init__(self, args: argparse.Namespace, examples: Sequence[Example]) -> None:
        self.args = args
        self.examples = examples
        self.done: dict[str, tuple[BgrPipeline, list[DirectedGraphs], float]] = {}

    def run(self, asked: Asked) -> dict[str, Predictions]:
        """What one item of ``--systems`` retrieves, by the name of the system.

        Raises:
            BgrError: a folder is damaged, or has no such part.
        """
        from bgr.retrievers.baselines.baseline_config import SETTINGS

        if asked.place not in BASELINES and not (asked.path / SETTINGS).is_file():
            return self._checkpoint(asked)
        from eval.run.evaluate import run

        return {name: run(retriever, self.examples, name) for name, retriever in baselines_of(asked, self.args).items()}

    def _checkpoint(self, asked: Asked) -> dict[str, Predictions]:
        """One rule of a checkpoint, its own unless another is named."""
        from bgr.retrievers.graph_hop.reconstruction import check_rule
        from eval.run.evaluate import by_rule

        if asked.part is not None:
            check_rule(asked.part)
        if asked.place not in self.done:
            self.done[asked.place] = self._directions(asked.path)
        pipeline, found, seconds = self.done[asked.place]
        rule = asked.part or pipeline.settings.rule
        predictions = by_rule(pipeline, found, rule, pipeline.settings.gamma(rule), seconds)
        return {asked.name or (rule if asked.part else asked.path.name): predictions}

    def _directions(self, folder: Path) -> tuple[BgrPipeline, list[DirectedGraphs], float]:
        from bgr.pipeline import BgrPipeline
        from eval.run.evaluate import timed_directions

        pipeline = BgrPipeline.from_pretrained(folder, device=self.args.device, precision=self.args.precision)
        return pipeline, *timed_directions(pipeline, self.examples, self.args.batch_size)
