"""Options of the commands of `bgr bench`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from bgr.collection.options import EncoderOptions
from bgr.utils.options import (
    Amount,
    File,
    Folder,
    MachineOptions,
    Metavar,
    Natural,
    Options,
    OutFile,
    OutFolder,
    Positive,
    Range,
    option,
)

PACKAGED = "packaged-minilm"
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
RANDOM: dict[str, dict[str, int]] = {"random-bert-base": {}, "random-bert-tiny": TINY}
"""Encoders with random weights, by name: what differs from BERT-base."""


@dataclass(frozen=True, kw_only=True)
class KoplOptions(Options):
    """Options of `bgr bench kopl`.

    Args:
        kqapro: folder with kb.json and train.json, val.json (default: Atlas, built for the run).
        programs: number of programs.
        random: use random programs over all 27 functions, not those of the folder.
        seed: seed of the sample of programs.
    """

    kqapro: Folder | None = None
    programs: Positive = 2000
    random: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class SpeedOptions(Options):
    """Options that `bgr bench train` and `bgr bench infer` share.

    Args:
        data: dataset folder (default: a small one from Atlas, built for the run).
        model_config: training configs that define the model; each is measured.
        questions: number of questions.
        batch_size: questions in a batch.
        rounds: number of repetitions, of which the fastest counts.
        plain: leave out the plain definition, which takes long.
        threads: threads of the processor (default: PyTorch's).
        device: cpu, cuda, …; the GPU is used if there is one (default: automatic).
        precision: precision of the model; float32 on a GPU uses TF32, as in training.
        seed: seed of questions and weights.
    """

    data: Folder | None = None
    model_config: tuple[Annotated[str, Metavar("NAME")], ...] = ("paper", "demo")
    questions: Positive = 32
    batch_size: Positive = 16
    rounds: Positive = 3
    plain: bool = True
    threads: Positive | None = None
    device: Annotated[str, Metavar("NAME")] | None = None
    precision: Literal["32", "bf16"] = "32"
    seed: int = 0
    model: Annotated[str, Metavar("|".join(["DIR", PACKAGED, *RANDOM]))] = PACKAGED


@dataclass(frozen=True, kw_only=True)
class TrainBenchOptions(SpeedOptions):
    """Options of `bgr bench train`.

    Args:
        model: encoder in place of the config's.
    """

    batch_size: Positive = 8


@dataclass(frozen=True, kw_only=True)
class InferBenchOptions(SpeedOptions):
    """Options of `bgr bench infer`.

    Args:
        model: a checkpoint, or an encoder in place of the config's.
    """


@dataclass(frozen=True, kw_only=True)
class GpuBenchOptions(Options):
    """Options of `bgr bench gpu`.

    Args:
        out: folder for everything.
        device: cuda; or cpu, which rehearses it with a tiny encoder.
        model: encoder of the training and the benchmarks, a folder with weights or one with random weights (default:
            random-bert-base, on the CPU random-bert-tiny).
        questions: number of questions of the dataset (default: 2,000, on the CPU 60).
        minutes: minutes of training, half of them for each direction.
        seed: seed of the data and the weights.
        overwrite: replace the folder if it exists.
    """

    out: OutFolder = Path("work/gpu")
    device: Literal["cuda", "cpu"] = "cuda"
    model: Annotated[str, Metavar("|".join(["DIR", *RANDOM]))] | None = None
    questions: Positive | None = None
    minutes: Annotated[float, Range(0.01, 600)] = 8.0
    seed: int = 0
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class DatabaseBenchOptions(Options):
    """Options of `bgr bench database`.

    Args:
        checkpoint: run folder or export with a pruner.
        data: dataset folder with the questions (test).
        collection: collection with the sentences.
        sizes: numbers of sentences.
        questions: number of questions.
        threads: threads of the processor (default: PyTorch's).
        seed: seed of the sentences.
        work: existing folder for the collections, which are removed at the end (default: the system's).
        plot: draw time and memory by the number of sentences to this PNG file.
        overwrite: replace the figure if it exists.
    """

    checkpoint: Folder
    data: Folder
    collection: Folder
    sizes: tuple[Positive, ...] = (5_000, 50_000, 500_000)
    questions: Positive = 100
    threads: Positive | None = None
    seed: int = 0
    work: Folder | None = None
    plot: OutFile | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class ServeBenchOptions(Options):
    """Options of `bgr bench serve`.

    Args:
        data: dataset folder with the questions (test).
        checkpoint: folder of `bgr export` or of a training run (default: the released weights).
        collection: collection that is asked (default: the released one).
        clients: numbers of clients at once; afterwards the most of them ask a server with a queue for a quarter.
        seconds: time that each number of clients asks.
        every: seconds between two looks at the server's memory and open files.
        questions: number of different questions.
    """

    data: Folder
    checkpoint: Folder | None = None
    collection: Folder | None = None
    clients: tuple[Positive, ...] = (8, 64)
    seconds: Annotated[float, Range(1, 86_400)] = 60.0
    every: Annotated[float, Range(0.1, 3_600)] = 15.0
    questions: Positive = 256


@dataclass(frozen=True, kw_only=True)
class GedBenchOptions(Options):
    """Options of `bgr bench ged`.

    Args:
        pairs: number of pairs of everyday size, measured with networkx too.
        large: number of pairs of each kind with 12, 18 and 24 facts.
        seconds: time limit of one large pair.
        predictions: predictions.jsonl of `bgr evaluate`, to measure the cost of scoring it.
        seed: seed of the pairs.
    """

    pairs: Natural = 2000
    large: Natural = 20
    seconds: Amount = 1.0
    predictions: File | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class BeamBenchOptions(Options):
    """Options of `bgr bench beam`.

    Args:
        triples: number of random triples.
        queries: number of queries.
        plain_triples: number of triples for the plain definition.
        plain_queries: number of queries for the plain definition.
        seed: seed of triples and queries.
    """

    triples: Positive = 1_500_000
    queries: Positive = 100
    plain_triples: Positive = 100_000
    plain_queries: Positive = 5
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class NearestBenchOptions(EncoderOptions):
    """Options of `bgr bench nearest`.

    Args:
        collection: collection with the texts; they are encoded for the run.
        data: dataset folder with the questions (its test split).
        texts: number of texts, drawn at random.
        questions: number of questions.
        k: number of nearest texts.
        seed: seed of the sample of texts.
    """

    collection: Folder
    data: Folder
    texts: Positive = 50_000
    questions: Positive = 200
    k: Positive = 10
    seed: Natural = 0


@dataclass(frozen=True, kw_only=True)
class CallsBenchOptions(Options):
    """Options of `bgr bench calls`.

    Args:
        methods: methods to run.
        questions: questions of each method.
        passages: passages that are searched.
        extracted: passages whose triples are extracted.
        concurrency: calls that the server answers at a time.
        latency: seconds before a reply; a random number between the two.
        seed: seed of questions and passages.
    """

    methods: tuple[Literal["gear", "prism", "bridgerag", "extract"], ...] = ("gear", "prism", "bridgerag", "extract")
    questions: Positive = 1000
    passages: Positive = 400
    extracted: Positive = 200
    concurrency: Positive = 64
    latency: tuple[Amount, Amount] = option((1.0, 1.0), metavar=("LEAST", "MOST"))
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class LlmBenchOptions(MachineOptions):
    """Options of `bgr bench llm`.

    Args:
        llm: smollm2, a .gguf file, a folder, or a hub id.
        replies: number of replies generated at once.
        prompt: maximum number of tokens in a prompt.
        reply: maximum number of tokens in a reply.
        shared: number of further tokens with which all prompts begin.
        threads: threads of the processor (default: PyTorch's).
        seed: seed of prompts and lengths.
    """

    llm: Annotated[str, Metavar("SPEC")]
    replies: Positive = 16
    prompt: Positive = 600
    reply: Positive = 200
    shared: Natural = 0
    threads: Positive | None = None
    seed: int = 0
