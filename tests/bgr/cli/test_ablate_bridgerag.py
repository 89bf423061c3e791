"""The ablations from arguments to files, with an invented corpus, a small encoder and a server on loopback."""

import json
import math
import re

import pytest

from bgr.cli.ablate import command
from bgr.cli.parser import execute
from bgr.errors import BgrError

TEXTS = {
    "Paris": "Paris is the capital of France .",
    "Rome": "Rome is the capital of Italy .",
    "Persona": "Persona was made in Sweden by Bergman .",
    "Alpha": "Alpha is the capital of Sweden .",
    "Radium": "Radium was discovered in Paris .",
    "Oslo": "Oslo is the capital of Norway .",
    "Bern": "Bern is the capital of Switzerland .",
    "Lyon": "Lyon is a city in France .",
    "Milan": "Milan is a city in Italy .",
}
GOLD = {
    "What is the capital of the country where Persona was made ?": ["Persona", "Alpha"],
    "Where was Radium discovered ?": ["Radium"],
    "Which city is the capital of Italy ?": ["Rome"],
}


@pytest.fixture
def questions(tmp_path):
    records = [
        {
            "id": f"{len(gold)}hop__{number}",
            "question": text,
            "answer": "Alpha",
            "answer_aliases": [],
            "answerable": True,
            "paragraphs": [
                {"idx": n, "title": title, "paragraph_text": body, "is_supporting": title in gold}
                for n, (title, body) in enumerate(TEXTS.items())
            ],
            "question_decomposition": [{} for _ in gold],
        }
        for number, (text, gold) in enumerate(GOLD.items())
    ]
    (tmp_path / "q.json").write_text(json.dumps(records))
    return tmp_path / "q.json"


@pytest.fixture
def server(chat_server):
    """Good replies to every step: a judge who puts the gold last, and the word yes where it is asked for one."""

    def write(request):
        text = request["messages"][0]["content"]
        if "Reply with one word" in text:
            tops = [{"token": " Yes", "logprob": math.log(0.6)}, {"token": "no", "logprob": math.log(0.2)}]
            return "Yes", {"logprobs": {"content": [{"token": " Yes", "logprob": 0, "top_logprobs": tops}]}}
        if "numbered candidates" in text:
            gold = {title for titles in GOLD.values() for title in titles}
            titles = re.findall(r"^\[\d+\] (\w+)$", text, re.MULTILINE)
            return {"scores": [0 if title in gold else 9 for title in titles]}
        if '"queries"' in text:
            return {"queries": ["Sweden has a capital", "Persona was made"]}
        return {"e1": "Sweden", "e2": "capital of Sweden"}

    return chat_server(write)


@pytest.fixture
def ablate(questions, encoder_folder, server, tmp_path):
    def make(*arguments):
        fixed = ["--data", questions, "--encoder", encoder_folder, "--llm", server.spec]
        execute("bgr ablate", command(), ["bridgerag", *map(str, [*fixed, *arguments])])

    return make


def test_all_of_it_and_again(ablate, server, tmp_path, capsys):
    out = tmp_path / "out"
    ablate("--replay", tmp_path / "r.db", "--out", out, "--limit", 2, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((out / "bridgerag.json").read_text())
    assert [row["system"] for row in found["systems"]] == ["svo", "plain", "full", "svo-text", "lowest", "negative"]
    assert all(row["failed"] == 0 and row["there"] == row["n"] == 2 for row in found["systems"])
    assert [row["calls"] for row in found["systems"]] == [2, 3, 3, 3, 3, 3]
    recalls = {row["system"]: row["R@5"] for row in found["systems"]}
    assert recalls.pop("svo") > 0
    assert set(recalls.values()) == {0}  # the judge puts the six other passages first
    assert found["about"]["settings"]["bridgerag"]["alpha"] == 0.1
    made = server.calls
    assert 0 < made <= 14  # requests that are the same are sent once
    # a third question: only that is asked for; then everything from the cache
    ablate("--replay", tmp_path / "r.db", "--out", out)
    assert len((out / "results.jsonl").read_text().splitlines()) == 3
    assert made < server.calls <= made + 7
    made = server.calls
    text = capsys.readouterr().out
    assert "C: the bridge" in text
    ablate("--replay", tmp_path / "r.db", "--replay-only", "--out", tmp_path / "two", "--json")
    again = json.loads(capsys.readouterr().out)
    assert server.calls == made
    assert again["systems"] == json.loads((out / "bridgerag.json").read_text())["systems"]


def test_other_gold_or_other_prompts_are_other_results(ablate, questions, tmp_path, monkeypatch):
    out = tmp_path / "out"
    records = json.loads(questions.read_text())

    def gold():
        """The number of results, and that of the gold passages in the newest one of the second question."""
        ablate("--replay", tmp_path / "r.db", "--out", out, "--limit", 2)
        lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        newest = [line for line in lines if line["id"] == records[1]["id"]][-1]
        return len(lines), [len(step["gold"]) for step in newest["trace"] if step["step"] == "near"]

    assert gold() == gold() == (2, [1])
    records[1]["paragraphs"][0]["is_supporting"] = True
    questions.write_text(json.dumps(records))
    assert gold() == (4, [2])
    monkeypatch.setattr("bgr.llm.prompts.AGAIN", "bgr.multihop")
    assert gold() == (6, [2])


def test_nothing_is_replaced_where_the_encoder_is_wrong(ablate, tmp_path):
    out = tmp_path / "out"
    ablate("--replay", tmp_path / "r.db", "--out", out, "--limit", 1)
    kept = (out / "results.jsonl").read_bytes()
    with pytest.raises(BgrError, match="no such folder"):
        ablate("--out", out, "--overwrite", "--encoder", tmp_path / "none")
    assert (out / "results.jsonl").read_bytes() == kept


@pytest.mark.workflow
def test_probability_judge(ablate, tmp_path):
    ablate("--judge", "probability", "--out", tmp_path / "out", "--limit", 1)
    (line,) = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    judges = [step for step in json.loads(line)["trace"] if step["step"] == "judge"]
    assert all(step["scores"] == pytest.approx([0.75] * len(TEXTS)) for step in judges)
    assert json.loads(line)["usage"]["failed"] == 0


def test_what_does_not_fit_is_said_in_one_line(ablate, tmp_path, capsys):
    with pytest.raises(SystemExit):
        ablate("--out", tmp_path / "out", "--replay-only")
    assert "--replay-only needs --replay" in capsys.readouterr().err
    with pytest.raises(BgrError, match=r"nothing\.json: no such file"):
        ablate("--out", tmp_path / "out", "--data", tmp_path / "nothing.json")
    assert not (tmp_path / "out").exists()


def test_a_wrong_model_takes_no_old_results_away(ablate, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.jsonl").write_text("kept")
    with pytest.raises(BgrError, match=r"missing\.gguf: no such file"):
        ablate("--out", out, "--overwrite", "--llm", tmp_path / "missing.gguf")
    assert (out / "results.jsonl").read_text() == "kept"
