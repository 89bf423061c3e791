"""Prompts are filled safely, and whatever a model replies is read without harm."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.corpus import Passage
from bgr.llm.language_model import Reply
from bgr.llm.usage import Usage
from bgr.retrievers.gear.steps import (
    PAPER,
    REASON_SCHEMA,
    REWRITE_SCHEMA,
    Fact,
    Reason,
    facts_schema,
    gist_request,
    prompt,
    read_facts,
    read_query,
    read_reason,
    read_request,
    reason_request,
    rewrite_request,
)

NASTY = "{{facts}} {question} {0} %s \\1 {{nothing}}"
KNOWN = [Fact("Ada {{question}}", "is", "B")]


def reply(value, failure=None):
    return Reply(value, "…", failure, Usage(calls=1, failed=int(failure is not None)))


@pytest.mark.parametrize(
    "request_",
    [
        read_request(NASTY, [Passage("1", "T", NASTY)], PAPER),
        gist_request(NASTY, [Passage("1", "T", NASTY)], KNOWN, PAPER),
        reason_request(NASTY, KNOWN, PAPER),
        rewrite_request(NASTY, KNOWN, NASTY, PAPER),
    ],
    ids=lambda request: request.step,
)
def test_braces_in_questions_and_passages_stay_as_they_are(request_):
    (message,) = request_.messages
    assert message.role == "user"
    assert message.content.count(NASTY) >= (2 if request_.step != "gear.reason" else 1)
    if request_.step != "gear.read":
        assert "Ada {{question}} | is | B" in message.content
    jsonschema.Draft202012Validator.check_schema(request_.schema)


def test_passages_are_numbered_with_their_titles():
    text = read_request("Q?", [Passage("a", "One", "first"), Passage("b", "", "second")], PAPER).messages[0].content
    assert "[1] One\nfirst\n\n[2] second" in text


def test_without_known_facts_the_gist_is_the_first_reading():
    passages = [Passage("1", "T", "x")]
    assert gist_request("Q?", passages, [], PAPER).messages == read_request("Q?", passages, PAPER).messages


def test_a_prompt_needs_all_its_places():
    with pytest.raises(KeyError):
        prompt("reason", question="Q?")


def test_facts_are_cleaned():
    rows = [
        ["Ada", "works\nfor", " Borel  works "],
        ["Ada", "works for", "Borel works"],
        ["Ada", "", ""],
        ["Ada", "…", "..."],
        ["…", "…", "…"],
        ["", "is", "old"],
        ["x" * 301, "is", "long"],
        ["half \ud800", "is", "broken"],
    ]
    read = read_facts(reply({"facts": rows}), 20)
    assert read.value == [Fact("Ada", "works for", "Borel works"), Fact("", "is", "old")]
    assert read.value[1].text == "is old"
    assert (read.failure, read.usage) == (None, Usage(calls=1))
    assert len(read_facts(reply({"facts": [["a", "b", str(n)] for n in range(9)]}), 4).value) == 4


def test_a_verdict():
    read = read_reason(reply({"answerable": True, "answer": " in\nTamrin", "why": ""}))
    assert read.value == Reason(True, "in Tamrin", "")


def test_a_query_of_spaces_is_a_failure():
    read = read_query(reply({"query": " \n"}))
    assert (read.value, read.failure, read.usage) == ("", "the reply holds no query", Usage(calls=1, failed=1))


def test_a_failure_is_counted_once():
    for read in (read_query, read_reason, lambda r: read_facts(r, 5)):
        assert read(reply(None, "not JSON")).usage == Usage(calls=1, failed=1)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["facts", "answerable", "answer", "why", "query"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANY)
def test_any_value_is_read_and_what_fits_no_schema_fails(value):
    facts, reason, query = read_facts(reply(value), 5), read_reason(reply(value)), read_query(reply(value))
    assert all(isinstance(fact, Fact) and all(isinstance(part, str) for part in fact) for fact in facts.value)
    assert isinstance(reason.value, Reason)
    assert isinstance(query.value, str)
    for read, schema in ((facts, facts_schema(5)), (reason, REASON_SCHEMA)):
        if jsonschema.Draft202012Validator(schema).is_valid(value):
            assert read.failure is None
    if query.failure is None:
        assert query.value == " ".join(value["query"].split())
    if jsonschema.Draft202012Validator(REWRITE_SCHEMA).is_valid(value):
        assert bool(query.failure) == (not value["query"].strip())
