"""A local language model's replies through this library and through `generate` of `transformers`, in one run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig

from bgr.llm.backends.generation import write
from bgr.llm.backends.local_model import load_local_model
from bgr.llm.backends.sampler import Row
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
    """Read random prompts, and write replies of random lengths to them, greedily and without a grammar.

    Args:
        model: as `load_local_model` takes it.
        replies: how many, all at once.
        prompt, reply: most tokens of each; they have half of it to all of it, and an eighth to all of it.
        shared: tokens more, with which all prompts begin, as the instructions of a step are.
        seed: of tokens and lengths.
        device, precision: as `bgr.utils.devices` takes them.
        progress: show bars on standard error.
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
    for work, most in (("prompts read, one token written", [1] * replies), ("replies written", limits)):
        sides = {
            "ours": [partial(_ours, ours.model, prompts, most)],
            "theirs": [partial(_theirs, theirs, prompts, max(most))],
        }
        warm = work != "replies written"
        taken = in_turns(sides, rounds=1, warm=warm, device=ours.model.device, name=work, progress=progress)
        lines.append(Line(work, "generate", taken["ours"], taken["theirs"], replies))
    setting = {
        "model": ours.name,
        "replies": replies,
        "prompt tokens": sum(map(len, prompts)),
        "with which all begin": shared,
        "reply tokens": sum(limits),
        "device": str(ours.model.device),
        "threads": torch.get_num_threads(),
        "seed": seed,
    }
    return SpeedBench(setting, lines)


def _ours(model: Any, prompts: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[int]]:
    rows = [Row(ANY, limit, ()) for limit in limits]
    write(model, prompts, rows, 0)
    return [row.tokens for row in rows]


def _theirs(model: Any, prompts: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """All rows go on until the longest is done."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(one)) + list(one) for one in prompts], device=model.device)
    mask = torch.tensor([[0] * (longest - len(one)) + [1] * len(one) for one in prompts], device=model.device)
    settings = GenerationConfig(max_new_tokens=most, do_sample=False, eos_token_id=None, pad_token_id=0)
    with torch.inference_mode():
        found = model.generate(input_ids=ids, attention_mask=mask, generation_config=settings)
    return found[:, longest:].tolist()
