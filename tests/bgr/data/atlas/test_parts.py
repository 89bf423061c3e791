"""Questions about parts of other questions, over the small knowledge base of `conftest.py`."""

import json
import random
from collections import Counter
from dataclasses import replace

import pytest

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.question_tree import Condition, Description, Draft, Link, to_program
from bgr.data.atlas.sampler.drafts import Drafter
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.parts import Joins, cuts, part_questions
from bgr.data.atlas.sampler.read_draft import NotUnderstood, read_draft
from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.kb.schema import Value
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph


@pytest.fixture(scope="module")
def index(kb):
    return AtlasIndex(kb, phrasebook())


def program(draft):
    return Program.from_json(to_program(draft))


def film_of(year, country="Land 1"):
    """The film of a country that came out in a year."""
    base = Description("country", (f"country:{country}",), name=country)
    return Description(
        "film",
        (f"film:Tale of {year - 1950}",),
        links=(Link(base, "country of origin", "backward"),),
        conditions=(Condition("release date", "=", Value("year", year)),),
    )


def test_every_draft_is_read_back(kb, index, questions):
    executor, read = Executor(kb), 0
    for record in questions:
        wanted = Program.from_json(record["program"])
        try:
            draft = read_draft(wanted, index, executor)
        except NotUnderstood:  # such as "the region of Land 3", which may be a region or a continent
            continue
        assert program(draft) == wanted
        read += 1
    assert read >= 0.95 * len(questions)


def test_what_is_described_is_asked_for_or_named(kb):
    director = Description("human", ("human:Person A.",), links=(Link(film_of(1960), "director", "forward"),))
    draft = Draft("QueryAttr", film_of(1961), key="runtime")
    assert list(cuts(draft, kb)) == [
        Draft("What", film_of(1961)),
        Draft("QueryAttr", Description("film", ("film:Tale of 11",), name="Tale of 11"), key="runtime"),
    ]
    # a question for the whole is no part of it
    named = Description("film", ("film:Tale of 10",), name="Tale of 10")
    by_name = Description("human", ("human:Person A.",), links=(Link(named, "director", "forward"),))
    assert list(cuts(Draft("What", director), kb)) == [Draft("What", film_of(1960)), Draft("What", by_name)]


def test_both_sides_of_a_comparison_are_cut(kb):
    draft = Draft("SelectBetween", film_of(1960), film_of(1961), key="runtime", op="greater")
    found = list(cuts(draft, kb))
    assert [one.function for one in found] == ["What", "SelectBetween"] * 2
    assert [(one.subject.name, one.other.name) for one in found if one.other] == [
        ("Tale of 10", None),
        (None, "Tale of 11"),
    ]


@pytest.mark.workflow
def test_parts_are_new_and_true(kb, questions):
    programs = [Program.from_json(record["program"]) for record in questions]
    found = list(part_questions(kb, programs, most=2))
    assert {len(part.of) for part in found} == {1, 2}
    for size in (1, 2):  # cuts, then joins
        counts = Counter(part.of[0] for part in found if len(part.of) == size)
        assert set(counts.values()) == {1, 2}
    steps = [Program.from_json(part.record["program"]).steps for part in found]
    assert len(set(steps)) == len(steps)
    assert not {one.steps for one in programs} & set(steps)
    for part in found:
        record = part.record
        execution = Executor(kb).run(Program.from_json(record["program"]))
        assert [record["answer"]] == execution.answers
        assert len(EvidenceGraph(execution.edges).nodes) >= 2
        assert record["question"][0].isupper()
        assert record["phrasings"]
    assert list(part_questions(kb, programs, most=2)) == found
    assert list(part_questions(kb, programs, most=2, seed=1)) != found
    assert max(Counter((part.of[0], len(part.of)) for part in part_questions(kb, programs, most=1)).values()) == 1


def link_to(kind, name, predicate, direction):
    return Link(Description(kind, (f"{kind}:{name}",), name=name), predicate, direction)


def test_two_links_that_lead_to_one_thing_are_joined(kb, index):
    films = Description("film", ("film:Tale of 10", "film:Tale of 11"))
    person, country = "Person A.", "Land 1"
    by_person = replace(films, links=(link_to("human", person, "director", "backward"),))
    from_country = replace(films, links=(link_to("country", country, "country of origin", "backward"),))
    drafts = {3: Draft("Count", by_person), 7: Draft("Count", from_country)}
    found = list(Joins(drafts, Drafter(index, random.Random(0))).of(3, 50))
    assert found
    for of, draft in found:
        assert of == (3, 7)
        assert draft.function == ("What" if draft.subject.single else "Count")
        assert draft.subject.links == (*by_person.links, *from_country.links)
        both = [set(index.follow(link)) for link in draft.subject.links]
        assert set(draft.subject.members) == both[0] & both[1]


