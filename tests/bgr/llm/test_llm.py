"""All paths of a reply through `Llm`."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bgr.llm.interface import Backend, Completion, LlmError, Retries, Unreachable
from bgr.llm.language_model import Llm
from bgr.llm.replay import Replay, ReplayError
from bgr.llm.usage import Budget, BudgetError, Price, Usage

GOOD = '{"name": "Lyon", "size": 3}'


def counts(usage):
    return usage.calls, usage.cached, usage.failed, usage.tokens_in, usage.tokens_out


def test_text_and_object_in_one_batch(script, ask_for, schema):
    model = script({"a": ["  some words "], "b": [GOOD]})
    llm = Llm(model)
    text, thing = llm.ask([ask_for("a"), ask_for("b", schema)])
    assert (text.value, text.failure) == ("some words", None)
    assert (thing.value, thing.text, thing.failure) == ({"name": "Lyon", "size": 3}, GOOD, None)
    assert len(model.batches) == 1
    assert counts(llm.usage) == (2, 0, 0, 2, 6)
    assert (counts(text.usage), counts(thing.usage)) == ((1, 0, 0, 1, 2), (1, 0, 0, 1, 4))
    assert text.usage + thing.usage == llm.usage


def test_malformed_reply_is_repaired_without_a_second_call(script, ask_for, schema):
    model = script({"a": ["Sure!\n```json\n{name: 'Lyon', \"size\": 3,\n```"]})
    assert Llm(model).ask([ask_for("a", schema)])[0].value == {"name": "Lyon", "size": 3}
    assert len(model.batches) == 1


def test_asked_again_with_reply_and_error_in_one_batch(script, ask_for, schema):
    model = script({"a": ['{"name": 7, "size": 3}', GOOD], "b": [GOOD], "c": ["", "words"]})
    llm = Llm(model)
    replies = llm.ask([ask_for("a", schema), ask_for("b", schema), ask_for("c")])
    assert [reply.value for reply in replies] == [{"name": "Lyon", "size": 3}] * 2 + ["words"]
    assert [len(batch) for batch in model.batches] == [3, 2]
    _, said, wrong = model.batches[1][0].messages
    assert (said.role, said.content, wrong.role) == ("assistant", '{"name": 7, "size": 3}', "user")
    assert "$.name: 7 is not of type 'string'" in wrong.content
    assert '"required": ["name", "size"]' in wrong.content
    assert "{" not in model.batches[1][1].messages[2].content
    assert model.batches[1][1].messages[1].content == "(nothing)"
    assert counts(replies[0].usage) == (2, 0, 0, 1 + 3, 4 + 4)
    assert counts(llm.usage) == (5, 0, 0, 3 + 6, 8 + 5)


def test_asked_again_then_a_failure(script, ask_for, schema):
    llm = Llm(script({"a": ["no", "neither"], "b": [" ", "\n"]}))
    thing, text = llm.ask([ask_for("a", schema), ask_for("b")])
    assert (thing.value, thing.text) == (None, "neither")
    assert "not valid JSON" in thing.failure or "no JSON" in thing.failure
    assert "\n" not in thing.failure
    assert (text.value, text.failure) == (None, "the reply is empty")
    assert counts(llm.usage)[:3] == (4, 0, 2)
    assert thing.usage + text.usage == llm.usage


def test_a_call_that_failed_is_no_reply_and_is_not_kept(script, ask_for, schema, tmp_path):
    error = LlmError("script: HTTP 500")
    model = script({"a": [error, GOOD], "b": [GOOD], "c": ["no", error, GOOD]})
    requests = [ask_for(text, schema) for text in "abc"]
    with Replay(tmp_path / "replies") as replay:
        llm = Llm(model, replay=replay)
        a, b, c = llm.ask(requests)
        assert (a.value, a.failure, a.text) == (None, "script: HTTP 500", "")
        assert (c.value, c.failure, c.text) == (None, "script: HTTP 500", "no")
        assert b.value
        assert counts(llm.usage)[:3] == (2, 0, 2)
        assert all(reply.value for reply in Llm(model, replay=replay).ask(requests))
    # the next run requests only what failed
    assert model.asked == ["a", "b", "c", "c", "a", "c"]


def test_second_run_makes_no_call_and_gives_the_same(script, ask_for, schema, tmp_path):
    requests = [ask_for("a", schema), ask_for("b"), ask_for("c", schema), ask_for("b")]
    model = script({"a": ["{", GOOD], "b": ["half \ud800 pair\0"], "c": ["no", "no"]})
    with Replay(tmp_path / "replies") as replay:
        first = (llm := Llm(model, replay=replay)).ask(requests)
    with Replay(tmp_path / "replies", replay_only=True) as replay:
        second = (again := Llm(script({}), replay=replay)).ask(requests)
    assert [(r.value, r.text, r.failure) for r in first] == [(r.value, r.text, r.failure) for r in second]
    assert first[1].value == "half ? pair\0"
    assert counts(llm.usage) == (5, 1, 1, *counts(again.usage)[3:])
    assert counts(again.usage)[:3] == (0, 6, 1)


def test_requests_that_are_the_same_are_sent_once(script, ask_for):
    same = ask_for("a")
    llm = Llm(model := script({"a": ["words"]}))
    assert [reply.value for reply in llm.ask([same, same, ask_for("a")])] == ["words"] * 3
    assert model.asked == ["a"]
    assert counts(llm.usage) == (1, 2, 0, 3, 3)


def test_replay_only_names_the_step(script, ask_for, tmp_path):
    Replay(tmp_path / "replies").close()
    with Replay(tmp_path / "replies", replay_only=True) as replay, pytest.raises(ReplayError, match=r"step gear\.read"):
        Llm(script({}), replay=replay).ask([ask_for("a", step="gear.read")])


def test_budget_of_calls_stops_before_the_batch_and_a_greater_one_goes_on(script, ask_for, tmp_path):
    model = script({text: ["words"] for text in "abc"})
    with Replay(tmp_path / "replies") as replay:
        llm = Llm(model, replay=replay, budget=Budget(calls=2))
        llm.ask([ask_for("a")])
        with pytest.raises(BudgetError, match="1 of 2 calls are used, and the next batch has 2; run again with a la"):
            llm.ask([ask_for("b"), ask_for("c")])
        assert model.asked == ["a"]
        again = Llm(model, replay=replay, budget=Budget(calls=3))
        assert [reply.value for reply in again.ask([ask_for(text) for text in "abc"])] == ["words"] * 3
        assert model.asked == ["a", "b", "c"]
        assert Llm(model, replay=replay, budget=Budget(calls=0)).ask([ask_for("a")])[0].value == "words"


def test_budget_of_tokens_and_cost_stops_within_a_batch_and_keeps_what_came(script, ask_for, tmp_path):
    price = Price(per_million_in=1e6, per_million_out=2e6)  # each call: 1 in, 2 out
    limits = {"tokens": 6, "cost": 10.0}
    for name, limit in limits.items():
        model = script({text: ["two words"] for text in "abcd"})
        with Replay(tmp_path / name) as replay:
            llm = Llm(model, replay=replay, budget=Budget(**{name: limit}, price=price))
            with pytest.raises(BudgetError, match=r"6 of 6 tokens are used|10\.0000 of 10\.0000 is spent"):
                llm.ask([ask_for(text) for text in "abcd"])
            assert counts(llm.usage)[:2] == (2, 0)
            assert len(replay) == 2


@pytest.mark.parametrize("limit", [{"tokens": 99}, {"cost": 99.0}], ids=str)
def test_budget_stops_where_tokens_are_not_counted(ask_for, limit):
    """Such a budget would never be exhausted."""

    class Silent(Backend):
        name = "silent"

        def complete(self, requests):
            return [Completion("words", 0, 0) for _ in requests]

    limited = Llm(Silent(), budget=Budget(**limit, price=Price(1, 1)))
    with pytest.raises(BudgetError, match=r"1 replies have no token counts.*allowed: a limit on calls"):
        limited.ask([ask_for("a"), ask_for("b")])
    assert limited.usage.calls == 1
    assert len(Llm(Silent(), budget=Budget(calls=2)).ask([ask_for("a"), ask_for("b")])) == 2


def test_budget_refuses_what_makes_no_sense():
    with pytest.raises(Exception, match="calls is -1"):
        Budget(calls=-1)
    with pytest.raises(Exception, match="requires the price"):
        Budget(cost=1.0)


def test_price():
    assert Price(2.0, 10.0).cost(Usage(tokens_in=500_000, tokens_out=100_000)) == 2.0


def test_unreachable_is_one_error_at_once_and_nothing_is_lost(script, ask_for, tmp_path):
    gone = Unreachable("script: cannot be reached")
    model = script({"a": ["words"], "b": [gone, gone, "words"], "c": ["words"]})
    with Replay(tmp_path / "replies") as replay:
        for _ in range(2):
            with pytest.raises(LlmError, match=r"cannot be reached; answered calls are not lost: run again"):
                Llm(model, replay=replay).ask([ask_for("a"), ask_for("b")])
        assert all(reply.value == "words" for reply in Llm(model, replay=replay).ask([ask_for(t) for t in "abc"]))
    assert model.asked == ["a", "b", "b", "b", "c"]


def test_a_step_of_which_every_call_fails_ends_the_run(script, ask_for):
    """Also if the calls come one by one; not if one was ever answered, nor with different errors."""
    down = [LlmError(f"script: HTTP 500 ({n} tries)") for n in range(9)]
    asked = [ask_for("b"), *(ask_for("a", step="gear.read", seed=n) for n in range(3))]
    with pytest.raises(LlmError, match=r"all 3 calls of step gear\.read failed: script: HTTP 500 .*; answered"):
        Llm(script({"a": down[:3], "b": ["words"]})).ask(asked)

    llm = Llm(script({"a": down}))
    for n in range(3):
        assert llm.ask([ask_for("a", seed=n)])[0].usage.unanswered == 1
    with pytest.raises(LlmError, match="all 4 calls"):
        llm.ask([ask_for("a", seed=3)])
    llm = Llm(script({"a": ["words", *down[:6]]}))
    assert [llm.ask([ask_for("a", seed=n)])[0].failure is None for n in range(7)] == [True] + 6 * [False]
    llm = Llm(script({"a": [LlmError(f"script: {text}") for text in "vwxyz"]}))
    assert [llm.ask([ask_for("a", seed=n)])[0].failure for n in range(5)] == [f"script: {text}" for text in "vwxyz"]


def test_a_reply_that_was_cut_is_not_repaired(ask_for, tmp_path):
    """Its last text may be half a name; it is valid only as it is."""
    schema = {"type": "object", "properties": {"facts": {"type": "array"}}, "required": ["facts"]}
    cut_text = '{"facts": [["A","born in","New Yo'
    whole = '{"facts": [["A","born in","New York"]]}'

    class Cutting(Backend):
        name = "cutting"

        def __init__(self, *texts):
            self.texts = list(texts)
            self.requests = []

        def complete(self, requests):
            self.requests += requests
            return [Completion(self.texts.pop(0), 1, 1, cut=True) for _ in requests]

    with Replay(tmp_path / "replies") as replay:
        [reply] = (llm := Llm(model := Cutting(cut_text, cut_text), replay=replay)).ask([ask_for("a", schema)])
        assert reply.value is None
        assert reply.failure.startswith("the reply was cut off at its limit of tokens: not valid JSON")
        assert (llm.usage.cut, llm.usage.failed, llm.usage.unanswered) == (2, 1, 0)
        assert "cut off" in model.requests[1].messages[-1].content
        [again] = (llm := Llm(Cutting(), replay=replay)).ask([ask_for("a", schema)])
        assert (again.failure, llm.usage.cut, llm.usage.cached) == (reply.failure, 2, 2)
    [reply] = Llm(Cutting(whole)).ask([ask_for("a", schema)])
    assert reply.value == {"facts": [["A", "born in", "New York"]]}


def test_tokens_of_retries_count_and_are_not_repeated_by_the_cache(ask_for, tmp_path):
    class Retrying(Backend):
        name = "retrying"

        def complete(self, requests):
            tries = Retries(2, 30, 7)
            found = {"a": Completion("words", 10, 3, retries=tries, clipped=True), "b": LlmError("gone", tries)}
            return [found[request.messages[0].content] for request in requests]

    with Replay(tmp_path / "replies") as replay:
        a, b = (llm := Llm(Retrying(), replay=replay)).ask([ask_for("a"), ask_for("b")])
        assert (a.usage.retried, a.usage.tokens_in, a.usage.tokens_out, a.usage.clipped) == (2, 40, 10, 1)
        assert (b.usage.retried, b.usage.tokens_in, b.usage.tokens_out, b.usage.unanswered) == (2, 30, 7, 1)
        assert llm.usage == a.usage + b.usage
        [cached] = Llm(Retrying(), replay=replay).ask([ask_for("a")])
        assert (cached.usage.retried, cached.usage.tokens_in, cached.usage.clipped) == (0, 10, 1)


def test_threads_send_equal_requests_once_and_share_the_budget(ask_for, tmp_path):
    class Slow(Backend):
        name = "slow"
        concurrency = 8

        def __init__(self):
            self.asked = []

        def each(self, requests):
            for i, request in enumerate(requests):
                self.asked.append(request.messages[0].content)
                time.sleep(0.05)
                yield i, Completion("words", 1, 1)

    def ask(llm, texts):
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda text: llm.ask([ask_for(text)])[0], texts))

    with Replay(tmp_path / "replies") as replay:
        llm = Llm(model := Slow(), replay=replay)
        assert [reply.value for reply in ask(llm, "aaaaabbb")] == ["words"] * 8
        assert sorted(model.asked) == ["a", "b"]
        assert (llm.usage.calls, llm.usage.cached) == (2, 6)
        with pytest.raises(BudgetError):
            ask(Llm(Slow(), budget=Budget(calls=3)), "cdefghij")


class Prober(Backend):
    """Replies with white space and the probabilities of yes and no."""

    name = "prober"

    def complete(self, requests):
        first = ((" yes", -0.25), ("no", -1.5))
        return [Completion("\n", 4, 1, True, first[: request.top_logprobs]) for request in requests]


def test_alternatives_of_the_first_token(ask_for, tmp_path):
    """The cache preserves them, and an empty text with alternatives is not requested again."""
    asked = [ask_for("a", top_logprobs=2), ask_for("a", top_logprobs=1)]
    with Replay(tmp_path / "replies") as replay:
        replies = (llm := Llm(Prober(), replay=replay)).ask(asked)
        assert [reply.first for reply in replies] == [((" yes", -0.25), ("no", -1.5)), ((" yes", -0.25),)]
        assert [(reply.value, reply.failure) for reply in replies] == [("", None)] * 2
        assert counts(llm.usage) == (2, 0, 0, 8, 2)
        (plain,) = llm.ask([ask_for("a")])
        assert (plain.failure, plain.first) == ("the reply is empty", ())
    with Replay(tmp_path / "replies", replay_only=True) as replay:
        again = (cached := Llm(Prober(), replay=replay)).ask(asked)
        assert [(r.value, r.first) for r in again] == [(r.value, r.first) for r in replies]
        assert counts(cached.usage) == (0, 2, 0, 8, 2)


def test_seconds_of_replies_from_the_cache(script, ask_for, tmp_path, monkeypatch):
    """They are those of the first run, for a repeated request in another run or in the same batch."""
    clock = iter([10.0, 10.5, 12.5])
    monkeypatch.setattr("bgr.llm.language_model.time.perf_counter", lambda: next(clock))
    asked = [ask_for("a"), ask_for("b"), ask_for("a")]
    with Replay(tmp_path / "replies") as replay:
        first = [reply.usage for reply in Llm(script({"a": ["x"], "b": ["y"]}), replay=replay).ask(asked)]
        assert [(one.seconds, one.seconds_saved) for one in first] == [(0.5, 0.0), (2.0, 0.0), (0.0, 0.5)]
        again = [reply.usage for reply in Llm(script({}), replay=replay).ask(asked)]
    assert [(one.seconds, one.seconds_saved) for one in again] == [(0.0, 0.5), (0.0, 2.0), (0.0, 0.5)]
