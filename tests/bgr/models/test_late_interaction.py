import pytest
import torch

from bgr.models.late_interaction import largest


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 13])
def test_the_largest_by_halves(size, dim, learns):
    torch.manual_seed(size)
    values = torch.randn(2, size, size).requires_grad_(learns)
    assert torch.equal(largest(values, dim), values.amax(dim))
