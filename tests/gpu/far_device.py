"""A device for machines without a GPU: it computes like the CPU, but refuses what CUDA refuses.

A tensor that was moved to `FAR` holds a CPU tensor and says that it is on another device. Operations of tensors of both
devices fail, as do those that read a far tensor's memory. Code that asks for the type of the device takes the way of a
GPU. PyTorch has a device guard for ``meta`` only, so that this name stands for it; no data are lost. Recurrent networks
of PyTorch do not run on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

FAR = torch.device("meta")

ALLOWED = ("aten::copy_", "aten::_to_copy", "aten::index", "aten::index_put_", "aten::_index_put_impl_")
"""Operations that CUDA allows for two devices: copies, and indices on the CPU."""


class FarTensor(torch.Tensor):
    """A tensor on `FAR` whose values are those of the CPU tensor `near`."""

    near: torch.Tensor

    @staticmethod
    def __new__(cls, near: torch.Tensor, requires_grad: bool = False) -> FarTensor:
        layout = {"strides": near.stride(), "storage_offset": near.storage_offset(), "dtype": near.dtype}
        return torch.Tensor._make_wrapper_subclass(cls, near.shape, device=FAR, requires_grad=requires_grad, **layout)

    def __init__(self, near: torch.Tensor, requires_grad: bool = False) -> None:
        self.near = near

    def __repr__(self) -> str:
        return f"FarTensor({self.near})"

    def tolist(self) -> Any:
        return self.near.tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError("can't convert far device type tensor to numpy; use Tensor.cpu() first")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    far: list[FarTensor] = []
    near: list[torch.Tensor] = []

    def sort(one: Any) -> None:
        if isinstance(one, FarTensor):
            far.append(one)
        elif isinstance(one, torch.Tensor):
            assert one.device != FAR, f"{func.name()}: a tensor without values"
            near.extend([one] if one.dim() else [])

    def to_near(one: Any) -> Any:
        return one.near if isinstance(one, FarTensor) else one

    def to_far(one: Any) -> Any:
        if isinstance(one, FarTensor) or not isinstance(one, torch.Tensor):
            return one
        same = [own for own in far if own.near is one]  # an operation in place
        return same[0] if same else FarTensor(one)

    tree_map(sort, (args, kwargs))
    if far and near and func.name().partition(".")[0] not in ALLOWED:
        raise RuntimeError(f"{func.name()}: expected all tensors to be on the same device, found far and cpu")
    moved = bool(far)
    if kwargs.get("device") is not None:
        moved = torch.device(kwargs["device"]) == FAR
        kwargs = {**kwargs, "device": torch.device("cpu")}
    if func.name() == "aten::copy_":
        moved = isinstance(args[0], FarTensor)
    if func.name() == "aten::index" or "index_put" in func.name():
        moved = isinstance(args[0], FarTensor)
        if far and near and not moved:
            raise RuntimeError(f"{func.name()}: indices should be on the CPU or on the device of the indexed tensor")
    found = func(*tree_map(to_near, args), **tree_map(to_near, kwargs))
    return tree_map(to_far, found) if moved and func.name() != "aten::_local_scalar_dense" else found


class _Operations(TorchDispatchMode):
    """Makes far tensors of new ones, and of moved ones."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """Functions that PyTorch answers for ``meta`` without an operation."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and torch.device(kwargs.get("device") or "cpu") == FAR:
            del kwargs["device"]
            return func(*args, **kwargs).to(FAR)
        if func is torch.Tensor.new_tensor and isinstance(args[0], FarTensor):
            return torch.tensor(args[1], dtype=args[0].dtype).to(FAR)
        if func is torch.Tensor.__setitem__ and isinstance(args[0], FarTensor):
            places = args[1] if isinstance(args[1], tuple) else (args[1],)
            places = tuple(torch.tensor(one) if isinstance(one, list) else one for one in places)
            values = [v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=args[0].dtype) for v in args[2:]]
            return func(args[0], places, *(v.to(FAR) if not v.dim() else v for v in values))
        return func(*args, **kwargs)


@contextlib.contextmanager
def far_device() -> Iterator[torch.device]:
    """Within it, `FAR` can be used. There is no autocast on it."""
    real, enabled = torch.autocast, torch.is_autocast_enabled

    def autocast(kind: str, *args: Any, **settings: Any) -> Any:
        return contextlib.nullcontext() if kind == FAR.type else real(kind, *args, **settings)

    def is_enabled(kind: str | None = None) -> bool:
        return kind != FAR.type and (enabled() if kind is None else enabled(kind))

    with pytest.MonkeyPatch.context() as patch, _Functions(), _Operations():
        patch.setattr(torch, "autocast", autocast)
        # wrapped tensors cannot be indexed in inference mode
        patch.setattr(
            torch.inference_mode, "__enter__", lambda self: vars(self).setdefault("own", torch.no_grad()).__enter__()
        )
        patch.setattr(torch.inference_mode, "__exit__", lambda self, *error: vars(self).pop("own").__exit__(*error))
        patch.setattr(torch, "is_autocast_enabled", is_enabled)
        yield FAR
