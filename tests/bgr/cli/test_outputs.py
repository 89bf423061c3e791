"""What every command shares when it writes: one lock for its output, and errors of the system in one line."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated

import pytest

from bgr.cli import COMMANDS, main
from bgr.cli.parser import Group
from bgr.utils.options import Folder, Metavar, Options, OptionsError, OutFolder, kind_of
from bgr.utils.output_lock import output_locks


def commands(name, entry):
    if isinstance(entry, Group):
        for word, each in entry.commands.items():
            yield from commands(f"{name} {word}", each)
    else:
        yield name, entry.options


ALL = [each for name in COMMANDS for each in commands(name, import_module(f"bgr.cli.{name}").command())]


@pytest.mark.parametrize(("name", "options"), ALL, ids=[name for name, _ in ALL])
def test_every_output_is_locked(name, options):
    for one in fields(options):
        if one.name in ("out", "draw", "plot", "sheet", "corpus_out"):
            assert kind_of(options, one).is_written, (name, one.name)


@contextmanager
def locked_by_another(path):
    """Another thread has the lock, which is refused like one of another process."""
    held = ExitStack()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(held.enter_context, output_locks([path])).result()
        try:
            yield
        finally:
            thread.submit(held.close).result()


@pytest.mark.parametrize(
    "words",
    [
        "evaluate --data a --checkpoint b --out",
        "evaluate --data a --checkpoint b --sweep --out",
        "compare --data a --systems bm25 --out",
        "ablate spelling --checkpoint a --data b --out",
        "ablate plain --checkpoint a --collection b --kqapro c --out",
        "export --run a --out",
        "atlas --out",
        "data build --kqapro a --out",
        "data convert a --to bgr",
        "train retriever --config demo --data a --resume --out",
        "train baseline --config bm25 --data a --out",
    ],
)
def test_the_second_command_is_refused_in_one_line_before_it_reads_anything(words, tmp_path, capsys):
    with locked_by_another(tmp_path / "out"):
        assert main([*words.split(), str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert f"{tmp_path / 'out'}: another process is writing it" in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_default_output_of_an_evaluation_is_locked(tmp_path, capsys):
    with locked_by_another(tmp_path / "run-evaluation-dev"):
        words = ["evaluate", "--data", "a", "--split", "dev", "--checkpoint", str(tmp_path / "run")]
        assert main(words) == 1
    assert "another process is writing it" in capsys.readouterr().err


@dataclass(frozen=True, kw_only=True)
class WritingOptions(Options):
    """Options of a command that reads and writes."""

    out: OutFolder
    data: Folder | None = None
    systems: tuple[Annotated[str, Metavar("NAME=DIR")], ...] = ()
    start: Annotated[str, Metavar("DIR|ID")] | None = None
    rule: str = ""
    states: Folder | None = None
    overwrite: bool = False


@pytest.fixture
def written(tmp_path, monkeypatch):
    """``written(data="out")``: options that overwrite the folder ``out``, which has the folder ``run``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "run").mkdir(parents=True)
    (tmp_path / "link").symlink_to("out/run")
    return lambda **given: WritingOptions(out="out", **{"overwrite": True, **given})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"data": "out"}, "--data: out"),
        ({"data": "out/run/../run"}, "--data: out/run"),
        ({"data": "link"}, "--data: link"),
        ({"systems": ["bm25", "x=out/run"]}, "--systems: out/run"),
        ({"systems": ["x=out/run:fused"]}, "--systems: out/run"),
        ({"systems": ["x=out"]}, "--systems: out"),
        ({"systems": ["out/run"]}, "--systems: out/run"),
        ({"start": "out"}, "--start: out"),
        ({"rule": "./out"}, "--rule: ./out"),
    ],
)
def test_an_input_is_not_deleted_with_the_output_that_holds_it(written, given, named):
    with pytest.raises(OptionsError, match=rf"{named}.* would be deleted with --out out: name another place"):
        written(**given)
    assert written(**given, overwrite=False).out == Path("out")


@pytest.mark.parametrize(
    "given",
    [
        {"data": "."},
        {"data": "out/none"},
        {"data": "outer"},
        {"systems": ["bm25", "x=out/none"]},
        {"start": "bert-base"},
        {"rule": "out"},
        {"states": "out/run"},
    ],
)
def test_other_inputs_may_be_beside_an_output_that_is_overwritten(written, given):
    Path("outer").mkdir()
    assert written(**given).overwrite


def test_only_the_first_of_several_training_processes_takes_the_lock(monkeypatch, tmp_path):
    from training.options import BaselineOptions

    options = BaselineOptions(config="bm25", data="a", out=tmp_path)
    assert list(options.outputs()) == [tmp_path]
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert list(options.outputs()) == []


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "standard output: No space left on device; free some space"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), "a/b: Permission denied; change its permissions"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "a", None, "b"), "a and b: File name too long; name a sh"),
    ],
)
def test_an_error_of_the_system_is_one_line(error, line, monkeypatch, capsys, tmp_path):
    def fail(_):
        raise error

    monkeypatch.setattr("bgr.cli.export.run", fail)
    monkeypatch.setattr("bgr.cli._discard_output", lambda: None)
    assert main(["export", "--run", "a", "--out", str(tmp_path / "b")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"bgr export: error: {line}")
    assert err.count("\n") == 1


def run_bgr(words, *before, **options):
    return subprocess.run(
        [*before, sys.executable, "-m", "bgr", *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("words", [["--help"], ["data", "--help"], ["--version"]])
def test_a_full_standard_output_is_one_line(words):
    with open("/dev/full", "w") as full:
        done = run_bgr(words, stdout=full)
    assert done.returncode == 1
    assert "standard output: No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_gone_is_quiet():
    out, into = os.pipe()
    os.close(out)
    done = run_bgr(["--help"], stdout=into)
    os.close(into)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.workflow
@pytest.mark.parametrize("command", ["atlas", "export", "convert"])
def test_a_full_disk_is_one_line_and_leaves_nothing(command, tmp_path, request):
    out = tmp_path / "out"
    words = {
        "atlas": lambda: ["atlas", "--questions", 20, "--size", 3000, "--out", out],
        "export": lambda: ["export", "--run", request.getfixturevalue("random_checkpoint"), "--out", out],
        "convert": lambda: [
            "data", "convert", request.getfixturevalue("short_data"), out, "--to", "released"
        ],
    }[command]()  # fmt: skip
    # as on a full disk, no file may grow beyond 20 kB
    done = run_bgr(words, "sh", "-c", 'ulimit -f 40 && exec "$@"', "sh", stdout=subprocess.PIPE)
    assert done.returncode == 1, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
