"""Comparisons by the words of question and facts alone."""

import pytest

from bgr.reader.comparisons import compare_named, verify_stated

HEAVY = ("The ox weighs 850 kg.", "There are 0.9 tonnes of the grey mare.")
LONG = ("The River Tavel is 210 miles long.", "From source to mouth, the Osk measures 290 kilometres.")
APOLLO = ("Apollo 11 began on 16 July 1969.", "Luna 15 began on 13 July 1969.")
FINALS = ("The 2011 final took 3 hours.", "The 2014 final took 205 minutes.")
BIRDS = ("A robin weighs 18 grams.", "A wren: 9 g.", "The goldcrest has 5.5 g.")
BUILT = ("Om was built in 1990.", "Ur was built in 1980.")
MILLS = ("Om runs 42 looms for 12 workers.", "Ur, built in 1974, has 36 looms and 19 workers.")
DATED = ("The Salt Orchard came out on 3 May 1921.", "A Winter's Ledger appeared in March 1921.")


@pytest.mark.parametrize(
    ("question", "facts", "answer"),
    [
        ("Which is heavier, the ox or the grey mare?", HEAVY, "grey mare"),
        ("which is lighter: the grey mare or the ox", HEAVY, "ox"),
        ("Which river is the shorter one, the Tavel or the River Osk?", LONG, "Osk"),
        ("Which came out earlier, The Salt Orchard or A Winter's Ledger?", DATED, "A Winter's Ledger"),
        ("Who was faster, Reyle or Abara?", ("Reyle took 2 hours and 9 minutes.", "Abara took 131 minutes."), "Reyle"),
        ("Which car is faster, A1 or B2?", ("The A1 does 90 km/h.", "The B2 does 60 mph."), "B2"),
        ("Is the ox heavier than the grey mare?", HEAVY, "no"),
        ("Is the grey mare heavier than the ox?", HEAVY, "yes"),
        ("Did The Salt Orchard come out before A Winter's Ledger?", DATED, "no"),
        ("Did The Salt Orchard come out after A Winter's Ledger?", DATED, "yes"),
        ("Was Apollo 11 launched later than Luna 15?", APOLLO, "yes"),
        ("Did the 2011 final last longer than the 2014 final?", FINALS, "no"),
        ("Did Cleopatra die after Caesar?", ("Caesar died in 44 BC.", "Cleopatra died in 30 BC."), "yes"),
        ("Which is the lightest, the wren, the robin or the goldcrest?", BIRDS, "goldcrest"),
        ("Has Apollo 11 lasted longer than Luna 15?", APOLLO, "no"),  # what began earlier has
        ("Has the mill at Om more looms than the one at Ur?", MILLS, "yes"),
        ("Has Om fewer workers than Ur?", MILLS, "yes"),
        ("Which mill has more looms, Ur or Om?", MILLS, "Om"),
        ("Is a loan from Om cheaper than one from Ur?", ("Om lends at 3.9 %.", "For loans Ur wants 4.2 %."), "yes"),
        ("Which open short line has existed longer, Om or Ur?", BUILT, "Ur"),
        ("Om or Ur: which came first?", BUILT, "Ur"),
        ('Which came first, "Om" or "Ur"?', BUILT, "Ur"),
        ("Which is cheaper, Om or Ur?", ("Om costs 70 pounds.", "A year at Ur costs 55 pounds."), "Ur"),
    ],
)  # fmt: skip
def test_answers(question, facts, answer):
    for order in (facts, facts[::-1]):
        found = compare_named(question, order)
        assert found.text == answer
        assert sorted(found.facts) == list(range(len(facts)))
        assert [
            one.plain in order[n].replace(",", "") or one.date
            for n, one in zip(found.facts, found.amounts, strict=True)
        ]


