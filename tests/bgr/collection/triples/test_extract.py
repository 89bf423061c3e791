"""Extraction by a scripted model: finished passages are not requested again, and failures do not end a run."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples import extraction as extract_module
from bgr.collection.triples.extraction import SCHEMA, Extraction, ExtractionStore, extract_triples, extraction, prompt
from bgr.collection.triples.triple import Triple
from bgr.errors import BgrError, DataError
from bgr.llm.interface import Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage

CORPUS = Corpus(Passage(f"p{n}", f"Title {n}", f"Text {{passage}} number {n}.") for n in range(7))


class Script(LanguageModel):
    """Answers by number of the passage; remembers what it was asked.

    Args:
        answer: number of the passage to a value, or to a failure as a text.
        stop: after so many requests, call this instead of answering.
    """

    def __init__(self, answer: Callable[[int], Any], stop_after: int = 10**9, stop: Callable[[], None] = lambda: None):
        self.answer = answer
        self.stop_after, self.stop = stop_after, stop
        self.asked: list[int] = []
        self.requests: list[Request] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        if len(self.asked) >= self.stop_after:
            self.stop()
        self.requests += requests
        replies = []
        for request in requests:
            number = int(request.messages[-1].content.rsplit("number ", 1)[1].split(".")[0])
            self.asked.append(number)
            value = self.answer(number)
            failed = isinstance(value, str)
            text = value.removeprefix("call: ") if failed and not value.startswith("call") else ""
            usage = Usage(calls=1, tokens_in=10, tokens_out=number)
            replies.append(Reply(None if failed else value, text, value if failed else None, usage))
        return replies


def good(number: int) -> dict[str, Any]:
    return {"entities": [f"E{number}", " x\n y "], "triples": [[f"E{number}", "is  in", "x y"], ["a", "b", "c"]]}


def triples_of(*numbers: int) -> tuple[Triple, ...]:
    return tuple(t for n in numbers for t in (Triple(f"E{n}", "is in", "x y", n), Triple("a", "b", "c", n)))


def test_all_good(tmp_path):
    script = Script(good)
    found = extract_triples(CORPUS, script, tmp_path / "new" / "file.sqlite", model="m", batch=3)
    assert script.asked == list(range(7))
    assert found.triples == triples_of(*range(7))
    assert found.entities[2] == ("E2", "x y")
    assert (found.failures, found.left_out) == ({}, 0)
    assert found.usage == Usage(calls=7, tokens_in=70, tokens_out=21)
    again = Script(good)
    same = extract_triples(CORPUS, again, tmp_path / "new" / "file.sqlite", model="m")
    assert again.asked == []
    assert (same.triples, same.entities, same.usage) == (found.triples, found.entities, Usage())


def test_the_request(tmp_path):
    script = Script(good)
    extract_triples(Corpus(CORPUS.passages[:1]), script, tmp_path / "f", model="m")
    [request] = script.requests
    assert (request.step, request.schema, request.temperature, request.seed) == ("triples.extract", SCHEMA, 0.0, 0)
    [message] = request.messages
    assert message.role == "user"
    # a passage may hold the placeholder's name
    assert message.content == prompt().replace("{passage}", "Title 0\nText {passage} number 0.")
    assert prompt().count("{passage}") == 1


def test_the_demonstrations_fit_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    answers = [json.loads(line) for line in prompt().splitlines() if line.startswith('{"entities"')]
    assert len(answers) == 2
    for answer in answers:
        jsonschema.validate(answer, SCHEMA)
        assert all(any(name in row[0] or name in row[2] for name in answer["entities"]) for row in answer["triples"])


def test_what_the_model_gets_wrong(tmp_path):
    answers = {
        0: {"entities": [], "triples": []},
        1: "no JSON:\nit wrote a poem\ud800",
        2: {"entities": "none", "triples": [["a", "b"], ["a", "b", "c"], "x", ["a", "", "c"], ["a", "b", "\ud800"]]},
        3: {"entities": [1, "E", "E", None], "triples": [["a", "b"]]},
        4: {"entities": []},
        5: ["not an object"],
        6: "call: timed out",
    }
    found = extract_triples(CORPUS, Script(answers.__getitem__), tmp_path / "f", model="m", batch=2)
    assert found.triples == (Triple("a", "b", "c", 2),)
    assert found.left_out == 4
    assert found.failures == {
        "p1": "no JSON: it wrote a poem?",
        "p3": "no row of the reply is a triple",
        "p4": "the reply has no list of triples",
        "p5": "the reply has no list of triples",
        "p6": "call: timed out",
    }
    assert found.report.startswith("1 triples of 7 passages; rows left out: 4; passages that failed: 5 (2 × ")
    again = Script(good)
    found = extract_triples(CORPUS, again, tmp_path / "f", model="m")
    assert again.asked == [1, 3, 4, 5, 6]
    assert found.failures == {}
    assert found.triples == (*triples_of(1), Triple("a", "b", "c", 2), *triples_of(3, 4, 5, 6))


def test_a_reply_that_does_not_fit_keeps_its_good_rows(tmp_path):
    """A server that holds no model to the schema: one row of two parts must not lose the passage."""
    rows = [["E", "is", "x"], ["two", "parts"], "x"]
    texts = {
        0: json.dumps({"entities": ["E", 3], "triples": rows}),
        1: f"Here it is:\n```json\n{json.dumps({'triples': rows})}\n```",
        2: json.dumps({"entities": [], "triples": rows})[:-12],  # cut off
        3: json.dumps({"triples": [["two", "parts"]]}),
        4: json.dumps({"triples": []}),
        5: json.dumps([rows]),
        6: "",
    }

    class Misfits(Script):
        def ask(self, requests):
            replies = super().ask(requests)
            return [replace(r, text=texts[n]) for r, n in zip(replies, self.asked[-len(replies) :], strict=True)]

    found = extract_triples(CORPUS, Misfits(lambda number: "$.triples: is wrong"), tmp_path / "f", model="m")
    assert found.triples == tuple(Triple("E", "is", "x", n) for n in (0, 1, 2))
    assert found.entities[0] == ("E",)
    assert found.failures == {f"p{n}": "$.triples: is wrong" for n in (3, 4, 5, 6)}


def test_another_draw_where_the_model_answered_but_not_where_the_call_failed(tmp_path):
    for _ in range(2):
        extract_triples(CORPUS, Script(lambda n: "poem" if n else "call: 503"), tmp_path / "f", model="m")
    script = Script(good)
    extract_triples(CORPUS, script, tmp_path / "f", model="m")
    assert [(r.seed, r.temperature) for r in script.requests] == [(0, 0.0)] + [(2, 0.5)] * 6


def test_equal_passages_are_asked_for_once(tmp_path):
    corpus = Corpus([*CORPUS.passages[:2], Passage("twin", CORPUS[1].title, CORPUS[1].text)])
    script = Script(good)
    found = extract_triples(corpus, script, tmp_path / "f", model="m")
    assert script.asked == [0, 1]
    assert [triple.passage for triple in found.triples] == [0, 0, 1, 1, 2, 2]


def test_results_are_of_one_model_prompt_and_text(tmp_path, monkeypatch):
    corpus = Corpus(CORPUS.passages[:2])
    extract_triples(corpus, Script(good), tmp_path / "f", model="m")
    other = Script(good)
    extract_triples(corpus, other, tmp_path / "f", model="other")
    assert other.asked == [0, 1]
    changed = Script(good)
    extract_triples(Corpus([Passage("p0", "Title 0", "number 0."), CORPUS[1]]), changed, tmp_path / "f", model="m")
    assert changed.asked == [0]
    text = prompt()
    monkeypatch.setattr(extract_module, "prompt", lambda: f"!{text}")
    reworded = Script(good)
    extract_triples(corpus, reworded, tmp_path / "f", model="m")
    assert reworded.asked == [0, 1]


def test_stopped_by_the_budget(tmp_path):
    def over():
        raise BgrError("the budget is used up")

    with pytest.raises(BgrError, match="budget"):
        extract_triples(CORPUS, Script(good, 4, over), tmp_path / "f", model="m", batch=2)
    rest = Script(good)
    found = extract_triples(CORPUS, rest, tmp_path / "f", model="m", batch=2)
    assert rest.asked == [4, 5, 6]
    assert found.triples == triples_of(*range(7))


@pytest.mark.parametrize("passages", [0, 2, 5])
def test_killed_and_run_again(tmp_path, passages):
    child = os.fork()
    if not child:  # killed like by kill -9, in the middle of a call
        extract_triples(
            CORPUS,
            Script(good, passages, lambda: os.kill(os.getpid(), signal.SIGKILL)),
            tmp_path / "f",
            model="m",
            batch=1,
        )
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    rest = Script(good)
    found = extract_triples(CORPUS, rest, tmp_path / "f", model="m", batch=3)
    assert rest.asked == list(range(passages, 7))
    assert found.triples == triples_of(*range(7))


def test_a_failure_never_replaces_what_is_finished(tmp_path):
    done = Extraction("p", ("E",), (("a", "b", "c"),), 1)
    with ExtractionStore(tmp_path / "f") as store:
        store.put({"k": done})
        store.put({"k": Extraction("p", failure="of another process, later"), "l": Extraction("q", failure="x")})
        assert store.get("k") == done
        assert store.get("l") == Extraction("q", failure="x")
        assert store.get("m") is None


@pytest.mark.parametrize(
    "body",
    [
        "{", "[]", "3", '{"rows": 3}', "[" * 100_000,
        '{"rows": [["a", "b"]], "failure": null, "left_out": 0, "answers": 0}',
        '{"rows": [], "failure": 3, "left_out": 0, "answers": 0}',
        '{"rows": [], "failure": null, "left_out": "0", "answers": 0}',
    ],
)  # fmt: skip
def test_a_damaged_record_is_asked_for_again(tmp_path, body):
    extract_triples(CORPUS, Script(good), tmp_path / "f", model="m")
    with sqlite3.connect(tmp_path / "f") as file:
        file.execute("UPDATE extractions SET body = ? WHERE body LIKE '%p3%'", (body,))
    file.close()
    script = Script(good)
    assert extract_triples(CORPUS, script, tmp_path / "f", model="m").triples == triples_of(*range(7))
    assert script.asked == [3]


def test_a_file_that_is_something_else(tmp_path):
    (tmp_path / "f").write_text("years of work " * 1000)
    (tmp_path / "other").mkdir()
    for path in (tmp_path / "f", tmp_path / "other", tmp_path / "f" / "g"):
        with pytest.raises(DataError, match="not a file of extractions that can be used") as caught:
            extract_triples(CORPUS, Script(good), path, model="m")
        assert "\n" not in str(caught.value)
    assert (tmp_path / "f").read_text() == "years of work " * 1000


@pytest.mark.parametrize("held", ["TABLE mine (x)", "VIEW extractions AS SELECT 1 AS key, 2 AS body"])
def test_another_database_stays_as_it_is(tmp_path, held):
    other = sqlite3.connect(tmp_path / "f")
    other.execute(f"CREATE {held}")
    other.close()
    before = (tmp_path / "f").read_bytes()
    with pytest.raises(DataError, match=r"it has the (table|view) '.*', allowed: the table extractions"):
        extract_triples(CORPUS, Script(good), tmp_path / "f", model="m")
    assert (tmp_path / "f").read_bytes() == before


def test_a_reply_that_was_cut_gives_no_triples():
    """Its last triple may be half a name."""
    text = '{"entities": ["A"], "triples": [["A", "born in", "New York"], ["A", "died in", "New Yo'
    whole = extraction("p", Reply(None, text, "the end is missing", Usage()))
    assert [triple[2] for triple in whole.rows] == ["New York", "New Yo"]  # what a repair would make of it
    cut = extraction("p", Reply(None, text, "the reply was cut off", Usage(), cut=True))
    assert (cut.rows, cut.failure) == ((), "the reply was cut off")
