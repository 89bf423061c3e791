"""The words that say which of several is wanted."""

import pytest

from bgr.reader.superlatives import asks_for_most, asks_yes_or_no


@pytest.mark.parametrize(
    ("question", "most", "latest"),
    [
        ("Which is heavier, A or B ?", True, None),
        ("Which film has the worst reviews ?", False, None),
        ("Which came out first, A or B ?", None, False),
        ("Which of them is the latest ?", None, True),
        ("Which is older, A or B ?", True, False),
        ("Which is younger, A or B ?", False, True),
        ("Which film came out most recently ?", True, True),
        ("Which came out earlier, The Last Emperor or First Blood ?", None, False),  # titles have capitals
        ("which came out earlier, the last emperor or the train ?", None, None),
        ("Of the films longer than 90 minutes, which is the cheapest ?", False, None),
        ("Is it the film with more than 5 or with at most 3 reviews that is taller ?", True, None),
        ("Which one is it ?", None, None),
        ("Which has the bigger and which the smaller one ?", None, None),
        ("Which lies in a lowered newspaper ?", None, None),  # only whole words
    ],
)
def test_the_most_or_the_least(question, most, latest):
    assert asks_for_most(question, time=False) is most
    assert asks_for_most(question, time=True) is latest


@pytest.mark.parametrize(
    ("question", "whether"),
    [
        ("Is A larger than B ?", True),
        ("did A open before B?", True),
        ("Is A or B larger ?", False),
        ("Do you know which is larger ?", False),
        ("Which is larger ?", False),
        ("Island A is larger than B ?", False),
    ],
)
def test_whether_or_which(question, whether):
    assert asks_yes_or_no(question) is whether
