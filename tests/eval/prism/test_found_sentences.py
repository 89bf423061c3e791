"""Results with sentences are kept and read; those written before there were any are still read."""

import pytest

from bgr.errors import DataError
from bgr.retrievers.base import RetrievalResult, star
from eval.run.question_result import QuestionResult


def found_of(data, *indices, sentences=()):
    ranking = tuple((index, 1 / rank) for rank, index in enumerate(indices, 1))
    result = RetrievalResult(star(indices), ranking=ranking, sentences=sentences, is_list=True)
    return QuestionResult.of("q", result, [passage.id for passage in data.corpus])


def test_sentences_are_kept(data):
    found = found_of(data, 2, 0, sentences=((2, 1), (0, 0)))
    assert found.sentences == (("p2", 1), ("p0", 0))
    assert QuestionResult.from_json(found.to_json()) == found


def test_results_without_sentences_are_written_and_read_as_before(data):
    found = found_of(data, 2)
    assert "sentences" not in found.to_json()
    assert QuestionResult.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    "sentences", [None, 3, "ab", ["ab"], [["p", -1]], [["p", True]], [[1, 1]], [["p", 1, 2]], {"a": 1}]
)
def test_sentences_that_are_none(sentences, data):
    record = found_of(data, 2).to_json()
    with pytest.raises(DataError):
        QuestionResult.from_json({**record, "sentences": sentences})
