"""Partial match of answers against values computed by hand."""

import pytest

from bgr.metrics.answers import answer_em, answer_partial


@pytest.mark.parametrize(
    ("predicted", "answers", "wanted"),
    [
        ("the Oslo.", ["Bergen", "oslo"], 1),
        ("Oslo, in Norway", ["Oslo"], 1),
        ("Stanley Hall", ["G. Stanley Hall"], 1),
        ("G. Hall", ["G. Stanley Hall"], 0),  # not side by side
        ("Hall Stanley", ["Stanley Hall"], 0),
        ("Os", ["Oslo"], 0),  # whole words only
        ("18", ["1812"], 0),
        ("the", ["The a"], 1),
        ("the", ["Oslo"], 0),
        ("Oslo", ["the"], 0),
        (None, ["Oslo"], 0),
        ("Oslo", [], 0),
    ],
)
def test_partial(predicted, answers, wanted):
    assert answer_partial(predicted, answers) == wanted
    assert answer_partial(predicted, answers) >= answer_em(predicted, answers)
