"""IRCoT with a scripted model: each sentence is the next query, and every way the reasoning can end."""

import pytest

from bgr.collection.bm25 import Bm25Search
from bgr.llm.language_model import Reply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, RetrievalResult, Retriever, star
from bgr.retrievers.ircot.agent import Ircot
from bgr.retrievers.ircot.steps import IrcotSettings, answer_in, read_sentence
from bgr.retrievers.scope import Scope

QUESTION = "Where was the employer of Ada Quist started?"
STEPS = ["Ada Quist works for the Borel foundry.", "Tamrin lies on the Oxla. And more.", "So the answer is: Tamrin."]


@pytest.fixture
def scope(corpus):
    return Scope(corpus, Bm25Search([passage.whole for passage in corpus]))


@pytest.fixture
def texts(script):
    """A model that writes free text: one sentence after the other."""

    def make(*replies):
        rest = iter(replies)
        return script(strict=False, reason=lambda prompt: next(rest))

    return make


def test_each_sentence_is_the_next_query(scope, texts):
    model = texts(*STEPS)
    (found,) = Ircot(model, scope, IrcotSettings(passages=1)).retrieve([Query(QUESTION)])
    rounds = [record for record in found.trace if record["step"] == "round"]
    assert [record["query"] for record in rounds] == [QUESTION, STEPS[0], "Tamrin lies on the Oxla."]
    assert found.indices == tuple(dict.fromkeys(index for record in rounds for index in record["fused"]))
    assert found.graph == star(found.indices)
    assert found.answer == "Tamrin"
    assert found.usage.calls == len(model.batches) == 3
    prompt = model.batches[1][0].messages[0].content
    assert STEPS[0] in prompt
    assert all(scope.corpus[index].whole in prompt for index in (*rounds[0]["fused"], *rounds[1]["fused"]))


def test_it_ends_after_the_maximum_of_steps_or_passages(scope, texts):
    model = texts(*STEPS[:2] * 4)
    (found,) = Ircot(model, scope, IrcotSettings(passages=1, steps=2)).retrieve([Query(QUESTION)])
    assert (found.usage.calls, found.answer) == (2, None)
    model = texts(*STEPS[:2])
    (found,) = Ircot(model, scope, IrcotSettings(passages=2, collected=3)).retrieve([Query(QUESTION)])
    assert len(found.indices) == 3
    assert found.usage.calls == 2


def test_a_failure_ends_the_reasoning_and_is_counted(scope, texts, fail):
    (found,) = Ircot(texts(fail("broken")), scope).retrieve([Query(QUESTION)])
    assert found.usage.failed == 1
    assert len(found.indices) == 4
    assert found.answer is None


def test_questions_end_independently(scope, texts):
    replies = ["So the answer is: X.", STEPS[0], STEPS[2]]
    first, second = Ircot(texts(*replies), scope, IrcotSettings(passages=1)).retrieve([Query("Oxla?"), Query(QUESTION)])
    assert (first.answer, second.answer) == ("X", "Tamrin")
    assert (first.usage.calls, second.usage.calls) == (1, 2)


def test_another_retriever_can_serve_it(scope, texts):
    class Fixed(Retriever):
        def retrieve(self, queries):
            return [
                RetrievalResult(star([5]), ranking=((5, 1.0), (4, 0.5)), trace=({"step": "walk"},)) for _ in queries
            ]

    (found,) = Ircot(texts(*STEPS), scope, IrcotSettings(passages=1), retriever=Fixed()).retrieve([Query(QUESTION)])
    assert found.indices == (5,)
    assert [record["round"] for record in found.trace if record["step"] == "walk"] == [1, 2, 3]


def test_a_query_searches_its_own_candidates(scope, texts):
    query = Query(QUESTION, candidates=["Ada Quist is in Rome.", "Rome is in Italy."])
    (found,) = Ircot(texts(*STEPS), scope, IrcotSettings(passages=1)).retrieve([query])
    assert set(found.indices) <= {0, 1}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1. The director is Ada Quist. And more.", "The director is Ada Quist."),
        ("12) The director is Ada Quist.", "The director is Ada Quist."),
        ("Step 2: The director is Ada Quist.", "The director is Ada Quist."),
        ("- The director is Ada Quist.", "The director is Ada Quist."),
        ("1990 was the year.", "1990 was the year."),
        ("1.5 million people live there.", "1.5 million people live there."),
        ("Step by step, it was started.", "Step by step, it was started."),
        ("3.", ""),
    ],
)
def test_the_mark_of_a_step_is_not_the_sentence(text, sentence):
    found = read_sentence(Reply(text, text, None, Usage(calls=1)))
    assert (found.value, found.usage.failed) == (sentence, int(not sentence))


def test_answers_are_found_in_the_last_sentence():
    assert answer_in("So the answer is: Tamrin.") == "Tamrin"
    assert answer_in("Therefore, the answer is 'Ada Quist'.") == "Ada Quist"
    assert answer_in("The answers are unknown.") is None
    assert answer_in("So the answer is:") == ""


def test_settings_are_checked():
    with pytest.raises(ValueError, match="steps is 0"):
        IrcotSettings(steps=0)
