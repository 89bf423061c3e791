"""The device of the tests that are marked ``gpu``: ``BGR_DEVICE``, by default CUDA.

``BGR_DEVICE=cpu`` rehearses them on a machine without a GPU: comparisons with the CPU on a stand-in that refuses what
CUDA refuses (`far_device`), trainings on the CPU.
"""

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

import pytest
import torch

CHOSEN = os.environ.get("BGR_DEVICE", "cuda")


def _load(name):
    """A helper beside this file; with ``--import-mode=importlib`` tests have no package."""
    full = f"bgr_gpu_tests_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session", autouse=True)
def chosen():
    """``cuda`` or ``cpu``."""
    if CHOSEN not in ("cuda", "cpu"):
        pytest.fail(f"BGR_DEVICE is {CHOSEN!r}, allowed: cuda, cpu")
    if CHOSEN == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device; BGR_DEVICE=cpu rehearses the tests without one")
    return CHOSEN


@pytest.fixture(scope="session")
def on_device(chosen):
    """``with on_device() as device:`` the device that is compared with the CPU."""
    if chosen == "cuda":
        return lambda: contextlib.nullcontext(torch.device("cuda"))
    return _load("far_device").far_device


@pytest.fixture(scope="session")
def close(chosen):
    """``close(a, b)``: tensors of both devices are equal but for the order of their sums."""
    tolerance = {"atol": 2e-4, "rtol": 2e-3} if chosen == "cuda" else {"atol": 1e-5, "rtol": 1e-4}

    def check(one, other, name=""):
        one, other = one.detach().cpu(), other.detach().cpu()
        torch.testing.assert_close(one, other, **tolerance, equal_nan=True, msg=lambda text: f"{name}: {text}")

    return check
