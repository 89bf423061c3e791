import math
import random

import pytest
import torch

from bgr.models.batching import Sentences
from bgr.models.numbers import NumberMarks, compare, question_numbers, token_numbers
from bgr.models.ragged import Rows
from eval.bench.reference.plain_model import order


@pytest.mark.parametrize(
    ("text", "token", "number"),
    [
        ("It takes 102 minutes", "102", 102.0),
        ("over 1,250,000 people", "1,250,000", 1_250_000.0),
        ("made 1.5 million dollars", "1.5", 1_500_000.0),
        ("made 3 billion dollars", "3", 3_000_000_000.0),
        ("5 Billionaires", "5", 5.0),
        ("under 2 hours", "2", 120.0),
        ("a 2-hour film", "2", 120.0),
        ("1.5 hours long", "1.5", 90.0),
        ("under two hours", "two", 120.0),
        ("made half a million dollars", "a", math.nan),
        ("at 2 Hourly Street", "2", 2.0),
        ("on 1 January 1999", "1999", 1999 + 1 / 367),
    ],
)
def test_a_number_is_read_with_its_scale(text, token, number):
    start = text.index(token)
    before, inside = token_numbers(text, [(0, 1), (start, start + len(token))])
    assert math.isnan(before) == (not text[0].isdigit())
    assert inside == pytest.approx(number, rel=1e-8, nan_ok=True)


def test_sentences_have_the_numbers_in_words_too(tokenizer):
    texts = ["under two hours", "two films", "under 2 hours"]
    rows = Sentences(texts, tokenizer, max_tokens=64).rows
    found = [row[~row.isnan()].unique().tolist() for row in rows.numbers.split(rows.lengths.tolist())]
    assert found == [[120], [], [120]]


def test_a_token_without_characters_has_no_number():
    assert math.isnan(token_numbers("7 films", [(0, 0), (0, 1)])[0])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (3, 4, 0),
        (4, 4, 1),
        (1999.4, 1999, 1),  # a date in its year
        (1999, 1999.4, 1),
        (1999.4, 2000, 0),
        (1999.4, 1999.6, 0),  # two dates
        (12.5, 12, 2),  # no years
        (1e6, 1e6 + 0.4, 1),
        (math.nan, 1, -1),
        (1, math.nan, -1),
    ],
)
def test_comparison(one, other, expected):
    assert compare(torch.tensor([one]), torch.tensor([other])).tolist() == [expected]


def test_comparison_equals_the_plain_one():
    draw = random.Random(0)
    values = [draw.choice([draw.uniform(-3, 3), draw.randint(990, 1010), draw.uniform(999, 1001)]) for _ in range(60)]
    table = torch.tensor(values)
    found = compare(table[:, None], table)
    for i, one in enumerate(table.tolist()):
        for j, other in enumerate(table.tolist()):
            assert found[i, j] == 1 + order(one, other), (one, other)


def test_which_number_of_its_question_a_token_is():
    rows = Rows.from_lists([[5, 6, 7, 8, 9], [5, 6], [5, 6, 7]])
    nan = math.nan
    rows.numbers.copy_(torch.tensor([nan, 7, 7, nan, 2, 2, nan, 1, 5, 9]))
    which, known = question_numbers(rows, 2)
    assert which.tolist() == [-1, 0, 0, -1, 1, 0, -1, 0, 1, -1]
    torch.testing.assert_close(known, torch.tensor([[7, 2], [2, nan], [1, 5]]), equal_nan=True)


def test_sentences_without_numbers_have_no_marks():
    rows = Rows.from_lists([[5, 6], [7]])
    marks = NumberMarks(width=8)(rows, rows, torch.tensor([0, 1]))
    assert all(torch.equal(part, torch.zeros(3, 8)) for part in marks)


def test_the_tokens_of_a_sentence_have_its_numbers(tokenizer):
    sentences = Sentences(["Persona has 4 people .", "film ."], tokenizer, max_tokens=64)
    numbers = sentences.take([1, 0]).numbers
    assert [place for place, number in enumerate(numbers.tolist()) if number == 4] == [7]
    assert int(numbers.isnan().sum()) == len(numbers) - 1
