"""Answers from nothing, facts and graphs, from arguments to files, with a server on loopback."""

import csv
import json
from dataclasses import replace

import pytest

from bgr.cli.ablate import command
from bgr.cli.parser import execute
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import BgrError
from bgr.retrievers.llm_graph.prompts import DEFAULT


def ablate(*arguments):
    execute("bgr ablate", command(), ["answers", *map(str, arguments)])


def asked_of(server, step):
    """Prompts that hold the words of a way to ask."""
    words = {"facts": "Read these facts", "graph": "found one from another"}
    texts = [json.loads(body)["messages"][0]["content"] for body in server.asked]
    return [text for text in texts if words[step] in text]


@pytest.mark.workflow
def test_gold_and_a_checkpoint_and_again(toy_data, small_checkpoint, schema_server, told, tmp_path, capsys):
    """Prompts hold what they should; a second run from the cache asks nothing and gives the same."""
    questions = load_split(toy_data, "test")
    fixed = ["--data", toy_data, "--llm", schema_server.spec, "--replay", tmp_path / "r.db"]
    fixed += ["--evidence", "gold", f"own={small_checkpoint}"]
    ablate(*fixed, "--out", tmp_path / "out", "--json")
    found = json.loads(capsys.readouterr().out)
    assert list(found["systems"]) == ["question", "gold-facts", "gold-graph", "own-facts", "own-graph"]
    assert set(found["systems"]["gold-graph"]) >= {"QA EM", "QA F1", "per_question"}
    assert not {"R@5", "GM", "F1"} & set(found["systems"]["gold-graph"])
    assert {one["metric"] for one in found["pairs"]} == {"QA EM", "QA F1"}
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    answers = [row["answer"] for row in rows if row["system"] in ("question", "gold-facts", "gold-graph")]
    assert len(answers) == 3 * len(questions)
    assert all(answers)
    assert len(set(answers)) > 1
    first = questions[0]
    gold = [first.facts[node] for node in first.graph.order()]
    (of_first,) = [text for text in asked_of(schema_server, "graph") if first.question in text and gold[0] in text][:1]
    assert "1. From the question: " in of_first
    assert any(f"- {gold[0]}" in text for text in asked_of(schema_server, "facts"))
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files >= {"passages.md", "systems.csv", "pareto.png", "traces.html"}
    assert "recall.png" not in files
    assert "recall.png" not in (tmp_path / "out" / "passages.md").read_text()
    calls = schema_server.calls
    ablate(*fixed, "--replay-only", "--out", tmp_path / "two")
    assert "own-graph" in capsys.readouterr().out
    assert schema_server.calls == calls
    assert told(tmp_path / "two") == told(tmp_path / "out")
    rows = [list(csv.DictReader((tmp_path / name / "pairs.csv").open())) for name in ("out", "two")]
    assert rows[0] == rows[1]


def test_shorter_prompts_are_other_answers(toy_data, schema_server, tmp_path, monkeypatch):
    def asked():
        ablate("--data", toy_data, "--llm", schema_server.spec, "--limit", "1", "--out", tmp_path / "out")
        return schema_server.calls

    assert (asked(), asked()) == (3, 3)
    shorter = replace(DEFAULT, characters=2_000, fact_characters=20)
    monkeypatch.setattr("eval.ablations.answers.DEFAULT", shorter)
    assert asked() == 6
    assert len(schema_server.asked) == 6  # facts and question are cut


def test_what_is_wrong_is_said_first(toy_data, small_checkpoint, schema_server, tmp_path, capsys):
    fixed = ["--data", toy_data, "--llm", schema_server.spec, "--out", tmp_path / "out"]
    (tmp_path / "text").write_text("words")
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "results.jsonl").touch()
    flat = tmp_path / "hotpot.json"
    record = {"_id": "a", "question": "Who?", "answer": "Ann", "type": "bridge", "level": "hard"}
    record |= {"supporting_facts": [["Ann", 0]], "context": [["Ann", ["Ann is."]]]}
    flat.write_text(json.dumps([record]))
    for arguments, problem in [
        ([*fixed, "--evidence", "tea"], "--evidence: unknown system 'tea', known: gold"),
        ([*fixed, "--evidence", "gold", "gold"], "--evidence: 'gold' is there twice"),
        ([*fixed, "--evidence", f"own={small_checkpoint}:tea"], "unknown reconstruction rule 'tea'"),
        ([*fixed, "--replay-only"], "--replay-only needs --replay"),
        ([*fixed, "--data", tmp_path / "none"], "none: no such file or folder"),
        ([*fixed, "--replay", tmp_path / "text", "--out", kept, "--overwrite"], "text: cannot be used as a replay"),
        ([*fixed, "--data", flat], "question 'a' has no evidence graph; allowed: datasets, MuSiQue"),
    ]:
        with pytest.raises((BgrError, SystemExit)) as caught:
            ablate(*arguments)
        said = f"{caught.value} {capsys.readouterr().err}".strip()
        assert problem in said
        assert "\n" not in said.splitlines()[-1]
    assert not (tmp_path / "out").exists()
    assert (kept / "results.jsonl").exists()
    assert not schema_server.asked
