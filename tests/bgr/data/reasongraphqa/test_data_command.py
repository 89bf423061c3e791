"""`bgr data build` and `bgr data stats` from end to end, and bad input."""

from __future__ import annotations

import json

import pytest

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import load_split


def build(source, out, encoder, *more):
    return main(["data", "build", "--kqapro", str(source), "--out", str(out), "--similarity", str(encoder), *more])


def test_build_then_stats(tmp_path, source, small_encoder, capsys):
    out = tmp_path / "data"
    assert build(source, out, small_encoder, "--limit", "40", "--json") == 0
    sheet = json.loads(capsys.readouterr().out)
    assert sum(sheet["counts"].values()) == 40
    assert sheet["without_program"] == 3
    assert sheet == json.loads((out / "dataset.json").read_text())
    assert str(tmp_path) not in json.dumps(sheet)  # the same wherever it is built
    assert build(source, out, small_encoder) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert build(source, out, small_encoder, "--overwrite", "--split", "structure") == 0
    said = capsys.readouterr().out
    assert "without an answer: " in said
    assert "dropped: 0 of 92" in said
    assert main(["data", "stats", str(out), "--json", "--plot", str(tmp_path / "f.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unanswerable"]["total"] == json.loads((out / "dataset.json").read_text())["unanswerable"] > 0
    assert found["questions"]["total"] + found["unanswerable"]["total"] == 92
    assert (tmp_path / "f.png").exists()
    assert main(["data", "stats", str(out)]) == 0
    assert "Table 3" in capsys.readouterr().out


def test_two_builds_have_one_hash(tmp_path, source, small_encoder, capsys):
    for name in ("a", "b"):
        assert build(source, tmp_path / name, small_encoder, "--json") == 0
    first, second = (json.loads((tmp_path / name / "dataset.json").read_text()) for name in ("a", "b"))
    assert first["sha256"] == second["sha256"]


def break_program(**changes):
    def change(source):
        records = json.loads((source / "train.json").read_text())
        records[6]["program"][1].update(changes)
        (source / "train.json").write_text(json.dumps(records))

    return change


BAD = {
    "no kb": (lambda s: (s / "kb.json").unlink(), "kb.json: no such file"),
    "cut kb": (lambda s: (s / "kb.json").write_bytes((s / "kb.json").read_bytes()[:5000]), "kb.json: not valid JSON"),
    "function": (break_program(function="Seek"), "train.json: item 6, step 1 (Seek): unknown function"),
    "later step": (break_program(dependencies=[2]), "train.json: item 6, step 1"),
    "inputs": (break_program(inputs=["capital", "forward", "x"]), "train.json: item 6, step 1"),
    "relation": (break_program(function="Relate", inputs=["capitol", "forward"]), "unknown relation 'capitol'"),
    "key": (break_program(function="QueryAttr", inputs=["length"]), "train.json: item 6"),
    "cut questions": (lambda s: (s / "val.json").write_text("[{"), "val.json: not valid JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, source, small_encoder, capsys, name):
    damage, message = BAD[name]
    damage(source)
    before = sorted(tmp_path.iterdir())
    assert build(source, tmp_path / "data", small_encoder) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("bgr data: error: ")
    assert message in last
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_of_questions_that_are_all_in_test(tmp_path, source, small_encoder, good_questions, capsys):
    file, out = tmp_path / "mine.json", tmp_path / "data"
    some = good_questions[5:17]
    again = {**some[0], "question": "Of what length is it?", "id": "again", "paraphrase_of": "mine-000000"}
    file.write_text(json.dumps([*some, again]))
    words = ["--questions", str(file), "--split", "test"]
    assert build(source, out, small_encoder, *words, "--unanswerable", "0", "--json") == 0
    sheet = json.loads(capsys.readouterr().out)
    assert (sheet["questions"], sheet["counts"]) == ("mine.json", {"train": 0, "dev": 0, "test": 13})
    found = [(one.id, one.question, one.answer) for one in load_split(out, "test")]
    assert found[:12] == [(f"mine-{n:06d}", one["question"], one["answer"]) for n, one in enumerate(some)]
    assert found[12:] == [("again", "Of what length is it?", some[0]["answer"])]
    assert main(["data", "verify", str(out)]) == 0


FILES = {
    "missing": (None, "mine.json: no such file"),
    "cut": ("[{", "mine.json: not valid JSON at line 1"),
    "no list": ("{}", "mine.json: must hold a list, holds an object"),
    "empty": ("[]", "mine.json: has no questions"),
    "no program": ('[{"question": "?", "answer": "1"}]', "mine.json: item 0: field 'program' is missing"),
    "no question": ("[3]", "mine.json: item 0: a question is an object, not 3"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_of_questions(name, tmp_path, source, small_encoder, capsys):
    text, message = FILES[name]
    file = tmp_path / "mine.json"
    if text is not None:
        file.write_text(text)
    before = sorted(tmp_path.iterdir())
    assert build(source, tmp_path / "data", small_encoder, "--questions", str(file), "--split", "test") == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("bgr data: error: ")
    assert message in last
    assert sorted(tmp_path.iterdir()) == before


def test_other_bad_calls(tmp_path, source, capsys):
    assert build(source, tmp_path / "data", tmp_path / "nowhere") == 1
    assert "nowhere: no such folder" in capsys.readouterr().err
    assert build(source, tmp_path / "data", "minilm", "--candidates", "0") == 1
    assert "candidates" in capsys.readouterr().err
    for words in (["--split", "domain"], ["--domain", "film"]):
        with pytest.raises(SystemExit, match="2"):
            build(source, tmp_path / "data", "minilm", *words)
        assert "--split domain and --domain CONCEPT go together" in capsys.readouterr().err
    assert main(["data", "stats", str(tmp_path / "none")]) == 1
    assert "train.jsonl: no such file" in capsys.readouterr().err
