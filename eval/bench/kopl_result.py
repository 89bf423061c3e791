"""Results of the benchmark against `kopl`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bgr.data.kb.program import FUNCTIONS, Program
from bgr.errors import BgrError


@dataclass(frozen=True)
class KoplBench:
    """The result. Times are wall-clock seconds: `*_load` for loading the knowledge base from its file, `*_seconds` as
    the sum over all programs of the fastest run, with facts over the first `with_facts` programs. `median_ratio` is the
    median over programs of kopl's time divided by ours; it is far below `ratio`, because short programs are fast in
    both.

    The timing starts after both sides have loaded the knowledge base and read the programs; our side has then checked
    them, parsed their values and removed steps that no answer needs. kopl is called function by function along the
    dependencies. Our side caches nothing between programs.

    `equal` programs have equal answers (lists without order) or fail on both sides. `tied` programs have equal answers
    only if kopl's sets are in insertion order, because it breaks ties between equal values or units by hash order.
    `functions` counts the programs that contain each function.
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
        """Ratio of kopl's time to ours over all programs."""
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
            f"except for ties that kopl breaks by hash order, {len(self.differing)} different\n"
            f"{len(self.functions)} of {len(FUNCTIONS)} functions, the rarest, {rarest}, in {self.functions[rarest]} "
            f"programs\n{table}"
        )


def count_functions(programs: Iterable[Program]) -> dict[str, int]:
    """Number of programs that contain each function, for functions that occur."""
    used = [{step.function for step in program.steps} for program in programs]
    counts = {name: sum(name in names for names in used) for name in FUNCTIONS}
    return {name: count for name, count in counts.items() if count}


def check(bench: KoplBench) -> None:
    """Check that both sides agree.

    Raises:
        BgrError: answers differ; the message shows the first difference.
    """
    if bench.differing:
        raise BgrError(f"{len(bench.differing)} answers differ from kopl's; {bench.differing[0]}")
