import io
import json

import pytest
import torch

from bgr.ask import Asking, read_sentences
from bgr.cli import main
from bgr.errors import CheckpointError, DataError
from bgr.retrievers.graph_hop.known_words import KnownWords
from bgr.retrievers.graph_hop.options import AskOptions
from bgr.utils.options import OptionsError

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden .", "Alpha has 3 people ."]
QUESTION = "In which country was Persona made ?"
OTHER = "How many people has Alpha ?"


@pytest.fixture
def ask(small_checkpoint, tmp_path):
    """``ask(*words)``: the words of the command with the checkpoint and a file of facts."""
    facts = tmp_path / "facts.txt"
    facts.write_text("\n".join(FACTS))
    return lambda *words: ["ask", "--checkpoint", str(small_checkpoint), "--facts", str(facts), *map(str, words)]


def piped(monkeypatch, text, *, terminal=False):
    stream = io.StringIO(text)
    stream.isatty = lambda: terminal
    monkeypatch.setattr("sys.stdin", stream)


@pytest.mark.parametrize("source", ["arguments", "file", "dash", "pipe"])
def test_several_questions_from_anywhere(ask, source, tmp_path, monkeypatch, capsys):
    lines = f"{QUESTION}\n\n  {OTHER}  \n"
    (tmp_path / "questions.txt").write_text(lines)
    piped(monkeypatch, lines)
    words = {"arguments": [QUESTION, OTHER], "file": ["--file", tmp_path / "questions.txt"], "dash": ["--file", "-"]}
    assert main(ask("--json", *words.get(source, []))) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["question"] for one in found] == [QUESTION, OTHER]


def test_the_text_of_several_is_that_of_each(ask, capsys):
    assert main(ask(QUESTION)) == 0
    assert main(ask(OTHER)) == 0
    alone = capsys.readouterr().out
    assert main(ask(QUESTION, OTHER)) == 0
    assert capsys.readouterr().out.split() == alone.split()


def test_a_prompt_stays_open_until_an_empty_line(ask, monkeypatch, capsys):
    typed = iter([QUESTION, OTHER, ""])
    piped(monkeypatch, "", terminal=True)
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    assert main(ask()) == 0
    shown = capsys.readouterr()
    assert shown.out.index(QUESTION) < shown.out.index(OTHER)
    assert "4 facts; an empty line ends" in shown.err
    monkeypatch.setattr("builtins.input", lambda prompt: (_ for _ in ()).throw(EOFError))
    assert main(ask()) == 0


def test_bad_usage_is_said_at_once(small_checkpoint, tmp_path, monkeypatch):
    given = {"checkpoint": small_checkpoint, "facts": tmp_path / "facts.txt"}
    for wrong, said in [
        ({"questions": ["a?", " "]}, "a question is empty"),
        ({"questions": ["a?"], "device": "gpu"}, "'gpu': allowed: cpu, cuda, mps, xpu"),
        ({"questions": ["a?"], "file": "x"}, "either on the command line or in --file"),
        ({"questions": ["a?", "b?"], "draw": "x.png"}, "--draw draws the graph of one question"),
    ]:
        with pytest.raises(OptionsError, match=said):
            AskOptions(**given, **wrong)
    with pytest.raises(DataError, match=r"facts\.txt: no such file"):
        Asking(AskOptions(**given, questions=["a?"]))
    (tmp_path / "facts.txt").write_text("A fact.")
    with pytest.raises(CheckpointError, match=r"bgr\.json: no such file; allowed: the folder of a checkpoint"):
        Asking(AskOptions(checkpoint=tmp_path, facts=tmp_path / "facts.txt", questions=["a?"]))
    (tmp_path / "none.txt").write_text(" \n")
    with pytest.raises(DataError, match=r"none\.txt: no questions; one question a line"):
        Asking(AskOptions(**given, file=str(tmp_path / "none.txt")))
    piped(monkeypatch, "")
    with pytest.raises(DataError, match="standard input: no questions"):
        Asking(AskOptions(**given))


def test_a_closed_standard_input_has_no_question(ask, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)
    assert main(ask()) == 1
    err = capsys.readouterr().err
    assert "standard input: no questions" in err
    assert err.count("\n") == 1


