"""Prompts are filled safely, and whatever a model replies is read without harm."""

import math

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.corpus import Passage
from bgr.llm.language_model import Reply
from bgr.llm.usage import Usage
from bgr.retrievers.bridgerag.judge import Case, ProbabilityJudge, ScoreJudge, read_scores, scores_schema, yes_share
from bgr.retrievers.bridgerag.steps import (
    PAPER,
    BridgeSettings,
    Entities,
    entities_request,
    prompt,
    queries_request,
    queries_schema,
    read_entities,
    read_queries,
)

NASTY = "{{bridge}} {question} {0} %s \\1 {{nothing}}"
PASSAGE = Passage("1", "T", NASTY)


def reply(value, failure=None):
    return Reply(value, "…", failure, Usage(calls=1, failed=int(failure is not None)))


def requests():
    yield queries_request(NASTY, PASSAGE, PAPER)
    yield entities_request(NASTY, PASSAGE, PAPER)
    for bridge in (NASTY, None):
        case = Case(NASTY, [PASSAGE], bridge, Entities(NASTY, ""))
        yield ScoreJudge(PAPER).request(case)
        yield ProbabilityJudge(PAPER).request(case, PASSAGE)


@pytest.mark.parametrize("request_", list(requests()), ids=lambda request: request.step)
def test_braces_in_questions_and_passages_stay_as_they_are(request_):
    (message,) = request_.messages
    assert message.role == "user"
    assert message.content.count(NASTY) >= 2
    for place in ("{{question}}", "{{candidate}}", "{{candidates}}", "{{count}}", "{{first}}"):
        assert place not in message.content
    if request_.schema is not None:
        jsonschema.Draft202012Validator.check_schema(request_.schema)


def test_a_judge_without_bridge_is_told_nothing_of_it():
    case = Case("Q?", [Passage("a", "One", "first"), Passage("b", "", "second")], None, Entities("Ada", "Borel"))
    for text in (ScoreJudge(PAPER).request(case), ProbabilityJudge(PAPER).request(case, case.candidates[0])):
        assert "Ada" not in text.messages[0].content
        assert "irst passage" not in text.messages[0].content
    assert "[1] One\nfirst\n\n[2] second" in ScoreJudge(PAPER).request(case).messages[0].content


def test_a_prompt_needs_all_its_places():
    with pytest.raises(KeyError):
        prompt("queries", question="Q?")


def test_settings_that_cannot_be():
    for wrong in ({"pool": 0}, {"alpha": 1.5}, {"condition": "D"}, {"max_tokens": 0}):
        with pytest.raises(ValueError, match=r"it must be|allowed"):
            BridgeSettings(**wrong)


def test_queries_are_cleaned():
    read = read_queries(reply({"queries": [" a\nb ", "a b", "…", 3, "half \ud800", "c", "d", "e"]}), 3)
    assert (read.value, read.failure, read.usage) == (["a b", "c", "d"], None, Usage(calls=1))
    for value in ({"queries": []}, {"queries": ["…"]}, {"queries": "a"}, {}, [], None):
        read = read_queries(reply(value), 3)
        assert (read.value, read.failure, read.usage.failed) == ([], "the reply holds no query", 1)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("Ada Quist | the Borel foundry", ("Ada Quist", "the Borel foundry")),
        ('Sure:\n\n`Ada` | "Borel" | more', ("Ada", "Borel")),
        ("| Ada |  |", ("Ada", "")),
        ("Ada Quist", ("Ada Quist", "")),
        ("Ada Quist\nand words", ("Ada Quist", "")),
        ('{"e1": "Ada", "e2": "Borel"}', ("Ada", "Borel")),
        ({"e1": "Ada", "e2": "Borel"}, ("Ada", "Borel")),
        ("| Ada | Borel |", ("Ada", "Borel")),
        ("| Borel", ("", "Borel")),
        ({"e2": "Borel", "e1": "Ada"}, ("Ada", "Borel")),
        ({"e1": "", "e2": "Borel"}, ("", "Borel")),
        ({"e1": "x" * 101, "e2": "Borel"}, ("", "Borel")),
        ('["Ada", 3]', ("Ada", "")),
        ("Ada | " + "x" * 101, ("Ada", "")),
        ("Ada | the one who has been to Oslo twice or more since then", ("Ada", "")),
    ],
)
def test_entities_in_every_form(value, wanted):
    read = read_entities(reply(value))
    assert (tuple(read.value), read.failure, read.usage) == (wanted, None, Usage(calls=1))


@pytest.mark.parametrize(
    "value",
    [
        "|",
        " … | ",
        "x" * 101,
        "Question: Who was it that made the Borel foundry what it is?",
        {},
        {"e1": 3},
        [],
        None,
        7,
        "[[[[[" * 9000,
    ],
)
def test_no_entity_is_a_failure(value):
    read = read_entities(reply(value))
    assert (read.value.named, read.failure, read.usage.failed) == ([], "the reply holds no entity", 1)


def test_scores_must_be_as_many_as_the_candidates():
    assert read_scores(reply({"scores": [1, 2.5]}), 2).value == [1.0, 2.5]
    for rows in ([1], [1, 2, 3], [1, True], [1, "2"], [1, None], [1, math.nan], [1, math.inf], [1, 10**400], "12"):
        read = read_scores(reply({"scores": rows}), 2)
        assert (read.value, read.failure, read.usage.failed) == (None, "the reply holds no list of 2 scores", 1)


def test_a_failure_is_counted_once():
    for read in (lambda r: read_queries(r, 3), read_entities, lambda r: read_scores(r, 2)):
        assert read(reply(None, "not JSON")).usage == Usage(calls=1, failed=1)


def test_yes_share_by_hand():
    half, quarter, eighth = math.log(0.5), math.log(0.25), math.log(0.125)
    assert yes_share(((" Yes", half), ("no", quarter))) == pytest.approx(2 / 3)
    assert yes_share((("YES.", half), ("yes", quarter), ("No", quarter), ("maybe", half))) == pytest.approx(3 / 4)
    assert yes_share((("\nNO", eighth),)) == 0
    assert yes_share(()) is yes_share((("maybe", half), ("nope", half))) is yes_share((("yes", -9999.0),)) is None
    nan = float("nan")
    assert yes_share((("yes", nan), ("no", quarter), ("Yes", quarter))) == pytest.approx(1 / 2)
    assert yes_share((("yes", nan), ("no", nan))) is None


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["a | b", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["queries", "scores", "e1", "e2"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANY)
def test_any_value_is_read_and_what_fits_no_schema_fails(value):
    queries, entities, scores = read_queries(reply(value), 3), read_entities(reply(value)), read_scores(reply(value), 2)
    assert all(isinstance(query, str) and query for query in queries.value)
    assert all(isinstance(name, str) for name in entities.value)
    assert scores.value is None or all(map(math.isfinite, scores.value))
    assert bool(queries.value) == (queries.failure is None)
    assert bool(entities.value.named) == (entities.failure is None)
    if jsonschema.Draft202012Validator(scores_schema(2, 10)).is_valid(value):
        assert scores.value == [float(row) for row in value["scores"]]
    if queries.failure is None:
        jsonschema.Draft202012Validator.check_schema(queries_schema(3))
