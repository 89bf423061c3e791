"""What the words of a question say."""

import pytest

from bgr.reader.question_words import asks_for_most, asks_yes_or_no, comparison, says


@pytest.mark.parametrize(
    ("question", "most", "latest"),
    [
        ("Which is heavier, A or B ?", True, None),
        ("Which film has the worst reviews ?", False, None),
        ("Which came out first, A or B ?", None, False),
        ("Which of them is the latest ?", None, True),
        ("Which is older, A or B ?", True, False),
        ("Which is younger, A or B ?", False, True),
        ("Who is the elder, A or B ?", None, False),
        ("Which of them is over soonest ?", False, False),
        ("Which is the costliest ?", True, None),
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


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Is it 90 minutes or more ?", ">="),
        ("Is it less than two hours and 90 minutes long ?", "="),
        ("Is it about 90 minutes long ?", None),
        ("Is it from 90 ?", None),
        ("Is it long ?", None),
    ],
)
def test_what_a_question_says_of_a_number(question, said):
    start = max(0, question.find("90"))
    assert comparison(question, (start, start + 2)) == said


@pytest.mark.parametrize(
    ("question", "words", "found"),
    [
        ("Does the state in which Gary lies have the code CA?", "IN", False),
        ("Does the state in which Gary lies have the code IN?", "IN", True),
        ("does the state where gary lies have the code in?", "IN", True),
        ("Is the genre of Heat Drama?", "drama", True),
        ("Is it a drama on DVD?", "Drama", True),
        ("Is it a melodrama?", "drama", False),
    ],
)
def test_words_of_a_question(question, words, found):
    assert says(question, words) == found
