"""Answers from nothing, from facts, from the graph in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.language_model import Reply
from bgr.llm.usage import Usage
from bgr.reader.reader import ReaderInput
from bgr.retrievers.llm_graph.answerer import LlmAnswer, LlmAnswerer, _read
from bgr.retrievers.llm_graph.prompts import LlmGraphSettings, graph_words

ONE_CALL = Usage(calls=1, tokens_in=10, tokens_out=1, seconds=0.5)
FACTS = ("Alpha.", "Beta.", "Gamma.", "Delta.", "Epsilon.")
# by hand: 3 -> 0 -> 2, 1 -> 2, Q -> 2; 4 plays no part
GRAPH = EvidenceGraph([(ROOT, 3), (3, 0), (0, 2), (ROOT, 1), (1, 2), (ROOT, 2)])
WORDS = [
    "1. From the question: Beta.",
    "2. On the other hand, from the question: Delta.",
    "3. Then, from 2: Alpha.",
    "4. Then, from the question and 1 and 3: Gamma.",
]
ITEM = ReaderInput("What is it?", FACTS, GRAPH)


def test_every_edge_is_told_in_topological_order():
    assert graph_words(FACTS, GRAPH) == WORDS
    assert graph_words(FACTS, EvidenceGraph()) == []


@pytest.mark.parametrize(
    ("way", "evidence"),
    [("question", None), ("facts", "- Alpha.\n- Beta.\n- Gamma.\n- Delta."), ("graph", "\n".join(WORDS))],
)
def test_three_ways_to_ask(way, evidence, script):
    llm = script({"answer": " 5\nmiles "})
    (found,) = LlmAnswerer(llm, way).answer([ITEM])
    assert found == LlmAnswer("5 miles", None, ONE_CALL)
    ((request,),) = llm.batches
    assert request.step == f"llm_answer.{way}"
    assert request.messages[0].content.endswith("Question: What is it?")
    assert ("Alpha" in llm.texts[0]) == (evidence is not None)
    assert evidence is None or f"\n\n{evidence}\n\n" in llm.texts[0] or f":\n{evidence}\n\n" in llm.texts[0]


def test_an_unknown_way_is_refused(script):
    with pytest.raises(BgrError, match="allowed: question, facts, graph"):
        LlmAnswerer(script(None), "tea")


def test_without_evidence_nothing_is_asked(script):
    llm = script({"answer": "x"})
    empty = ReaderInput("What?", FACTS, EvidenceGraph())
    found = LlmAnswerer(llm).answer([empty, ITEM, empty])
    assert [one.text for one in found] == [None, "x", None]
    assert found[0] == LlmAnswer(None)
    assert [len(batch) for batch in llm.batches] == [1]
    assert [one.text for one in LlmAnswerer(llm, "question").answer([empty])] == ["x"]


def test_a_failed_call_leaves_no_answer(script, failure):
    (found,) = LlmAnswerer(script(failure("not JSON"))).answer([ITEM])
    assert (found.text, found.failure) == (None, "not JSON")
    assert found.usage == Usage(calls=2, failed=1, tokens_in=20, tokens_out=2)


@pytest.mark.parametrize(
    "value", [{"answer": " \n"}, {"answer": 5}, {"other": "x"}, [], None, "x", {"answer": "\ud800"}]
)
def test_a_reply_without_an_answer_is_a_failure(value, script):
    (found,) = LlmAnswerer(script(value, strict=False)).answer([ITEM])
    assert (found.text, found.failure) == (None, "the reply holds no answer")
    assert found.usage == ONE_CALL + Usage(failed=1)


SMALL = st.text(max_size=5)
ANY = st.recursive(
    st.none() | st.integers() | SMALL,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SMALL, inner, max_size=3),
    max_leaves=6,
)


@given(ANY)
def test_any_value_is_read(value):
    for one in (value, {"answer": value}):
        found = _read(Reply(one, "…", None, Usage(calls=1)), 0)
        assert (found.text is None) == (found.failure is not None) == bool(found.usage.failed)


def test_a_prompt_has_no_more_than_fits(script):
    llm = script({"answer": "x"})
    facts = tuple(f"{'y' * 300} {n}" for n in range(20))
    chain = EvidenceGraph([(n - 1, n) for n in range(20)])
    (found,) = LlmAnswerer(llm, settings=LlmGraphSettings(characters=2_000, fact_characters=500)).answer(
        [ReaderInput("What?", facts, chain)]
    )
    assert len(llm.texts[0]) <= 2_000
    assert 0 < found.left_out < 20
    assert f"{20 - found.left_out}. Then, from" in llm.texts[0]
    assert f"{21 - found.left_out}. Then, from" not in llm.texts[0]
