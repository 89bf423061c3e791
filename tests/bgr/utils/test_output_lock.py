"""Two commands never write one output: the second is refused at its start, and no lock is left over."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from bgr.errors import BgrError
from bgr.utils.atomic_io import is_empty, output_folder
from bgr.utils.output_lock import PARENTS, output_locks

HOLD = """
import sys
from pathlib import Path
from bgr.utils.output_lock import output_locks

with output_locks([Path(sys.argv[1])]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder():
    """``holder(path)``: another process that holds the lock until its standard input is closed."""
    started = []

    def start(path):
        words = [sys.executable, "-c", HOLD, str(path)]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "locked\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(timeout=60)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("held", "wanted"), [("run", "run"), ("run", "run/seed-1"), ("run/seed-1", "run")])
def test_an_output_that_another_process_writes_is_refused(held, wanted, holder, tmp_path):
    process = holder(tmp_path / held)
    with pytest.raises(BgrError, match="another process is writing it"), output_locks([tmp_path / wanted]):
        pass
    with output_locks([tmp_path / "run-2"]):
        pass
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    assert names(tmp_path) == []


def test_the_lock_of_a_killed_process_is_free_and_does_not_fill_a_folder(holder, tmp_path):
    process = holder(tmp_path / "out" / "part")
    process.kill()
    process.wait(timeout=60)
    assert names(tmp_path / "out") == [".part.lock"]
    assert is_empty(tmp_path / "out")
    with output_locks([tmp_path / "out"]), output_folder(tmp_path / "out") as work:
        (work / "result").touch()
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["SHA256SUMS", "result"]


def test_commands_that_a_command_starts_may_write_in_its_folder(tmp_path):
    with output_locks([tmp_path / "demo"]):
        for part in ("demo", "demo/data"):
            words = [sys.executable, "-c", HOLD, str(tmp_path / part)]
            assert subprocess.run(words, input=b"", capture_output=True, timeout=60, check=False).returncode == 0
    assert PARENTS not in os.environ


def test_a_thread_that_ends_first_leaves_the_other_its_lock_and_the_environment_as_it_was(monkeypatch, tmp_path):
    monkeypatch.setenv(PARENTS, "/of/a/parent")
    first, second = ExitStack(), ExitStack()
    first.enter_context(output_locks([tmp_path / "one"]))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(second.enter_context, output_locks([tmp_path / "two"])).result()
        first.close()
        assert set(os.environ[PARENTS].split(os.pathsep)) == {"/of/a/parent", str(tmp_path / "two")}
        assert names(tmp_path) == [".two.lock"]
        thread.submit(second.close).result()
    assert os.environ[PARENTS] == "/of/a/parent"
    assert names(tmp_path) == []


def test_two_threads_never_write_one_output(tmp_path):
    second = ExitStack()
    with output_locks([tmp_path / "run"]), ThreadPoolExecutor(1) as thread:
        with pytest.raises(BgrError, match="run: another process is writing it"):
            thread.submit(second.enter_context, output_locks([tmp_path / "run"])).result()
        with output_locks([tmp_path / "run", tmp_path / "run" / "part"]):  # the thread that has it may
            pass
        assert os.environ[PARENTS] == str(tmp_path / "run")
    with output_locks([tmp_path / "run"]):
        pass
    assert PARENTS not in os.environ


def test_a_forked_worker_that_outlives_its_parent_does_not_keep_the_lock(tmp_path):
    end, begin = os.pipe()
    with output_locks([tmp_path / "run"]):
        worker = os.fork()
        if not worker:
            os.close(begin)
            os.read(end, 1)
            os._exit(0)
    try:
        with output_locks([tmp_path / "run"]):
            pass
    finally:
        os.close(begin)
        os.close(end)
        os.waitpid(worker, 0)


def test_a_symbolic_link_does_not_hide_that_two_outputs_are_one(holder, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    holder(tmp_path / "real" / "out")
    with pytest.raises(BgrError, match="another process"), output_locks([tmp_path / "link" / "out"]):
        pass


def test_a_lock_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    for place in ("file/out", "x" * 250):
        with (
            pytest.raises(BgrError, match=r"cannot be written: (File exists|File name)"),
            output_locks([tmp_path / place]),
        ):
            pass
    assert names(tmp_path) == ["file"]
