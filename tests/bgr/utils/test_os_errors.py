"""Errors of the system and of libraries that find no memory, in one line."""

import errno

import pytest
import torch

from bgr.cli.parser import Command, Output, execute
from bgr.errors import BgrError, CheckpointError
from bgr.utils.options import Options
from bgr.utils.os_errors import is_out_of_memory, out_of_memory


def allocated_by_torch():
    torch.empty(1 << 60)


def refused_after_another():
    try:
        raise RuntimeError("could not create a primitive")
    except RuntimeError as error:
        raise CheckpointError(f"run: cannot be loaded: {error}") from None


def raised(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize(
    "act",
    [
        allocated_by_torch,
        refused_after_another,
        raised(MemoryError()),
        raised(OSError(errno.ENOMEM, "Cannot allocate memory")),
        raised(RuntimeError("can't start new thread")),
        raised(RuntimeError("std::bad_alloc")),
    ],
)
def test_a_command_without_memory_says_what_to_lower(act):
    def run(options):
        act()
        return Output("")

    with pytest.raises(BgrError, match=r"^out of memory; .*free some memory"):
        execute("bgr x", Command(summary="", description="", options=Options, run=run, example=""), [])


def test_a_full_disk_that_only_pytorch_has_seen_is_one_line():
    def run(options):
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0")

    with pytest.raises(BgrError, match="an output: PyTorch could not write a file; free some space"):
        execute("bgr x", Command(summary="", description="", options=Options, run=run, example=""), [])


def test_other_errors_are_not_taken_for_it():
    assert not is_out_of_memory(RuntimeError("shapes do not fit"))
    assert not is_out_of_memory(OSError(errno.ENOSPC, "No space left on device"))


def test_the_options_of_the_command_are_named():
    assert "lower --batch-size or --pool, " in out_of_memory(["out", "pool", "batch_size"])
    assert "lower --data.batch_size, " in out_of_memory(["settings", "seed"])
    assert "lower" not in out_of_memory(["out"])
