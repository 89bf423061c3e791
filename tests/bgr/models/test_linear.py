import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from bgr.models.linear import RoundLinear, round_linears, round_parts

ROWS = [0, 1, 5, 7, 8, 9, 31, 32, 33, 100, 977, 1100]


def layers(*, bias):
    torch.manual_seed(0)
    plain = nn.Linear(24, 40, bias=bias)
    both = nn.Sequential(plain, nn.Linear(40, 8))
    own = nn.Sequential(nn.Linear(24, 40, bias=bias), nn.Linear(40, 8))
    own.load_state_dict(both.state_dict())
    round_linears(own)
    return both, own


def test_two_round_parts_hold_all_rows_once_or_twice():
    for rows in range(5000):
        first, second = round_parts(rows)
        assert 0 <= first <= rows
        assert rows - first <= second <= rows
        for part in (first, second):
            assert part == rows or part % (1 << max(part.bit_length() - 3, 0)) == 0


def test_few_numbers_of_rows():
    numbers = {part for rows in range(1, 16_385) for part in round_parts(rows)}
    assert len(numbers) <= 4 * 14


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", ROWS)
def test_results_and_gradients_are_those_of_pytorch(rows, bias):
    plain, own = layers(bias=bias)
    inputs = torch.randn(rows, 24)
    results, gradients = [], []
    for model in (plain, own):
        given = inputs.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            result = model(given)
        (result.float() * torch.arange(1.0, 9)).sum().backward()
        results.append(result)
        gradients.append([given.grad, *(p.grad for p in model.parameters())])
    assert results[0].dtype == results[1].dtype == torch.bfloat16
    torch.testing.assert_close(results[1], results[0], rtol=0.02, atol=0.02)
    for ours, theirs in zip(gradients[1], gradients[0], strict=True):
        assert ours.dtype == theirs.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, rtol=0.03, atol=0.01 * float(theirs.abs().max()) if rows else 0)


def test_leading_dimensions_and_weights_held_in_16_bits():
    plain, own = layers(bias=True)
    inputs = torch.randn(3, 37, 24).transpose(0, 1).bfloat16()
    with torch.no_grad():
        result = own.bfloat16()(inputs)
        torch.testing.assert_close(result, plain.bfloat16()(inputs), rtol=0.02, atol=0.02)
    assert result.shape == (37, 3, 8)


def test_float32_is_left_to_pytorch():
    plain, own = layers(bias=True)
    inputs = torch.randn(33, 24)
    assert torch.equal(own(inputs), plain(inputs))
    with torch.autocast("cpu", torch.float16):
        assert own(inputs).dtype == torch.float16


def test_layers_of_other_packages_and_their_weights_names():
    config = BertConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, intermediate_size=32, vocab_size=30)
    bert = BertModel(config)
    names = list(bert.state_dict())
    round_linears(bert)
    assert type(bert.encoder.layer[0].intermediate.dense) is RoundLinear
    assert list(bert.state_dict()) == names
    assert not any(type(module) is nn.Linear for module in bert.modules())
