"""The command `bgr`: dispatch, exit codes, one-line errors."""

import importlib
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields

import pytest

from bgr import __version__
from bgr.cli import COMMANDS, ROOT, demo, main
from bgr.cli.parser import Command, parse
from bgr.utils.options import option_texts


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


def commands(name, entry):
    """Each command below a word, by its full name."""
    if isinstance(entry, Command):
        yield name, entry
        return
    for word, each in entry.commands.items():
        yield from commands(f"{name} {word}", each)


WRITTEN = [importlib.import_module(f"bgr.cli.{word}") for word in COMMANDS]
ENTRIES = dict(
    pair for word, module in zip(COMMANDS, WRITTEN, strict=True) for pair in commands(word, module.command())
)


@pytest.mark.parametrize("name", ENTRIES)
def test_each_command_has_help_with_an_example(name, capsys):
    assert usage_error([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: bgr {name}")
    assert f"  bgr {name} " in text.partition("\nexample:\n")[2]


@pytest.mark.parametrize("name", ENTRIES)
def test_each_option_is_described(name):
    options = ENTRIES[name].options
    texts = option_texts(options)
    shown = [one.name for one in fields(options) if not one.metadata.get("hidden")]
    assert [one for one in shown if not texts.get(one)] == []
    assert set(texts) <= {one.name for one in fields(options)}


def documented():
    """The lines of README, docs, configs and examples that can be typed, without comments."""
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "configs").glob("*.yaml")]
    texts = [*(file.read_text(encoding="utf-8") for file in files), *(entry.example for entry in ENTRIES.values())]
    for line in "\n".join(texts).replace("\\\n", " ").splitlines():
        words = line.strip().removeprefix("# ").partition(" #")[0].rstrip(".")
        if words.startswith("bgr ") and not set(words) & set("…|`[") and "--help" not in words:
            yield words


def test_every_documented_command_is_valid():
    known = [(name, words) for words in set(documented()) for name in ENTRIES if words.startswith(f"bgr {name} ")]
    assert {name for name, _ in known} == set(ENTRIES)
    for name, words in known:
        parse(f"bgr {name}", ENTRIES[name], shlex.split(words.removeprefix(f"bgr {name} ")))


@pytest.mark.parametrize("scratch", [False, True])
def test_the_steps_of_the_demo_are_valid_and_not_repeated(toy_data, tmp_path, monkeypatch, scratch):
    steps = []

    def run(args, **_):
        steps.append(args[args.index("bgr") + 1 :])
        return subprocess.CompletedProcess(args, 0)

    monkeypatch.setattr(demo.subprocess, "run", run)
    shutil.copytree(toy_data, tmp_path / "demo" / "data")
    output = demo.run(demo.DemoOptions(out=tmp_path / "demo", scratch=scratch, seed=3))
    assert str(tmp_path / "demo" / "graph.png") in output.text
    names = [next(name for name in ENTRIES if " ".join(words).startswith(name)) for words in steps]
    assert names == ["atlas", "data stats", "train retriever", "train reader", "evaluate", "export", "ask"]
    for name, words in zip(names, steps, strict=True):
        parse(f"bgr {name}", ENTRIES[name], words[len(name.split()) :])
        assert ("--init" in words) == (name.startswith("train") and not scratch)


RETRIEVER = "train retriever --config demo --data a --out b"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{RETRIEVER} nonsense", "unrecognized arguments: nonsense"),
        (
            f"{RETRIEVER} --seeds 0,1 --direction forward",
            "--seeds trains both directions; --direction forward goes with",
        ),
        (f"{RETRIEVER} --seeds 0,1 --seed 3", "give either --seeds or a single seed"),
        (f"{RETRIEVER} --seeds 0,1 --seed_everything=3", "give either --seeds or a single seed"),
        ("evaluate --data a", "without --checkpoint, --out must name the folder of the report"),
        ("evaluate --data a --out b --baselines", "nothing to evaluate: give --checkpoint, --baselines, or both"),
        ("evaluate --data a --checkpoint b --gamma 2", "--gamma: 2: allowed: 0 to 1"),
        ("evaluate --data a --checkpoint b --limit 0", "--limit: 0: allowed: 1 or more"),
        ("evaluate --data a --out b --sweep", "--sweep needs --checkpoint"),
        ("evaluate --data a --checkpoint b --sweep --gamma 0.5", "leave out --gamma"),
        ("evaluate --data a --checkpoint b --sweep --baselines bm25", "leave out --baselines"),
        ("evaluate --data a --checkpoint b --sweep --released-ged", "leave out --released-ged"),
        ("evaluate --data a --checkpoint b --sweep --errors", "leave out --errors"),
        ("data build --kqapro a --out b --hard --mixture 1 0 0", "--hard and --mixture exclude each other"),
        ("data show a --id x --random", "--id, --number and --random exclude one another"),
    ],
)
def test_options_that_are_not_allowed_are_one_line_and_exit_code_2(words, message, capsys):
    assert usage_error(words.split()) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_an_error_is_one_line_and_exit_code_1(tmp_path, capsys):
    code = main(["evaluate", "--data", str(tmp_path), "--out", str(tmp_path / "out")])
    err = capsys.readouterr().err
    assert code == 1
    assert err.startswith("bgr evaluate: error: ")
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_interrupted_command_exits_with_130(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("bgr.cli.export.run", interrupt)
    assert main(["export", "--run", "a", "--out", "b"]) == 130
    assert capsys.readouterr().err == "bgr export: interrupted\n"


def test_help_loads_nothing_that_takes_seconds():
    words = [name.split() for name in ENTRIES]
    code = f"""
import sys
from bgr.cli import main
for words in {words!r}:
    try:
        main([*words, "--help"])
    except SystemExit:
        pass
    slow = {{"torch", "transformers", "datasets", "matplotlib", "lightning", "numpy", "networkx"}} & set(sys.modules)
    assert not slow, (words, slow)
"""
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