def test_a_strange_question_gets_a_warning(small_checkpoint, ask, capsys):
    KnownWords.learn([QUESTION, OTHER] * 3).save(small_checkpoint)
    assert main(ask(QUESTION)) == 0
    assert "training questions" not in capsys.readouterr().out
    assert main(ask("Quel pays a produit Persona ?")) == 0
    assert "warning    4 of 5 words are neither in training questions nor in the facts: quel, pays" in (
        capsys.readouterr().out
    )


def test_a_typing_mistake_is_corrected_and_told(small_checkpoint, ask, capsys):
    KnownWords.learn([QUESTION, OTHER] * 3).save(small_checkpoint)
    misspelled = QUESTION.replace("country", "counrty")
    answers = []
    for question in (QUESTION, misspelled):
        assert main(ask("--json", question)) == 0
        answers.append(json.loads(capsys.readouterr().out))
    right, found = answers
    assert found["warnings"] == ["“counrty” is read as “country”", *right["warnings"]]
    assert found["question"] == misspelled
    assert found | {"warnings": 0, "question": 0} == right | {"warnings": 0, "question": 0}


def test_python_asks_with_the_same_options(small_checkpoint, tmp_path):
    (tmp_path / "facts.txt").write_text("\n".join(FACTS))
    options = AskOptions(questions=[QUESTION], checkpoint=small_checkpoint, facts=tmp_path / "facts.txt")
    [answer] = Asking(options).answers()
    assert answer.question == QUESTION
    assert answer.facts == tuple(FACTS)


def test_a_device_that_is_not_there_is_one_line(ask, capsys):
    missing = "cuda" if torch.backends.mps.is_available() else "mps"
    assert main(ask(QUESTION, "--device", missing)) == 1
    [line] = capsys.readouterr().err.strip().splitlines()
    assert f"device is '{missing}', which cannot be used here" in line


def test_a_question_that_cannot_be_read_does_not_end_the_prompt(ask, monkeypatch, capsys):
    byte = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    typed = iter([byte, "x" * 100_001, "Who\udcff ?", QUESTION, ""])

    def read(prompt):
        line = next(typed)
        if isinstance(line, Exception):
            raise line
        return line

    piped(monkeypatch, "", terminal=True)
    monkeypatch.setattr("builtins.input", read)
    assert main(ask()) == 0
    shown = capsys.readouterr()
    assert QUESTION in shown.out
    said = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    assert said == [
        "error: the question cannot be read as text: 'utf-8' codec can't decode byte 0xff in position 0: "
        "invalid start byte",
        "error: the question has 100,001 characters, allowed: 100,000 or fewer; divide it",
        "error: the question is 'Who\\udcff ?', which is not valid UTF-8; allowed: a text",
    ]


SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
"""`str.splitlines` cuts at them."""


def test_lines_end_only_at_line_ends(tmp_path, small_checkpoint, monkeypatch):
    text = "".join(f"a{mark}b\n" for mark in SEPARATORS) + "c\r\n\r\n d\re\u2028"
    wanted = ["a b"] * len(SEPARATORS) + ["c", "d", "e"]
    path = tmp_path / "facts.txt"
    path.write_bytes(text.encode())
    assert read_sentences(path) == wanted
    piped(monkeypatch, "\ufeff" + text)
    assert Asking(AskOptions(checkpoint=small_checkpoint, facts=path)).questions == wanted
    path.write_bytes("a\u2028b\r\nc\rd\0\n".encode())
    with pytest.raises(DataError, match=r"facts\.txt: line 3: holds NUL"):
        read_sentences(path)


def test_a_standard_input_that_never_ends_is_refused(tmp_path, small_checkpoint, monkeypatch):
    (tmp_path / "facts.txt").write_text("A fact.")
    options = AskOptions(checkpoint=small_checkpoint, facts=tmp_path / "facts.txt")
    monkeypatch.setattr("bgr.ask.MAX_FILE", 1_000)
    with open("/dev/zero", encoding="utf-8") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        with pytest.raises(DataError, match=r"^standard input: more than 1,000 characters; divide it$"):
            Asking(options)
    piped(monkeypatch, "x" * 1_000)
    assert len(Asking(options).questions) == 1
