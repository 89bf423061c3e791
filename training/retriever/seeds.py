"""Training with several seeds: one run folder for each, and mean and spread of the dev metrics.

::

    seed-0/  seed-1/  …   run folders, each a checkpoint folder
    training/states/      states of the frozen layers, which do not depend on the seed
    seeds.json            {"seeds": [0, 1], "runs": ["seed-0", …], "dev": {rule: {metric: {mean, sd, n, values}}}}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev

from bgr.errors import BgrError
from bgr.models.config import DIRECTIONS
from training.retriever.train import Plan, train_retriever
from training.run import Run, first_process, write_record

SUMMARY = "seeds.json"
_LARGEST = 2**32 - 1
_FIRST = ("gm", "gs", "f1", "score")


@dataclass(frozen=True)
class Spread:
    """A metric over several runs.

    Args:
        mean: mean of `values`.
        sd: sample standard deviation (n − 1); ``None`` for a single run.
        n: number of runs.
        values: one value per run, in the order of the seeds.
    """

    mean: float
    sd: float | None
    n: int
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values), tuple(values))

    def __str__(self) -> str:
        return f"{self.mean:.3f}" + ("" if self.sd is None else f" ± {self.sd:.3f}")


def read_seeds(text: str) -> tuple[int, ...]:
    """``"0,1,2"`` → (0, 1, 2).

    Raises:
        BgrError: a seed is not an integer from 0 to 2³² − 1, or is repeated.
    """
    seeds = []
    for word in text.split(","):
        if not (word.strip().isascii() and word.strip().isdecimal() and int(word) <= _LARGEST):
            raise BgrError(
                f"--seeds {text}: {word.strip()!r} is not a valid seed; allowed: integers from 0 to {_LARGEST}"
            )
        seeds.append(int(word))
    repeated = [seed for i, seed in enumerate(seeds) if seed in seeds[:i]]
    if repeated:
        raise BgrError(f"--seeds {text}: {repeated[0]} is repeated")
    return tuple(seeds)


def train_seeds(run: Run, plan: Plan, seeds: Sequence[int]) -> dict[str, dict[str, Spread]]:
    """Train both directions once per seed into ``run.out/seed-N`` and write ``seeds.json``.

    With ``run.resume``, parts that are finished with the same settings are skipped.

    Returns:
        The spread of each dev metric by direction or rule; empty in processes that do not write.
    """
    rows = []
    for seed in seeds:
        one = replace(
            run,
            out=run.out / folder_name(seed),
            overrides=(*run.overrides, f"--seed_everything={seed}"),
            states=run.states_folder,
        )
        if first_process():
            one.out.mkdir(parents=True, exist_ok=True)
        rows.append(train_retriever(one, replace(plan, settings={**plan.settings, "seed": seed})))
    if not first_process():
        return {}
    summary = spreads(rows)
    dev = {rule: {name: asdict(spread) for name, spread in row.items()} for rule, row in summary.items()}
    record = {"seeds": list(seeds), "runs": [folder_name(seed) for seed in seeds], "dev": dev}
    write_record(run.out / SUMMARY, record)
    return summary


def spreads(rows: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, Spread]]:
    """The spread of each metric over the runs: directions first, then rules by name."""
    return {
        rule: {name: Spread.of([row[rule][name] for row in rows]) for name in _in_order(rows[0][rule], _FIRST)}
        for rule in _in_order(rows[0], DIRECTIONS)
    }


def _in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """The names in `first`, then the others alphabetically, because names read from a file have another order."""
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))


def folder_name(seed: int | str) -> str:
    """Name of a seed's run folder."""
    return f"seed-{seed}"


def check_kind(out: Path, *, several: bool) -> None:
    """Check that a folder to resume was started with several seeds or with one run, as now.

    Raises:
        BgrError: it was started the other way.
    """
    if several and any((out / "training" / direction).exists() for direction in DIRECTIONS):
        raise BgrError(f"{out}: was started without --seeds; give another --out, or --overwrite to start again")
    if not several and any(out.glob(folder_name("*"))):
        raise BgrError(f"{out}: was started with --seeds; give them again, or --overwrite to start again")


def table(summary: dict[str, dict[str, Spread]]) -> str:
    """One line for each direction and rule: mean ± sample standard deviation."""
    rows = [
        f"dev  {rule:12} " + "  ".join(f"{name} {spread}" for name, spread in row.items())
        for rule, row in summary.items()
    ]
    return "\n".join(rows)
