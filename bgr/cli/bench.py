"""`bgr bench`: speed against a reference, the same work through both in one run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.parser import Command, Group, Output

if TYPE_CHECKING:
    from eval.bench.measure import BenchResult
    from eval.bench.models import Pair
    from eval.bench.options import GpuBenchOptions, InferBenchOptions, TrainBenchOptions
    from eval.bench.setting import Machine


def command() -> Group:
    from eval.bench import options

    commands = {
        "kopl": Command(
            summary="execute the same KoPL programs with the package kopl and with ours; the answers must agree",
            options=options.KoplOptions,
            run=_benchmark("kopl"),
            example="bgr bench kopl --kqapro work/atlas --programs 5000",
        ),
        "train": Command(
            summary="measure a training step against the bare encoder's forward and backward pass on the same tokens",
            description="""A step consists of encoding, gold paths, loss, gradients, clipping and AdamW. The bare
                encoder processes the same distinct sentences in buckets of similar length. Then the plain definition is
                measured, and each piece of work that the model avoids.""",
            options=options.TrainBenchOptions,
            run=_train,
            example="""bgr bench train --data work/data
                bgr bench train --data work/data --model random-bert-base --model-config paper --questions 16""",
        ),
        "infer": Command(
            summary="measure the graphs of both directions against the bare encoders' forward pass on the same tokens",
            description="""A checkpoint's models find their own paths. Other models have random weights on top of the
                encoder and follow the gold paths. Then the plain definition is measured, and each piece of work that
                the model avoids.""",
            options=options.InferBenchOptions,
            run=_infer,
            example="""bgr bench infer --data work/data
                bgr bench infer --data work/data --model work/checkpoint""",
        ),
        "gpu": Command(
            summary="train the paper's setting for some minutes and measure it, everything into one folder",
            description="""The steps: a dataset of Atlas, `bgr bench train` and `bgr bench infer` in the paper's setting
                with an encoder of BERT-base's size, a training of the config paper, and its curve. Each is printed, and
                summary.json has all numbers. `make gpu` runs it after the tests that need a GPU.""",
            options=options.GpuBenchOptions,
            run=_gpu,
            example="""bgr bench gpu
                bgr bench gpu --model work/bert-base-uncased --minutes 60
                bgr bench gpu --device cpu --minutes 0.2""",
        ),
        "database": Command(
            summary="measure questions over a collection at several sizes against one encoding and one search",
            description="""Each size is built and asked in processes of its own. Times are of building, preparing,
                questions in one batch and alone; memory is the peak of the process that asks.""",
            options=options.DatabaseBenchOptions,
            run=_benchmark("database"),
            example="bgr bench database --checkpoint work/run --data work/data --collection work/collection",
        ),
        "serve": Command(
            summary="measure `bgr serve` under load against the same questions without a server",
            description="""Clients ask at once, each one question after the other. Counted are answers, failures and
                refusals; times are those that clients see; memory is that of the server before and after.""",
            options=options.ServeBenchOptions,
            run=_benchmark("serve"),
            example="""bgr bench serve --data work/data
                bgr bench serve --data work/data --clients 8 --seconds 1800""",
        ),
        "ged": Command(
            summary="measure the graph edit distance against networkx; the distances must agree",
            description="""Also measured are pairs too large for networkx (with the share proven exact in time) and the
                cost of scoring an evaluation, if one is given.""",
            options=options.GedBenchOptions,
            run=_benchmark("ged"),
            example="""bgr bench ged
                bgr bench ged --pairs 0 --large 0 --predictions work/demo/evaluation/predictions.jsonl""",
        ),
        "beam": Command(
            summary="measure GEAR's diverse triple beam search on random triples",
            description="""Measured are the time to build and open the index, its memory, the time of an encoded query,
                and the plain definition on an index where it can run.""",
            options=options.BeamBenchOptions,
            run=_benchmark("beam"),
            example="""bgr bench beam
                bgr bench beam --triples 100000 --queries 20""",
        ),
        "nearest": Command(
            summary="measure approximate search for millions of vectors against exact search",
            description="""Recall, time and size of the two forms that are chosen by the number of vectors: a byte for
                each dimension from a million, a byte for four dimensions from four millions.""",
            options=options.NearestBenchOptions,
            run=_benchmark("nearest"),
            example="bgr bench nearest --collection work/collection --data work/data",
        ),
        "llm": Command(
            summary="measure a local language model against `generate` of transformers on the same model",
            description="Prompts are read and replies of many lengths are generated.",
            options=options.LlmBenchOptions,
            run=_benchmark("llm"),
            example="bgr bench llm --llm smollm2 --threads 1",
        ),
        "calls": Command(
            summary="measure the calls of a server against their critical path",
            description="""GEAR, PRISM, BridgeRAG and the extraction of triples ask a server on the loopback address,
                which waits before each of its scripted replies.""",
            options=options.CallsBenchOptions,
            run=_benchmark("calls"),
            example="""bgr bench calls
                bgr bench calls --latency 0.2 3 --questions 200""",
        ),
    }
    return Group(summary="measure speed against a reference, the same work through both in one run", commands=commands)


def _benchmark(name: str) -> Callable[[Any], Output]:
    """The run of ``bench_NAME`` in `eval.bench`, whose module is imported only then."""

    def run(options: Any) -> Output:
        return Output(*getattr(import_module(f"eval.bench.{name}"), f"bench_{name}")(options))

    return run


def _gpu(options: GpuBenchOptions) -> Output:
    from bgr.cli.bench_gpu import bench_gpu

    return Output(*bench_gpu(options))


def _train(options: TrainBenchOptions) -> Output:
    from transformers import AutoTokenizer

    from bgr.released import find_config
    from eval.bench.models import bench_train
    from eval.bench.setting import sampled_questions, set_up_encoder, set_up_machine
    from training.retriever.timed_steps import TimedSteps

    configs = [find_config(name) for name in options.model_config]
    machine = set_up_machine(options)
    lines, used = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, pretrained = set_up_encoder(options, folder)
        tokenizer = AutoTokenizer.from_pretrained(source)
        examples = sampled_questions(options, "train", folder)
        for config in configs:
            steps = TimedSteps(
                config,
                source,
                examples,
                tokenizer,
                folder / "states",
                pretrained=pretrained,
                batch_size=options.batch_size,
                device=machine.device,
                dtype=machine.dtype,
                seed=options.seed,
            )
            found, one = bench_train(config.stem, steps, options)
            lines += found
            used.append(one)
    return Output(*_result(machine, lines, used))


def _infer(options: InferBenchOptions) -> Output:
    from eval.bench.models import bench_infer
    from eval.bench.setting import sampled_questions, set_up_machine

    machine = set_up_machine(options)
    lines, used = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = _pairs(options, folder, machine)
        examples = sampled_questions(options, "test", folder)
        for form, pair in pairs.items():
            found, one = bench_infer(form, pair, examples, folder / form, options)
            lines += found
            used.append(one)
    return Output(*_result(machine, lines, used))


def _result(machine: Machine, lines: Sequence[dict[str, Any]], used: Sequence[dict[str, Any]]) -> BenchResult:
    from eval.bench.measure import speed_result
    from eval.bench.utilization import peak_tflops, utilization_lines

    peak = peak_tflops(machine.device, machine.dtype)
    numbers = [{**one, "share_of_peak": one["tflops"] / peak, "peak_tflops": peak} for one in used]
    return speed_result(machine.about, lines, numbers, utilization_lines(used, peak))


def _pairs(options: InferBenchOptions, folder: Path, machine: Machine) -> dict[str, Pair]:
    """The models of a checkpoint, or untrained ones for each config; `eval` cannot make these, as it does not import
    `training`."""
    import torch
    import yaml
    from transformers import AutoTokenizer

    from bgr.models.config import DIRECTIONS
    from bgr.pipeline import BgrPipeline
    from bgr.released import find_config
    from bgr.retrievers.graph_hop.checkpoint import SETTINGS
    from bgr.utils.devices import hold_in
    from eval.bench.models import Pair
    from eval.bench.setting import set_up_encoder

    if (Path(options.model) / SETTINGS).is_file():
        found = BgrPipeline.from_pretrained(options.model, device=machine.device, precision=options.precision)
        return {"checkpoint": Pair(found.forward, found.backward, found.tokenizer, trained=True, dtype=machine.dtype)}

    from training.retriever.module import BgrModule

    source, pretrained = set_up_encoder(options, folder)
    tokenizer = AutoTokenizer.from_pretrained(source)
    pairs: dict[str, Pair] = {}
    for config in map(find_config, options.model_config):
        settings = yaml.safe_load(config.read_text(encoding="utf-8"))["model"]
        torch.manual_seed(options.seed)
        forward, backward = (
            BgrModule(**settings | {"encoder": source, "pretrained": pretrained, "direction": direction}).model
            for direction in DIRECTIONS
        )
        for model in (forward, backward):
            torch.nn.Module.to(model, machine.device).eval()
            hold_in(model, options.precision, but=model.pruner)
        pairs[config.stem] = Pair(forward, backward, tokenizer, trained=False, dtype=machine.dtype)
    return pairs
