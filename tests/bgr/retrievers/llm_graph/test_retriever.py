"""Evidence graphs with a scripted model: every way a call can go, for each way to ask."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.bm25 import Bm25Search
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.language_model import Llm
from bgr.llm.usage import Budget, BudgetError, Usage
from bgr.retrievers.base import Query
from bgr.retrievers.llm_graph.forms import FAULTS, FORMS
from bgr.retrievers.llm_graph.prompts import LlmGraphSettings
from bgr.retrievers.llm_graph.retriever import CLIPPED, CONTEXT, EDGES, SHOTS, LlmGraph

NAMES = sorted(FORMS)
CHAIN = EvidenceGraph([(ROOT, 0), (0, 2), (2, 3), (3, 5)])
GOOD = {
    "edges": {"edges": [[0, 1], [1, 3], [3, 4], [4, 6]]},
    "chains": {"chains": [[1, 3, 4, 6]]},
    "parents": {
        "facts": [
            {"fact": 1, "after": []},
            {"fact": 3, "after": [1]},
            {"fact": 4, "after": [3]},
            {"fact": 6, "after": [4]},
        ]
    },
    "steps": "From the question, fact 1: Bergman.\nFrom fact 1, fact 3.\nEdges: Q -> 1, 1 -> 3, 3 -> 4, 4 -> 6",
    "arrows": "digraph evidence {\n  Q -> F1;\n  F1 -> F3;\n  F3 -> F4;\n  F4 -> F6;\n}",
}
CYCLE = {
    "edges": {"edges": [[1, 3], [3, 1], [4, 4]]},
    "chains": {"chains": [[1, 3, 1], [4, 4]]},
    "parents": {"facts": [{"fact": 3, "after": [1]}, {"fact": 1, "after": [3]}, {"fact": 4, "after": [4]}]},
    "steps": "Edges: 1 -> 3, 3 -> 1, 4 -> 4",
    "arrows": "F1 -> F3; F3 -> F1; F4 -> F4;",
}
EMPTY = {"edges": {"edges": []}, "chains": {"chains": []}, "parents": {"facts": []}}
ONE_CALL = Usage(calls=1, tokens_in=10, tokens_out=1, seconds=0.5).to_json()
NO_FAULTS = {"unknown": 0, **dict.fromkeys(FAULTS, 0)}


@pytest.mark.parametrize("name", NAMES)
def test_a_good_reply(name, script, query, train):
    llm = script(GOOD[name])
    (found,) = LlmGraph(llm, FORMS[name], train()).retrieve([query])
    assert found.graph == CHAIN
    assert found.limits == ()
    assert found.details == {
        "variant": name,
        "examples": 4,
        "shots": 4,
        "facts": 6,
        "shown": 6,
        "clipped": 0,
        **NO_FAULTS,
        "failure": None,
        "usage": ONE_CALL,
        "reply": "as written",
    }
    assert json.loads(json.dumps(found.details)) == found.details
    ((request,),) = llm.batches
    assert request.step == f"llm_graph.{name}"
    # small models would rather answer, where nothing holds them to a schema
    reminder = {"steps": "steps, then the line of edges.", "arrows": "digraph."}.get(name)
    before, _, after = request.messages[0].content.rpartition("\n\nDo not answer it: write the ")
    assert (after if before else None) == reminder
    assert (before or after).endswith(
        "Facts:\n1. Persona was directed by Bergman.\n2. Radium is an element.\n3. Bergman was born in Uppsala.\n"
        "4. Uppsala lies on the Fyris.\n5. Persona was made in Sweden.\n6. The Fyris is 80 kilometres long.\n\n"
        f"Question: {query.question}"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_call_gives_an_empty_graph(name, script, failure, query):
    (found,) = LlmGraph(script(failure("not JSON")), FORMS[name]).retrieve([query])
    assert found.graph == EvidenceGraph()
    assert found.details["failure"] == "not JSON"
    assert found.details["usage"] == Usage(calls=2, failed=1, tokens_in=20, tokens_out=2).to_json()
    assert found.details["reply"] == "gibberish"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [None, [], {"other": 1}, 5, "I cannot say."], ids=str)
def test_a_reply_without_a_graph_is_a_failure(name, value, script, query):
    (found,) = LlmGraph(script(value, strict=False), FORMS[name]).retrieve([query])
    assert found.graph == EvidenceGraph()
    assert found.details["failure"] == "the reply holds no graph"
    assert found.details["usage"] == {**ONE_CALL, "failed": 1}


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_an_empty_graph_is_a_reply(name, script, query):
    (found,) = LlmGraph(script(EMPTY[name]), FORMS[name]).retrieve([query])
    assert (found.graph, found.details["failure"]) == (EvidenceGraph(), None)
    assert found.details["usage"] == ONE_CALL


@pytest.mark.parametrize("name", NAMES)
def test_cycles_and_loops_are_mended_and_counted(name, script, query):
    (found,) = LlmGraph(script(CYCLE[name]), FORMS[name]).retrieve([query])
    details = found.details
    assert (details["cycles"], details["loops"], details["unknown"], details["failure"]) == (1, 1, 0, None)
    # chains begin at the question, so that fact 4 stands in its own; in other forms its loop is all that is told of it
    assert found.graph.edges == {(ROOT, 0), (0, 2)} | ({(ROOT, 3)} if name == "chains" else set())
    assert details["hung"] == (0 if name == "chains" else 1)


@pytest.mark.parametrize("name", NAMES)
def test_made_up_facts_are_counted(name, script, query):
    value = json.loads(json.dumps(GOOD[name]).replace("6", "60"))
    (found,) = LlmGraph(script(value), FORMS[name]).retrieve([query])
    assert found.details["unknown"] == 1
    assert found.graph.edges == {(ROOT, 0), (0, 2), (2, 3)}


def test_zero_shot_has_no_examples(script, query):
    llm = script(GOOD["edges"])
    LlmGraph(llm, FORMS["edges"]).retrieve([query])
    assert "An example" not in llm.texts[0]


def test_braces_in_a_fact_stay(script):
    llm = script({"edges": []})
    LlmGraph(llm, FORMS["edges"]).retrieve([Query("{{facts}}?", ["{{question}} {shots}"])])
    assert llm.texts[0].endswith("Facts:\n1. {{question}} {shots}\n\nQuestion: {{facts}}?")


def test_all_questions_are_one_batch_and_keep_their_order(script, query):
    other = Query("Which element?", ["Radium is an element."])
    none = Query("Nothing?", [])
    llm = script(GOOD["edges"], {"edges": [[0, 1]]})
    found = LlmGraph(llm, FORMS["edges"]).retrieve([query, none, other])
    assert [len(batch) for batch in llm.batches] == [2]
    assert [one.graph for one in found] == [CHAIN, EvidenceGraph(), EvidenceGraph([(ROOT, 0)])]
    assert (found[1].details["failure"], found[1].details["usage"]) == (None, Usage().to_json())


def test_nothing_to_ask_asks_nothing(script):
    llm = script(None)
    assert LlmGraph(llm, FORMS["edges"]).retrieve([]) == []
    assert llm.batches == []


def test_where_not_all_fits_the_best_are_shown_in_their_order(script):
    facts = [f"Filler number {n} about nothing, {'x' * 60}." for n in range(60)]
    facts[7], facts[41], facts[55] = "The Fyris is a river.", "Persona was directed by Bergman.", "The Fyris is long."
    query = Query("How long is the river Fyris, of which Bergman spoke?", facts)
    small = LlmGraphSettings(characters=2_500, fact_characters=600)
    llm = script({"edges": [[0, 1], [1, 2], [0, 60]]})
    (found,) = LlmGraph(llm, FORMS["edges"], settings=small).retrieve([query])
    shown = found.details["shown"]
    assert 3 < shown < 60
    assert (found.details["facts"], found.limits) == (60, (CONTEXT,))
    best = sorted(place for place, _ in Bm25Search(facts).top(query.question, shown))
    assert {7, 41, 55} < set(best)
    lines = [f"{n}. {facts[place]}" for n, place in enumerate(best, 1)]
    assert "\n".join(lines) in llm.texts[0]
    assert found.graph.edges == {(ROOT, best[0]), (best[0], best[1])}  # numbers are those of the facts shown
    assert found.details["unknown"] == 1


def test_examples_without_room_long_facts_and_edges_that_are_not_read(script, query, train):
    """Each is a limit of its own, with its number."""
    tight = LlmGraphSettings(characters=2_500, fact_characters=30, shots=9, edges=2)
    llm = script(GOOD["edges"], strict=False)
    (found,) = LlmGraph(llm, FORMS["edges"], train(), tight).retrieve([query])
    assert found.limits == (CLIPPED, SHOTS, EDGES)
    assert found.details["clipped"] == sum(len(fact) > 30 for fact in query.facts) > 0
    assert 0 < found.details["shots"] < found.details["examples"] == 9
    assert llm.texts[0].count("An example") == found.details["shots"]
    assert found.details["beyond"] == 2


def test_where_nothing_fits_nothing_is_asked(script, sample):
    llm = script(None)
    settings = LlmGraphSettings(characters=2_000, fact_characters=500)
    long = replace(sample, facts=tuple(f"{fact} {'x' * 9}" for fact in sample.facts))
    retriever = LlmGraph(llm, FORMS["steps"], [long], settings)
    assert len(retriever.shots) == 1
    (found,) = retriever.retrieve([Query("Why? " * 200, ["x" * 3_000])])
    assert llm.batches == []
    assert found.details["failure"] == "no candidate fits into the prompt"
    assert found.details["usage"] == Usage(failed=1).to_json()
    assert found.limits == (CONTEXT,)


@given(
    st.lists(st.text(max_size=900), max_size=30),
    st.text(max_size=2_000),
    st.sampled_from(NAMES),
    st.integers(2_500, 9_000),
)
def test_no_prompt_is_longer_than_allowed(script, train, facts, question, name, most):
    llm = script("", strict=False)
    retriever = LlmGraph(llm, FORMS[name], train(), LlmGraphSettings(characters=most, shots=9, fact_characters=600))
    (found,) = retriever.retrieve([Query(question, facts)])
    assert all(len(text) <= most for text in llm.texts)
    assert found.details["shown"] <= len(facts)


def test_a_budget_that_is_used_up_ends_the_run(typist, query):
    llm = Llm(typist("{}", "{}"), budget=Budget(calls=1))
    with pytest.raises(BudgetError):
        LlmGraph(llm, FORMS["edges"]).retrieve([query, query, Query("Other?", ["One."])])


def test_the_usage_is_the_sum_of_all_calls(typist, query, train):
    """Through the real interface: good at once, mended, asked again, given up, and a call that never came."""
    good = json.dumps(GOOD["edges"])
    queries = [Query(f"{query.question} ({n})", query.facts) for n in range(5)]
    llm = Llm(typist(good, f"Sure! ```json\n{good}", "no", "no", None, good, "never"))
    found = LlmGraph(llm, FORMS["edges"], train()).retrieve(queries)
    assert [one.graph == CHAIN for one in found] == [True, True, True, False, False]
    assert [one.details["usage"]["calls"] for one in found] == [1, 1, 2, 2, 0]
    assert [one.details["usage"]["failed"] for one in found] == [0, 0, 0, 1, 1]
    assert "no paper" in found[4].details["failure"]
    assert found[3].details["reply"] == "never"
    total = sum((Usage(**one.details["usage"]) for one in found), Usage())
    whole = llm.usage
    assert (total.calls, total.cached, total.failed) == (whole.calls, whole.cached, whole.failed) == (6, 0, 2)
    assert (total.tokens_in, total.tokens_out) == (whole.tokens_in, whole.tokens_out)
    assert total.seconds == pytest.approx(whole.seconds)


@pytest.mark.parametrize(
    "bad", [{"shots": -1}, {"characters": 1_999}, {"fact_characters": 3_001}, {"edges": 0}, {"max_tokens": 0}], ids=str
)
def test_settings_out_of_range(bad):
    with pytest.raises(ValueError, match="it must be"):
        LlmGraphSettings(**bad)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_smollm2_writes_graphs(name, query, train):
    """A real model of 135 million weights: whatever it says, a valid graph comes out, and tokens are counted."""
    from bgr.llm.backends.loading import load_backend

    llm = Llm(load_backend("smollm2"))
    settings = LlmGraphSettings(shots=2, shot_facts=2, max_tokens=96, edges=8)
    (found,) = LlmGraph(llm, FORMS[name], train(), settings).retrieve([query])
    assert found.details["usage"]["tokens_in"] == llm.usage.tokens_in > 100
    assert set(found.graph.nodes) <= set(range(6))
