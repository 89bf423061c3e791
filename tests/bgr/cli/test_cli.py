"""The command `bgr`: dispatch, exit codes, one-line errors."""

import importlib
import subprocess
import sys

import pytest

from bgr import __version__
from bgr.cli import COMMANDS, main

WRITTEN = [name for name, (module, _) in COMMANDS.items() if importlib.util.find_spec(module)]


def usage_error(argv: list[str]) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    return stopped.value.code


def test_wrong_usage_exits_with_2(capsys):
    assert usage_error([]) == 2
    assert usage_error(["nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
    assert usage_error(["evaluate"]) == 2
    assert "--data" in capsys.readouterr().err


def test_help_and_version_exit_with_0(capsys):
    assert usage_error(["--version"]) == 0
    assert __version__ in capsys.readouterr().out
    assert usage_error(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)


@pytest.mark.parametrize("name", WRITTEN)
def test_each_command_has_help(name, capsys):
    assert usage_error([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: bgr {name}")
    assert importlib.import_module(COMMANDS[name][0]).__doc__.splitlines()[0] in text


def test_an_error_is_one_line_and_exit_code_1(tmp_path, capsys):
    code = main(["evaluate", "--data", str(tmp_path), "--baselines", "--out", str(tmp_path / "out")])
    err = capsys.readouterr().err
    assert code == 1
    assert err.startswith("bgr evaluate: error: ")
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_starting_is_quick_because_commands_import_late():
    """`bgr --version` loads neither torch nor anything else that takes seconds."""
    code = (
        "import sys\nfrom bgr.cli import main\n"
        "try: main(['--version'])\nexcept SystemExit: pass\n"
        "print(sorted({'torch', 'transformers', 'datasets', 'matplotlib', 'lightning'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"
