"""Jobs that ask at one time are one batch; errors end all of them and leave no thread."""

import threading

import pytest

from bgr.llm.language_model import Llm
from bgr.llm.lockstep import together
from bgr.llm.usage import Budget, BudgetError


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def asking(ask_for, *texts):
    """A job that asks one text after the other, and returns what it was told."""

    def job(llm):
        return [llm.ask([ask_for(text)])[0].value for text in texts]

    return job


def test_each_round_is_one_batch_in_the_order_of_the_jobs(script, ask_for):
    backend = script({name: [name.upper()] for name in ("a1", "a2", "a3", "b1", "c1", "c2")})
    jobs = [asking(ask_for, *names) for names in (("a1", "a2", "a3"), ("b1",), (), ("c1", "c2"))]
    assert together(Llm(backend), jobs) == [["A1", "A2", "A3"], ["B1"], [], ["C1", "C2"]]
    batches = [[request.messages[0].content for request in batch] for batch in backend.batches if batch]
    assert batches == [["a1", "b1", "c1"], ["a2", "c2"], ["a3"]]


def test_several_requests_and_none_at_all(script, ask_for):
    backend = script({"a": ["A"], "b": ["B"], "c": ["C"]})
    jobs = [
        lambda llm: [reply.value for reply in llm.ask([ask_for("a"), ask_for("b")])],
        lambda llm: llm.ask([]),
        lambda llm: [reply.value for reply in llm.ask([ask_for("c")])],
    ]
    assert together(Llm(backend), jobs) == [["A", "B"], [], ["C"]]
    assert together(Llm(backend), []) == []


def test_only_one_job_runs_at_a_time(script, ask_for):
    """A counter that two would spoil."""
    at_once = []

    def job(llm):
        for _ in range(3):
            at_once.append("in")
            threading.Event().wait(0.002)  # another thread would get here now
            at_once.append("out")
            llm.ask([ask_for("x")])

    together(Llm(script({"x": ["y"] * 12})), [job] * 4)
    assert at_once == ["in", "out"] * 12


def test_an_error_of_the_model_ends_every_job_and_is_raised(script, ask_for):
    ended = []

    def job(llm):
        try:
            llm.ask([ask_for("a")])
            llm.ask([ask_for("b")])
        finally:
            ended.append(1)

    llm = Llm(script({"a": ["A", "A"]}), budget=Budget(calls=2))
    with pytest.raises(BudgetError, match="2 of 2 calls"):
        together(llm, [job, job])
    assert ended == [1, 1]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_error_of_one_job_ends_the_others(script, ask_for, place):
    begun = []

    def good(llm):
        begun.append("good")
        return llm.ask([ask_for("a")])

    def bad(llm):
        raise ValueError("broken")

    jobs = [good, good]
    jobs.insert(place, bad)
    with pytest.raises(ValueError, match="broken"):
        together(Llm(script({"a": ["A", "A"]})), jobs)
    assert begun == ["good"] * place


def test_a_job_that_asks_again_while_it_is_ended_does_not_hang(script, ask_for):
    def job(llm):
        try:
            llm.ask([ask_for("a")])
        finally:
            llm.ask([ask_for("a")])

    with pytest.raises(BudgetError):
        together(Llm(script({}), budget=Budget(calls=0)), [job])


def test_where_there_is_no_thread_for_a_job_the_others_end(script, monkeypatch):
    start, begun = threading.Thread.start, []

    def few(thread):
        begun.append(thread)
        if len(begun) > 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", few)
    with pytest.raises(RuntimeError, match="new thread"):
        together(Llm(script({})), [lambda llm: 1] * 4)
