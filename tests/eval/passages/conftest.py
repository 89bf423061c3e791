"""An invented corpus of ten passages, four questions, and retrievers with scripted results."""

import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.llm.usage import Usage
from bgr.retrievers.base import RetrievalResult, Retriever, star


class Scripted(Retriever):
    """Returns the passages scripted for each question, and records the questions."""

    def __init__(self, places, *, answers=None, usage=None, trace=(), fail_at=None):
        self.places, self.answers, self.usage, self.trace = places, answers or {}, usage or Usage(), trace
        self.asked, self.fail_at = [], fail_at

    def retrieve(self, queries):
        results = []
        for question in [query.question for query in queries]:
            if question == self.fail_at:
                raise KeyboardInterrupt
            self.asked.append(question)
            indices = self.places[question]
            results.append(
                RetrievalResult(
                    star(indices),
                    ranking=tuple((index, 1 / rank) for rank, index in enumerate(indices, 1)),
                    answer=self.answers.get(question),
                    usage=self.usage,
                    seconds=0.5,
                    trace=tuple(self.trace),
                    is_list=True,
                )
            )
        return results


@pytest.fixture
def scripted():
    return Scripted


@pytest.fixture
def data():
    """Question q1 needs passages 0 and 1, q2 needs 2, q3 needs 3 and one that the corpus lacks, q4 nothing."""
    corpus = Corpus(Passage(f"p{number}", "", f"text {number}") for number in range(10))
    return MultihopData(
        "mini",
        corpus,
        (
            MultihopQuestion("q1", "one?", ("red", "crimson"), ("p0", "p1"), 2, "bridge"),
            MultihopQuestion("q2", "two?", ("blue",), ("p2",), 1, "single"),
            MultihopQuestion("q3", "three?", ("green",), ("p3",), 2, "bridge", missing=1),
            MultihopQuestion("q4", "four?", (), (), 0, "null"),
        ),
    )


@pytest.fixture
def good():
    """R@2 of q1, q2, q3: 1, 1, 1/2."""
    return {"one?": [0, 1, 5], "two?": [2], "three?": [3, 4], "four?": [9]}


@pytest.fixture
def poor():
    """R@2 of q1, q2, q3: 1/2, 0, 1/2; R@5: 1, 1, 1/2."""
    return {"one?": [0, 7, 1], "two?": [5, 6, 2], "three?": [4, 3], "four?": [8]}
