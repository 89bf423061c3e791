"""Benchmark of a local language model: replies through this library and through `generate` of `transformers`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig

from bgr.llm.backends.generation import TokenSampler, generate
from bgr.llm.backends.transformers_backend import load_local_model
from bgr.llm.interface import Message, Request
from eval.bench.clock import Line, SpeedBench, in_turns

ANY = Request("bench", (Message("user", "any"),))


def bench_llm(
    model: str | Path,
    *,
    replies: int = 16,
    prompt: int = 600,
    reply: int = 200,
    shared: int = 0,
    seed: int = 0,
    device: str | None = None,
    precision: str | None = None,
    progress: bool = False,
) -> SpeedBench:
    """Generate replies of random lengths to random prompts, greedily and without a grammar.

    Args:
        model: see `load_local_model`.
        replies: number of prompts and replies, all in one batch.
        prompt, reply: maximum tokens of each. Prompts have at least half as many, replies at least an eighth.
        shared: tokens of a common prefix of all prompts, like the instructions of a step.
        seed: random seed of tokens and lengths.
        device, precision: see `bgr.utils.devices`.
        progress: show progress bars on standard error.
    """
    ours = load_local_model(model, device=device, precision=precision)
    theirs = load_local_model(model, device=device, precision=precision).model
    if hasattr(theirs, "set_attn_implementation"):
        theirs.set_attn_implementation("sdpa")
    rng = np.random.default_rng(seed)
    vocabulary = ours.model.config.get_text_config().vocab_size
    lengths = rng.integers(max(1, prompt // 2), prompt + 1, replies)
    start = rng.integers(0, vocabulary, shared).tolist()
    prompts = [start + rng.integers(0, vocabulary, length).tolist() for length in lengths]
    limits = rng.integers(max(1, reply // 8), reply + 1, replies).tolist()
    lines = []
    for work, maximum in (("prompts read, one token written", [1] * replies), ("replies written", limits)):
        sides = {
            "ours": [partial(_ours, ours.model, prompts, maximum)],
            "theirs": [partial(_theirs, theirs, prompts, max(maximum))],
        }
        warm = work != "replies written"
        taken = in_turns(sides, rounds=1, warm=warm, device=ours.model.device, name=work, progress=progress)
        lines.append(Line(work, "generate", taken["ours"], taken["theirs"], replies))
    setting = {
        "model": ours.name,
        "replies": replies,
        "prompt tokens": sum(map(len, prompts)),
        "common prefix": shared,
        "reply tokens": sum(limits),
        "device": str(ours.model.device),
        "threads": torch.get_num_threads(),
        "seed": seed,
    }
    return SpeedBench(setting, lines)


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