def test_relations_without_words_are_not_joined(kb, index, monkeypatch):
    monkeypatch.delitem(index.book.relations, "country of origin")
    films = Description("film", ("film:Tale of 10", "film:Tale of 11"))
    links = (
        link_to("human", "Person A.", "director", "backward"),
        link_to("country", "Land 1", "country of origin", "backward"),
    )
    drafts = {number: Draft("Count", replace(films, links=(link,))) for number, link in enumerate(links)}
    joins = Joins(drafts, Drafter(index, random.Random(0)))
    assert [*joins.of(0, 50), *joins.of(1, 50)] == []


def test_two_things_that_can_be_compared_are_joined(index):
    first, second = (Description("film", (f"film:Tale of {n}",), name=f"Tale of {n}") for n in (10, 11))
    land = Description("country", ("country:Land 1",), name="Land 1")
    drafts = {0: Draft("QueryAttr", first, key="runtime"), 1: Draft("QueryAttr", second, key="runtime")}
    drafts[2] = Draft("QueryAttr", land, key="population")
    found = list(Joins(drafts, Drafter(index, random.Random(0))).of(0, 50))
    assert found
    for of, draft in found:
        assert of == (0, 1)
        assert (draft.function, draft.subject, draft.other) == ("SelectBetween", first, second)
        assert draft.op in ("greater", "less")


def test_other_programs_have_no_parts(kb):
    odd = [
        {"function": "FindAll", "dependencies": [], "inputs": []},
        {"function": "FilterYear", "dependencies": [0], "inputs": ["release date", "1960", "="]},
        {"function": "FilterConcept", "dependencies": [1], "inputs": ["film"]},
        {"function": "What", "dependencies": [2], "inputs": []},
    ]
    assert list(part_questions(kb, [Program.from_json(odd)])) == []


def test_what_atlas_has_no_words_for_is_left_out(kb, questions, monkeypatch):
    def no_words(self, draft):
        raise KeyError("mountain range")

    monkeypatch.setattr(Phrasing, "question", no_words)
    programs = [Program.from_json(record["program"]) for record in questions[:40]]
    assert list(part_questions(kb, programs)) == []


def asked(records):
    return [Question.from_json(record, f"q{n}", f"item {n}") for n, record in enumerate(records)]


@pytest.mark.workflow
@pytest.mark.parametrize("split", ["random", "structure"])
def test_a_dataset_has_parts_of_its_training_questions_alone(kb, questions, word_encoder, split):
    plain = build(kb, asked(questions), word_encoder, Settings(split=split))
    more = build(kb, asked(questions), word_encoder, Settings(split=split, parts=2))
    for name in ("dev", "test"):
        assert [one.id for one in more.splits[name]] == [one.id for one in plain.splits[name]]
    train = [one.id for one in plain.splits["train"]]
    parts = [one for one in more.splits["train"] if "-part" in one.id]
    assert [one.id for one in more.splits["train"] if "-part" not in one.id] == train
    assert len(parts) > 30
    assert {one.id.rpartition("-part")[0] for one in parts} <= set(train)
    programs = {json.dumps(one.program) for name in ("dev", "test") for one in more.splits[name]}
    assert not programs & {json.dumps(one.program) for one in parts}
    if split == "structure":  # forms that no question of train has
        known = {frozenset(one.graph.relabel(numbered(one)).edges) for one in plain.splits["train"]}
        assert any(frozenset(one.graph.relabel(numbered(one)).edges) not in known for one in parts)


@pytest.mark.workflow
def test_both_questions_of_a_part_are_in_train(kb, questions, word_encoder, monkeypatch):
    made = []

    def noted(kb, programs, **settings):
        for part in part_questions(kb, programs, **settings):
            made.append([json.dumps(one.to_json()) for one in (*(programs[n] for n in part.of), program_of(part))])
            yield part

    monkeypatch.setattr("bgr.data.reasongraphqa.construction.construct.part_questions", noted)
    splits = build(kb, asked(questions), word_encoder, Settings(parts=2)).splits
    split_of = {json.dumps(one.program): name for name, examples in splits.items() for one in examples}
    joined = [part for part in made if len(part) == 3]
    kept = [part for part in joined if part[-1] in split_of]
    assert len(joined) > len(kept) > 30
    assert {split_of[program] for part in kept for program in part} == {"train"}


def program_of(part):
    return Program.from_json(part.record["program"])


def numbered(example):
    return {node: number for number, node in enumerate(example.graph.order())}


def test_parts_are_refused_where_they_cannot_be(kb, questions, word_encoder):
    with pytest.raises(DataError, match=r"parts -1, allowed: 0 or more"):
        Settings(parts=-1)
    with pytest.raises(DataError, match=r"parts 1 with split 'wording', allowed: 0, since parts are worded anew"):
        Settings(parts=1, split="wording")
    names = [one for one in asked(questions) if len(one.program.steps) <= 2]
    assert names
    with pytest.raises(DataError, match=r"parts 1: no question has parts that Atlas has words for"):
        build(kb, names[:1], word_encoder, Settings(parts=1))
