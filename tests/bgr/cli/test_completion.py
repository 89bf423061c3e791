"""The scripts of `bgr completion` in real shells; zsh and fish may be missing outside of CI."""

import os
import pty
import select
import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest

from bgr.cli import main

CASES = [
    ("bgr compl", {"completion"}),
    ("bgr data b", {"build"}),
    ("bgr collection triples ", {"import", "extract", "check", "facts"}),
    ("bgr ask --prec", {"--precision"}),
    ("bgr ask --precision ", {"32", "bf16"}),
    ("bgr ask 'who' --checkpoint che", {"checkpoint"}),
    ("bgr train retriever --config de", {"demo", "dev.yaml"}),
]


@pytest.fixture
def script(capsys, tmp_path):
    """``script("bash")``: the file with the script of that shell."""

    def write(shell):
        assert main(["completion", shell]) == 0
        path = tmp_path / f"script.{shell}"
        path.write_text(capsys.readouterr().out)
        return path

    return write


@pytest.fixture
def folder(tmp_path):
    """A folder with a checkpoint, a config, and a file that is no folder."""
    place = tmp_path / "place"
    (place / "checkpoint").mkdir(parents=True)
    (place / "cheese.txt").touch()
    (place / "dev.yaml").touch()
    return place


def needed(shell):
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


BASH = """\
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_shtab_bgr bgr "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_bash(script, folder):
    file = script("bash")
    for line, expected in CASES:
        words = [word.strip("'") for word in line.split(" ")]
        done = subprocess.run(
            [needed("bash"), "--norc", "-c", BASH, "bash", file, *words], cwd=folder, capture_output=True, text=True
        )
        assert (set(done.stdout.split()), done.stderr) == (expected, ""), line


def test_fish(script, folder):
    file = script("fish")
    for line, expected in CASES:
        code = f"source {file}; complete -C {line!r}"
        done = subprocess.run([needed("fish"), "-N", "-c", code], cwd=folder, capture_output=True, text=True)
        found = {shown.partition("\t")[0].rstrip("/") for shown in done.stdout.splitlines()}
        assert (found, done.stderr) == (expected, ""), line


def test_zsh(script, folder):
    shell = needed("zsh")
    functions = folder.parent / "functions"
    functions.mkdir()
    script("zsh").rename(functions / "_bgr")
    offered = folder.parent / "offered"
    # each word that is offered is written to a file, and the empty line that ends them
    (folder.parent / "setup").write_text(f"""
        fpath=({functions} $fpath)
        autoload -U compinit && compinit -u -D
        compadd() {{
          builtin compadd -O words "$@"
          print -l -- $words >> {offered}
          builtin compadd "$@"
        }}
        finished() {{ print -l END >> {offered} }}
        zle -N finished
        bindkey "^G" finished
        PROMPT='READY> '
    """)
    with terminal_of([shell, "-f", "-i"], folder) as terminal:
        os.write(terminal, f"source {folder.parent}/setup\n".encode())
        wait_for(terminal, lambda shown: "READY> " in shown)
        for line, expected in CASES:
            offered.write_text("")
            os.write(terminal, f"{line}\t\x07\x15".encode())  # Tab, our end, and the whole line deleted
            wait_for(terminal, lambda _: "END" in offered.read_text())
            found = {word.rstrip("/") for word in offered.read_text().split()} - {"END"}
            assert expected <= found, line
            assert not found & {"cheese.txt", "atlas"}, line


@contextmanager
def terminal_of(command, folder):
    """The file descriptor of a terminal in which the command runs."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, {**os.environ, "TERM": "dumb"})
    try:
        yield terminal
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def wait_for(terminal, done, seconds=20.0):
    """Read until `done`, a function of what was shown, is true."""
    shown, end = "", time.monotonic() + seconds
    while not done(shown):
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 0.02)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace").replace("\r", "")


def test_a_shell_that_is_not_known_is_named(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["completion", "csh"])
    assert stopped.value.code == 2
    assert "'csh': allowed: bash, zsh, fish; did you mean" in capsys.readouterr().err
