import pytest
import torch
import torch.nn.functional as F

from bgr.models.attention import Packing, attend, attend_in_rows


@pytest.mark.parametrize("keys", [6, 20])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_both_precisions_with_gradients_equal_the_fused_kernel(scale, keys):
    torch.manual_seed(0)
    parts = [torch.randn(3, 2, length, 8) for length in (4, keys, keys)]
    mask = (torch.arange(keys) < torch.tensor([keys, keys - 2, 1])[:, None])[:, None, None, :]
    exact = [part.clone().requires_grad_() for part in parts]
    half = [part.bfloat16().requires_grad_() for part in parts]
    wanted = F.scaled_dot_product_attention(*exact, mask, scale=scale)
    torch.testing.assert_close(attend(*exact, mask, scale=scale), wanted, atol=1e-5, rtol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        got = attend(*half, mask, scale=scale)
    assert got.dtype == torch.bfloat16
    assert (got.float() - wanted).abs().max() < 0.03
    wanted.square().sum().backward()
    got.float().square().sum().backward()
    for a, b in zip(half, exact, strict=True):
        assert (a.grad.float() - b.grad).abs().max() < 0.03 * b.grad.abs().max()
    # without gradients, the kernel alone
    torch.testing.assert_close(attend(*parts, mask, scale=scale), wanted.detach(), atol=1e-5, rtol=1e-5)
    # masked values affect neither the result nor the gradients
    assert half[2].grad[2, :, 1:].abs().max() == 0


def test_a_mask_of_floats_gets_its_gradients():
    torch.manual_seed(0)
    parts = [torch.randn(2, 3, 7, 8, requires_grad=True) for _ in range(3)]
    mask = torch.randn(2, 3, 7, 7, requires_grad=True)
    with torch.no_grad():
        wanted = attend(*parts, mask)
    got = attend(*parts, mask)
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-5)
    shares = (parts[0] @ parts[1].transpose(-1, -2) * 8**-0.5 + mask).softmax(-1)
    grads = torch.autograd.grad(got.square().sum(), mask)[0]
    torch.testing.assert_close(
        grads, torch.autograd.grad((shares @ parts[2]).square().sum(), mask)[0], atol=1e-4, rtol=1e-4
    )


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-5), (torch.bfloat16, 0.03)])
def test_rows_see_themselves_alone(dtype, error, trained):
    """Also where a row's keys are read with some of the next row's, in order that their number be round."""
    torch.manual_seed(0)
    lengths = torch.tensor([3, 3, 15, 16, 16, 17, 17, 17, 31])
    exact = [torch.randn(int(lengths.sum()), 8) for _ in range(3)]
    parts = [part.to(dtype).requires_grad_(trained) for part in exact]
    found = attend_in_rows(*parts, Packing.of(lengths), heads=2)
    assert found.dtype == dtype
    alone = [
        # [t, d] -> [heads, t, d / heads] and back
        attend(*(part.unflatten(-1, (2, -1)).transpose(0, 1) for part in row)).transpose(0, 1).flatten(1)
        for row in zip(*(part.split(lengths.tolist()) for part in exact), strict=True)
    ]
    assert (found.float() - torch.cat(alone)).abs().max() < error


@pytest.mark.parametrize("keys", [6, 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_without_a_mask_all_are_seen(dtype, keys):
    torch.manual_seed(0)
    parts = [torch.randn(2, 3, length, 8) for length in (4, keys, keys)]
    wanted = attend(*parts, torch.ones(1, 1, 1, keys, dtype=torch.bool))
    got = attend(*(part.to(dtype) for part in parts))
    assert (got.float() - wanted).abs().max() < (1e-5 if dtype == torch.float32 else 0.03)


def test_dropout_in_sixteen_bits_keeps_the_mean():
    torch.manual_seed(0)
    parts = [torch.randn(1, 1, length, 4).bfloat16() for length in (1, 5, 5)]
    many = torch.stack([attend(*parts, dropout=0.2) for _ in range(4000)]).float()
    assert many.var(0).min() > 0
    assert (many.mean(0) - attend(*parts).float()).abs().max() < 0.05
