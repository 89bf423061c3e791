"""The input of a sequence-to-sequence verbalizer."""

from __future__ import annotations

import datetime

from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.verbalize.seq2seq import linearize_facts

TOMATO = (("review score by", Value("string", "Tomato")),)
SCORE = Fact("F2", "review score", Value("quantity", 52, "percent"), None, TOMATO)
DIRECTOR = Fact("F2", "director", None, "P0")
RELEASE = Fact("F2", "release date", Value("date", datetime.date(1962, 3, 12)))


def test_head_then_relation_and_tail_in_turn(kb):
    line = linearize_facts(kb, [DIRECTOR, SCORE], kind="film")
    assert line == "The 2nd Winter (film), director Ada Berg, review score 52 percent (review score by Tomato)"
    assert linearize_facts(kb, [DIRECTOR]) == "The 2nd Winter, director Ada Berg"


def test_the_style_writes_dates_and_units(kb):
    lines = {linearize_facts(kb, [RELEASE, SCORE], style=style) for style in range(6)}
    assert len(lines) == 6
    assert linearize_facts(kb, [RELEASE], style=0) == "The 2nd Winter, release date 12 March 1962"
    assert "52%" in linearize_facts(kb, [SCORE], style=1)


def test_several_qualifiers_in_one_pair_of_brackets(kb):
    both = Fact("F2", "director", None, "P0", (*TOMATO, ("point in time", Value("year", 1962))))
    assert linearize_facts(kb, [both]).endswith("director Ada Berg (review score by Tomato, point in time 1962)")
