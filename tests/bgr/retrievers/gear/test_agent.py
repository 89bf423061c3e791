"""GEAR with a scripted model: every way a run can go."""

import json

import pytest

from bgr.collection.search import rrf
from bgr.graph.evidence_graph import ROOT
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query
from bgr.retrievers.gear.agent import Gear
from bgr.retrievers.gear.steps import GearSettings

QUESTION = "How long is the stream at the town where the employer of Ada Quist was started?"
TWO = GearSettings(round_passages=2, rounds=3)
ADA, STARTED = ["Ada Quist", "works for", "Borel foundry"], ["Borel foundry", "started in", "Tamrin"]
LENGTH = ["Oxla", "has length", "ninety miles"]
OPEN = {"answerable": False, "answer": "", "why": "the town is not known"}
CLOSED = {"answerable": True, "answer": "ninety miles", "why": ""}


def facts(*rows):
    return {"facts": list(rows)}


@pytest.fixture
def gear(script, scope):
    """``gear(read=…, gist=…, reason=…, rewrite=…)``: a retriever and its script."""

    def make(settings=TWO, **steps):
        defaults = {"read": facts(ADA), "gist": facts(ADA), "reason": CLOSED, "rewrite": {"query": "What next?"}}
        llm = script(**(defaults | steps))
        return Gear(llm, scope, settings), llm

    return make


def steps(found):
    return [(record["step"], record.get("round")) for record in found.trace]


def test_answered_at_once(gear):
    retriever, llm = gear(gist=facts(ADA, STARTED))
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert steps(found) == [("read", 1), ("expand", 1), ("gist", 1), ("reason", 1), ("link", None)]
    assert found.answer == "ninety miles"
    assert found.usage == Usage(calls=3, tokens_in=30, tokens_out=3)
    assert [batch[0].step for batch in llm.batches] == ["gear.read", "gear.gist", "gear.reason"]
    assert json.loads(json.dumps(found.trace)) == list(found.trace)


def test_the_final_list_fuses_the_links_of_all_facts_and_the_rounds(gear, base):
    (found,) = gear(gist=facts(ADA, STARTED))[0].retrieve([Query(QUESTION)])
    first, second = found.trace[-1]["facts"]
    assert (first["fact"], first["triple"]["number"]) == (ADA, 1)
    assert (second["fact"], second["triple"]["number"]) == (STARTED, 2)
    # by hand: passages that share most words with the fact, and those of its two nearest triples, both of passage 0
    assert base.search(["Ada Quist works for Borel foundry"], 2)[0].indices.tolist() == [0, 1]
    assert first["passages"] == rrf([[0, 1], [0]]).indices.tolist() == [0, 1]
    assert second["passages"] == rrf([[1, 0], [1]]).indices.tolist() == [1, 0]
    fused = found.trace[1]["fused"]
    wanted = rrf([[0, 1], [1, 0], fused])
    assert found.indices == tuple(wanted.indices.tolist())
    assert found.scores == tuple(wanted.scores.tolist())


def test_an_answer_without_the_verdict_is_none(gear):
    guess = {"answerable": False, "answer": "a guess", "why": "the town is not known"}
    (found,) = gear(GearSettings(round_passages=2, rounds=1), reason=guess)[0].retrieve([Query(QUESTION)])
    assert found.answer is None


def test_the_graph_joins_linked_passages_that_share_an_entity(gear):
    (found,) = gear(gist=facts(ADA, STARTED, LENGTH))[0].retrieve([Query(QUESTION)])
    assert found.graph.edges == {(ROOT, 0), (0, 1), (ROOT, 5)}


def test_one_entity_only_makes_a_graph_of_one_passage(gear):
    (found,) = gear(gist=facts(["Oxla", "has length", "Oxla"]))[0].retrieve([Query(QUESTION)])
    assert found.graph.edges == {(ROOT, 5)}


def test_never_answered_ends_after_the_last_round_without_a_rewrite(gear):
    retriever, _ = gear(
        reason=OPEN,
        gist=[facts(ADA), facts(STARTED), facts(ADA, LENGTH)],
        rewrite=[{"query": "What is started in Tamrin?"}, {"query": "Oxla stream of ninety miles"}],
    )
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert found.answer is None
    assert [step for step, number in steps(found) if number == 3] == ["read", "expand", "gist", "reason"]
    assert [r["query"] for r in found.trace if r["step"] == "expand"] == [
        QUESTION,
        "What is started in Tamrin?",
        "Oxla stream of ninety miles",
    ]
    memory = [row["fact"] for row in found.trace[-1]["facts"]]
    assert memory == [ADA, STARTED, LENGTH]  # in the order they were read, the repeated one once
    rounds = [r["fused"] for r in found.trace if r["step"] == "expand"]
    wanted = rrf([*(row["passages"] for row in found.trace[-1]["facts"]), *rounds])
    assert found.indices == tuple(wanted.indices.tolist())
    assert found.usage.calls == 3 * 3 + 2


