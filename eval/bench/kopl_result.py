"""What the bench against `kopl` measured, and how it is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bgr.data.kb.program import FUNCTIONS, Program
from bgr.errors import BgrError


@dataclass(frozen=True)
class KoplBench:
    """The outcome. Times are wall seconds: `*_load` from the file to a usable base, `*_seconds` the sum over all
    programs of the quickest of several runs; with facts over the first `with_facts` programs. `median_ratio` is the
    median over the programs of kopl's time by ours: short programs are quick in both, so it is far below `ratio`.

    Before the clock starts both sides have their base loaded and the programs read; ours has checked them then, parsed
    their values and left out what no answer needs. kopl is called function by function along the stated dependencies.
    Ours keeps nothing from one program to the next.

    `equal` programs gave one answer (lists compared without order), or failed in both; `tied` gave the same only once
    kopl's sets were put in order of insertion: it breaks ties between equal values or units by hash order. `functions`
    counts the programs that hold each function.
    """

    entities: int
    programs: int
    equal: int
    tied: int
    differing: tuple[str, ...]
    kopl_load: float
    ours_load: float
    kopl_seconds: float
    ours_seconds: float
    median_ratio: float
    with_facts: int
    provenance_seconds: float
    functions: Mapping[str, int]

    @property
    def ratio(self) -> float:
        """How many times as long kopl takes over all programs."""
        return self.kopl_seconds / self.ours_seconds

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}

    def __str__(self) -> str:
        rows = [
            ("", "kopl", "ours", "ratio"),
            ("load, s", f"{self.kopl_load:.2f}", f"{self.ours_load:.2f}", f"{self.kopl_load / self.ours_load:.1f}"),
            ("answer, s", f"{self.kopl_seconds:.3f}", f"{self.ours_seconds:.3f}", f"{self.ratio:.1f}"),
            ("each, us", *(f"{s / self.programs * 1e6:.1f}" for s in (self.kopl_seconds, self.ours_seconds)), ""),
            ("median", "", "", f"{self.median_ratio:.1f}"),
            ("with facts, us", "-", f"{self.provenance_seconds / self.with_facts * 1e6:.1f}", "-"),
        ]
        table = "\n".join(f"{name:<16}{kopl:>10}{ours:>10}{ratio:>9}" for name, kopl, ours, ratio in rows)
        rarest = min(self.functions, key=lambda name: self.functions[name])
        return (
            f"{self.programs} programs over {self.entities} entities: {self.equal} answers equal, {self.tied} equal "
            f"but for a tie that kopl breaks by hash order, {len(self.differing)} different\n"
            f"{len(self.functions)} of {len(FUNCTIONS)} functions, the rarest, {rarest}, in {self.functions[rarest]} "
            f"programs\n{table}"
        )


def count_functions(programs: Iterable[Program]) -> dict[str, int]:
    """How many programs hold each function, for the functions that any holds."""
    used = [{step.function for step in program.steps} for program in programs]
    counts = {name: sum(name in names for names in used) for name in FUNCTIONS}
    return {name: count for name, count in counts.items() if count}


def check(bench: KoplBench) -> None:
    """Refuse a run in which the two disagree.

    Raises:
        BgrError: answers differ; the message shows the first.
    """
    if bench.differing:
        raise BgrError(f"{len(bench.differing)} answers differ from kopl's; {bench.differing[0]}")
