"""If a server fails at one step of a system, the run stops in one line or, if more failures are allowed, only this step
is lost. In both cases the next run repeats what failed, and the results are those of a run without a fault."""

import json
import re
import socket
import threading
import time
from collections import defaultdict

import pytest

from bgr.llm.backends.openai_backend import OpenAIBackend

SYSTEMS = {
    "bm25+sync": ("facts",),
    "bm25+gear": ("facts", "answerable answer why", "query"),
    "prism": ("questions", "evidence", "keep", "answerable answer"),
    "bridgerag": ("queries", "e1 e2", "scores"),
    "bridgerag-p": ("queries", "e1 e2", ""),
    "llm-edges": ("edges",),
    "llm-chains": ("chains",),
    "llm-parents": ("facts",),
    "llm-steps": ("",),
    "llm-arrows": ("",),
    "reader": ("answer",),
    "answers": ("answer",),
}
"""The systems that call a language model, and their steps by the names in their schemas."""


def slow_drip(handler):
    handler.send(b"{", length=1000)
    for _ in range(100):
        time.sleep(0.05)
        handler.wfile.write(b" ")


def odd(text):
    """A first token that is neither yes nor no, for who wants log-probabilities."""
    top = [{"token": "Perhaps", "logprob": -0.1, "bytes": None}]
    return text, {"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}


FAULTS = {
    "hangs up": None,
    "limit": lambda handler: handler.send(b"{}", 429),
    "broken": lambda handler: handler.send(b"oops", 500),
    "cut": lambda handler: handler.send(b'{"choices": [{"mess', length=200),
    "drip": slow_drip,
    "huge": lambda handler: handler.send(b'"' + b"x" * 10_000_000 + b'"'),
    "schema": odd('{"oops": 1}'),
    "empty": odd(""),
}
SAID = ("schema",)
"""An unusable reply of the model is cached like any other, unless it is empty."""

QUICK = {"limit": ("bm25+gear", "llm-edges", "reader"), "schema": tuple(SYSTEMS)}
"""To a system a fault is one of two things: a reply that never came, or one that is of no use. The others are those of
the backend, and have tests of their own."""

PAIRS = [
    pytest.param(system, fault, marks=pytest.mark.workflow if system in QUICK.get(fault, ()) else pytest.mark.slow)
    for system in SYSTEMS
    for fault in FAULTS
]


@pytest.fixture
def ask_all(bgr, capitals, encoder_folder):
    """``ask_all("prism", count, spec, *words)``: the command, on so many questions."""

    def call(system, count, spec, *words):
        data, triples = capitals(count)
        if system == "answers":
            return bgr("ablate", "answers", "--data", data, "--llm", spec, *words)
        named = ["bm25", "--reader", spec] if system == "reader" else [system, "--llm", spec]
        fixed = ["--data", data, "--openie", triples, "--encoder", encoder_folder, "--samples", 20]
        return bgr("compare", *fixed, *words, "--systems", *named)

    return call


def step_of(request):
    form = request.get("response_format")
    return " ".join(form["json_schema"]["schema"]["properties"]) if form else ""


def check_fall_back(record, step):
    """The trace names the step that failed and its consequence."""
    question = record["question"]
    expected = {
        "read": {"facts": [], "linked": [], "start": "base"},
        "gist": {"facts": []},
        "reason": {"answerable": False},
        "rewrite": {"query": ""},
        "analyser": {"sub_questions": [question]},
        "draft": {"added": []},
        "adder": {"added": []},
        "selector": {"removed": []},
        "answer": {"answer": None},
        "queries": {"queries": [], "searched": [question]},
        "entities": {"entities": ["", ""]},
        "judge": {"scores": None},
        "graph": {},
    }[step["step"]]
    assert {name: step[name] for name in expected} == expected
    if step["step"] == "judge":
        assert record["trace"][-1]["pit_judge"] is None
    if step["step"] == "graph":
        assert record["passages"] == record["edges"] == []
    if step["step"] == "rewrite":
        assert max(one.get("round", 0) for one in record["trace"]) == step["round"]


@pytest.fixture
def patience(monkeypatch):
    """``patience(timeout=1.0)``: settings of the backend that the command line has no options for."""

    def change(**settings):
        monkeypatch.setattr(
            OpenAIBackend.__init__, "__kwdefaults__", {**OpenAIBackend.__init__.__kwdefaults__, **settings}
        )

    change(retries=1, first_wait=0.01, patience=0.1)
    return change


@pytest.mark.parametrize(("system", "fault"), PAIRS)
def test_a_step_that_fails_costs_its_own_part_only(
    system, fault, patience, ask_all, chat_server, fitting_reply, told, tmp_path
):
    """The first question meets no fault, the last one in every step, one between them in each step."""
    if fault == "drip":
        patience(timeout=1.0, retries=2)  # a busy machine may be as slow, but not three times
    steps = SYSTEMS[system]
    count = len(steps) + 2
    met, answered, ill = set(), [], True
    stopped_done, run_done = defaultdict(threading.Event), defaultdict(threading.Event)  # by step, for each of two runs

    def write(request, answered=answered, first_done=run_done):
        number = re.search(r"capital number (\d)", request["messages"][0]["content"])
        place = int(number[1]) if number else 0  # a query that the model wrote is nobody's
        if ill and place and (place == count - 1 or steps[place - 1] == step_of(request)):
            met.add(place)
            # before the first question is answered, all calls of a step would have failed, which ends a run
            first_done[step_of(request)].wait(timeout=5)
            return FAULTS[fault]
        if number and not place:
            threading.Timer(0.2, first_done[step_of(request)].set).start()  # when the reply has arrived
        answered.append(json.dumps(request))
        return fitting_reply(request)

    server = chat_server(write)
    # its own server, which may still answer calls of a run that has stopped
    first = chat_server(lambda request: write(request, answered=[], first_done=stopped_done))
    out, kept = tmp_path / "out", ["--replay", tmp_path / "replies.db"]
    stopped = ["--out", tmp_path / "stopped", "--replay", tmp_path / "stopped.db"]
    never_came = fault not in ("schema", "empty")
    if never_came:  # more than 2 % of the questions
        code, _, line = ask_all(system, count, first.spec, *stopped)
        assert code == 1
        assert re.search(
            r"questions have failed calls, more than --max-failure-share 0\.02 allows: .*again to resume", line
        )
        met.clear()
    kept += ["--max-failure-share", 1]
    assert ask_all(system, count, server.spec, *kept, "--out", out)[0] == 0
    assert met == set(range(1, count))
    records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert len(told(out)) == len(records)
    assert not list(out.rglob(".*"))  # files that are not whole have such names
    assert {one["id"] for one in records} == {f"2hop__{n}" for n in range(count)}
    for one in records:
        failures = [step for step in one["trace"] if step.get("failure")]
        assert bool(failures) == (one["id"] != "2hop__0")
        assert all("\n" not in step["failure"] for step in failures)
        assert (one["usage"]["unanswered"] > 0) == (never_came and one["id"] != "2hop__0")
        assert one["usage"]["failed"] == sum(step["usage"]["failed"] for step in failures) >= len(failures)
        for step in failures:
            check_fall_back(one, step)

    # the server is well again: only what it had not answered is asked, and the results are those of a run without fault
    ill, before = False, len(answered)
    assert ask_all(system, count, server.spec, *kept, "--out", out)[0] == 0
    assert fault == "drip" or len(answered) == len(set(answered))
    if fault in SAID:
        assert len(answered) == before
        return
    if (system, fault) == ("bridgerag-p", "empty"):
        return  # the judge reads the alternatives of the first token, so its replies are kept without a text
    assert ask_all(system, count, server.spec, "--out", tmp_path / "clean")[0] == 0
    assert told(out) == told(tmp_path / "clean")
    if never_came:
        assert ask_all(system, count, first.spec, *stopped)[0] == 0
        assert told(tmp_path / "stopped") == told(out)


@pytest.mark.parametrize(
    "system",
    [
        pytest.param(one, marks=pytest.mark.workflow if one in ("prism", "llm-edges") else pytest.mark.slow)
        for one in SYSTEMS
    ],
)
def test_without_a_server_the_run_ends_in_one_line_and_goes_on_later(
    system, patience, ask_all, chat_server, fitting_reply, told, tmp_path
):
    with socket.socket() as nobody:  # it does not listen: connections are refused
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        words = ["--replay", tmp_path / "replies.db", "--out", tmp_path / "out"]
        code, _, line = ask_all(system, 2, f"http://127.0.0.1:{port}/v1#tiny", *words)
    assert code == 1
    assert re.search(r"cannot be reached.*run again to resume", line)
    assert not told(tmp_path / "out")
    assert not list((tmp_path / "out").rglob(".*"))
    server = chat_server(fitting_reply, port)
    assert ask_all(system, 2, server.spec, *words)[0] == 0
    assert ask_all(system, 2, server.spec, "--out", tmp_path / "clean")[0] == 0
    assert told(tmp_path / "out") == told(tmp_path / "clean")
