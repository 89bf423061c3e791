"""What kind of amount a question asks for."""

import pytest

from bgr.reader.amounts import amounts
from bgr.reader.asked_kind import compares_another_kind, may_be_asked, may_be_compared


@pytest.mark.parametrize(
    ("question", "amount", "fits"),
    [
        ("How tall is it ?", "5 metres", True),
        ("How tall is it ?", "5 kg", False),
        ("How tall is it ?", "1811", False),  # a year
        ("How tall is it ?", "142", True),
        ("how wide is it", "2 minutes", False),
        ("How long is it ?", "2 minutes", True),
        ("How old is it ?", "1811", True),
        ("How much does one cubic centimetre weigh ?", "1 g/cm³", True),
        ("How much does the ox of the tall man weigh ?", "5 feet", False),
        ("How much did it cost ?", "5 dollars", True),
        ("When was it built ?", "May 3, 1811", True),
        ("When was it built ?", "5 metres", False),
        ("When was it built ?", "40,000", False),
        ("When was it built ?", "950", True),
        ("In what year was it built ?", "5 metres", False),
        ("What is it, when it is built ?", "5 metres", True),
        ("What is its weight ?", "5 metres", True),  # not known
        ("What is the weight of it ?", "5 metres", False),
        ("what's the molar mass of it ?", "5 g/mol", True),
        ("What is the molar mass of it ?", "5 g/cm³", False),
        ("What is the film with the height of 5 kg ?", "5 kg", True),
        ("How howlingly tall ?", "5 kg", True),
    ],
)
def test_what_how_and_when_ask_for(question, amount, fits):
    assert may_be_asked(question, amounts(amount)[0]) is fits


@pytest.mark.parametrize(
    ("question", "amount", "fits"),
    [
        ("Which is taller ?", "5 kg", False),
        ("Which is taller ?", "5 metres", True),
        ("Which is the most expensive ?", "5 metres", False),
        ("Which is longer ?", "5 dollars", False),
        ("Which is cheaper ?", "5 crowns", True),
        ("Which is the loudest ?", "5 crowns", False),
        ("Which is the loudest ?", "5 decibels", True),
        ("Which is older ?", "1990", True),
        ("Which of those that are longer than 90 minutes has the most reviews ?", "5 dollars", True),
        ("Which has the greater one ?", "5 minutes", True),
    ],
)
def test_what_can_be_compared(question, amount, fits):
    assert may_be_compared(question, amounts(amount)[0]) is fits


@pytest.mark.parametrize(
    ("question", "facts", "another"),
    [
        ("Which is heavier, the ox or the cow ?", ("The ox is 2 metres high.", "The cow: 180 cm."), True),
        ("Is the ox heavier than the cow ?", ("The ox is 2 metres high.", "The cow: 180 cm."), True),
        ("Is the ox bigger than the cow ?", ("The ox is 2 years old.", "The cow lived for 3 days."), True),
        ("Does the ox cost less than the cow ?", ("The ox runs 20 km/h.", "The cow runs 12 km/h."), True),
        ("Which is heavier, the ox or the cow ?", ("The ox is 2 metres high.", "The cow has 500 kg."), False),
        ("Which is heavier, the ox or the cow ?", ("The ox is 2 metres high.",), False),
        ("Which is heavier, the ox or the cow ?", ("The ox is 2 metres high.", "The cow is heavy."), False),
        ("Which is heavier, the ox or the cow ?", ("The ox is 2 metres high.", "The cow has 3 legs."), False),
        ("Is the ox larger than the cow ?", ("The ox has 1500 seats.", "The cow has 1800 seats."), False),
        ("Which has the higher power, Om or Ur ?", ("Om has 40 kW.", "Ur has 30 kW."), False),
        ("Who is there for longer, Ann or Bo ?", ("Ann came in 1990.", "Bo came in 1980."), False),
        ("How fast is the heavier ox ?", ("The ox does 9 km/h.", "The other one 8 km/h."), False),
    ],
)
def test_amounts_of_another_kind_compare_nothing(question, facts, another):
    assert compares_another_kind(question, facts) is another
