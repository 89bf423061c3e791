"""Sentences, candidates, the rules of the agents, graphs, settings and replies, each by hand."""

import json

import jsonschema
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT
from bgr.llm.language_model import Reply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query
from bgr.retrievers.prism.agent import ContextReader
from bgr.retrievers.prism.evidence import (
    Candidates,
    Reference,
    added,
    kept,
    nearest_sub_question,
    ordered_graph,
    sentences_of,
)
from bgr.retrievers.prism.run import PAPER, Named, PrismSettings, Run
from bgr.retrievers.prism.steps import (
    adder_request,
    analyser_request,
    answer_request,
    draft_request,
    prompt,
    read_answer,
    read_evidence,
    read_keep,
    read_sub_questions,
    selector_request,
)
from bgr.retrievers.scope import Scope

A, B, C, D = Reference(0, 0), Reference(0, 1), Reference(2, 0), Reference(4, 1)


def reply(value, failure=None):
    return Reply(value, "…", failure, Usage(calls=1, failed=int(failure is not None)))


def test_sentences_are_given_or_split_or_the_title():
    one = Passage("a", "T", "First. Second.")
    assert sentences_of(one, {"a": ("As\n given.", " ")}) == ("As given.", "")
    assert sentences_of(one, {"b": ("Of another.",)}) == sentences_of(one, None) == ("First.", "Second.")
    assert sentences_of(one, lambda passage: [passage.title]) == ("T",)
    assert sentences_of(Passage("a", "T", " "), {}) == ("T",)


def test_a_sentence_has_two_numbers(candidates):
    assert candidates.references == (A, B, (1, 0), C, (2, 1), (2, 2), D)
    for one in candidates.references:
        assert candidates.find(*candidates.pair(one)) == one
    assert candidates.pair(D) == [4, 1]
    for numbers in ((0, 0), (5, 0), (1, 2), (1, -1), (-1, 0), (4, 0)):
        assert candidates.find(*numbers) is None


def test_lines_and_reading(candidates):
    assert candidates.lines(()) == "(none)"
    assert candidates.lines((C, B, A)) == (
        "Passage 1: Halvorsen\n[1, 0] Halvorsen is a bridge.\n[1, 1] Its designer was Mira Lund.\n\n"
        "Passage 3: Mira Lund\n[3, 0] Mira Lund was born in Norway."
    )
    assert candidates.reading((C, B, A)) == (
        "Mira Lund\nMira Lund was born in Norway.\n\nHalvorsen\nHalvorsen is a bridge. Its designer was Mira Lund."
    )
    bare = Candidates(Corpus([Passage("x", "", "No title.")]), (0,))
    assert (bare.lines(bare.references), bare.reading(bare.references)) == (
        "Passage 1: (no title)\n[1, 0] No title.",
        "No title.",
    )


def test_the_rules_of_the_agents(candidates):
    assert added((A, C), (B, A, B)) == (A, C, B)
    assert kept((A, C, B), (D, B, A)) == (A, B)
    assert kept((A, C), ()) == ()
    assert Run("Q?", candidates, [], rounds=[(A, C), (), (C, B), (A, D)]).merged == (A, C, B, D)
    assert Run("Q?", candidates, []).merged == ()


def test_a_sentence_is_for_the_sub_question_with_which_it_shares_most_words(candidates):
    asked = ["What bakers?", "Was Halvorsen a bridge or a family?", "Where is NORWAY, and who was born there?"]
    assert [nearest_sub_question(candidates, one, asked) for one in (A, Reference(1, 0), C)] == [1, 1, 2]
    assert nearest_sub_question(candidates, D, asked) == 0  # shares none


def test_the_graph_follows_the_sub_questions():
    # A and B are of passage 0, C of 2, D of 4; nothing is for the second sub-question
    assert ordered_graph((A, C, D), {A: 0, C: 2, D: 2}).edges == {(ROOT, 0), (0, 2), (0, 4)}
    assert ordered_graph((D, C, A), {A: 1, C: 0, D: 3}).edges == {(ROOT, 2), (2, 0), (0, 4)}
    # passage 0 is for the first, though a sentence of it is for the third, too
    assert ordered_graph((B, C, A), {B: 2, C: 1, A: 0}).edges == {(ROOT, 0), (0, 2)}
    assert ordered_graph((), {}).edges == frozenset()


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"agents": ()}, {"agents": ("adder", "adder")}, {"agents": ("judge",)}, {"start": "full"}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} (is|are)"):
        PrismSettings(**wrong)


NASTY = "{{evidence}} {question} {0} %s \\1 {{nothing}}"


def test_braces_stay_as_they_are_and_schemas_are_schemas():
    corpus = Corpus([Passage("1", NASTY, NASTY)])
    candidates = Candidates(corpus, (0,), {"1": (NASTY,)})
    run = Run(NASTY, candidates, [NASTY], candidates.references)
    requests = [
        analyser_request(NASTY, PAPER),
        draft_request(run, PAPER),
        adder_request(run, PAPER),
        selector_request(run, PAPER),
        answer_request(NASTY, candidates.reading(run.evidence), PAPER),
    ]
    for request, times in zip(requests, (1, 4, 6, 4, 3), strict=True):
        assert request.messages[0].content.count(NASTY) == times
        jsonschema.Draft202012Validator.check_schema(request.schema)
    with pytest.raises(KeyError):
        prompt("answer", question="Q?")


