"""Device and precision of a model."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn

from bgr.errors import BgrError
from bgr.utils.json_utils import one_line

ADDRESSES = 320 << 20
"""Bytes of addresses that must be left under a limit of them. With fewer, even of a small model, PyTorch's libraries
may end by a signal and not by an error, and a thread that finds no memory while it starts is waited for without end."""


def pick_device(name: str | torch.device | None = None) -> torch.device:
    """The named device; by default the GPU if there is one, else the CPU.

    Raises:
        BgrError: the name is unknown, there is no such device here, or `ADDRESSES` are not left.
    """
    check_addresses()
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BgrError(f"device is {str(name)!r}, which cannot be used here: {one_line(error)}") from None
    return device


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def check_addresses() -> None:
    """BgrError if, at the first call, fewer addresses than `ADDRESSES` are left under the limit of the process (its
    ``ulimit -v``). A later model may fit in less, and what was computed before is not given up."""
    used = Path("/proc/self/statm")
    if not used.is_file():  # only Linux has it, and not every system has the module
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    left = limit - int(used.read_text().split()[0]) * resource.getpagesize()
    if left < ADDRESSES:
        raise BgrError(
            f"out of memory: {max(left, 0) >> 20} MiB of addresses are left of a limit of {limit >> 20}, and a model "
            f"needs {ADDRESSES >> 20} at least; raise the limit (ulimit -v)"
        )


def fast_bfloat16(device: torch.device) -> bool:
    """True if the device multiplies bfloat16 matrices natively, and therefore faster than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def pick_precision(device: torch.device, name: str | None = None) -> str:
    """``"32"`` or ``"bf16"``, by default bfloat16 if the device is fast at it; ValueError for another name."""
    if name not in (None, "32", "bf16"):
        raise ValueError(f"precision is {name!r}, allowed: 32, bf16")
    return name or ("bf16" if fast_bfloat16(device) else "32")


def autocast(device: torch.device, precision: str | None = None) -> torch.autocast:
    """The autocast context for `pick_precision`."""
    return torch.autocast(device.type, torch.bfloat16, enabled=pick_precision(device, precision) == "bf16")


def for_matrices(states: Tensor) -> Tensor:
    """Convert states once for several matrices; `autocast`, if it is on, would convert them for each."""
    kind = states.device.type
    return states.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else states


def hold_in(model: nn.Module, precision: str, *, but: nn.Module | None = None) -> None:
    """Store the weights of linear layers in the type to which `autocast` would convert them at every call.

    Results stay equal to the bit. Not for training, which needs all digits of the weights.

    Args:
        but: a part of the model that always runs in float32.
    """
    if precision == "bf16":
        exempt = set() if but is None else set(but.modules())
        for module in model.modules():
            if isinstance(module, nn.Linear) and module not in exempt:
                module.to(torch.bfloat16)
