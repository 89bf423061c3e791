"""Results with sentences are kept and read; those written before there were any are still read."""

import pytest

from bgr.data.multihop.assemble import MultihopQuestion
from bgr.errors import DataError
from bgr.retrievers.base import PassageResult
from eval.passages.found import Found

QUESTION = MultihopQuestion("q", "Q?", (), (), 0, "")


def test_sentences_are_kept(data):
    found = Found.of(QUESTION, PassageResult((2, 0), (1.0, 0.5), sentences=((2, 1), (0, 0))), data.corpus)
    assert found.sentences == (("p2", 1), ("p0", 0))
    assert Found.from_json(found.to_json()) == found


def test_results_without_sentences_are_written_and_read_as_before(data):
    found = Found.of(QUESTION, PassageResult((2,), (1.0,)), data.corpus)
    assert "sentences" not in found.to_json()
    assert Found.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    "sentences", [None, 3, "ab", ["ab"], [["p", -1]], [["p", True]], [[1, 1]], [["p", 1, 2]], {"a": 1}]
)
def test_sentences_that_are_none(sentences, data):
    record = Found.of(QUESTION, PassageResult((2,), (1.0,)), data.corpus).to_json()
    with pytest.raises(DataError):
        Found.from_json({**record, "sentences": sentences})
