"""Colors, on terminals only, in the answers of `bgr ask` and in errors; and how a probability is written."""

import io
import re

import pytest

from bgr.cli import main
from bgr.cli.ask import as_text
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.reader.answer import Answer
from bgr.utils.text_layout import PLAIN, Paint, has_color, two_digits

COLOR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("variables", "terminal", "colored"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_where_text_is_colored(variables, terminal, colored):
    assert has_color(Terminal() if terminal else io.StringIO(), variables) is colored


def test_paint():
    assert Paint(True)("a", "bold", "red") == "\x1b[1;31ma\x1b[0m"
    assert Paint(True)("a") == PLAIN("a", "red") == "a"
    assert Paint(True)("", "red") == ""


def answer():
    graph = EvidenceGraph({(ROOT, 0), (0, 1)}, {(ROOT, 0): 0.9, (0, 1): 0.8})
    facts = ("A \x1b[31mred\x1b[0m fact.", "Another fact.")
    return Answer(
        question="Who?\x1b]0;title\x07",
        facts=facts,
        graph=graph,
        forward=graph,
        backward=graph,
        agreement=1.0,
        limits=(),
        has_reader=True,
        text="x\x1b[2Jy",
        confidence=0.5,
        warnings=("\x9b31mno",),
    )


def test_colors_change_nothing_else_of_an_answer():
    plain, colored = as_text(answer()), as_text(answer(), Paint(True))
    assert plain != colored
    assert COLOR.sub("", colored) == plain


def test_control_characters_of_facts_and_answers_do_not_reach_a_terminal():
    colored = as_text(answer(), Paint(True))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", COLOR.sub("", colored))
    assert "[31mred" in colored  # without its escape character
    assert "\x1b[31mred" not in colored


def test_errors_are_colored_on_a_terminal_only(monkeypatch, capsys):
    assert main(["ask", "x", "--checkpoint", "no\x1b[31mwhere"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("bgr ask: error: no [31mwhere/bgr.json: no such file")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    assert main(["ask", "x", "--checkpoint", "no\x1b[31mwhere"]) == 1
    assert terminal.getvalue() == error.replace("error:", "\x1b[1;31merror:\x1b[0m", 1)


def test_json_has_no_colors_even_if_they_are_forced(small_checkpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    facts = tmp_path / "facts.txt"
    facts.write_text("Paris lies in France .\nRome lies in Italy .\n")
    words = ["ask", "In which country is Paris ?", "--checkpoint", str(small_checkpoint), "--facts", str(facts)]
    assert main(words) == 0
    assert COLOR.search(capsys.readouterr().out)
    assert main([*words, "--json"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1.00"), (0.9999, "0.99"), (0.995, "0.99"), (0.984, "0.98"), (0.0, "0.00")]
)
def test_only_one_reads_one(value, text):
    assert two_digits(value) == text
