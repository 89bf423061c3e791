"""The recipe with rivals: many candidates, other questions' evidence, and questions without an answer."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.candidate_base import CandidateBase
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.construction.recipe import RECIPES
from bgr.errors import DataError

RIVALS = RECIPES["rivals"]


@pytest.fixture
def made(kb, source, encoder):
    settings = Settings(recipe="rivals", candidates_min=8, candidates=30, mixture=RIVALS.mixture, unanswerable=0.3)
    return build(kb, read_questions(source).questions, encoder, settings)


def all_examples(result):
    return [example for split in result.splits.values() for example in split]


def test_the_number_of_candidates_has_a_long_tail():
    drawn = [RIVALS.draw(15, 120, Random(seed)) for seed in range(3000)]
    assert min(drawn) == 15
    assert max(drawn) > 100
    assert 30 < sum(drawn) / len(drawn) < 36
    assert sorted(drawn)[1500] < 30


def test_distractors_are_of_all_kinds_and_distinct(made):
    assert all(made.distractors[kind] > 0 for kind in ("rival", "other question", "similar", "same head"))
    for example in all_examples(made):
        assert len(set(example.facts)) == len(example.facts) <= 30


def test_nothing_supports_an_answer_of_a_question_without_one(kb, made):
    units = {unit.sentence: unit for unit in made.database.units}
    base = CandidateBase(kb)
    found = Counter()
    for example in all_examples(made):
        facts = [fact for sentence in example.facts for fact in units[sentence].facts]
        answer = base.answer(Program.from_json(list(example.program)), facts)
        found[example.answerable] += 1
        if example.answerable:
            assert example.graph.nodes
            assert (answer if isinstance(answer, str) else answer[0]) == example.answer
        else:
            assert (example.graph.nodes, example.answer, answer) == ((), "", None)
    assert 15 <= found[False] <= 40  # 0.3 of 92


def test_a_build_depends_on_its_seed_alone(kb, source, encoder, made):
    settings = Settings(recipe="rivals", candidates_min=8, candidates=30, mixture=RIVALS.mixture, unanswerable=0.3)
    again = build(kb, read_questions(source).questions, encoder, settings)
    assert again.splits == made.splits


@pytest.mark.parametrize(("settings", "message"), [({"recipe": "x"}, "recipe 'x'"), ({"unanswerable": 2}, "0 to 1")])
def test_settings_that_are_not_allowed(settings, message):
    with pytest.raises(DataError, match=message):
        Settings(**settings)
