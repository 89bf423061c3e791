"""Three questions over six passages of two sentences, and results that were worked out by hand."""

import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.llm.usage import Usage
from eval.run.question_result import QuestionResult


@pytest.fixture
def data():
    corpus = Corpus(Passage(f"p{n}", f"T{n}", f"One {n}. Two {n}.") for n in range(6))
    sentences = {f"p{n}": (f"One {n}.", f"Two {n}.") for n in range(6)}
    gold = (("p0", 0), ("p1", 1))
    return MultihopData(
        "mini",
        corpus,
        (
            MultihopQuestion("q1", "one?", ("red",), ("p0", "p1"), 2, "bridge", 0, gold, ("p0", "p1", "p2", "p3")),
            MultihopQuestion("q2", "two?", ("blue sky",), ("p2",), 3, "bridge", 1, (("p2", 0),), ("p2", "p4")),
            MultihopQuestion("q3", "three?", ("green",), ("p3",), 2, "comparison", 0, (), ("p3",)),
        ),
        sentences,
    )


def usage(calls, cached=0):
    return Usage(calls=calls, cached=cached, tokens_in=10 * (calls + cached), tokens_out=calls + cached)


def step(name, number, calls, **values):
    where = {} if number is None else {"round": number}
    return {"step": name, **where, **values, "failure": None, "usage": usage(calls).to_json()}


def result(id, rounds, answer, sizes, hallucinated=0):
    """A result whose rounds end with these sentences (place, number); each round takes two calls."""
    trace = [step("analyser", 0, 1)]
    for number, evidence in enumerate(rounds, 1):
        trace += [step("adder", number, 1), step("selector", number, 1)]
        trace.append({"step": "round", "round": number, "evidence": [list(one) for one in evidence]})
    trace.append({"step": "merge", "hallucinated": hallucinated, "sizes": sizes})
    trace.append(step("answer", None, 1, answer=answer))
    chosen = list(dict.fromkeys(one for evidence in rounds for one in evidence))
    passages = tuple(f"p{place}" for place in dict.fromkeys(place for place, _ in chosen))
    return QuestionResult(
        id=id,
        passages=passages,
        scores=tuple(1 / (1 + n) for n in range(len(passages))),
        answer=answer,
        usage=usage(2 + 2 * len(rounds)),
        seconds=2.0,
        trace=tuple(trace),
        sentences=tuple((f"p{place}", number) for place, number in chosen),
    )


def sizes(candidates, words, left, words_left):
    return {
        "candidates": {"sentences": candidates, "words": words},
        "evidence": {"sentences": left, "words": words_left},
    }


@pytest.fixture
def found():
    return [
        result("q1", [[(0, 0)], [(0, 0), (1, 0)]], "the Red!", sizes(8, 16, 2, 4), hallucinated=3),
        result("q2", [[(4, 0), (2, 0)], [(2, 0)]], "sky", sizes(4, 8, 2, 6)),
        result("q3", [[], []], None, sizes(2, 4, 0, 0)),
    ]
