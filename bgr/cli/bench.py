"""`bgr bench`: speed against a reference, the same work through both in one run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.parser import Command, Group, Output
from bgr.errors import BgrError

if TYPE_CHECKING:
    from eval.bench.infer import Pair
    from eval.bench.options import (
        BeamBenchOptions,
        GedBenchOptions,
        InferBenchOptions,
        KoplOptions,
        LlmBenchOptions,
        TrainBenchOptions,
    )
    from eval.bench.setting import Machine


def command() -> Group:
    from eval.bench import options

    commands = {
        "kopl": Command(
            summary="execute the same KoPL programs with the package kopl and with ours; the answers must agree",
            options=options.KoplOptions,
            run=_kopl,
            example="bgr bench kopl --kqapro work/atlas --programs 5000",
        ),
        "train": Command(
            summary="measure a training step against the bare encoder's forward and backward pass on the same tokens",
            description="""A step consists of reading, gold paths, loss, gradients, clipping and AdamW. The bare encoder
                reads the same distinct sentences in buckets of similar length. Then the plain definition is measured,
                and each piece of work that the model avoids.""",
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
        "ged": Command(
            summary="measure the graph edit distance against networkx; the distances must agree",
            description="""Also measured are pairs too large for networkx (with the share proven exact in time) and the
                cost of scoring an evaluation, if one is given.""",
            options=options.GedBenchOptions,
            run=_ged,
            example="""bgr bench ged
                bgr bench ged --pairs 0 --large 0 --predictions work/demo/evaluation/predictions.jsonl""",
        ),
        "beam": Command(
            summary="measure GEAR's diverse triple beam search on random triples",
            description="""Measured are the time to build and open the index, its memory, the time of an encoded query,
                and the plain definition on an index where it can run.""",
            options=options.BeamBenchOptions,
            run=_beam,
            example="""bgr bench beam
                bgr bench beam --triples 100000 --queries 20""",
        ),
        "llm": Command(
            summary="measure a local language model against `generate` of transformers on the same model",
            description="Prompts are read and replies of many lengths are generated.",
            options=options.LlmBenchOptions,
            run=_llm,
            example="bgr bench llm --llm smollm2 --threads 1",
        ),
    }
    return Group(summary="measure speed against a reference, the same work through both in one run", commands=commands)


def _kopl(options: KoplOptions) -> Output:
    from eval.bench.kopl import bench_kopl_files, check

    return _checked(bench_kopl_files(options), check)


def _ged(options: GedBenchOptions) -> Output:
    from eval.bench.ged import bench_ged
    from eval.bench.ged_result import check

    result = bench_ged(
        options.pairs,
        large=options.large,
        seed=options.seed,
        time_limit=options.seconds,
        predictions=options.predictions,
    )
    return _checked(result, check)


def _checked(result: Any, check: Callable[[Any], object] = lambda result: None) -> Output:
    """The numbers, followed by the error that `check` raises, if any."""
    error = None
    try:
        check(result)
    except BgrError as found:
        error = found
    return Output(str(result), result.to_json(), error)


def _beam(options: BeamBenchOptions) -> Output:
    from eval.bench.beam import bench_beam

    result = bench_beam(
        options.triples,
        queries=options.queries,
        plain_triples=options.plain_triples,
        plain_queries=options.plain_queries,
        seed=options.seed,
        progress=True,
    )
    return _checked(result)


def _llm(options: LlmBenchOptions) -> Output:
    import torch

    from bgr.llm.backends.loading import local_model_path
    from eval.bench.llm import bench_llm

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    result = bench_llm(
        local_model_path(options.llm),
        replies=options.replies,
        prompt=options.prompt,
        reply=options.reply,
        shared=options.shared,
        seed=options.seed,
        device=options.device,
        precision=options.precision,
        progress=True,
    )
    return _checked(result)


def _train(options: TrainBenchOptions) -> Output:
    from transformers import AutoTokenizer

    from bgr.utils.configs import find_config
    from eval.bench.clock import SpeedBench
    from eval.bench.setting import sampled_questions, set_up_encoder, set_up_machine
    from eval.bench.train import bench_train
    from training.retriever.timed_steps import TimedSteps

    configs = [find_config(name) for name in options.model_config]
    machine = set_up_machine(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, pretrained = set_up_encoder(options, folder)
        tokenizer = AutoTokenizer.from_pretrained(source)
        examples = sampled_questions(options, "train", folder)
        lines = []
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
            lines += bench_train(config.stem, steps, rounds=options.rounds, plain=options.plain, progress=True)
    return _checked(SpeedBench(machine.about, lines))


def _infer(options: InferBenchOptions) -> Output:
    from bgr.retrievers.graph_hop.checkpoint import SETTINGS
    from eval.bench.clock import SpeedBench
    from eval.bench.infer import bench_infer
    from eval.bench.setting import sampled_questions, set_up_machine

    machine = set_up_machine(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if (Path(options.model) / SETTINGS).is_file():
            pairs = {"checkpoint": _trained(options, machine)}
        else:
            pairs = _untrained(options, folder, machine)
        examples = sampled_questions(options, "test", folder)
        lines = []
        for form, pair in pairs.items():
            lines += bench_infer(
                form,
                pair,
                examples,
                folder / form,
                batch_size=options.batch_size,
                rounds=options.rounds,
                plain=options.plain,
                progress=True,
            )
    return _checked(SpeedBench(machine.about, lines))


def _trained(options: InferBenchOptions, machine: Machine) -> Pair:
    from bgr.pipeline import BgrPipeline
    from eval.bench.infer import Pair

    pipeline = BgrPipeline.from_pretrained(options.model, device=machine.device, precision=options.precision)
    return Pair(pipeline.forward, pipeline.backward, pipeline.tokenizer, trained=True, dtype=machine.dtype)


def _untrained(options: InferBenchOptions, folder: Path, machine: Machine) -> dict[str, Pair]:
    """A pair of models for each config; `training`, which makes them, and `eval` know nothing of each other."""
    import torch
    import yaml
    from transformers import AutoTokenizer

    from bgr.models.config import DIRECTIONS
    from bgr.utils.configs import find_config
    from bgr.utils.devices import hold_in
    from eval.bench.infer import Pair
    from eval.bench.setting import set_up_encoder
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
            hold_in(model, options.precision)
        pairs[config.stem] = Pair(forward, backward, tokenizer, trained=False, dtype=machine.dtype)
    return pairs
