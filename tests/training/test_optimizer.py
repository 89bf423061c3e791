"""The joint optimizer against its two parts, and its saved state."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.optim import AdamW
from transformers import get_linear_schedule_with_warmup

from training.optimizer import Muon, MuonWithAdamW, is_matrix, make_optimizer, orthogonalized


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 64), nn.Linear(64, 1))


def parts_of(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    parameters = list(model.parameters())
    return [p for p in parameters if is_matrix(p)], [p for p in parameters if not is_matrix(p)]


def joint(model: nn.Module) -> MuonWithAdamW:
    matrices, others = parts_of(model)
    return MuonWithAdamW(matrices, [{"params": others, "lr": 1e-3}], learning_rate=2e-3, weight_decay=0.1)


def gradients(model: nn.Module, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    model.zero_grad()
    model(torch.randn(8, 64, generator=generator)).square().mean().backward()


def test_only_wide_two_dimensional_parameters_are_matrices() -> None:
    matrices, others = parts_of(small_model())
    assert [tuple(p.shape) for p in matrices] == [(96, 64), (64, 96)]
    assert len(others) == 6


def test_muon_takes_matrices_of_those_named_alone() -> None:
    first, *_, last = model = small_model()
    groups = [{"params": list(first.parameters()), "lr": 1e-3}, {"params": list(model[1:].parameters()), "lr": 2e-3}]

    def made(matrices: list[nn.Parameter], rate: float) -> list[tuple[float, set[int]]]:
        found = make_optimizer(groups, matrices, matrix_learning_rate=rate, weight_decay=0.1)
        return [(group["lr"], {id(p) for p in group["params"]}) for group in found.param_groups]

    rest = {id(p) for p in model[1:].parameters()}
    named = [first.weight, last.weight]
    assert made(named, 3e-3) == [(3e-3, {id(first.weight)}), (1e-3, {id(first.bias)}), (2e-3, rest)]
    assert made(list(first.parameters()), 0.0) == [(1e-3, {id(p) for p in first.parameters()}), (2e-3, rest)]
    assert len(groups[0]["params"]) == 2  # what was given stays as it is


def test_joint_steps_equal_those_of_both_parts_under_one_schedule() -> None:
    model = small_model()
    twin = copy.deepcopy(model)
    one = joint(model)
    matrices, others = parts_of(twin)
    two = [Muon(matrices, lr=2e-3, weight_decay=0.1), AdamW(others, lr=1e-3, weight_decay=0.1)]
    schedules = [get_linear_schedule_with_warmup(o, 2, 6) for o in (one, *two)]
    for step in range(6):
        for each in (model, twin):
            gradients(each, step)
        for optimizer in (one, *two):
            optimizer.step()
        for schedule in schedules:
            schedule.step()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_step_calls_its_closure_with_gradients() -> None:
    model = small_model()
    before = copy.deepcopy(model)

    def closure() -> torch.Tensor:
        loss = model(torch.ones(2, 64)).square().mean()
        loss.backward()
        return loss

    assert joint(model).step(closure).item() > 0
    assert not any(torch.equal(a, b) for a, b in zip(model.parameters(), before.parameters(), strict=True))


def test_a_saved_state_goes_on_as_if_nothing_had_happened() -> None:
    model = small_model()
    one = joint(model)
    schedule = get_linear_schedule_with_warmup(one, 2, 6)
    saved = None
    for step in range(6):
        if step == 3:
            saved = copy.deepcopy((model.state_dict(), one.state_dict(), schedule.state_dict()))
        gradients(model, step)
        one.step()
        schedule.step()
    assert saved is not None
    again = small_model()
    other = joint(again)
    later = get_linear_schedule_with_warmup(other, 2, 6)
    again.load_state_dict(saved[0])
    other.load_state_dict(saved[1])
    later.load_state_dict(saved[2])
    for step in range(3, 6):
        gradients(again, step)
        other.step()
        later.step()
    for a, b in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)
    assert other.param_groups[0]["lr"] == pytest.approx(one.param_groups[0]["lr"])


@pytest.mark.parametrize("fast", [True, False])
def test_muon_is_that_of_pytorch_up_to_rounding(fast, monkeypatch) -> None:
    monkeypatch.setattr("training.optimizer.fast_bfloat16", lambda device: fast)
    model = small_model()
    twin = copy.deepcopy(model)
    ours = Muon(parts_of(model)[0], lr=2e-3, weight_decay=0.1)
    theirs = torch.optim.Muon(parts_of(twin)[0], lr=2e-3, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    start = [p.detach().clone() for p in parts_of(model)[0]]
    for step in range(4):
        generator = torch.Generator().manual_seed(step)
        for a, b in zip(model.parameters(), twin.parameters(), strict=True):
            a.grad = torch.randn(
                a.shape, generator=generator
            )  # of full rank: where a matrix has none, rounding decides
            b.grad = a.grad.clone()
        ours.step()
        theirs.step()
    for before, a, b in zip(start, parts_of(model)[0], parts_of(twin)[0], strict=True):
        assert torch.equal(a, b) is fast
        assert (a - b).norm() < 0.03 * (a - before).norm()
    ours.load_state_dict(theirs.state_dict())  # one form of state


@pytest.mark.parametrize("shape", [(64, 96), (96, 64)])
def test_an_orthogonalized_matrix_keeps_its_directions(shape) -> None:
    matrix = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    found = orthogonalized(matrix, (3.4445, -4.775, 2.0315), 5, 1e-7)
    assert found.dtype == torch.float32
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    values = left.T @ found @ right.T
    assert (values - torch.diag(values.diag())).abs().max() < 1e-4
    assert 0.5 < values.diag().min() <= values.diag().max() < 1.5