@pytest.mark.parametrize(
    ("question", "facts"),
    [
        ("Which is taller, the ox or the grey mare?", HEAVY),  # another property
        ("Which is heavier, the ox or the grey mare?", (HEAVY[0], "The grey mare is 12 years old.")),
        ("Which is heavier, the ox or the grey mare?", (HEAVY[0], "The grey mare is 9.")),  # of what?
        ("Which is heavier, the ox or the cow?", HEAVY),
        ("Which is heavier, the ox or the grey mare?", HEAVY[:1]),
        ("Which is heavier, the ox or the grey mare?", (*HEAVY, "The ox once had 840 kg.")),
        ("Which is it, the ox or the grey mare?", HEAVY),
        ("Which is heavier, the ox or the calf?", ("The ox weighs 5 kg.", "The calf weighs 5 kg.")),
        ("Is the ox heavier than 900 kg?", HEAVY),
        ("Did Gale of 2014 get more than 30 reviews?", ("Gale has 28 critical reviews.", "Gale is of 2014.")),
        ("Is the ox heavier?", HEAVY),
        ("Is the ox heavier than the cow?", HEAVY),
        ("Is the ox nearer than the grey mare?", HEAVY),
        ("Was the ox there before the grey mare?", HEAVY),  # no dates
        ("How heavy are the ox and the grey mare?", HEAVY),
        ("How heavy is the heavier of the two, the ox or the grey mare?", HEAVY),
        ("Which has more looms, Om or Ur?", ("Om has 1500 looms and 9 men.", "Ur has 1200 looms and 19 men.")),
        ("Which bridge around Rome is longer, Om or Ur?", BUILT),  # dates are no lengths
        ("Is the open bridge at Om longer than that at Ur?", BUILT),
        ("Which is heavier, the beast of the ox or that of the grey mare?", HEAVY),  # it is described, not named
        ("In which year came the first of them, The Salt Orchard or A Winter's Ledger?", DATED),
        ("", ()),
    ],
)
def test_no_answer(question, facts):
    assert compare_named(question, facts) is None


def test_other_facts_and_repeated_ones_are_passed_over():
    facts = ("The ox lives in Rome.", HEAVY[0], "An ox has 850 kg.", "The grey mare is 2 metres long.", HEAVY[1])
    found = compare_named("Which is heavier, the ox or the grey mare?", facts)
    assert (found.text, found.facts) == ("grey mare", (4, 1))
    found = compare_named("Is the ox heavier than the grey mare?", facts)
    assert (found.text, found.facts) == ("no", (1, 4))


@pytest.mark.parametrize(
    ("question", "facts", "answer"),
    [
        ("Does the ox weigh at least one tonne?", HEAVY[:1], "no"),
        ("Does the ox weigh less than 900 kg?", ("The ox lives in Rome.", HEAVY[0]), "yes"),
        ("Does the ox weigh between 800 and 900 kg?", HEAVY[:1], "yes"),
        ("Did Apollo 11 begin before 1970?", APOLLO[:1], "yes"),
        ("Did Apollo 11 begin after July 1969?", APOLLO[:1], "no"),
        ("Is the ox over 2 metres high?", HEAVY[:1], None),  # another kind
        ("Does the ox weigh more than 500 kg?", HEAVY, None),  # which of the two?
        ("Did Gale get more than 30 reviews?", ("Gale has 28 critical reviews.",), None),  # of what?
        ("Does the ox, found after 1990, weigh more than 500 kg?", HEAVY[:1], None),  # two conditions
        ("Was Om built before 2000?", BUILT[:1], "yes"),
        ("Is it over 250 m high?", ("It is 300 m (0.3 km) high.",), "yes"),
        ("Was the bridge that is longer than 500 m built by Bo?", ("The bridge is 600 m long.",), None),
        ("Is the film released after 1990 by Ann?", ("The film came out in 1995.",), None),
        ("Did more than 2000 people die in the war?", ("The war began in 1812.",), None),
        ("Does Om have more than 1500 workers?", ("Om was built in 1974 and has 900 workers.",), None),
        ("Was it built before 1990?", ("It has 1500 looms and was never built.",), None),
        ("Did Ann die before 1970?", ("Ann was born in 1930.",), None),
        ("Did it open after July 1969?", ("It opened in 1969.",), None),
        ("Is Om more than 10 m higher than Ur?", ("Om is 20 m high.",), None),
        ("Was it opened after 1 " + "and 2 " * 500 + "?", ("It opened in 1969.",), None),
        ("Which ox weighs more than 500 kg?", HEAVY[:1], None),
        ("Is the ox heavy?", HEAVY[:1], None),
    ],
)
def test_one_amount_is_verified(question, facts, answer):
    found = verify_stated(question, facts)
    assert (found and found.text) == answer
    if found:
        assert found.facts == (len(facts) - 1,)
