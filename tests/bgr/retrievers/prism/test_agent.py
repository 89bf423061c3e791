"""PRISM with a scripted model: every way a run can go."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.graph.evidence_graph import ROOT
from bgr.llm.interface import Backend, Completion
from bgr.llm.language_model import LanguageModel, Llm, Reply
from bgr.llm.usage import Budget, BudgetError, Usage
from bgr.retrievers.base import Query
from bgr.retrievers.prism.run import PrismSettings
from tests.bgr.retrievers.prism.conftest import by_question

QUESTION = "Where was the designer of Halvorsen born?"
ONE = PrismSettings(rounds=1)
TURN = ["prism.adder", "prism.selector"]


def steps(found):
    return [(record["step"], record.get("round")) for record in found.trace]


def records(found, step):
    return [record for record in found.trace if record["step"] == step]


def test_the_paper_s_way(prism):
    retriever, llm = prism()
    (found,) = retriever.retrieve([Query(QUESTION)])
    calls = [batch[0].step for batch in llm.batches]
    assert calls == ["prism.analyser", "prism.draft", *TURN, *TURN, *TURN, "prism.answer"]
    assert (found.indices, found.sentences) == ((0, 2), ((0, 1), (2, 0)))
    assert found.scores == (1, 1 / 2)
    assert found.answer == "Norway"
    assert found.graph.edges == {(ROOT, 0), (0, 2)}
    assert found.usage == Usage(calls=9, tokens_in=90, tokens_out=9)
    rounds = [(step, n) for n in (1, 2, 3) for step in ("adder", "selector", "round")]
    assert steps(found) == [
        ("candidates", 0),
        ("analyser", 0),
        ("draft", 0),
        *rounds,
        ("merge", None),
        ("answer", None),
    ]
    assert json.loads(json.dumps(found.trace)) == list(found.trace)


def test_no_answer_where_none_is_wanted(prism):
    retriever, llm = prism(ONE)
    whole = retriever.retrieve([Query(QUESTION)])[0]
    retriever.answers = False
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert [batch[0].step for batch in llm.batches[5:]] == ["prism.analyser", "prism.draft", *TURN]
    assert (found.answer, found.usage.calls) == (None, 4)
    assert (found.indices, found.graph, found.trace) == (whole.indices, whole.graph, whole.trace[:-1])


def test_the_merge_has_what_was_chosen_for_what_and_the_sizes(prism):
    (found,) = prism()[0].retrieve([Query(QUESTION)])
    (merge,) = records(found, "merge")
    assert merge["evidence"] == [{"place": 0, "sentence": 1, "for": 1}, {"place": 2, "sentence": 0, "for": 2}]
    assert merge["hallucinated"] == 0
    # by hand: 4 + 5, 6, 6 + 5 + 4 and, the blank one left out, 4 words
    assert merge["sizes"] == {"candidates": {"sentences": 7, "words": 34}, "evidence": {"sentences": 2, "words": 11}}


def test_what_a_later_round_removes_stays_in_the_union(prism):
    """The worked example of appendix A.5: what is added and removed within a round is not in the evidence."""
    retriever, _ = prism(
        adder=[by_question([3, 0]), by_question([3, 1], [3, 2]), by_question([2, 0])],
        selector=[{"keep": [[1, 1], [3, 0]]}, {"keep": [[3, 2]]}, {"keep": [[2, 0], [3, 2]]}],
    )
    (found,) = retriever.retrieve([Query(QUESTION)])
    ends = [[(0, 1), (2, 0)], [(2, 2)], [(2, 2), (1, 0)]]
    assert [[tuple(one) for one in r["evidence"]] for r in records(found, "round")] == ends
    assert found.sentences == ((0, 1), (2, 0), (2, 2), (1, 0))
    assert found.indices == (0, 2, 1)
    second = records(found, "selector")[1]
    assert (second["round"], second["removed"]) == (2, [[0, 1], [2, 0], [2, 1]])


def test_the_model_sees_titles_that_stand_twice_under_two_numbers(prism):
    retriever, llm = prism(ONE)
    retriever.retrieve([Query(QUESTION)])
    text = llm.batches[1][0].messages[0].content
    assert "Passage 1: Halvorsen\n[1, 0] Halvorsen is a bridge.\n[1, 1] Its designer was Mira Lund." in text
    assert "Passage 2: Halvorsen\n[2, 0] Halvorsen is a family of bakers." in text
    assert "Passage 4: Tea\n[4, 1] Tea is a drink." in text  # the blank sentence keeps its number
    assert "1. Who designed it?\n2. Where was she born?" in text


def test_the_selector_sees_what_is_chosen_and_the_answer_what_is_left(prism):
    retriever, llm = prism(ONE, adder=by_question([3, 0], [4, 1]))
    retriever.retrieve([Query(QUESTION)])
    select, answer = (llm.batches[n][0].messages[0].content for n in (3, 4))
    assert "[4, 1] Tea is a drink." in select
    assert "Halvorsen is a family of bakers." not in select
    assert "Halvorsen\nIts designer was Mira Lund.\n\nMira Lund\nMira Lund was born in Norway.\n\nQuestion" in answer


def test_whole_passages_are_read_where_the_settings_say_so(prism):
    retriever, llm = prism(PrismSettings(rounds=1, whole_passages=True))
    (found,) = retriever.retrieve([Query(QUESTION)])
    text = llm.batches[-1][0].messages[0].content
    assert "Halvorsen\nHalvorsen is a bridge. Its designer was Mira Lund.\n\nMira Lund\nMira Lund was born" in text
    assert found.sentences == ((0, 1), (2, 0))


def test_the_selector_adds_nothing(prism):
    (found,) = prism(ONE, selector={"keep": [[2, 0], [1, 1]]}, adder=by_question())[0].retrieve([Query(QUESTION)])
    assert found.sentences == ((0, 1),)
    (record,) = records(found, "selector")
    assert (record["not_chosen"], record["removed"], record["dropped"]) == ([[1, 0]], [], [])


def test_what_does_not_exist_is_dropped_and_counted(prism):
    retriever, _ = prism(
        ONE,
        draft=by_question([1, 2, 1], [0, 0], [1, 1, 1]),  # past the end; passages are numbered from 1
        adder=by_question([5, 0, 1], [4, 0, 1], [3, 0, 2], [10**30, -1, 2]),  # one too many; the blank sentence
        selector={"keep": [[1, 1]]},
    )
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert found.sentences == ((0, 1),)
    assert records(found, "draft")[0]["dropped"] == ["[1, 2, 1]", "[0, 0, 0]"]
    assert len(records(found, "adder")[0]["dropped"]) == 3
    assert records(found, "merge")[0]["hallucinated"] == 5
    assert found.usage.failed == 0


@pytest.mark.parametrize(("pair", "dropped"), [([9, 9], ["[9, 9]"]), ([2, 0], [])])
def test_a_selector_that_names_nothing_that_was_chosen_removes_nothing(prism, pair, dropped):
    (found,) = prism(ONE, selector={"keep": [pair]}, adder=by_question())[0].retrieve([Query(QUESTION)])
    assert found.sentences == ((0, 1),)
    (record,) = records(found, "selector")
    assert record["failure"] == "the reply holds no sentence of the evidence"
    assert (record["dropped"], found.usage.failed) == (dropped, 1)


def test_an_empty_selection_is_obeyed_and_the_next_round_starts_from_nothing(prism):
    retriever, llm = prism(PrismSettings(rounds=2), selector=[{"keep": []}, {"keep": [[3, 0]]}])
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert [r["evidence"] for r in records(found, "round")] == [[], [[2, 0]]]
    assert "Chosen already:\n\n(none)" in llm.batches[4][0].messages[0].content
    assert found.sentences == ((2, 0),)
    assert found.usage.failed == 0


def test_nothing_found_is_not_asked_for_an_answer(prism):
    retriever, llm = prism(ONE, draft=by_question(), adder=by_question())
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert [batch[0].step for batch in llm.batches] == ["prism.analyser", "prism.draft", "prism.adder"]
    assert (found.indices, found.scores, found.sentences, found.answer) == ((), (), (), None)
    assert found.graph.edges == frozenset()
    assert found.usage == Usage(calls=3, tokens_in=30, tokens_out=3)


@pytest.mark.parametrize(
    "answer", [{"answerable": False, "answer": "a guess"}, {"answerable": True, "answer": " "}, "gibberish"]
)
def test_no_answer(prism, answer):
    (found,) = prism(ONE, answer=answer)[0].retrieve([Query(QUESTION)])
    assert found.answer is None
    assert found.indices == (0, 2)
    assert found.usage.failed == int(answer == "gibberish")


@pytest.mark.parametrize("analyser", ["gibberish", {"questions": ["  "]}, {"questions": []}])
def test_without_an_analysis_the_question_is_its_only_sub_question(prism, analyser):
    retriever, llm = prism(ONE, analyser=analyser)
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert f"Smaller questions:\n1. {QUESTION}\n" in llm.batches[1][0].messages[0].content
    assert found.usage.failed == 1
    assert found.graph.edges == {(ROOT, 0), (ROOT, 2)}  # one sub-question: side by side


def test_one_sub_question(prism):
    (found,) = prism(ONE, analyser={"questions": ["Where?"]}, adder=by_question([3, 0, 2]))[0].retrieve(
        [Query(QUESTION)]
    )
    assert {one["for"] for one in records(found, "merge")[0]["evidence"]} == {1}  # there is no second to be for
    assert found.graph.edges == {(ROOT, 0), (ROOT, 2)}


def test_a_failed_draft_and_adder_add_nothing_and_a_failed_selector_removes_nothing(prism):
    retriever, _ = prism(PrismSettings(rounds=2), draft="a", adder=["b", by_question([3, 1], [3, 0])], selector="c")
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert found.sentences == ((2, 1), (2, 0))
    assert [(r["step"], r["failure"]) for r in found.trace if r.get("failure")] == [
        ("draft", "a"),
        ("adder", "b"),
        ("selector", "c"),
    ]
    assert found.usage == Usage(calls=3 + 2 * 3, failed=3, tokens_in=90, tokens_out=9)


def test_everything_fails(prism):
    (found,) = prism(analyser="a", draft="b", adder="c", selector="d", answer="e")[0].retrieve([Query(QUESTION)])
    assert (found.indices, found.answer) == ((), None)
    assert found.usage == Usage(calls=10, failed=5, tokens_in=100, tokens_out=10)


def test_no_analyser(prism):
    retriever, llm = prism(PrismSettings(rounds=1, analyser=False))
    retriever.retrieve([Query(QUESTION)])
    assert [batch[0].step for batch in llm.batches] == ["prism.draft", "prism.adder", "prism.selector", "prism.answer"]


def test_selector_first_starts_from_all_sentences(prism):
    retriever, llm = prism(PrismSettings(rounds=2, agents=("selector", "adder"), start="all"))
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert [batch[0].step.removeprefix("prism.") for batch in llm.batches][1:5] == ["selector", "adder"] * 2
    assert "[2, 0] Halvorsen is a family of bakers." in llm.batches[1][0].messages[0].content
    assert found.sentences == ((0, 1), (2, 0))
    # nobody said what the sentences are for: they share the words "designer" and "born" with these
    assert [one["for"] for one in records(found, "merge")[0]["evidence"]] == [1, 2]


def test_what_a_sentence_is_first_said_to_be_for_stays(prism):
    asked = {"questions": ["Who designed it?", "Where was Mira Lund born?", "Why?"]}
    adder = [by_question([3, 0, 9], [1, 1, 2]), by_question([3, 0, 3], [1, 1, 3]), by_question([3, 0, 1])]
    (found,) = prism(analyser=asked, draft=by_question(), adder=adder)[0].retrieve([Query(QUESTION)])
    assert records(found, "merge")[0]["evidence"] == [
        {"place": 2, "sentence": 0, "for": 3},  # its words are near the second, but a reply said the third
        {"place": 0, "sentence": 1, "for": 2},
    ]
    assert found.graph.edges == {(ROOT, 0), (0, 2)}


def test_no_adder_and_no_selector(prism):
    alone, llm = prism(PrismSettings(rounds=1, agents=("selector",), start="all"), selector={"keep": [[4, 1]]})
    assert alone.retrieve([Query(QUESTION)])[0].sentences == ((4, 1),)
    assert [batch[0].step for batch in llm.batches] == ["prism.analyser", "prism.selector", "prism.answer"]
    adder, llm = prism(PrismSettings(rounds=2, agents=("adder",), start="none"))
    assert adder.retrieve([Query(QUESTION)])[0].sentences == ((2, 0),)
    assert [batch[0].step.removeprefix("prism.") for batch in llm.batches] == ["analyser", "adder", "adder", "answer"]


def test_no_candidates(prism):
    retriever, llm = prism(given={QUESTION: ()})
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert [batch[0].step for batch in llm.batches] == ["prism.analyser"]
    assert (found.indices, found.answer) == ((), None)


def test_a_budget_that_is_used_up_ends_the_run(prism):
    with pytest.raises(BudgetError, match="used up"):
        prism(selector=BudgetError("used up"))[0].retrieve([Query(QUESTION)])


def test_questions_go_through_a_step_in_one_batch(prism):
    def adder(text):
        return by_question() if "LONELY" in text else by_question([3, 0, 2])

    script = {"draft": by_question(), "adder": adder, "selector": {"keep": [[3, 0]]}}
    questions = [QUESTION, "LONELY", "And what of tea?"]
    retriever, llm = prism(ONE, **script)
    together = retriever.retrieve([Query(question) for question in questions])
    assert [len(batch) for batch in llm.batches] == [3, 3, 3, 2, 2]  # the lonely one has no evidence to select from
    for question, found in zip(questions, together, strict=True):
        (alone,) = prism(ONE, **script)[0].retrieve([Query(question)])
        assert (found.indices, found.sentences, found.graph, found.answer) == (
            alone.indices,
            alone.sentences,
            alone.graph,
            alone.answer,
        )
        assert (found.trace, found.usage) == (alone.trace, alone.usage)


def test_no_questions(prism):
    assert prism()[0].retrieve([]) == []


def test_the_first_rounds_of_a_longer_run_are_those_of_a_shorter_one(prism):
    """That tables by N may be read off one run."""
    adds = [by_question([n, 1]) for n in (3, 4, 1)]

    def run(rounds):
        left = list(adds)
        retriever, _ = prism(
            PrismSettings(rounds=rounds), adder=lambda _: left.pop(0), selector={"keep": [[3, 1], [4, 1]]}
        )
        return retriever.retrieve([Query(QUESTION)])[0]

    longest = records(run(3), "round")
    for rounds in (1, 2):
        assert records(run(rounds), "round") == longest[:rounds]


class Same(Backend):
    """Writes the same text to every request."""

    name = "same"

    def __init__(self, text):
        self.text, self.calls = text, 0

    def complete(self, requests):
        self.calls += len(requests)
        return [Completion(self.text, len(one.messages[0].content), 7) for one in requests]


def test_a_budget_of_calls_is_not_exceeded(prism):
    backend = Same('{"questions": ["Who?"], "evidence": [{"question": 1, "sentences": [[1, 0]]}]}')
    with pytest.raises(BudgetError, match="4 of 5 calls are used"):
        prism(llm=Llm(backend, budget=Budget(calls=5)))[0].retrieve([Query(QUESTION), Query("Why?")])
    assert backend.calls == 4


@pytest.mark.parametrize(
    "text", ["gibberish", "", '{"keep": [[1, 1]]}', '{"evidence": [{"question": 1, "sentences": [[1, 1], [7']
)
def test_the_usage_of_the_questions_is_that_of_the_model(prism, text):
    llm = Llm(Same(text))
    found = prism(llm=llm)[0].retrieve([Query(QUESTION), Query("Why?"), Query("And?")])
    total = sum((one.usage for one in found), Usage())
    of_model = llm.usage.to_json() | {"seconds": pytest.approx(llm.usage.seconds)}
    assert total.to_json() == of_model
    assert total.failed > 0


class Wild(LanguageModel):
    """Replies with whatever it is given, and says that it fits."""

    def __init__(self, values):
        self.values = values
        self.usage = Usage()

    def ask(self, requests):
        replies = []
        for request in requests:
            usage = Usage(calls=1, tokens_in=len(request.messages[0].content), tokens_out=3, seconds=0.5)
            self.usage += usage
            replies.append(Reply(self.values.pop(0) if self.values else None, "…", None, usage))
        return replies


SCALAR = st.none() | st.booleans() | st.integers(-2, 6) | st.floats() | st.text(max_size=4)
ROWS = st.lists(st.lists(SCALAR, max_size=4) | SCALAR, max_size=6)
ANY = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
NAMES = st.sampled_from(["questions", "evidence", "keep", "answerable", "answer"])
OBJECT = st.dictionaries(NAMES, ROWS | ANY, max_size=5) | ANY


@given(st.lists(OBJECT, max_size=12), st.sampled_from(["draft", "all", "none"]), st.permutations(["adder", "selector"]))
def test_whatever_is_replied_there_is_a_result(prism, values, start, agents):
    llm = Wild(values)
    chosen = PrismSettings(rounds=2, start=start, agents=tuple(agents))
    (found,) = prism(chosen, llm=llm)[0].retrieve([Query(QUESTION)])
    there = {(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2), (4, 1)}
    assert set(found.sentences) <= there
    assert len(set(found.sentences)) == len(found.sentences)
    assert list(found.indices) == list(dict.fromkeys(place for place, _ in found.sentences))
    assert set(found.graph.nodes) == set(found.indices)
    assert found.usage.calls == llm.usage.calls
    assert (found.usage.tokens_in, found.usage.tokens_out) == (llm.usage.tokens_in, llm.usage.tokens_out)
    counted = [Usage(**record["usage"]) for record in found.trace if "usage" in record]
    assert sum(counted, Usage()) == found.usage
    assert found.usage.failed == sum(record.get("failure") is not None for record in found.trace)
    json.dumps(found.trace).encode()
