"""Where to compute, and in what precision."""

from __future__ import annotations

import torch


def pick_device(name: str | torch.device | None = None) -> torch.device:
    """The device named, else the GPU if there is one, else the CPU."""
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def fast_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices natively, and so faster than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
