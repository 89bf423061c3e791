"""The client against doubles of the servers that it is made for: forms, limits, reasoning, context lengths."""

import json

import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.extraction import extract_triples
from bgr.llm.backends.context import MARK, fitted, length_of, overflow_of, without_middle
from bgr.llm.backends.openai_backend import OpenAIBackend
from bgr.llm.interface import LlmError, Message, Request
from bgr.llm.language_model import Llm
from eval.bench.scripted_server import KINDS, Reaction, ScriptedServer, ServerKind, in_thread, scripted_reply

WORDS = {"ollama": {"context_tokens": 4096}}
"""What the user must say of a server that says nothing itself."""


@pytest.fixture
def served():
    """``served(kind, script)``: a server and a model of it."""
    opened = []

    def make(kind, script=None, **settings):
        kind = KINDS[kind] if isinstance(kind, str) else kind
        manager = in_thread(ScriptedServer(kind, **({} if script is None else {"script": script})))
        server = manager.__enter__()
        opened.append(manager)
        settings = {"timeout": 10.0, "patience": 5.0, "first_wait": 0.01, **settings}
        return server, OpenAIBackend("m", base_url=server.url, **settings)

    yield make
    for manager in opened:
        manager.__exit__(None, None, None)


def question(text, schema, **more):
    return Request("test.step", (Message("user", text),), schema, **more)