def test_later_rounds_know_the_memory_the_question_and_the_reason(gear):
    retriever, llm = gear(reason=[OPEN, CLOSED])
    retriever.retrieve([Query(QUESTION)])
    _, gist, _, rewrite, read_again, gist_again, _ = (batch[0].messages[0].content for batch in llm.batches)
    line = " | ".join(ADA)
    assert QUESTION in rewrite
    assert line in rewrite
    assert OPEN["why"] in rewrite
    assert "What next?" in read_again  # the round reads for its own query,
    assert QUESTION not in read_again
    assert QUESTION in gist_again  # the memory for the question (equation 4)
    assert line in gist_again
    assert line not in gist


def test_a_malformed_reading_starts_from_the_base_list_and_goes_on(gear):
    (found,) = gear(read="gibberish")[0].retrieve([Query(QUESTION)])
    assert found.trace[0]["start"] == "base"
    assert found.answer == "ninety miles"
    assert found.usage.failed == 1


@pytest.mark.parametrize(("gist", "failed"), [("gibberish", 1), (facts(), 0)], ids=["malformed", "empty"])
def test_without_facts_the_list_is_that_of_the_rounds(gear, gist, failed):
    (found,) = gear(gist=gist)[0].retrieve([Query(QUESTION)])
    assert found.trace[-1] == {"step": "link", "facts": []}
    assert list(found.indices) == found.trace[1]["fused"]
    assert found.graph.edges == frozenset()
    assert found.usage.failed == failed


def test_a_failed_reason_leaves_the_question_open(gear):
    (found,) = gear(reason=["gibberish", CLOSED])[0].retrieve([Query(QUESTION)])
    assert [r["answerable"] for r in found.trace if r["step"] == "reason"] == [False, True]
    assert found.answer == "ninety miles"
    assert found.usage.failed == 1


@pytest.mark.parametrize("rewrite", ["gibberish", {"query": "  "}], ids=["malformed", "empty"])
def test_a_failed_rewrite_ends_the_rounds(gear, rewrite):
    (found,) = gear(reason=OPEN, rewrite=rewrite)[0].retrieve([Query(QUESTION)])
    assert [step for step, _ in steps(found)] == ["read", "expand", "gist", "reason", "rewrite", "link"]
    assert found.answer is None
    assert found.usage.failed == 1
    assert found.indices


def test_everything_fails_and_there_is_still_a_list(gear, base):
    (found,) = gear(read="a", gist="b", reason="c", rewrite="d")[0].retrieve([Query(QUESTION)])
    assert set(found.indices) >= set(base.search([QUESTION], 2)[0].indices.tolist())
    assert found.usage == Usage(calls=8, failed=4, tokens_in=80, tokens_out=8)
    assert all(record["failure"] for record in found.trace if "failure" in record)


def test_questions_go_through_a_round_in_one_batch_and_leave_when_they_are_done(gear):
    def reason(text):
        return CLOSED if "QUICK" in text else OPEN

    questions = ["QUICK " + QUESTION, QUESTION, "What lies on the Oxla?"]
    retriever, llm = gear(reason=reason)
    together = retriever.retrieve([Query(question) for question in questions])
    assert [len(batch) for batch in llm.batches] == [3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2]
    assert [found.usage.calls for found in together] == [3, 11, 11]
    for question, found in zip(questions, together, strict=True):
        (alone,) = gear(reason=reason)[0].retrieve([Query(question)])
        assert (found.indices, found.scores, found.graph) == (alone.indices, alone.scores, alone.graph)
        assert (found.trace, found.usage) == (alone.trace, alone.usage)


def test_a_round_reads_no_more_passages_than_the_settings_say(gear, corpus):
    settings = GearSettings(round_passages=2, rounds=1, gist_passages=1)
    retriever, llm = gear(settings)
    (found,) = retriever.retrieve([Query(QUESTION)])
    text = llm.batches[1][0].messages[0].content
    first = found.trace[1]["fused"][0]
    assert [n for n, passage in enumerate(corpus) if passage.whole in text] == [first]


def test_no_questions(gear):
    assert gear()[0].retrieve([]) == []
