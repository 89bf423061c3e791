import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bgr.models.ragged import Ragged, length_buckets, take

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=30)


@given(LENGTHS)
def test_padding_and_back(lengths):
    rows = Ragged.from_lists([list(range(1, n + 1)) for n in lengths])
    padded = rows.padded()
    assert [row[row > 0].tolist() for row in padded] == [list(range(1, n + 1)) for n in lengths]
    assert torch.equal(padded[rows.mask()], rows.flat)


@given(LENGTHS, st.data())
def test_select_takes_rows_in_order(lengths, data):
    rows = [[10 * i + j for j in range(n)] for i, n in enumerate(lengths)]
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=10))
    taken = Ragged.from_lists(rows).select(torch.tensor(wanted))
    assert taken.flat.tolist() == [x for i in wanted for x in rows[i]]
    assert taken.lengths.tolist() == [len(rows[i]) for i in wanted]


@given(LENGTHS)
def test_buckets_hold_every_row_once_and_little_padding(lengths):
    groups = length_buckets(torch.tensor(lengths), waste=0.1, max_tokens=100)
    assert sorted(i for group in groups for i in group.tolist()) == list(range(len(lengths)))
    for group in groups:
        sizes = [lengths[i] for i in group.tolist()]
        assert sum(sizes) >= 0.9 * max(sizes) * len(sizes) - 1e-6
        assert len(sizes) == 1 or max(sizes) * len(sizes) <= 100


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_moves_and_casts_states_alone(dtype):
    moved = Ragged(torch.ones(3, 2), torch.tensor([1, 2])).to("cpu", dtype=dtype)
    assert moved.flat.dtype == dtype
    assert moved.lengths.dtype == torch.long


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 3, 2)])
@pytest.mark.parametrize("dtype", [torch.long, torch.bfloat16, torch.float32])
def test_take_is_indexing_and_so_is_its_gradient(shape, dtype):
    table, rows = torch.randint(9, shape).to(dtype), torch.tensor([[4, 0, 4], [1, 1, 2]])
    learns = dtype.is_floating_point
    ours, plain = (table.clone().requires_grad_(learns) for _ in range(2))
    assert torch.equal(take(ours, rows), plain[rows])
    if learns:
        take(ours, rows).square().sum().backward()
        plain[rows].square().sum().backward()
        assert torch.equal(ours.grad, plain.grad)
