"""Peak memory of a piece of work, measured in this process.

On the CPU it is the increase of the resident set: Linux' high-water mark (``VmHWM``) is reset before the work, and the
resident set at that moment is subtracted after it. Free memory that the allocator still holds is returned to the system
first, because it would be reused and hide a part of the increase. On a GPU it is the increase of PyTorch's allocations
on the device. On systems that cannot reset the mark the memory is unknown (NaN).
"""

from __future__ import annotations

import ctypes
import gc
import math
from pathlib import Path
from types import TracebackType

import torch

PROCESS = Path("/proc/self")
RESET_PEAK = "5"
"""Written to ``clear_refs``, it resets the high-water mark (proc(5))."""


class PeakMemory:
    """A context whose `increase` is the peak memory of its block beyond the memory before it, in bytes; NaN if
    unknown."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.increase = math.nan
        self._before = math.nan

    def __enter__(self) -> PeakMemory:
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)
            self._before = float(torch.cuda.memory_allocated(self.device))
            return self
        _return_free_memory()
        try:
            (PROCESS / "clear_refs").write_text(RESET_PEAK)
        except OSError:
            return self
        self._before = _status("VmRSS")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        on_gpu = self.device.type == "cuda"
        peak = float(torch.cuda.max_memory_allocated(self.device)) if on_gpu else _status("VmHWM")
        self.increase = max(0.0, peak - self._before) if not math.isnan(peak - self._before) else math.nan


def _return_free_memory() -> None:
    """Return free memory of the C library's allocator to the system, if the library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _status(name: str) -> float:
    """A size of ``/proc/self/status`` in bytes; NaN if there is none."""
    try:
        lines = (PROCESS / "status").read_text().splitlines()
    except OSError:
        return math.nan
    sizes = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return 1024.0 * int(sizes[0]) if sizes else math.nan