def long_prompt(words):
    lines = "\n".join(f"[{n}] " + "word " * 20 for n in range(words // 20))
    return f"Read the passages.\n{lines}\nQuestion: who?"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_server_answers_every_request(served, schema, kind):
    """Objects, free texts, long prompts; the form is found out once."""
    server, model = served(kind, **WORDS.get(kind, {}))
    llm = Llm(model)
    asked = [question(f"a question {n}", schema) for n in range(12)]
    replies = llm.ask([*asked, question("a text", None), question(long_prompt(8000), schema)])
    assert [reply.failure for reply in replies] == [None] * 14
    body = {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
    for n, reply in enumerate(replies[:12]):
        wanted = scripted_reply({**body, "messages": [{"role": "user", "content": f"a question {n}"}]})
        assert reply.value == json.loads(wanted)  # in any form the same prompt, reasoning or not
    before = len(server.calls)
    assert all(reply.failure is None for reply in llm.ask([question(f"another {n}", schema) for n in range(8)]))
    assert len(server.calls) == before + 8  # nothing is found out again
    assert llm.usage.calls == 22
    assert llm.usage.retried == before - 14
    short = KINDS[kind].context < 8000
    assert (llm.usage.clipped, replies[13].usage.clipped) == (short, short)
    assert {h.get("authorization") for h in server.headers} == {None}


def test_what_is_found_out(served, schema):
    found = {}
    for kind in KINDS:
        _, model = served(kind)
        assert Llm(model).ask([question("a", schema)])[0].failure is None
        found[kind] = (model.form.schema, model.form.limit, model.form.temperature, model.form.reasoning_tokens)
    plain = ("json_schema", "max_tokens", True, 0)
    assert found == {
        "vllm": plain,
        "vllm-reasoning": (*plain[:3], 4096),
        "llama.cpp": plain,
        "llama.cpp-think": (*plain[:3], 4096),
        "ollama": plain,
        "ollama-reasoning": (*plain[:3], 4096),
        "deepseek": ("json_object", *plain[1:]),
        "openai": plain,
        "openai-reasoning": ("json_schema", "max_completion_tokens", False, 4096),
        "plain": ("plain", *plain[1:]),
    }


def test_the_schema_stands_in_words_where_the_server_does_not_take_it(served, schema):
    for kind, form in (("deepseek", {"type": "json_object"}), ("plain", None)):
        server, model = served(kind)
        Llm(model).ask([question("a", schema)])
        assert server.calls[-1].get("response_format") == form
        text = server.calls[-1]["messages"][-1]["content"]
        assert text.startswith("a\n\nReply with nothing but one JSON object")
        assert json.dumps(schema) in text


def test_a_refusal_of_one_request_changes_no_form(served, schema):
    def script(number, body):
        return Reaction(400, b'{"error": {"message": "content policy"}}') if "bad" in str(body["messages"]) else None

    server, model = served("vllm", script)
    llm = Llm(model)
    [good] = llm.ask([question("good", schema)])
    [bad] = llm.ask([question("bad", schema)])
    assert (good.failure, bad.usage.unanswered) == (None, 1)
    assert "HTTP 400: content policy (1 try)" in bad.failure
    assert len(server.calls) == 2
    assert model.form.schema == "json_schema"


def test_a_server_that_refuses_everything_is_asked_in_each_form_once(served, schema):
    server, model = served("vllm", lambda number, body: Reaction(400, b'{"error": "no such model: m"}'))
    with pytest.raises(LlmError, match=r"all 5 calls of step test\.step failed: .*HTTP 400: no such model: m"):
        Llm(model).ask([question(f"q{n}", schema) for n in range(5)])
    assert len(server.calls) == 5 * 3


def test_extra_fields_take_precedence_and_are_part_of_the_name(served, schema):
    extra = {"top_k": 1, "max_tokens": 7, "chat_template_kwargs": {"enable_thinking": False}}
    server, model = served("vllm", extra_body=extra)
    model.complete([question("a", None)])
    assert {name: server.calls[0][name] for name in extra} == extra
    assert model.name != OpenAIBackend("m", base_url=server.url).name
    assert json.loads(model.name.partition(" ")[2]) == {"body": extra}


def test_more_tokens_for_reasoning_count_and_can_be_given(served, schema):
    server, model = served("vllm-reasoning")
    [reply] = Llm(model).ask([question("a", schema, max_tokens=100)])
    assert [call["max_tokens"] for call in server.calls] == [100, 4196]
    assert reply.usage.retried == 1
    assert reply.usage.tokens_out == 100 + server.kind.reasoning_tokens + max(1, len(reply.text) // 4)
    server, model = served("vllm-reasoning", reasoning_tokens=5000)
    Llm(model).ask([question("a", schema, max_tokens=100)])
    assert [call["max_tokens"] for call in server.calls] == [5100]


def test_reasoning_that_never_ends_is_a_cut_reply(served, schema):
    _, model = served(ServerKind(reasoning="<think>", reasoning_tokens=100_000))
    [reply] = Llm(model).ask([question("a", schema)])
    assert reply.value is None
    assert reply.usage.cut == 2


@pytest.mark.parametrize("kind", ["vllm", "llama.cpp", "plain"])
def test_a_prompt_that_is_too_long_keeps_its_ends(served, schema, kind):
    server, model = served(kind)
    [reply] = Llm(model).ask([question(long_prompt(12_000), schema)])
    text = server.calls[-1]["messages"][0]["content"]
    assert text.startswith("Read the passages.\n[0] word")
    assert text.partition("\n\nReply with")[0].endswith("Question: who?")
    assert MARK in text
    assert reply.failure is None
    assert len(text) // 4 + server.calls[-1]["max_tokens"] <= server.kind.context
    if kind != "plain":  # with the server's own count little is lost
        assert len(text) // 4 > 0.85 * (server.kind.context - 512)


def test_a_server_that_tells_no_context_length(served, schema):
    _, model = served(ServerKind(context=4096, overflow="bare"))
    [reply] = Llm(model).ask([question(long_prompt(12_000), schema)])
    assert "HTTP 400: the prompt exceeds the context window" in reply.failure


def test_which_refusals_are_overflows():
    assert overflow_of(None, "Unknown field 'contexts'") is None
    assert overflow_of({"error": {"code": "context_length_exceeded"}}, "too much") is not None
    openai = "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300,000 tokens."
    found = overflow_of(None, openai)
    assert (found.length, found.prompt) == (272_000, 300_000)
    for answer in ({"error": {"n_ctx": "x", "type": "exceed_context_size_error"}}, {"error": 3}, [], 3):
        assert overflow_of(answer, "maximum context length is 10 tokens").length == 10


def test_which_context_lengths_servers_tell():
    assert length_of({"data": [{"id": "a", "max_model_len": 1}, {"id": "m", "max_model_len": 2}]}, "m") == 2
    assert length_of({"data": [{"id": "other", "meta": {"n_ctx": 8192, "n_ctx_train": 9}}]}, "m") == 8192
    assert length_of({"data": [{"id": "m", "context_length": -1, "context_window": 5}]}, "m") == 5
    assert length_of({"default_generation_settings": {"n_ctx": 4096}}, "m") == 4096
    silent = [[3], [{"id": "a"}, {"id": "b"}], [{"meta": 3}], 3]
    for answer in (None, [], {}, *({"data": rows} for rows in silent)):
        assert length_of(answer, "m") is None


def test_truncated_prompts(schema):
    text = "\n".join(f"line {n}" for n in range(1000))
    short = without_middle(text, 100)
    head, tail = short.split(MARK)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert 80 < len(short) - len(MARK) <= 100
    assert without_middle("x" * 100, 10) == f"{'x' * 7}{MARK}{'x' * 3}"
    assert without_middle("short", 10) == "short"
    request = question(text, schema, max_tokens=900)
    found = fitted(request, 1000, len(text) // 4)  # half of the context stays for the prompt
    assert found.max_tokens == 500
    assert len(found.messages[0].content) // 4 <= 484
    assert fitted(request, 100_000, len(text) // 4) == request


EXTRACTION_FAULTS = {
    "limit": Reaction(429, b"{}"),
    "broken": Reaction(500, b"oops"),
    "hangs up": Reaction(0),
    "half": Reaction(200, b'{"choices": [{"mess', length=200),
    "slow": Reaction(wait=3.0),
}


@pytest.mark.workflow
@pytest.mark.parametrize("fault", EXTRACTION_FAULTS)
def test_an_extraction_stops_in_one_line_or_survives_and_ends_as_without_the_fault(served, tmp_path, fault):
    corpus = Corpus(Passage(str(n), f"Title {n}", f"Passage {n} of some words.") for n in range(12))
    ill = True

    def script(number, body):
        return EXTRACTION_FAULTS[fault] if ill and "Passage 7 " in str(body["messages"]) else None

    server, model = served("vllm", script, timeout=0.5, patience=0.05, retries=1)
    llm, path = Llm(model), tmp_path / "extractions.db"
    with pytest.raises(
        LlmError, match=r"1 of 12 passages have failed calls, more than --max-failure-share 0\.02 allows"
    ):
        extract_triples(corpus, llm, path, model="m")
    found = extract_triples(corpus, llm, path, model="m", max_failure_share=0.1)  # survived and counted
    assert list(found.failures) == ["7"]
    assert found.usage.unanswered == 1
    ill, before = False, len(server.calls)
    found = extract_triples(corpus, llm, path, model="m")
    assert len(server.calls) == before + 1
    clean = extract_triples(corpus, llm, tmp_path / "clean.db", model="m")
    assert (found.triples, found.entities, found.failures) == (clean.triples, clean.entities, {})


@pytest.mark.workflow
def test_an_extraction_goes_side_by_side(served, tmp_path):
    """A slow passage holds no other back."""
    corpus = Corpus(Passage(str(n), f"Title {n}", f"Passage {n} of some words.") for n in range(40))
    server, model = served(
        "vllm", lambda n, body: Reaction(wait=1.0 if "Passage 0 " in str(body) else 0.05), concurrency=8
    )
    found = extract_triples(corpus, Llm(model), tmp_path / "e.db", model="m", batch=16)
    assert not found.failures
    assert server.most == 8
    slow = next(span for span in server.spans if span[1] - span[0] > 0.9)
    assert sum(end < slow[1] for _, end, _ in server.spans) == 39
