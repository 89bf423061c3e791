"""The parser of every command: options from a dataclass, from YAML, one-line errors."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest

from bgr.cli.parser import Command, Group, Output, execute, parse
from bgr.errors import BgrError
from bgr.utils.options import (
    Folder,
    Fraction,
    MachineOptions,
    Metavar,
    OptionsError,
    Positive,
    option,
    ordered_fields,
    positional,
)


@dataclass(frozen=True, kw_only=True)
class SampleOptions(MachineOptions):
    """Options of a command.

    Args:
        folder: where to look.
        words: words to look for.
        out: where to write.
        limit: number of results
            at most.
        share: share of 100 % to use.
        kind: kind of search.
        shares: train, dev and test.
        systems: what to compare; may be empty.
        plain: leave out the slow part.
        half: store less.
        settings: everything else.
    """

    GROUP = "sample"
    folder: Folder = positional()
    words: tuple[str, ...] = positional((), metavar="WORD")
    out: Folder
    limit: Positive = 16
    share: Fraction | None = None
    kind: Literal["near", "far"] = "near"
    shares: tuple[int, int, int] | None = option(None, metavar=("TRAIN", "DEV", "TEST"))
    systems: tuple[Annotated[str, Metavar("SYSTEM")], ...] | None = option(None, nargs="*")
    plain: bool = True
    half: bool = False
    settings: tuple[str, ...] = option((), hidden=True)

    def conflicts(self):
        if self.half and not self.plain:
            yield "--half goes without --no-plain"


def command(run=lambda _: Output("done"), **others):
    return Command(summary="search", options=SampleOptions, run=run, example="bgr sample a --out b", **others)


def parsed(*words, **others):
    return parse("bgr sample", command(**others), list(map(str, words)))[0]


def test_words_become_options():
    found = parsed("a", "x", "y", "--out", "b", "--limit", 3, "--shares", 8, 1, 1, "--no-plain", "--device", "cpu")
    assert found == SampleOptions(
        folder="a", words=["x", "y"], out="b", limit=3, shares=(8, 1, 1), plain=False, device="cpu"
    )
    assert isinstance(found.folder, Path)
    assert found.words == ("x", "y")


def test_defaults_are_those_of_the_dataclass():
    assert parsed("a", "--out", "b") == SampleOptions(folder="a", out="b")
    assert parsed("a", "--out", "b", "--systems").systems == ()


def test_a_config_file_gives_options_and_the_command_line_counts_over_it(tmp_path):
    file = tmp_path / "options.yaml"
    file.write_text(
        "folder: a\nout: b\nlimit: 4\nshares: [7, 1, 2]\nhalf: true\nprecision: 32\nsystems: [bm25]\nwords: [x]\n"
    )
    expected = {"folder": "a", "out": "b", "shares": (7, 1, 2), "half": True, "precision": "32", "systems": ("bm25",)}
    expected["words"] = ("x",)
    assert parsed("--config", file) == SampleOptions(**expected, limit=4)
    assert parsed("--limit", 5, f"--config={file}") == SampleOptions(**expected, limit=5)


def test_positional_and_required_options_come_first_also_those_of_a_base():
    @dataclass(frozen=True, kw_only=True)
    class DerivedOptions(SampleOptions):
        extra: int = 1
        needed: int

    names = [one.name for one in ordered_fields(DerivedOptions)]
    assert names[:5] == ["folder", "words", "needed", "out", "extra"]


def test_settings_are_passed_on():
    found = parsed("a", "--out", "b", "--trainer.max_epochs=3", passes_settings=True)
    assert found.settings == ("--trainer.max_epochs=3",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a", "the following options are required: --out"),
        ("--out b", "the following options are required: folder"),
        ("a --out b --limit 0", "--limit: 0: allowed: 1 or more"),
        ("a --out b --limit x", "--limit: 'x': allowed: an integer"),
        ("a --out b --share 1.5", "--share: 1.5: allowed: 0 to 1"),
        ("a --out b --share nan", "--share: nan: allowed: 0 to 1"),
        ("a --out b --kind high", "--kind: 'high': allowed: near, far"),
        ("a --out b --shares 1 2", "--shares: expected 3 arguments"),
        ("a --out b --limt 3", "unknown option --limt; did you mean --limit?"),
        ("a --out b --half --no-plain", "--half goes without --no-plain"),
        ("a --out b --config none.yaml", "--config none.yaml: no such file"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(words, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        parsed(*words.split())
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert err == f"bgr sample: error: {message} (see bgr sample --help)\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limt: 3", "unknown option limt; did you mean limit?"),
        ("limit: 0", 'option "limit": 0: allowed: 1 or more'),
        ("limit: [1]", "[1]: allowed: an integer"),
        ("half: 7", "--half: 7: allowed: true or false"),
        ("words: a", 'option "words": allowed: a list'),
        ("shares: 3", 'option "shares": allowed: a list'),
        ("shares: [1, 2]", "--shares: 2 values, allowed: 3"),
        ("config: other.yaml", "a config file cannot name another one"),
        ("- 3", "Unexpected config: - 3"),
        ("limit: [3", "Problems parsing config"),
        ('out: "a\\0b"', r"'a\x00b': allowed: a path in UTF-8, without NUL characters"),
        ("out: !!python/object/apply:os.getcwd []", "Problems parsing config"),
    ],
)
def test_a_wrong_config_file_is_one_line_and_exit_code_2(text, message, tmp_path, capsys):
    (tmp_path / "options.yaml").write_text(text)
    with pytest.raises(SystemExit) as stopped:
        parsed("a", "--out", "b", "--config", tmp_path / "options.yaml")
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("bgr sample: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_the_help_has_every_option_with_its_default_and_the_example(capsys):
    with pytest.raises(SystemExit) as stopped:
        parsed("--help", json=True)
    assert stopped.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "Search. ",
        "DIR where to look (required)",
        "--limit N number of results at most (default: 16)",
        "--share X share of 100 % to use ",
        "--kind {near,far} kind of search (default: near)",
        "--shares TRAIN DEV TEST train, dev and test",
        "--systems [SYSTEM ...] what to compare",
        "--no-plain leave out the slow part",
        "--device NAME cpu, cuda",
        "--json print the result as JSON",
        "--config FILE",
        "example: bgr sample a --out b",
        "sample: ",
    ):
        assert part in text
    assert "settings" not in text


def test_python_is_told_all_that_is_wrong_at_once():
    with pytest.raises(OptionsError, match=r"--limit: 0: allowed: 1 or more; --kind: 'x': allowed: near, far"):
        SampleOptions(folder="a", out="b", limit=0, kind="x")


def test_output_is_printed_as_text_or_json_and_an_error_after_it(capsys):
    group = Group(summary="commands", commands={"sample": command(lambda _: Output("text", data={"é": 1}), json=True)})
    assert execute("bgr", group, ["sample", "a", "--out", "b"]) == 0
    assert capsys.readouterr().out == "text\n"
    assert execute("bgr", group, ["sample", "a", "--out", "b", "--json"]) == 0
    assert capsys.readouterr().out == '{"é": 1}\n'
    nothing = command(lambda _: Output("", data={"a": [math.nan], "b": math.inf}), json=True)
    assert execute("bgr sample", nothing, ["a", "--out", "b", "--json"]) == 0
    assert capsys.readouterr().out == '{"a": [null], "b": null}\n'
    failing = command(lambda _: Output("text", error=BgrError("it failed")))
    with pytest.raises(BgrError, match="it failed"):
        execute("bgr sample", failing, ["a", "--out", "b"])
    assert capsys.readouterr().out == "text\n"
    for words, code in (([], 2), (["other"], 2), (["--help"], 0)):
        with pytest.raises(SystemExit) as stopped:
            execute("bgr", group, words)
        assert stopped.value.code == code
