"""How much of a device a piece of work uses: questions a second, share of the device's peak, and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from eval.bench.measure import in_turns
from eval.run.memory import PeakMemory

SIDE = {"cpu": 1024}
"""Side of the square matrices whose product measures the peak, by the type of the device; else `GPU_SIDE`."""
GPU_SIDE = 8192


class _Operations(TorchDispatchMode):
    """Counts floating-point operations as PyTorch's `FlopCounterMode`, which cannot be used in inference mode."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, count = kwargs or {}, flop_registry.get(func._overloadpacket)
        if count is None:
            with self:
                parts = func.decompose(*args, **kwargs)
            return func(*args, **kwargs) if parts is NotImplemented else parts
        found = func(*args, **kwargs)
        self.total += count(*args, **kwargs, out_val=found)
        return found


def utilization(
    name: str, pieces: Sequence[Callable[[], object]], questions: int, device: torch.device, *, rounds: int
) -> dict[str, Any]:
    """Measure some pieces of work together.

    Args:
        name: name of the work.
        pieces: the pieces, which are run one after the other, and warmed up by the first one.
        questions: number of questions of all pieces.
        device: where they run.
        rounds: number of repetitions, of which the fastest counts for each piece.

    Returns:
        ``questions_per_second``; ``tflops``, floating-point operations of matrix products and attention a second in
        10¹², as PyTorch counts them; ``memory_gb``, the increase of the peak memory in GB while the pieces run.
    """
    pieces[0]()
    with PeakMemory(device) as memory:
        for piece in pieces:
            piece()
    with _Operations() as counter:
        for piece in pieces:
            piece()
    [seconds] = in_turns(pieces, rounds=rounds, device=device, name=f"{name}: utilization")
    return {
        "work": name,
        "questions": questions,
        "questions_per_second": questions / seconds.wall,
        "tflops": counter.total / seconds.wall / 1e12,
        "memory_gb": memory.increase / 1e9,
    }


def peak_tflops(device: torch.device, dtype: torch.dtype | None) -> float:
    """The fastest of five products of large square matrices, in 10¹² operations a second: what the device reaches in
    this precision (float32 in the precision that is set for products), not what its data sheet says."""
    side = SIDE.get(device.type, GPU_SIDE)
    a, b = torch.randn(2, side, side, device=device, dtype=dtype or torch.float32).unbind()
    times = [in_turns([lambda: a @ b], rounds=1, device=device)[0].wall for _ in range(5)]
    return float(2 * side**3 / min(times) / 1e12)


def utilization_lines(found: Sequence[dict[str, Any]], peak: float) -> list[str]:
    """A line of text for each piece of work, with its share of the peak."""
    return [
        f"{one['work']}: {one['questions_per_second']:.1f} questions a second, {one['tflops']:.3g} TFLOP/s, "
        f"{one['tflops'] / peak:.0%} of the {peak:.3g} of a matrix product, {one['memory_gb']:.2f} GB"
        for one in found
    ]
