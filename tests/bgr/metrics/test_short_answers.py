"""EM and F1 against values computed by hand, and the normal form of SQuAD's script."""

import pytest

from bgr.metrics.answers import answer_em, answer_f1, plain_answer


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("A.B. an-other", "ab another"),  # punctuation goes before articles do
        ("the", ""),
        ("Theatre of the absurd", "theatre of absurd"),
        ("3,000 ships", "3000 ships"),
        ("Łódź’s", "łódź’s"),  # only ASCII punctuation goes
    ],
)
def test_plain(text, plain):
    assert plain_answer(text) == plain


def test_em():
    assert answer_em("the Oslo.", ["Bergen", "oslo"]) == 1.0
    assert answer_em("Oslo city", ["Bergen", "oslo"]) == 0.0
    assert answer_em(None, ["oslo"]) == answer_em("oslo", []) == 0.0
    assert answer_em("the", [""]) == 1.0


def test_f1():
    # shared: red, red; 3 predicted words, 4 gold words
    assert answer_f1("red red car", ["a red red big bus"]) == pytest.approx(2 * 2 / (3 + 4))
    assert answer_f1("red car", ["blue", "car"]) == pytest.approx(2 / 3)  # the best of the answers
    assert answer_f1("red", ["red red"]) == pytest.approx(2 / 3)
    assert answer_f1("blue", ["red"]) == 0.0
    assert answer_f1("the", ["an"]) == 1.0
    assert answer_f1("the", ["red"]) == answer_f1("red", ["the"]) == 0.0
    assert answer_f1(None, ["red"]) == answer_f1("red", []) == 0.0
