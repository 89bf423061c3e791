"""The benchmark of local language models: both sides generate the same."""

import torch

from bgr.llm.backends.transformers_backend import load_local_model
from eval.bench import llm as module
from eval.bench.llm import bench_llm
from eval.bench.options import LlmBenchOptions


def test_both_sides_write_the_same(tiny_llama, monkeypatch):
    written = {}
    for side in ("_ours", "_theirs"):
        real = getattr(module, side)

        def watched(model, prompts, most, side=side, real=real):
            found = real(model, prompts, most)
            written.setdefault(side, []).append((most, found))
            return found

        monkeypatch.setattr(module, side, watched)
    options = LlmBenchOptions(
        llm=str(tiny_llama(256)), replies=5, prompt=40, reply=24, seed=3, device="cpu", precision="32"
    )
    found = bench_llm(options).data
    assert [line["work"] for line in found["lines"]] == ["prompts read, one token written", "replies written"]
    assert all(line["ratio"] > 0 for line in found["lines"])
    limits, ours = written["_ours"][-1]
    longest, theirs = written["_theirs"][-1]
    assert longest == max(limits)
    assert len(set(limits)) > 1
    assert ours == [tokens[:limit] for tokens, limit in zip(theirs, limits, strict=True)]
    assert found["setting"]["reply tokens"] == sum(limits)


def test_the_other_side_is_the_librarys_own(tiny_llama):
    model = load_local_model(tiny_llama(256), device="cpu", precision="32").model
    assert model.config._attn_implementation == "bgr_cpu"
    with torch.inference_mode():
        model.set_attn_implementation("sdpa")
    assert model.config._attn_implementation == "sdpa"
