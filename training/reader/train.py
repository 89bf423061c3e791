"""Training of an extractive reader, and the calibration of its confidence on dev."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from transformers import AutoTokenizer

from bgr.data.reasongraphqa.io.dataset import dataset_hash, recipe_of
from bgr.metrics.answers import answer_match
from bgr.metrics.calibration import expected_calibration_error
from bgr.reader.extractive import ExtractiveReader, ExtractiveSettings, Joint, logit
from bgr.utils.checksums import remove_sums
from bgr.utils.devices import autocast
from bgr.utils.progress import progress_bar
from training.callbacks import Reporter, to_stderr
from training.lightning_cli import RetrieverCLI, fit_retriever, retriever_cli, training_device
from training.reader.data import ReaderBatch, ReaderDataModule
from training.reader.module import ReaderModule
from training.reader.retrieved import Retrieved, retrieve
from training.run import Run, first_process, read_config_file

NAME = "reader"
GRAPHS = "graphs.jsonl"
"""What the retriever found, in the run folder."""

MAX_LOG_ODDS = 100.0

MAX_KNOWN = 5_000
"""Maximum number of training questions from which the distance of others is measured."""


def is_extractive(run: Run) -> bool:
    """Whether the config is that of an extractive reader, whose model has an encoder.

    Raises:
        BgrError: the config cannot be read.
    """
    model = read_config_file(run).get("model")
    return isinstance(model, dict) and "encoder" in model


def read_config(run: Run, *callbacks: Any) -> RetrieverCLI:
    """Module and data from the config, the model with the lists of the data."""
    cli = retriever_cli(run, ReaderModule, NAME, *callbacks, data=ReaderDataModule)
    cli.datamodule.setup()
    cli.model.start(*cli.datamodule.lists())
    return cli


def train_extractive_reader(run: Run, retriever: Path | None = None) -> dict[str, float]:
    """Train, keep the epoch with the most right answers on dev, calibrate the confidence on dev, and save the reader to
    ``run.out``. With a `retriever`, a checkpoint, it is also trained on graphs that this finds, and calibrated with
    them.

    Returns:
        ``dev_exact``: share of right answers on dev from the gold graphs; ``calibration_error`` of their confidence;
        with a retriever ``retrieved_exact`` and ``retrieved_calibration_error`` for its graphs; ``left_out``: number of
        training questions whose answer cannot be found in their evidence. Empty in processes that do not write.

    Raises:
        BgrError: the retriever cannot be loaded.
    """
    report = Reporter(NAME, to_stderr)
    graphs: dict[str, Retrieved] = {}

    def parse(run: Run) -> RetrieverCLI:
        cli = read_config(run, report)
        if cli.model.fresh:
            print(f"these weights start anew: {', '.join(cli.model.fresh)}", file=sys.stderr)
        if retriever is not None:
            data: ReaderDataModule = cli.datamodule
            asked = [*data.first_asked(data.retrieved_limit), *data.splits["dev"]]
            graphs.update(retrieve(retriever, asked, run.home(NAME) / GRAPHS, device=training_device(cli)))
            data.retrieved = graphs
        return cli

    if first_process():
        remove_sums(run.out)
    cli = fit_retriever(run, parse, NAME, to_stderr)
    if cli is None or not first_process():
        return {}
    data: ReaderDataModule = cli.datamodule
    cli.model.model.learn_distance(_question_vectors(cli.model, data))
    rows = _answers(cli.model, data)
    slope, offset = _calibration(rows)
    settings = ExtractiveSettings(slope, offset, data_hash=dataset_hash(run.data), recipe=recipe_of(run.data))
    right = [one.right for one in rows]
    sure = [settings.calibrated(one.confidence) for one in rows]
    metrics = {"dev_exact": _mean(right), "calibration_error": _error(sure, right), "left_out": float(data.left_out)}
    if graphs:
        found = _answers(cli.model, data, graphs)
        told = [one for one in found if one.completeness is not None and one.answered]
        settings = replace(settings, joint=_joint(told))
        sure = [settings.calibrated(one.confidence, one.completeness, one.distance) for one in told]
        metrics["retrieved_exact"] = _mean([one.right for one in found if one.answerable])
        metrics["retrieved_calibration_error"] = _error(sure, [one.right for one in told])
    settings = replace(settings, metrics={"dev": metrics})
    tokenizer = AutoTokenizer.from_pretrained(run.out, local_files_only=True)
    ExtractiveReader(cli.model.model, tokenizer, settings, device="cpu").save(run.out)
    return metrics


@dataclass(frozen=True)
class _Answered:
    """The uncalibrated confidence of an answer on dev, whether it is right, and what is known of its question."""

    confidence: float
    right: bool
    answered: bool
    answerable: bool
    completeness: float | None = None
    distance: float = 0.0


@torch.inference_mode()
def _question_vectors(module: ReaderModule, data: ReaderDataModule) -> torch.Tensor:
    """The vectors of the first training questions of the dataset that the reader is for."""
    examples = data.own("train") or data.splits["train"]
    questions = list(dict.fromkeys(example.question for example in examples))[:MAX_KNOWN]
    found = []
    for start in range(0, len(questions), data.dev_batch_size):
        part = [data.questions.number[one] for one in questions[start : start + data.dev_batch_size]]
        with autocast(module.model.device):
            found.append(module.model.question_vectors(data.questions.take(part).to(module.model.device)).cpu())
    return torch.cat(found)


@torch.inference_mode()
def _answers(
    module: ReaderModule, data: ReaderDataModule, graphs: Mapping[str, Retrieved] | None = None
) -> list[_Answered]:
    """The answers on dev from the gold graphs, without the questions that have none, or from retrieved graphs that are
    not empty."""
    device, rows = module.model.device, []
    with progress_bar(len(data.splits["dev"]), "answers on dev", "question", show=data.progress) as bar:
        for item in data.dev_batches(graphs):
            batch: ReaderBatch = item.to(device)
            with autocast(device):
                found = module.extract(batch)
            for example, one in zip(batch.examples, found, strict=True):
                if example.answer_unknown:
                    continue  # nobody knows whether it is right
                right = example.answerable and answer_match(one.text, example.answer)
                completeness = graphs[example.id].completeness if graphs else None
                answered, answerable = one.text is not None, example.answerable
                rows.append(_Answered(one.confidence, right, answered, answerable, completeness, one.distance))
            bar.update(len(batch.examples))
    return rows


def _calibration(rows: Sequence[_Answered]) -> tuple[float, float]:
    """Platt scaling of the confidence; none if all answers are right or wrong, or the fit makes no sense."""
    fit = _logistic([[logit(one.confidence)] for one in rows], [one.right for one in rows])
    return (1.0, 0.0) if fit is None else (fit[0], fit[1])


def _joint(rows: Sequence[_Answered]) -> Joint | None:
    """The same with the completeness of the evidence and, where it tells, the distance of the question."""
    right = [one.right for one in rows]
    known = [[logit(one.confidence), logit(one.completeness or 0.0)] for one in rows]
    fit = _logistic([[*two, -one.distance] for two, one in zip(known, rows, strict=True)], right)
    if fit is not None:
        reader, completeness, near, offset = fit
        return Joint(reader, completeness, offset, -near)
    fit = _logistic(known, right)
    return None if fit is None else Joint(*fit)


def _logistic(features: Sequence[Sequence[float]], right: Sequence[bool]) -> list[float] | None:
    """Weights and offset of a logistic regression; ``None`` if there is nothing to tell apart, or a weight is not
    positive."""
    if len(set(right)) < 2:
        return None
    fit = LogisticRegression().fit(np.array(features), right)
    numbers = [*map(float, fit.coef_[0]), float(fit.intercept_[0])]
    sound = all(weight > 0 for weight in numbers[:-1]) and all(abs(one) <= MAX_LOG_ODDS for one in numbers)
    return numbers if sound else None


def _mean(values: Sequence[bool]) -> float:
    return sum(values) / max(1, len(values))


def _error(sure: Sequence[float], right: Sequence[bool]) -> float:
    return expected_calibration_error(np.array(sure), np.array(right)) if sure else 0.0
