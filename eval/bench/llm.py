"""Benchmark of a local language model: replies through this library and through `generate` of `transformers`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig

from bgr.llm.backends.generation import TokenSampler, generate
from bgr.llm.backends.loading import local_model_path
from bgr.llm.backends.transformers_backend import load_local_model
from bgr.llm.interface import Message, Request
from eval.bench.measure import BenchResult, compare, speed_result
from eval.bench.options import LlmBenchOptions

ANY = Request("bench", (Message("user", "any"),))


def bench_llm(options: LlmBenchOptions) -> BenchResult:
    """Generate replies of random lengths to random prompts, greedily and without a grammar, all in one batch.

    Prompts have at least half as many tokens as `options` allows, replies at least an eighth.
    """
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    path = local_model_path(options.llm)
    ours = load_local_model(path, device=options.device, precision=options.precision)
    theirs = load_local_model(path, device=options.device, precision=options.precision).model
    if hasattr(theirs, "set_attn_implementation"):
        theirs.set_attn_implementation("sdpa")
    rng = np.random.default_rng(options.seed)
    count, vocabulary = options.replies, ours.model.config.get_text_config().vocab_size
    lengths = rng.integers(max(1, options.prompt // 2), options.prompt + 1, count)
    start = rng.integers(0, vocabulary, options.shared).tolist()
    prompts = [start + rng.integers(0, vocabulary, length).tolist() for length in lengths]
    limits = rng.integers(max(1, options.reply // 8), options.reply + 1, count).tolist()
    lines = [
        compare(
            work,
            "generate",
            [partial(_ours, ours.model, prompts, maximum)],
            [partial(_theirs, theirs, prompts, max(maximum))],
            count,
            rounds=1,
            warm=warm,
            device=ours.model.device,
        )
        for work, maximum, warm in (
            ("prompts read, one token written", [1] * count, True),
            ("replies written", limits, False),
        )
    ]
    setting = {
        "model": ours.name,
        "replies": count,
        "prompt tokens": sum(map(len, prompts)),
        "common prefix": options.shared,
        "reply tokens": sum(limits),
        "device": str(ours.model.device),
        "threads": torch.get_num_threads(),
        "seed": options.seed,
    }
    return speed_result(setting, lines)


def _ours(model: Any, prompts: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[int]]:
    samplers = [TokenSampler(ANY, limit, ()) for limit in limits]
    generate(model, prompts, samplers, 0)
    return [sampler.tokens for sampler in samplers]


def _theirs(model: Any, prompts: Sequence[Sequence[int]], length: int) -> list[list[int]]:
    """All rows continue until the longest is finished."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(one)) + list(one) for one in prompts], device=model.device)
    mask = torch.tensor([[0] * (longest - len(one)) + [1] * len(one) for one in prompts], device=model.device)
    settings = GenerationConfig(max_new_tokens=length, do_sample=False, eos_token_id=None, pad_token_id=0)
    with torch.inference_mode():
        found = model.generate(input_ids=ids, attention_mask=mask, generation_config=settings)
    return found[:, longest:].tolist()
