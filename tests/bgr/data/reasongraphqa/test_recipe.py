"""The recipe with rivals: many candidates, other questions' evidence, and questions without an answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from statistics import fmean

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.candidate_base import CandidateBase
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.interference import Interference
from bgr.data.reasongraphqa.construction.questions import Grounded, ground, read_questions
from bgr.data.reasongraphqa.construction.recipe import RECIPES, SAME_HEAD, shares
from bgr.data.reasongraphqa.construction.rivals import RivalFinder
from bgr.data.reasongraphqa.construction.textual_database import TextualDatabase
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
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
    assert all(made.distractors[kind] > 0 for kind in ("rival", "other question", "same head"))
    assert made.distractors["similar"] == 0
    assert made.distractors["random"] < 0.02 * sum(made.distractors.values())
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


def test_a_question_without_an_answer_lacks_one_fact_or_all_of_them(kb, source, made):
    """Its needed facts are those of the program on the whole knowledge base."""

    def named(facts):  # a sentence may have qualifiers that the question does not need
        return {(fact.head, fact.predicate, fact.value, fact.tail) for fact in facts}

    units = {unit.sentence: unit.facts for unit in made.database.units}
    needed = {one.id: named(ground(one, Executor(kb)).facts) for one in read_questions(source).questions}
    kinds = Counter()
    for example in all_examples(made):
        kinds[example.missing] += 1
        assert (example.missing is None) == example.answerable
        wanted = needed[example.id]
        left = wanted & named(fact for sentence in example.facts for fact in units[sentence])
        if example.answerable:
            assert left == wanted
        else:
            assert (example.missing == "one") == bool(left)
            assert len(left) < len(wanted)
    assert kinds["one"] > 3
    assert kinds["all"] > 3


def test_all_wordings_of_a_question_have_an_answer_or_none_has(kb, source, encoder):
    questions = read_questions(source).questions
    wordings = [
        replace(one, id=f"{one.id}-p{n}", text=f"{one.text} ({n})", paraphrase_of=one.id)
        for n in range(2)
        for one in questions
    ]
    settings = Settings(recipe="rivals", candidates_min=8, candidates=30, mixture=RIVALS.mixture, unanswerable=0.3)
    found: dict[str, list[bool]] = {}
    for example in all_examples(build(kb, [*questions, *wordings], encoder, settings)):
        found.setdefault(example.id.partition("-p")[0], []).append(example.answerable)
    counts = Counter(map(tuple, found.values()))
    assert set(counts) == {(True,) * 3, (False,) * 3}
    assert 15 <= counts[(False,) * 3] <= 40  # 0.3 of 92


def shared_ends(units):
    """For each unit whether another one has its head, its tail, or its predicate."""
    facts = [unit.facts[0] for unit in units]
    shared = []
    for of in (lambda fact: fact.head, lambda fact: fact.tail, lambda fact: fact.predicate):
        counts = Counter(map(of, facts))
        shared.append([of(fact) is not None and counts[of(fact)] > 1 for fact in facts])
    return list(zip(*shared, strict=True))


def test_gold_facts_are_joined_to_other_candidates_as_often_as_distractors_are(made):
    units = {unit.sentence: unit for unit in made.database.units}
    gold, others = [], []
    for example in all_examples(made):
        for number, shared in enumerate(shared_ends([units[sentence] for sentence in example.facts])):
            if example.answerable:
                (gold if number in example.graph.nodes else others).append(shared)
    for of_gold, of_others in zip(zip(*gold, strict=True), zip(*others, strict=True), strict=True):
        assert abs(fmean(of_gold) - fmean(of_others)) < 0.12


def test_the_families_of_other_questions_are_whole(kb, source, encoder):
    """Each question brings all its gold facts, and rivals, as the question that is asked does."""
    executor = Executor(kb)
    kept = [one for q in read_questions(source).questions if isinstance(one := ground(q, executor), Grounded)]
    facts = [fact for grounded in kept for fact in grounded.facts]
    data = TextualDatabase(kb, Verbalizer(kb), facts, joined_probability=0.15, seed=0)
    interference = Interference(data, encoder, seed=0, mixture=RIVALS.mixture)
    drafts = [interference.draft(grounded, 40) for grounded in kept]
    for draft in drafts:
        interference.add_rivals(draft, RivalFinder(executor))
    frequent = Counter(draft.predicates for draft in drafts)
    before = [len(draft.units) for draft in drafts]
    interference.add_others(drafts)
    twins = 0
    for draft, own in zip(drafts, before, strict=True):
        room = draft.wanted - shares(len(draft.gold_units), draft.wanted, RIVALS.mixture)[SAME_HEAD]
        assert len(draft.units) <= room
        whole = [d for d in drafts if d is not draft and all(map(draft.has, d.gold_units))]
        covered = {unit.sentence for d in whole for group in (d.gold_units, *d.rivals) for unit in group}
        assert {unit.sentence for unit in draft.units[own:]} <= covered
        twins += any(d.predicates == draft.predicates for d in whole)
    assert twins > 0.7 * sum(frequent[draft.predicates] > 1 for draft in drafts)


def test_a_build_depends_on_its_seed_alone(kb, source, encoder, made):
    settings = Settings(recipe="rivals", candidates_min=8, candidates=30, mixture=RIVALS.mixture, unanswerable=0.3)
    again = build(kb, read_questions(source).questions, encoder, settings)
    assert again.splits == made.splits


@pytest.mark.parametrize(("settings", "message"), [({"recipe": "x"}, "recipe 'x'"), ({"unanswerable": 2}, "0 to 1")])
def test_settings_that_are_not_allowed(settings, message):
    with pytest.raises(DataError, match=message):
        Settings(**settings)
