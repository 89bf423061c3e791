"""`bgr data paraphrase`: interruptions, faults of a server, refusals in one line."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from bgr.llm.backends.openai_backend import OpenAIBackend

COUNT = 6


@pytest.fixture
def questions(tmp_path):
    """A file of questions about actors, whose number is in their name."""
    steps = [
        {"function": "Find", "dependencies": [], "inputs": ["Actor 0"]},
        {"function": "Relate", "dependencies": [0], "inputs": ["cast member", "backward"]},
        {"function": "Count", "dependencies": [1], "inputs": []},
    ]
    records = []
    for n in range(COUNT):
        program = [{**steps[0], "inputs": [f"Actor {n}"]}, *steps[1:]]
        records.append({"question": f"How many films show Actor {n}?", "program": program, "answer": str(n + 30)})
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(records))
    return path


def actor(request):
    return re.findall(r"Find (Actor \d)", request["messages"][0]["content"])[-1]


def two(request):
    """A good paraphrase and one with another name."""
    name = actor(request)
    return {"questions": [f"What is the number of films with {name}?", "In how many films does Bo Lind act?"]}


@pytest.fixture
def run(bgr, questions, tmp_path):
    """``run(spec, *words)``: the command on the questions."""

    def call(spec, *words, source=questions, out=tmp_path / "out" / "paraphrases.json"):
        return bgr("data", "paraphrase", source, "--llm", spec, "--out", out, "--attested", 0, *words)

    return call


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    quick = {**OpenAIBackend.__init__.__kwdefaults__, "retries": 1, "first_wait": 0.01, "patience": 0.1}
    monkeypatch.setattr(OpenAIBackend.__init__, "__kwdefaults__", quick)


def test_files_and_counts(run, chat_server, tmp_path):
    server = chat_server(two)
    code, text, _ = run(server.spec)
    assert code == 0
    out = tmp_path / "out" / "paraphrases.json"
    for part in (f"{out}: 6 paraphrases of 6 of 6 questions", "rejected: 6 wordings (50%)", "  6: a name is lost"):
        assert part in text
    records = json.loads(out.read_text())
    assert [one["id"] for one in records] == [f"questions-{n:06d}-p1" for n in range(COUNT)]
    assert [one["question"] for one in records] == [
        f"What is the number of films with Actor {n}?" for n in range(COUNT)
    ]
    report = json.loads((tmp_path / "out" / "paraphrases.report.json").read_text())
    assert (report["accepted"], report["reasons"], report["failures"]) == (6, {"a name is lost": 6}, {})
    assert (report["seed"], report["wordings"]) == (0, 2)
    assert sorted(one.name for one in out.parent.iterdir()) == [
        "paraphrases.json", "paraphrases.json.replies.db", "paraphrases.report.json",
    ]  # fmt: skip
    # again: from the replies alone, and the same files
    before = {path: path.read_bytes() for path in out.parent.glob("*.json")}
    code, text, error = run(server.spec)
    assert (code, error) == (1, f"bgr data: error: {out}: exists already; give --overwrite to replace it")
    replies = ["--replay", tmp_path / "out" / "paraphrases.json.replies.db", "--replay-only"]
    code, text, _ = run(server.spec, "--overwrite", "--json", *replies)
    assert (code, server.calls) == (0, COUNT)
    assert json.loads(text)["usage"]["cached"] == COUNT
    assert {path: path.read_bytes() for path in out.parent.glob("*.json")} == before


def test_samples(run, chat_server, tmp_path):
    server = chat_server(two)
    shared = ["--replay", tmp_path / "replies.db", "--overwrite"]
    assert run(server.spec, "--samples", 2, *shared)[0] == 0
    few = json.loads((tmp_path / "out" / "paraphrases.json").read_text())
    assert run(server.spec, "--samples", 4, *shared)[0] == 0
    more = json.loads((tmp_path / "out" / "paraphrases.json").read_text())
    assert (len(few), len(more), server.calls) == (2, 4, 4)
    assert all(one in more for one in few)
    assert run(server.spec, "--samples", 2, "--seed", 1, *shared)[0] == 0
    assert server.calls == 6  # the seed is the model's as well


FAULTS = {
    "hangs up": None,
    "limit": lambda handler: handler.send(b"{}", 429),
    "broken": lambda handler: handler.send(b"oops", 500),
    "cut": lambda handler: handler.send(b'{"choices": [{"mess', length=200),
    "schema": '{"oops": 1}',
    "empty": "",
    "one of two": {"questions": ["What is the number of films with Actor 2?"]},
}
SAID = ("schema", "one of two")
"""An unusable reply is cached like any other unless it is empty, and costs a second call."""


@pytest.mark.workflow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_its_own_question_only(fault, run, chat_server, tmp_path):
    ill = True
    server = chat_server(lambda request: FAULTS[fault] if ill and actor(request) == "Actor 2" else two(request))
    kept = ["--replay", tmp_path / "replies.db", "--overwrite"]
    if fault not in (*SAID, "empty"):
        code, _, error = run(server.spec)
        assert code == 1
        assert "1 of 6 questions have failed calls, more than --max-failure-share 0.02 allows: " in error
    kept += ["--max-failure-share", 0.2]
    code, text, _ = run(server.spec, *kept)
    assert code == 0
    assert "5 paraphrases of 5 of 6 questions" in text
    assert "without a usable reply: 1 questions; the first, questions-000002: " in text
    assert ", failed: 1;" in text
    report = json.loads((tmp_path / "out" / "paraphrases.report.json").read_text())
    assert list(report["failures"]) == ["questions-000002"]
    assert "\n" not in report["failures"]["questions-000002"]
    # the server is well again: only what it did not answer is asked
    ill, before = False, server.calls
    text = run(server.spec, *kept)[1]
    if fault in SAID:
        assert server.calls == before
        return
    assert server.calls == before + 1
    assert "6 paraphrases of 6 of 6 questions" in text


def test_without_a_server_nothing_is_written(run, tmp_path):
    code, _, error = run("http://127.0.0.1:9/v1#tiny")
    assert code == 1
    assert re.search(r"cannot be reached.*run again to resume", error)
    assert not list((tmp_path / "out").glob("*.json"))


def test_refusals_in_one_line(run, chat_server, tmp_path):
    server = chat_server(two)
    bad = tmp_path / "bad.json"
    bad.write_text('[{"question": "?"')
    for words, problem in (
        ({"source": tmp_path / "none.json"}, "none.json: no such file or folder"),
        ({"source": bad}, "bad.json: not valid JSON at line 1"),
        ({"out": tmp_path}, "is a folder; name a file"),
    ):
        code, _, error = run(server.spec, **words)
        assert code == 1
        assert problem in error
    assert "no such file or folder; allowed: smollm2" in run("none.gguf")[2]
    assert server.calls == 0


def test_wrong_usage(run, capsys):
    for words, problem in (
        (["--replay-only"], "--replay-only needs --replay FILE"),
        (["--wordings", 0], "allowed: 1 to 10"),
        (["--samples", 0], "allowed: 1 or more"),
    ):
        with pytest.raises(SystemExit):
            run("smollm2", *words)
        assert problem in capsys.readouterr().err


@pytest.mark.workflow
def test_killed_and_run_again(questions, chat_server, tmp_path):
    """The second run asks only for what the first did not get, and writes what a whole run writes."""

    def slow(request):
        time.sleep(0.05)
        return two(request)

    server = chat_server(slow)

    def start(folder):
        words = [
            "data",
            "paraphrase",
            questions,
            "--llm",
            server.spec,
            "--batch",
            "1",
            "--concurrency",
            "1",
            "--out",
            tmp_path / folder / "p.json",
        ]
        command = [sys.executable, "-m", "bgr", *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    first = start("killed")
    while server.calls < 3 and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL, "it ended before it could be killed"
    assert not list((tmp_path / "killed").glob("*.json"))
    time.sleep(0.1)
    before = server.calls
    with sqlite3.connect(tmp_path / "killed" / "p.json.replies.db") as base:
        finished = base.execute("select count(*) from replies").fetchone()[0]
    assert finished >= 2
    assert start("killed").wait() == 0
    assert server.calls - before == COUNT - finished
    assert start("whole").wait() == 0
    for name in ("p.json", "p.report.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
