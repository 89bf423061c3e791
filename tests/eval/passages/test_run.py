"""Finished questions are not run again, whatever happened in between."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bgr.collection.bm25 import Bm25Search
from bgr.collection.corpus import Corpus, Passage
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.interface import LlmError
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, Retriever
from bgr.retrievers.scope import Scope
from bgr.retrievers.search import SearchRetriever
from bgr.utils.workers import waiting
from eval.run.question_result import QuestionResult
from eval.run.run_system import ResultLog, System, run_system


def run(path, data, retriever, *, settings=None, name="s", batch_size=1):
    with ResultLog(path) as log:
        return run_system(System(name, settings or {}, lambda: retriever), data, log, batch_size=batch_size)


def test_results_come_back_as_they_were(tmp_path, data, good, scripted):
    usage = Usage(calls=2, cached=1, tokens_in=30, tokens_out=4, seconds=0.25)
    retriever = scripted(good, answers={"one?": "red"}, usage=usage, trace=[{"step": "x", "round": 1}])
    first = run(tmp_path / "r.jsonl", data, retriever, batch_size=3)
    assert first[0] == QuestionResult(
        "q1", ("p0", "p1", "p5"), (1, 1 / 2, 1 / 3), "red", usage, 0.5, ({"step": "x", "round": 1},)
    )

    def must_not_build():
        raise AssertionError("every question is finished")

    with ResultLog(tmp_path / "r.jsonl") as log:
        assert run_system(System("s", {}, must_not_build), data, log) == first


def test_an_interrupted_run_resumes(tmp_path, data, good, scripted):
    path = tmp_path / "r.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run(path, data, scripted(good, fail_at="three?"))
    again = scripted(good)
    found = run(path, data, again)
    assert again.asked == ["three?", "four?"]
    assert [one.id for one in found] == ["q1", "q2", "q3", "q4"]
    assert found == run(tmp_path / "whole.jsonl", data, scripted(good))


CHILD = """
import sys, time
sys.path.insert(0, sys.argv[2])
from conftest_of_passages import Scripted, make
data, good = make()

class Slow(Scripted):
    def retrieve(self, queries):
        if queries[0].question == "three?":
            print("two are done", flush=True)
            time.sleep(60)
        return super().retrieve(queries)

from eval.run.run_system import ResultLog
from eval.run.run_system import System, run_system
with ResultLog(sys.argv[1]) as log:
    run_system(System("s", {}, lambda: Slow(good)), data, log, batch_size=1)
