"""Batched generation against `generate` for each reply alone; the growing cache against the library's."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    DynamicCache,
    GPT2Config,
    GPT2LMHeadModel,
    GraniteMoeHybridConfig,
    GraniteMoeHybridForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)

from bgr.llm.backends import generation
from bgr.llm.backends.cpu_attention import use_cpu_attention
from bgr.llm.backends.generation import GrowingLayer, TokenSampler, generate, growing_cache, shared_tokens
from bgr.llm.interface import Message, Request

END = 1
SIZES = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.5,
    "eos_token_id": END,
    "pad_token_id": 0,
}


def llama():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES)).eval()


def mistral():
    """Every layer sees only the last six tokens, so none of its caches is a plain one."""
    torch.manual_seed(0)
    return MistralForCausalLM(MistralConfig(**SIZES, sliding_window=6)).eval()


def bloom():
    """No grouped heads, and its own positions, derived from the mask."""
    torch.manual_seed(0)
    sizes = {name: SIZES[name] for name in ("vocab_size", "hidden_size", "eos_token_id", "initializer_range")}
    return BloomForCausalLM(BloomConfig(**sizes, n_layer=2, n_head=4)).eval()


def gpt2():
    """Learned positions, no grouped heads."""
    torch.manual_seed(0)
    sizes = {name: SIZES[name] for name in ("vocab_size", "eos_token_id", "initializer_range")}
    return GPT2LMHeadModel(GPT2Config(**sizes, n_embd=32, n_layer=2, n_head=4, n_positions=128)).eval()


def deepseek():
    """Values narrower than keys."""
    torch.manual_seed(0)
    experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}
    widths = {"q_lora_rank": 16, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6}
    sizes = {**SIZES, "num_key_value_heads": 4, "moe_intermediate_size": 16, "first_k_dense_replace": 1}
    return DeepseekV3ForCausalLM(DeepseekV3Config(**sizes, **experts, **widths)).eval()


def granite():
    """One recurrent layer and one with attention."""
    torch.manual_seed(0)
    sizes = {**SIZES, "layer_types": ["mamba", "attention"], "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8}
    return GraniteMoeHybridForCausalLM(GraniteMoeHybridConfig(**sizes)).eval()


def prompts(count, longest):
    draw = torch.Generator().manual_seed(count)
    lengths = torch.randint(1, longest, (count,), generator=draw).tolist()
    return [torch.randint(2, 40, (length,), generator=draw).tolist() for length in lengths]


def row(limit, **settings):
    return TokenSampler(Request("s", (Message("user", "?"),), **settings), limit, [END])


def alone(model, prompt, limit):
    found = model.generate(torch.tensor([prompt]), max_new_tokens=limit, do_sample=False, pad_token_id=0)
    return found[0, len(prompt) :].tolist()


@pytest.mark.parametrize("make", [llama, mistral, bloom, gpt2, deepseek, granite])
@pytest.mark.parametrize("ours", [True, False])
def test_rows_of_any_length_as_each_alone(make, ours, monkeypatch):
    """Rows leave one by one, and the allocated memory grows more than once."""
    monkeypatch.setattr(generation, "ROOM", 3)
    model, theirs = make(), make()
    if ours:
        use_cpu_attention(model)
    asked = prompts(9, 20)
    limits = [1, 2, 3, 5, 8, 13, 21, 21, 30]
    rows = [row(limit) for limit in limits]
    generate(model, asked, rows, 0)
    assert [one.tokens for one in rows] == [alone(theirs, *pair) for pair in zip(asked, limits, strict=True)]
    assert all(one.done for one in rows)
    assert any(one.ended for one in rows) or max(map(len, (one.tokens for one in rows))) == 30


@pytest.mark.workflow
@pytest.mark.parametrize("make", [llama, mistral, bloom, gpt2, deepseek, granite])
@pytest.mark.parametrize("ours", [True, False])
def test_prompts_that_begin_alike_as_each_alone(make, ours, monkeypatch):
    """One prompt is equal to the common prefix."""
    monkeypatch.setattr(generation, "ROOM", 3)
    model, theirs = make(), make()
    if ours:
        use_cpu_attention(model)
    passes = []
    plain = generation._scores
    monkeypatch.setattr(generation, "_scores", lambda *a: passes.append(a[2].shape) or plain(*a))
    start = prompts(1, 40)[0]
    start += [7] * (30 - len(start))
    asked = [start, *(start + own for own in prompts(6, 20))]
    limits = [9, 1, 2, 3, 5, 8, 13]
    rows = [row(limit) for limit in limits]
    generate(model, asked, rows, 0)
    assert [one.tokens for one in rows] == [alone(theirs, *pair) for pair in zip(asked, limits, strict=True)]
    plain = all(isinstance(layer, GrowingLayer) for layer in growing_cache(model).layers)
    longest = max(map(len, asked))
    assert passes[:2] == [(1, 29), (7, longest - 29)] or (not plain and passes[0][1] >= 30)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=5))
def test_shared_tokens_by_definition(found):
    most = min(map(len, found)) - 1
    count = 0
    while count < most and len({one[count] for one in found}) == 1:
        count += 1
    assert shared_tokens(found) == (count if len(found) > 1 else 0)


def test_a_row_that_ends_by_itself_has_its_end(monkeypatch):
    model = llama()
    with torch.no_grad():
        model.lm_head.weight[END] = model.lm_head.weight.mean(0) * 40
    rows = [row(50) for _ in range(6)]
    asked = prompts(6, 12)
    generate(model, asked, rows, 0)
    expected = [alone(model, prompt, 50) for prompt in asked]
    for one, tokens in zip(rows, expected, strict=True):
        end = tokens.index(END) + 1 if END in tokens else 50
        assert one.tokens == tokens[:end]
        assert one.ended == (END in tokens)


def test_draws_do_not_depend_on_who_else_is_there():
    model = llama()
    asked = prompts(5, 15)
    rows = [row(12, temperature=1.0, seed=seed) for seed in range(5)]
    generate(model, asked, rows, 0)
    for seed, prompt in enumerate(asked):
        single = row(12, temperature=1.0, seed=seed)
        generate(model, [prompt], [single], 0)
        assert single.tokens == rows[seed].tokens


def test_the_cache_holds_what_the_librarys_holds(monkeypatch):
    monkeypatch.setattr(generation, "ROOM", 2)
    torch.manual_seed(0)
    ours, theirs = GrowingLayer(), DynamicCache().layer_class_to_replicate()
    for tokens in (4, 1, 1, 1, 3):
        keys, values = torch.randn(2, 3, 2, tokens, 4)[0], torch.randn(3, 2, tokens, 4)
        room, offset = ours.get_mask_sizes(tokens)
        found, expected = ours.update(keys, values), theirs.update(keys, values)
        assert (found[0].shape[2], offset) == (room, 0)
        length = ours.get_seq_length()
        assert length == theirs.get_seq_length()
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one[:, :, :length], other)
            assert not one[:, :, length:].any()
    keep = torch.tensor([2, 0])
    ours.batch_select_indices(keep)
    theirs.batch_select_indices(keep)
    assert torch.equal(ours.keys[:, :, : ours.get_seq_length()], theirs.keys)


def test_layers_that_are_not_plain_stay():
    assert not any(isinstance(layer, GrowingLayer) for layer in growing_cache(mistral()).layers)
    assert all(isinstance(layer, GrowingLayer) for layer in growing_cache(llama()).layers)
