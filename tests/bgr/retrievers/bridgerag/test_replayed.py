"""BridgeRAG on the real language-model layer: replies that are mended, kept, and paid for once."""

import json
import math

import pytest

from bgr.llm.interface import Backend, Completion, LlmError
from bgr.llm.language_model import Llm
from bgr.llm.replay import Replay
from bgr.llm.usage import Budget, BudgetError, Usage
from bgr.retrievers.base import Query
from bgr.retrievers.bridgerag.agent import BridgeRag
from bgr.retrievers.bridgerag.steps import BridgeSettings
from bgr.retrievers.scope import Scope

QUESTIONS = ["Ada Quist is an engineer who works for a foundry: where did it begin?", "What lies on the Oxla?"]
SMALL = BridgeSettings(first=2, queries=2, query_passages=2, kept=3, entity_passages=1, pool=4, top=2)


class Model(Backend):
    """Replies as small models do: fenced JSON, a bad list of scores first, and a call that is lost once."""

    name = "model"

    def __init__(self, lost=()):
        self.asked, self.lost = [], list(lost)

    def complete(self, requests):
        return [self._one(request) for request in requests]

    def _one(self, request):
        self.asked.append(request.step)
        if request.step in self.lost:
            self.lost.remove(request.step)
            return LlmError("model: HTTP 500 (1 try)")
        step = request.step.removeprefix("bridgerag.")
        if request.top_logprobs:
            yes = 0.8 if "Tamrin" in request.messages[0].content.split("Candidate:")[1] else 0.2
            first = ((" Yes", math.log(yes)), (" No", math.log(1 - yes)))
            return Completion("\n", 9, 1, True, first[: request.top_logprobs])
        if step == "judge" and len(request.messages) == 1:
            return Completion('{"scores": []}', 9, 3)
        scores = request.schema["properties"].get("scores", {}) if request.schema else {}
        text = {
            "queries": "```json\n{'queries': ['Borel foundry was started in Tamrin', 'Tamrin lies on the Oxla']",
            "entities": '{"e1": "Borel foundry", "e2": "Tamrin"',
            "judge": json.dumps({"scores": list(range(scores.get("minItems", 0)))}),
        }[step]
        return Completion(text, 9, 3)


def run(corpus, dense, model, replay, judge="scores", **limits):
    llm = Llm(model, replay=replay, budget=Budget(**limits) if limits else None)
    found = BridgeRag(llm, Scope(corpus, dense), SMALL, judge=judge).retrieve(
        [Query(question) for question in QUESTIONS]
    )
    assert sum((one.usage for one in found), Usage()) == llm.usage
    return found


def lists(found):
    return [(one.indices, one.scores, one.graph) for one in found]


@pytest.mark.parametrize(("judge", "calls"), [("scores", 2 + 2 + 4), ("probability", 2 + 2 + 8)])
def test_a_second_run_makes_no_call(corpus, dense, tmp_path, judge, calls):
    with Replay(tmp_path / "r") as replay:
        model = Model()
        first = run(corpus, dense, model, replay, judge)
        assert len(model.asked) == calls == sum(one.usage.calls for one in first)
        assert [one.usage.failed for one in first] == [0, 0]
    with Replay(tmp_path / "r", replay_only=True) as replay:
        again = run(corpus, dense, Model(), replay, judge)
    assert lists(again) == lists(first)
    assert [one.usage.calls for one in again] == [0, 0]
    assert [one.usage.tokens_in for one in again] == [one.usage.tokens_in for one in first]
    if judge == "probability":
        (scores,) = [step["scores"] for step in first[0].trace if step["step"] == "judge"]
        assert sorted({round(score, 9) for score in scores}) == [0.2, 0.8]


def test_a_budget_stops_and_a_greater_one_goes_on(corpus, dense, tmp_path):
    with Replay(tmp_path / "r") as replay:
        model = Model()
        with pytest.raises(BudgetError, match="4 of 5 calls are used"):
            run(corpus, dense, model, replay, calls=5)
        found = run(corpus, dense, model, replay, calls=50)
        assert len(model.asked) == 8
        assert lists(found) == lists(run(corpus, dense, Model(), None))


@pytest.mark.parametrize("step", ["bridgerag.queries", "bridgerag.entities", "bridgerag.judge"])
def test_a_lost_call_is_a_failed_step_that_the_next_run_mends(corpus, dense, tmp_path, step):
    with Replay(tmp_path / "r") as replay:
        model = Model(lost=[step])
        found = run(corpus, dense, model, replay)
        assert [one.usage.failed for one in found] == [1, 0]
        assert [one["failure"] for one in found[0].trace if one.get("failure")] == ["model: HTTP 500 (1 try)"]
        assert found[0].indices
        mended = run(corpus, dense, model, replay)
        assert [one.usage.failed for one in mended] == [0, 0]
    assert lists(mended) == lists(run(corpus, dense, Model(), None))