"""


def test_kill_9_loses_no_finished_question(tmp_path, data, good, scripted):
    """A process is killed in its third question; the next one asks only the third and the fourth."""
    fixtures = (Path(__file__).parent / "conftest.py").read_text(encoding="utf-8").replace("@pytest.fixture\n", "")
    make = "\n\ndef make():\n    return data(), good()\n"
    (tmp_path / "conftest_of_passages.py").write_text(fixtures + make, encoding="utf-8")
    path = tmp_path / "r.jsonl"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"two are done\n"
        os.kill(child.pid, signal.SIGKILL)
    finally:
        child.kill()
        child.communicate()
    again = scripted(good)
    assert [one.id for one in run(path, data, again)] == ["q1", "q2", "q3", "q4"]
    assert again.asked == ["three?", "four?"]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_cut_off_or_damaged_line_is_run_again(tmp_path, data, good, scripted, cut):
    path = tmp_path / "r.jsonl"
    whole = run(path, data, scripted(good))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"key": 1, "id"\n' + lines[2] + lines[3][:-cut])
    again = scripted(good)
    assert run(path, data, again) == whole
    assert again.asked == ["two?", "four?"]
    assert run(path, data, scripted({})) == whole  # nothing joined what was cut off


def test_other_settings_names_corpora_and_questions_are_run(tmp_path, data, good, scripted):
    path = tmp_path / "r.jsonl"
    run(path, data, scripted(good))
    for changed in (
        {"settings": {"k": 2}},
        {"name": "t"},
        {"data": replace(data, corpus=type(data.corpus)([*data.corpus, replace(data.corpus[0], id="new")]))},
        {"data": replace(data, questions=tuple(replace(q, id=f"{q.id}x") for q in data.questions))},
    ):
        again = scripted(good)
        run(path, **{"data": data, "retriever": again, **changed})
        assert len(again.asked) == 4, changed
    fewer = scripted(good)
    assert len(run(path, data.first(2), fewer)) == 2
    assert not fewer.asked  # --limit runs nothing anew


def test_failed_questions_are_run_again(tmp_path, data, good, scripted):
    path = tmp_path / "r.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run(path, data, scripted(good, usage=Usage(calls=1, failed=1), fail_at="three?"))
    better = scripted(good, answers={"one?": "red"})
    with ResultLog(path) as log:
        found = run_system(System("s", {}, lambda: better), data, log)
    assert better.asked == ["one?", "two?", "three?", "four?"]
    assert [one.id for one in found] == ["q1", "q2", "q3", "q4"]
    assert (found[0].answer, found[0].usage.failed) == ("red", 0)
    assert run(path, data, scripted({})) == found  # of two lines for a question the later one counts


def test_a_second_try_from_the_cache_is_not_faster(tmp_path, data, good, scripted):
    """A second try with the same replies adds nothing: the calls and seconds of the first one stay."""
    path = tmp_path / "r.jsonl"
    first = run(path, data, scripted(good, usage=Usage(calls=2, failed=1, seconds=3.0)))

    def again(usage):
        with ResultLog(path) as log:
            return run_system(System("s", {}, lambda: scripted(good, usage=usage)), data, log)

    assert again(Usage(cached=2, failed=1)) == first
    assert again(Usage(cached=2, failed=0))[0].usage.failed == 0  # somebody else asked in between
    assert len(path.read_text().splitlines()) == 8


@pytest.mark.parametrize(
    "change", [{"gold": ("p0",)}, {"missing": 1}, {"context": ("p4",)}, {"graph": EvidenceGraph([(ROOT, 0), (0, 1)])}]
)
def test_a_result_is_valid_for_what_comes_with_the_question(tmp_path, data, good, scripted, change):
    path = tmp_path / "r.jsonl"
    run(path, data, scripted(good))
    first, *others = data.questions
    again = scripted(good)
    run(path, replace(data, questions=(replace(first, **change), *others)), again)
    assert again.asked == ["one?"]
    run(path, data, scripted({}))  # both are kept
    # lines of an older version do not say what came with the question
    lines = [json.loads(line) for line in path.read_text().splitlines()[:4]]
    path.write_text("".join(json.dumps({k: v for k, v in one.items() if k != "given"}) + "\n" for one in lines))
    run(path, replace(data, questions=(replace(first, **change), *others)), scripted({}))


def test_a_result_is_valid_for_the_sentences_of_its_passages(tmp_path, data, good, scripted):
    path = tmp_path / "r.jsonl"
    questions = (replace(data.questions[0], context=("p0", "p1")), *data.questions[1:])
    run(path, replace(data, questions=questions, sentences={"p1": ("text", "1")}), scripted(good))
    again = scripted(good)
    run(path, replace(data, questions=questions, sentences={"p1": ("text 1",)}), again)
    assert again.asked == ["one?"]


@pytest.mark.parametrize(
    "change",
    [
        {"passages": ["p0", "p1", "nowhere"]},
        {"seconds": 10**400},
        {"scores": [1, 10**400, 0]},
        {"trace": [{"round": 1, "usage": [1]}]},
        {"trace": [{"usage": {"calls": "many"}}]},
        {"trace": [{"usage": {"cats": 1}}]},
    ],
)
def test_an_invalid_line_is_ignored(tmp_path, data, good, scripted, change):
    path = tmp_path / "r.jsonl"
    run(path, data, scripted(good))
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | change), *others]) + "\n")
    again = scripted(good)
    found = run(path, data, again)
    assert again.asked == ["one?"]
    assert found[0].passages == ("p0", "p1", "p5")


def test_two_processes_do_not_share_a_log(tmp_path, data):
    with (
        ResultLog(tmp_path / "r.jsonl"),
        pytest.raises(BgrError, match=r"r\.jsonl: another process"),
        ResultLog(tmp_path / "r.jsonl"),
    ):
        pass
    with ResultLog(tmp_path / "r.jsonl") as log:
        assert log.get("k", "q1", "one?", "g") is None


def test_a_retriever_must_answer_every_question(tmp_path, data):
    class Short(Retriever):
        def retrieve(self, queries):
            return []

    with pytest.raises(BgrError, match="0 results for 1 questions"):
        run(tmp_path / "r.jsonl", data, Short())


def test_a_base_search_as_retriever():
    texts = ["red ship", "blue car", "red car"]
    search = Bm25Search(texts)
    scope = Scope(Corpus(Passage(str(n), "", text) for n, text in enumerate(texts)), search)
    (found,) = SearchRetriever(scope, 2).retrieve([Query("red cars and a red car", gold_count=1)])
    (hits,) = search.search(["red cars and a red car"], 2)
    assert (found.indices, found.scores) == (tuple(hits.indices.tolist()), tuple(hits.scores.tolist()))
    assert found.texts[0] == "red car"
    assert (found.graph.edges, found.is_list) == ({(ROOT, 2)}, True)


def test_records_of_other_types_are_refused():
    record = QuestionResult("q", ("p",), (1.0,)).to_json()
    assert QuestionResult.from_json(json.loads(json.dumps(record))) == QuestionResult("q", ("p",), (1.0,))
    for name, value in (
        ("passages", [1]),
        ("scores", []),
        ("scores", ["1"]),
        ("answer", 5),
        ("usage", {"calls": "2"}),
        ("usage", {"none": 2}),
        ("seconds", float("nan")),
        ("trace", ["x"]),
    ):
        with pytest.raises(BgrError):
            QuestionResult.from_json({**record, name: value})


class Served(Retriever):
    """Retrieves through a server of which some calls fail; the first question is the slowest."""

    concurrency = 4

    def __init__(self, retriever, usages):
        self.retriever, self.usages, self.threads = retriever, usages, set()

    def retrieve(self, queries):
        assert len(queries) == 1
        self.threads.add(threading.current_thread().name)
        with waiting(lambda: None):
            time.sleep(0.3 if queries[0].question == "one?" else 0.01)
        [result] = self.retriever.retrieve(queries)
        lost = self.usages.get(queries[0].question, 0)
        trace = ({"step": "x", "failure": "tiny: HTTP 503", "usage": Usage(unanswered=lost).to_json()},)
        return [replace(result, usage=Usage(calls=1, failed=lost, unanswered=lost), trace=trace)]


def test_questions_to_a_server_go_side_by_side(tmp_path, data, good, scripted):
    """A slow question holds no other back; results are in the order of the questions."""
    served = Served(scripted(good), {})
    found = run(tmp_path / "r.jsonl", data, served, batch_size=16)
    assert [one.id for one in found] == ["q1", "q2", "q3", "q4"]
    assert len(served.threads) == 4
    logged = [json.loads(line)["id"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert logged[-1] == "q1"


@pytest.mark.workflow
def test_too_many_failed_questions_stop_the_run_which_resumes(tmp_path, data, good, scripted):
    path = tmp_path / "r.jsonl"
    line = (
        r"1 of 4 questions have failed calls, more than --max-failure-share 0\.02 allows: tiny: HTTP 503; .*run again"
    )
    with pytest.raises(LlmError, match=line):
        run(path, data, Served(scripted(good), {"one?": 1}))
    assert {json.loads(one)["id"] for one in path.read_text().splitlines()} == {"q1", "q2", "q3", "q4"}
    again = scripted(good)
    found = run(path, data, Served(again, {}))
    assert again.asked == ["one?"]
    assert [one.usage.unanswered for one in found] == [0] * 4
    with ResultLog(tmp_path / "other.jsonl") as log:
        system = System("s", {}, lambda: Served(scripted(good), {"two?": 1}))
        found = run_system(system, data, log, max_failure_share=0.25)
    assert [one.usage.unanswered for one in found] == [0, 1, 0, 0]
