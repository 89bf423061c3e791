"""Training with several seeds: one run folder for each, and mean and spread of the dev metrics.

::

    seed-0/  seed-1/  …   run folders, each a checkpoint folder
    seeds.json            {"seeds": [0, 1], "runs": ["seed-0", …], "dev": {rule: {metric: {mean, sd, n, values}}}}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from bgr.errors import BgrError
from bgr.models.config import DIRECTIONS
from bgr.utils.atomic_io import read_json
from training.retriever.train import Plan, train_retriever
from training.run import Run, first_process, write_record

SUMMARY = "seeds.json"
_LARGEST = 2**32 - 1
_FIRST = ("gm", "gs", "f1", "score")


def read_seeds(text: str) -> tuple[int, ...]:
    """``"0,1,2"`` → (0, 1, 2).

    Raises:
        BgrError: a seed is not an integer from 0 to 2³² − 1, or is repeated.
    """
    seeds = []
    for word in map(str.strip, text.split(",")):
        if not (word.isascii() and word.isdecimal() and int(word) <= _LARGEST):
            raise BgrError(f"--seeds {text}: {word!r} is not a valid seed; allowed: integers from 0 to {_LARGEST}")
        if int(word) in seeds:
            raise BgrError(f"--seeds {text}: {int(word)} is repeated")
        seeds.append(int(word))
    return tuple(seeds)


def train_seeds(run: Run, plan: Plan, seeds: Sequence[int]) -> dict[str, Any]:
    """Train both directions once per seed into ``run.out/seed-N`` and write ``seeds.json``.

    With ``run.resume``, parts that are finished with the same settings are skipped.

    Returns:
        The content of ``seeds.json``; empty in processes that do not write.
    """
    rows = []
    for seed in seeds:
        out, overrides = run.out / folder_name(seed), (*run.overrides, f"--seed_everything={seed}")
        if first_process():
            out.mkdir(parents=True, exist_ok=True)
        one = replace(run, out=out, overrides=overrides, states=run.states_folder)
        rows.append(train_retriever(one, replace(plan, settings={**plan.settings, "seed": seed})))
    if not first_process():
        return {}
    record = {"seeds": list(seeds), "runs": [folder_name(seed) for seed in seeds], "dev": spreads(rows)}
    write_record(run.out / SUMMARY, record)
    return dict(read_json(run.out / SUMMARY))


def spreads(rows: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, dict[str, Any]]]:
    """The spread of each metric over the runs: mean, sample standard deviation (n − 1; ``None`` for a single run),
    number of runs, and the values in the order of the seeds."""

    def spread(values: list[float]) -> dict[str, Any]:
        sd = stdev(values) if len(values) > 1 else None
        return {"mean": fmean(values), "sd": sd, "n": len(values), "values": values}

    return {rule: {name: spread([row[rule][name] for row in rows]) for name in rows[0][rule]} for rule in rows[0]}


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


def table(dev: dict[str, dict[str, dict[str, Any]]]) -> str:
    """One line for each direction and rule of `spreads`: mean ± sample standard deviation."""
    lines = []
    for rule in _in_order(dev, DIRECTIONS):
        cells = []
        for name in _in_order(dev[rule], _FIRST):
            mean, sd = dev[rule][name]["mean"], dev[rule][name]["sd"]
            cells.append(f"{name} {mean:.3f}" + ("" if sd is None else f" ± {sd:.3f}"))
        lines.append(f"dev  {rule:12} " + "  ".join(cells))
    return "\n".join(lines)


def _in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """The names in `first`, then the others alphabetically."""
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))
