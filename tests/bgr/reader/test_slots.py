"""Placeholders for names and quantities: inputs and targets of T5, and its output converted back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.metrics.answers import answer_match
from bgr.reader.name_pieces import cut
from bgr.reader.slots import LOST, NAMES, NUMBERS, mask_text

WORDS = frozenset(
    "question evidence who made which is longer or was directed by runs for minutes minute of the and in has then "
    "how many yes no 0 1 2 3 time to leave released on cast member it a percent an united states dollar : .".split()
)


def names(text):
    return [text[piece.start : piece.end] for piece in cut(text, WORDS) if piece.name]


def test_a_name_is_one_placeholder_wherever_it_stands():
    masked = mask_text("question: Who made Diva? evidence: Diva was directed by Jean-Jacques Beineix.", WORDS)
    assert masked.text == ("question : who made <extra_id_0> ? evidence : <extra_id_0> was directed by <extra_id_1> .")
    assert masked.target("jean-jacques beineix", WORDS) == "<extra_id_1>"
    assert masked.answer("<extra_id_1>") == "Jean-Jacques Beineix"


def test_numbers_are_placeholders_by_size():
    masked = mask_text("Which is longer? Solaris runs for 1,167.5 minutes. Persona runs for 83 minutes in 1966.", WORDS)
    solaris, persona, year = NUMBERS[1], NUMBERS[0], NUMBERS[2]
    assert f"{solaris} minutes" in masked.text
    assert f"{persona} minutes in {year}" in masked.text
    assert masked.target("83 minute", WORDS) == f"{persona} minute"
    assert masked.answer(f"{persona} minute") == "83 minute"
    assert masked.answer(solaris) == "1167.5"


def test_equal_numbers_are_equal_placeholders_however_they_are_written():
    masked = mask_text("1,000 minutes or 1000.0 minutes", WORDS)
    assert masked.tokens == (NUMBERS[0], "minutes", "or", NUMBERS[0], "minutes")


def test_a_date_is_its_year_and_itself():
    masked = mask_text("released on May 3, 1990 or in 1990 or in 1991", WORDS)
    assert masked.text == f"released on {NUMBERS[0]} {NUMBERS[1]} or in {NUMBERS[0]} or in {NUMBERS[2]}"
    assert masked.target("1990-05-03", WORDS) == NUMBERS[1]
    assert masked.answer(NUMBERS[1]) == "1990-05-03"


def test_everyday_words_with_a_capital_inside_a_sentence_are_names():
    text = "Who made Time to Leave? Time to Leave was directed by Ozon."
    assert names(text) == ["Time to Leave", "Time to Leave", "Ozon"]
    assert names("Time is long. In time it has a cast.") == ["long"]


def test_names_that_part_somewhere_are_apart_everywhere():
    assert names("Ada Lovelace, Ada Byron") == ["Ada", "Lovelace", "Ada", "Byron"]
    assert names("Who made The Return? The Return was directed by Ozon.")[:2] == ["The Return", "The Return"]


def test_answers_beyond_the_text():
    masked = mask_text("question: who made Diva?", WORDS)
    assert masked.target("cast member", WORDS) == "cast member"
    assert masked.target("Beineix", WORDS) is None
    assert masked.target("7 minute", WORDS) is None


def test_what_is_counted_is_no_number_of_the_text():
    masked = mask_text("how many in 2? 2 and 3", WORDS)
    assert masked.target("2", WORDS, count=True) == "2"
    assert masked.target("2", WORDS) == NUMBERS[0]
    assert masked.target("99", WORDS, count=True) is None


def test_a_run_of_the_text_comes_back_as_it_is_spelled():
    masked = mask_text("Who made Gus Bo: Cai's Dora? Gus Ed and Cai and Dora.", WORDS)
    target = masked.target("Gus Bo: Cai's Dora", WORDS)
    assert masked.answer(target) == "Gus Bo: Cai's Dora"
    assert mask_text("the domain is .to", WORDS).answer(". to") == ".to"


def test_t5s_own_tokenizer_may_leave_no_blanks():
    masked = mask_text("Persona runs for 83 minutes.", WORDS)
    assert masked.answer("<number_0>minute") == "83 minute"


def test_more_names_than_placeholders():
    text = ", ".join(f"Name{n}x" for n in range(120))
    masked = mask_text(text, WORDS)
    assert masked.tokens.count(LOST) == 20
    assert set(NAMES) <= set(masked.tokens)
    masked = mask_text(" or ".join(str(n) for n in range(80)), WORDS)
    assert masked.tokens[-1] == NUMBERS[-1]


@given(st.text(alphabet=st.sampled_from(list("aAbB Tthe of1230,.:-'%\n")), max_size=60))
def test_any_text_is_cut_without_loss(text):
    pieces = cut(text, WORDS)
    assert "".join(text[p.start : p.end] for p in pieces).replace(" ", "") == "".join(text.split())
    assert all(a.end <= b.start for a, b in pairwise(pieces))
    masked = mask_text(text, WORDS)
    assert len(masked.tokens) == len(masked.spans)
    assert isinstance(masked.answer(masked.text), str)


@pytest.mark.parametrize("answer", ["Ada of Weston", "83 minute", "1990-05-03", "yes", "2", "+1-649", "No. 2"])
def test_targets_come_back_as_answers(answer):
    text = "Is No. 2 by Ada of Weston, 83 minutes, released on 3 May 1990, dialled with +1-649? No. 2 is."
    masked = mask_text(text, WORDS)
    target = masked.target(answer, WORDS)
    assert target is not None
    assert answer_match(masked.answer(target), answer)
