"""Options of the commands of `bgr train`.

The sections of a training config (trainer, model, data, checkpoint, early_stop) are not options: they are given as
``settings``, checked by LightningCLI when the training starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from bgr.utils.options import Folder, Metavar, Options, OutFolder, Positive, Range, option

_RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
"""Environment variables with the number of a process among several, as Lightning reads them."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions(Options):
    """Options that all trainings share.

    Args:
        config: a YAML file, or the name of a shipped config.
        out: run folder.
        seed: seed in place of the config's seed_everything.
        resume: resume from the last checkpoint in the run folder.
        overwrite: replace the run folder if it exists.
        settings: settings that override the config, such as --trainer.max_epochs=3.
    """

    config: Annotated[str, Metavar("FILE|NAME")]
    out: OutFolder
    seed: int | None = None
    resume: bool = False
    overwrite: bool = False
    settings: tuple[str, ...] = option((), hidden=True)

    def outputs(self) -> Iterator[Path]:
        # of several processes only the first one writes
        if all(os.environ.get(name, "0") == "0" for name in _RANKS):
            yield self.out


@dataclass(frozen=True, kw_only=True)
class RetrieverOptions(TrainOptions):
    """Options of `bgr train retriever`.

    Args:
        config: a YAML file, or the name of a shipped config (demo, cpu, further, own, paper).
        data: dataset folder of `bgr data build`.
        init: start from this checkpoint of a retriever, with the config that it was trained with.
        direction: directions to train.
        states: shared cache of the frozen layers' states (default: states in $BGR_CACHE or in ~/.cache/bgr).
        seeds: train once with each of these seeds, into OUT/seed-A and so on, and summarize in seeds.json.
    """

    data: Folder
    init: Folder | None = None
    direction: Literal["both", "forward", "backward"] = "both"
    states: Folder | None = None
    seeds: Annotated[str, Metavar("A,B,…")] | None = None

    def conflicts(self) -> Iterator[str]:
        if self.seeds is None:
            return
        if self.direction != "both":
            yield f"--seeds trains both directions; --direction {self.direction} goes with --seed"
        if self.seed is not None or any(word.startswith("--seed_everything") for word in self.settings):
            yield "give either --seeds or a single seed"


@dataclass(frozen=True, kw_only=True)
class SearchTrainingOptions(Options):
    """Options of trainings on the pools that a checkpoint's own search finds in a collection.

    Args:
        checkpoint: run folder or export that is trained further.
        data: dataset folder of `bgr data build`, with the questions.
        collection: collection that is searched.
        out: folder of the new checkpoint.
        database: folder of `bgr data database` with the statements of its sentences (default: the dataset's own).
        questions: number of training questions.
        dev_questions: number of dev questions.
        epochs: number of times that each question is seen.
        learning_rate: largest learning rate.
        seed: seed of everything that is drawn.
        states: folder in which the pools are kept (default: states in $BGR_CACHE or in ~/.cache/bgr).
        overwrite: replace the folder if it exists.
    """

    checkpoint: Folder
    data: Folder
    collection: Folder
    out: OutFolder
    database: Folder | None = None
    questions: Positive
    dev_questions: Positive
    epochs: Annotated[float, Range(0.01, 1000)]
    learning_rate: Annotated[float, Range(1e-6, 1)]
    seed: int = 0
    states: Folder | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class PrunerOptions(SearchTrainingOptions):
    """Options of `bgr train pruner`.

    Args:
        pool: number of candidates of a search.
        candidates: number of them that are seen in a step.
        batch_size: number of questions in a step.
        device: cpu, cuda, …; the GPU is used if there is one (default: automatic).
    """

    questions: Positive = 4000
    dev_questions: Positive = 200
    pool: Positive = 1000
    candidates: Positive = 400
    epochs: Annotated[float, Range(0.01, 1000)] = 2.0
    batch_size: Positive = 4
    learning_rate: Annotated[float, Range(1e-6, 1)] = 2e-3
    device: Annotated[str, Metavar("NAME")] | None = None


@dataclass(frozen=True, kw_only=True)
class RankerOptions(SearchTrainingOptions):
    """Options of `bgr train ranker`.

    Args:
        plain: further training questions, about one statement each, as a share of the others.
    """

    questions: Positive = 3000
    plain: Annotated[float, Range(0, 1)] = 0.0
    dev_questions: Positive = 300
    epochs: Annotated[float, Range(0.01, 1000)] = 4.0
    learning_rate: Annotated[float, Range(1e-6, 1)] = 3e-3


@dataclass(frozen=True, kw_only=True)
class ReaderOptions(TrainOptions):
    """Options of `bgr train reader`.

    Args:
        config: a YAML file, or the name of a shipped config (reader, reader_t5, reader_small_t5).
        data: dataset folder of `bgr data build`.
        init: start from this encoder-decoder (default: the config's), or from the weights of this extractive reader.
        retriever: checkpoint whose graphs an extractive reader is also trained on, and with which its confidence is
            calibrated.
        states: shared cache of the frozen layers' states (default: states in $BGR_CACHE or in ~/.cache/bgr).
    """

    data: Folder
    init: Annotated[str, Metavar("DIR|ID")] | None = None
    retriever: Folder | None = None
    states: Folder | None = None


@dataclass(frozen=True, kw_only=True)
class BaselineOptions(TrainOptions):
    """Options of `bgr train baseline`.

    Args:
        config: a YAML file, or the name of a shipped config (dpr, grr, mdr, ssg, bm25, random).
        data: dataset folder of `bgr data build`.
        states: shared cache of the frozen layers' states (default: states in $BGR_CACHE or in ~/.cache/bgr).
    """

    data: Folder
    states: Folder | None = None


@dataclass(frozen=True, kw_only=True)
class VerbalizerOptions(TrainOptions):
    """Options of `bgr train verbalizer`.

    Args:
        config: a YAML file, or the name of a shipped config (verbalizer).
        kqapro: folder with kb.json.
        init: start from this encoder-decoder (default: the config's).
    """

    kqapro: Folder
    init: Annotated[str, Metavar("DIR|ID")] | None = None
