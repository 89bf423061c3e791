"""Training of a baseline, and the choice of its selection on dev.

The selection is the number of facts of a single-hop baseline or the margin of a multi-hop one. BM25 and the random
baseline have no weights, so this choice is all their training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jsonargparse import ArgumentParser
from jsonargparse.typing import NonNegativeInt

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_metadata, load_split, recipe_of
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.baseline_config import SETTINGS, SINGLE_HOP, BaselineSettings
from bgr.retrievers.baselines.beam import AllPaths, Keep, NearBest, Search, TopFacts
from bgr.retrievers.baselines.model import BaselineModel
from bgr.retrievers.baselines.trained import result_of, untrained
from bgr.utils.atomic_io import complete_folder, output_folder
from bgr.utils.checksums import SUMS, remove_sums
from bgr.utils.devices import autocast
from bgr.utils.progress import progress_bar
from training.baseline.module import BaselineModule
from training.callbacks import Reporter, to_stderr
from training.data_module import BgrDataModule
from training.lightning_cli import fit_retriever, one_line_errors, result_settings, retriever_cli
from training.retriever.calibrate import dev_metrics
from training.run import Run, first_process, is_finished, mark_finished, read_config_file

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
MAX_K = 12
"""Largest k to try."""


@dataclass(frozen=True)
class Untrained:
    """Settings of ``bm25`` or ``random``, which have no weights: the kind, the seed of ``random``, and the number of
    dev questions, 0 for all."""

    kind: str
    seed_everything: NonNegativeInt = 0
    dev_limit: NonNegativeInt = 0

    def __post_init__(self) -> None:
        if self.kind not in ("bm25", "random"):
            raise ValueError(
                f"kind is {self.kind!r}, allowed: bm25, random; trained baselines have it in the section `model`"
            )


def read_untrained(run: Run) -> Untrained | None:
    """The settings of a baseline without weights, or ``None`` for the config of a trained one, which has no ``kind`` at
    the top level.

    Raises:
        BgrError: the config cannot be read, a key is unknown or a value is not allowed.
    """
    if "kind" not in read_config_file(run):
        return None
    with one_line_errors(run.config):
        parser = ArgumentParser(exit_on_error=False)
        parser.add_argument("--config", action="config")
        parser.add_class_arguments(Untrained)
        found = parser.parse_args([f"--config={run.config}", *run.overrides])
        return Untrained(found.kind, found.seed_everything, found.dev_limit)


@dataclass(frozen=True)
class Plan:
    """Result of `check`: the kind of the baseline and the settings that affect the result of a trained one, or those of
    an untrained one."""

    kind: str
    settings: dict[str, Any]
    untrained: Untrained | None = None


def check(run: Run) -> Plan:
    """Read config and data before anything is written.

    Raises:
        BgrError: a key is unknown, a value is not allowed, or the data cannot be read.
    """
    about = read_untrained(run)
    if about is not None:
        load_metadata(run.data)
        return Plan(about.kind, {}, about)
    cli = retriever_cli(run, BaselineModule, "baseline")
    cli.datamodule.setup()
    return Plan(cli.model.hparams["kind"], result_settings(cli))


def train_baseline(run: Run, plan: Plan) -> dict[str, Any]:
    """Train, load the best epoch by dev score, choose the selection on dev, and write ``run.out``.

    Returns:
        The dev metrics; empty in processes that do not write.
    """
    if plan.untrained is not None:
        if not first_process():
            return {}
        found = _choose_untrained(run, plan.untrained)
        complete_folder(run.out)
        return found
    if not (run.resume and is_finished(run, plan.kind, plan.settings)):
        if first_process():
            (run.out / SETTINGS).unlink(missing_ok=True)  # it describes the previous weights
            remove_sums(run.out)
        _fit(run, plan)
    if not first_process():
        return {}
    if not (run.out / SUMS).exists():
        complete_folder(run.out)
    return dict(BaselineSettings.load(run.out).metrics["dev"])


def _choose_untrained(run: Run, about: Untrained) -> dict[str, Any]:
    examples = load_split(run.data, "dev")[: about.dev_limit or None]
    queries = _queries(examples)

    def graphs(keep: Keep) -> list[EvidenceGraph]:
        retriever = untrained(about.kind, keep.k if isinstance(keep, TopFacts) else None, about.seed_everything)
        return [result.graph for result in retriever.retrieve(queries)]

    settings = choose(run, about.kind, examples, graphs, seed=about.seed_everything)
    settings.save(run.out)
    return dict(settings.metrics["dev"])


def _fit(run: Run, plan: Plan) -> None:
    report = Reporter(plan.kind, to_stderr)
    cli = fit_retriever(run, lambda run: retriever_cli(run, BaselineModule, plan.kind, report), plan.kind, to_stderr)
    if cli is None:
        return
    model: BaselineModel = cli.model.model
    examples, found = cli.datamodule.splits["dev"], _search_dev(model, cli.datamodule)
    pairs = list(zip(found, _queries(examples), strict=True))
    settings = choose(
        run, plan.kind, examples, lambda keep: [result_of(search, query, keep).graph for search, query in pairs]
    )
    with output_folder(run.out / plan.kind, overwrite=True, sums=False) as folder:
        model.save_pretrained(folder)
    settings = replace(settings, truncation=cli.datamodule.truncation)
    settings.save(run.out)  # the last file marks the folder as complete
    mark_finished(run, plan.kind, result_settings(cli))


def choose(
    run: Run, kind: str, examples: Sequence[Example], graphs: Callable[[Keep], list[EvidenceGraph]], *, seed: int = 0
) -> BaselineSettings:
    """Try every selection of a baseline on dev, for which `graphs` gives the retrieved graphs; choose the best by dev
    score (the first of ties).

    Returns:
        The settings with the dev metrics; for a single-hop baseline also with those of k = number of gold facts.

    Raises:
        DataError: there are no examples.
    """
    if not examples:
        raise DataError(f"{run.data}: the split 'dev' is empty; k and margin are chosen on it")
    single_hop: list[Keep] = [TopFacts(k) for k in range(1, MAX_K + 1)]
    multi_hop: list[Keep] = [NearBest(margin) for margin in MARGINS]
    keeps = single_hop if kind in SINGLE_HOP else [AllPaths()] if kind == "ssg" else multi_hop
    rows = []
    with progress_bar(len(keeps), f"{kind}, selection on dev", "choice") as bar:
        for keep in keeps:
            rows.append(dev_metrics(graphs(keep), examples))
            bar.update()
    best = max(range(len(rows)), key=lambda number: (rows[number]["score"], -number))
    keep, metrics = keeps[best], rows[best]
    if isinstance(keep, TopFacts):
        metrics |= {f"{name}_gold_k": value for name, value in dev_metrics(graphs(TopFacts()), examples).items()}
    return BaselineSettings(
        kind,
        k=keep.k if isinstance(keep, TopFacts) else None,
        margin=keep.margin if isinstance(keep, NearBest) else None,
        seed=seed,
        data_hash=dataset_hash(run.data),
        recipe=recipe_of(run.data),
        metrics={"dev": metrics},
    )


def _queries(examples: Sequence[Example]) -> list[Query]:
    return [Query(e.question, e.facts, len(e.graph.nodes)) for e in examples]


@torch.inference_mode()
def _search_dev(model: BaselineModel, data: BgrDataModule) -> list[Search]:
    found: list[Search] = []
    with progress_bar(len(data.splits["dev"]), "search on dev", "question") as bar:
        for item in (one.to(model.device) for one in data.val_dataloader()):
            with autocast(model.device):  # as in the retriever
                found += model.search(item.batch)
            bar.update(len(item.examples))
    return found
