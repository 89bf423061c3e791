"""Attention by blocks against its definition, and inside a model."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from bgr.llm.backends import cpu_attention
from bgr.llm.backends.cpu_attention import NAME, attention, by_blocks, use_cpu_attention
from bgr.llm.backends.generation import growing_cache


def plain(query, key, value, mask):
    """One query, head and row at a time: softmax over the visible keys."""
    rows, heads, queries, _ = query.shape
    found = torch.zeros(rows, queries, heads, value.shape[-1])
    for row in range(rows):
        for head in range(heads):
            shared = head // (heads // key.shape[1])
            for i in range(queries):
                seen = mask[row, 0, i]
                shares = (key[row, shared][seen] @ query[row, head, i]).softmax(0)
                found[row, i, head] = shares @ value[row, shared][seen]
    return found


def padded_mask(rows, queries, keys, padding):
    """Causal; row r starts after `padding[r]` keys."""
    mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)[None, None].repeat(rows, 1, 1, 1)
    for row, count in enumerate(padding):
        mask[row, :, :, :count] = False
    return mask


@pytest.mark.parametrize("block", [1, 3, 128])
@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (4, 9), (2, 2)])
@pytest.mark.parametrize("values", [4, 3, 6])
def test_blocks_give_what_the_definition_gives(monkeypatch, block, queries, keys, values):
    monkeypatch.setattr(cpu_attention, "BLOCK", block)
    torch.manual_seed(queries)
    query = torch.randn(2, 6, queries, 4)
    key, value = torch.randn(2, 3, keys, 4), torch.randn(2, 3, keys, values)
    mask = padded_mask(2, queries, keys, [0, keys - queries])
    torch.testing.assert_close(by_blocks(query, key, value, mask), plain(query, key, value, mask))


def test_a_query_that_sees_nothing_gives_finite_numbers():
    """Left padding: these values are unused, but a NaN would spread."""
    mask = padded_mask(1, 4, 4, [2])
    half = torch.randn(1, 2, 4, 8).bfloat16()
    assert by_blocks(half * 50, half * 50, half, mask).isfinite().all()


def model(**settings):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        **settings,
    )
    return LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("padding", [0, 3])
def test_a_model_gives_the_same_scores_and_writes_the_same(padding):
    ids = torch.randint(3, 50, (2, 150), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, :padding] = 0
    ours, theirs = model(), model()
    use_cpu_attention(ours)
    assert ours.config._attn_implementation == NAME
    assert theirs.config._attn_implementation == "sdpa"
    with torch.inference_mode():
        scores = [one(ids, attention_mask=mask).logits[:, padding:] for one in (ours, theirs)]
        torch.testing.assert_close(scores[0], scores[1], rtol=1e-4, atol=1e-5)
        options = {"attention_mask": mask, "max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
        assert ours.generate(ids, **options).tolist() == theirs.generate(ids, **options).tolist()


@pytest.mark.parametrize("padding", [0, 3])
def test_token_by_token_with_room_ahead(padding):
    """A prefix and then one token at a time give the same as all tokens at once."""
    ids = torch.randint(3, 50, (2, 20), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, :padding] = 0
    places = (mask.cumsum(1) - 1).clamp(min=0)
    ours, theirs = model(), model()
    use_cpu_attention(ours)
    cache, parts = growing_cache(ours), []
    with torch.inference_mode():
        for start, end in [(0, 12), *((n, n + 1) for n in range(12, 20))]:
            step = {"input_ids": ids[:, start:end], "position_ids": places[:, start:end]}
            parts.append(ours(**step, attention_mask=mask[:, :end], past_key_values=cache, use_cache=True).logits)
        expected = theirs(ids, attention_mask=mask, position_ids=places).logits
    torch.testing.assert_close(torch.cat(parts, 1)[:, padding:], expected[:, padding:], rtol=1e-4, atol=1e-5)


def test_a_model_with_another_attention_keeps_it():
    eager = model(attn_implementation="eager")
    use_cpu_attention(eager)
    assert eager.config._attn_implementation == "eager"


def test_what_is_not_causal_goes_to_pytorchs_kernel():
    """In such a model, a query sees keys after its own."""
    torch.manual_seed(0)
    layer = torch.nn.Module()
    query, key, value = torch.randn(3, 1, 2, 5, 4)
    found, _ = attention(layer, query, key, value, None, is_causal=False)
    everything = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    torch.testing.assert_close(found, plain(query / 2, key, value, everything))