@pytest.mark.parametrize("step", ["analyser", "draft", "adder", "selector", "answer"])
def test_the_examples_in_the_prompts_fit_the_schemas(step, candidates):
    run = Run("Q?", candidates, ["S?", "T?"], candidates.references)
    requests = {
        "analyser": analyser_request("Q?", PAPER),
        "draft": draft_request(run, PAPER),
        "adder": adder_request(run, PAPER),
        "selector": selector_request(run, PAPER),
        "answer": answer_request("Q?", "E", PAPER),
    }
    lines = [line for line in requests[step].messages[0].content.splitlines() if line.startswith("{")]
    assert lines
    for line in lines:
        jsonschema.validate(json.loads(line), requests[step].schema)


def test_draft_and_adder_begin_with_the_same_sentences(candidates):
    run = Run("Q?", candidates, ["S?"], (A,))
    drafted, added_to = (request(run, PAPER).messages[0].content for request in (draft_request, adder_request))
    shared, _, _ = drafted.partition("1. S?")
    assert candidates.lines(candidates.references) in shared
    assert added_to.startswith(f"{shared}1. S?")


def test_a_selector_may_name_all_that_is_chosen():
    corpus = Corpus([Passage("1", "T", "x")])
    candidates = Candidates(corpus, (0,), {"1": ("x",) * 200})
    request = selector_request(Run("Q?", candidates, ["S?"], candidates.references), PAPER)
    assert request.schema["properties"]["keep"]["maxItems"] == 200
    assert request.max_tokens == 12 * 202


def test_sub_questions_are_cleaned():
    read = read_sub_questions(
        reply({"questions": [" Who\nis it? ", "", 3, "Who is it?", "half \ud800", "b", "c"]}), "Q", 2
    )
    assert (read.value, read.failure) == (["Who is it?", "b"], None)


def test_what_a_sentence_is_for(candidates):
    groups = [
        {"question": 3, "sentences": [[1, 0]]},  # there is no third question
        {"question": 2.0, "sentences": [[1.0, 1]]},
        {"question": "one", "sentences": [[3, 0]]},
        {"question": 1, "sentences": [[3, 0], [True, 0], [1, 0.5], [1, 0, 1], "x", None]},
        {"question": 2, "sentences": [[1, 0]]},
        *("x", None, {"question": 1}, {"question": 1, "sentences": "x"}),
    ]
    read = read_evidence(reply({"evidence": groups}), candidates, 2, 20)
    assert read.value.references == {A: 1, B: 1, C: 0}
    assert read.value.dropped == ("[True, 0, 1]", "[1, 0.5, 1]", "[1, 0, 1, 1]", "'x'", "None")
    assert read_evidence(reply({"evidence": groups}), candidates, 2, 1).value.references == {A: None}


def test_a_reply_has_room_for_each_of_the_smaller_questions(candidates):
    for asked, at_most in ((1, 40), (3, 13), (50, 1)):
        schema = draft_request(Run("Q?", candidates, ["S?"] * asked), PAPER).schema["properties"]["evidence"]
        assert schema["maxItems"] == asked
        assert schema["items"]["properties"]["sentences"]["maxItems"] == at_most


def test_failures_are_counted_once(candidates):
    for read in (
        read_sub_questions(reply(None, "not JSON"), "Q", 3),
        read_evidence(reply(None, "not JSON"), candidates, 1, 3),
        read_keep(reply(None, "not JSON"), candidates, (A,)),
        read_answer(reply(None, "not JSON")),
    ):
        assert (read.failure, read.usage) == ("not JSON", Usage(calls=1, failed=1))
    read = read_keep(reply({"keep": "all"}), candidates, (A,))
    assert (read.value, read.failure, read.usage.failed) == (Named({}), "the reply holds no list of sentences", 1)


def test_a_context_that_is_given_is_read(prism, corpus, sentences):
    _, llm = prism()
    context = {"a": (2, 0), "b": (), "c": (4,)}
    queries = [Query(name, [corpus[index].whole for index in indices]) for name, indices in context.items()]
    found = ContextReader(llm, Scope(corpus), sentences=sentences).retrieve(queries)
    assert [len(batch) for batch in llm.batches] == [2]
    assert [one.answer for one in found] == ["Norway", None, "Norway"]
    # indices count in the query's own candidates
    assert (found[0].indices, found[0].sentences) == ((0, 1), ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)))
    assert found[0].texts == (corpus[2].whole, corpus[0].whole)
    assert found[0].usage == Usage(calls=1, tokens_in=10, tokens_out=1)
    assert "Mira Lund\nMira Lund was born in Norway. She was fond of tea. She died in 1950.\n\nHalvorsen\n" in (
        llm.batches[-1][0].messages[0].content
    )
    assert found[1].usage == Usage()
    assert ContextReader(llm, Scope(corpus)).retrieve([]) == []


def test_without_a_search_a_query_needs_candidates(prism, corpus):
    _, llm = prism()
    with pytest.raises(BgrError, match="give each query its candidates"):
        ContextReader(llm, Scope(corpus)).retrieve([Query("a")])
