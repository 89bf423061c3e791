"""The backend with a random two-layer Llama and a byte tokenizer; nothing is downloaded."""

import json
import random
from types import SimpleNamespace

import pytest
import torch
from transformers import (
    GPT2Config,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    PreTrainedTokenizerFast,
)

from bgr.errors import BgrError, CheckpointError
from bgr.llm.backends import transformers_backend
from bgr.llm.backends.generation import generate
from bgr.llm.backends.loading import load_backend
from bgr.llm.backends.transformers_backend import TransformersBackend, batch_tokens
from bgr.llm.interface import Completion, LlmError, Message, Request
from bgr.llm.language_model import Llm
from bgr.llm.replay import Replay, ReplayError
from bgr.llm.structured import parse_object

LONGEST = 256
THING = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["film", "city", "element"]},
        "facts": {"type": "array", "items": {"type": "string", "maxLength": 5}, "minItems": 1, "maxItems": 2},
        "sure": {"type": "boolean"},
    },
    "required": ["kind", "facts", "sure"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def folder(tiny_llama):
    return tiny_llama(LONGEST)


@pytest.fixture(scope="module")
def backend(folder):
    return TransformersBackend(folder, device="cpu", precision="32")


def request(text, schema=None, **settings):
    return Request("test.step", (Message("user", text),), schema, **{"max_tokens": 24, **settings})


def texts(count, seed=0):
    draw = random.Random(seed)
    return ["".join(draw.choices("the anchor ", k=draw.randrange(1, 60))) for _ in range(count)]


def written_slowly(folder, text, most):
    """Greedy decoding of one reply without a cache, restricted to valid tokens."""
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    ids = tokenizer(f"<start>user\n{text}<end>\n<start>assistant\n")["input_ids"]
    reply = []
    while len(reply) < most and (not reply or reply[-1] != 1):
        with torch.inference_mode():
            reply.append(int(model(torch.tensor([ids + reply])).logits[0, -1].argmax()))
    return tokenizer.decode(reply, skip_special_tokens=True), len(ids), len(reply), reply[-1] != 1


def test_a_batch_is_one_at_a_time_and_the_slow_twin(folder, backend):
    asked = [request(text, max_tokens=most) for text, most in zip(texts(7), (24, 1, 5, 40, 24, 9, 30), strict=True)]
    together = backend.complete(asked)
    assert together == [backend.complete([one])[0] for one in asked]
    for one, completion in zip(asked, together, strict=True):
        slow = written_slowly(folder, one.messages[0].content, one.max_tokens)
        assert (completion.text, completion.tokens_in, completion.tokens_out, completion.cut) == slow
    assert len({completion.tokens_in for completion in together}) > 3


@pytest.mark.workflow
def test_objects_always_parse_beside_rows_that_are_free(backend):
    asked = []
    for i, text in enumerate(texts(12, 1)):
        asked.append(request(text, THING, max_tokens=120, seed=i, temperature=i % 3 * 1.5))
        asked.append(request(text, max_tokens=10))
    results = backend.complete(asked)
    values = [parse_object(completion.text, THING) for completion in results[::2]]
    assert [problem for _, problem in values] == [None] * 12
    assert [json.loads(completion.text) for completion in results[::2]] == [value for value, _ in values]
    assert not any(completion.cut for completion in results[::2])
    assert len({completion.text for completion in results[::2]}) > 4
    assert results[1::2] == backend.complete(asked[1::2])
    assert results[::2] == [backend.complete([one])[0] for one in asked[::2]]


def test_draws_are_by_the_seed_and_not_by_the_batch(backend):
    hot = [request("the", temperature=2.0, seed=seed) for seed in (0, 1, 0)]
    a, b, c = backend.complete(hot)
    assert a == c != b
    assert backend.complete([hot[1]]) == [b]


def test_log_probabilities_of_the_first_token(folder, backend):
    """The model's own probabilities, regardless of schema and temperature, in a batch and alone."""
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    asked = [
        request("the", top_logprobs=4),
        request("an anchor", THING, top_logprobs=3, max_tokens=120),
        request("the end", top_logprobs=2, temperature=3.0, max_tokens=1),
        request("the"),
    ]
    results = backend.complete(asked)
    for one, result in zip(asked, results, strict=True):
        ids = tokenizer(f"<start>user\n{one.messages[0].content}<end>\n<start>assistant\n")["input_ids"]
        with torch.inference_mode():
            slow = model(torch.tensor([ids])).logits[0, -1].log_softmax(0)
        values, tokens = slow.sort(descending=True)
        wanted = [tokenizer.decode([token], skip_special_tokens=True) for token in tokens[: one.top_logprobs].tolist()]
        assert [text for text, _ in result.first] == wanted
        assert [value for _, value in result.first] == pytest.approx(values[: one.top_logprobs].tolist(), abs=1e-4)
    assert results[0].text == results[3].text
    assert results[0].text.startswith(results[0].first[0][0])
    assert len(backend.complete([request("the", top_logprobs=10_000)])[0].first) == model.config.vocab_size


def test_what_cannot_be_asked_fails_alone(backend):
    long, tool, fine, unlike = backend.complete(
        [
            request("a" * LONGEST),
            Request("test.step", (Message("tool", "x"),)),
            request("the"),
            request("the", {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?<=a)b"}}}),
        ]
    )
    assert isinstance(long, LlmError)
    assert f"tokens; the limit of the model is {LONGEST}" in str(long)
    assert isinstance(tool, LlmError)
    assert "no tools here" in str(tool)
    assert isinstance(fine, Completion)
    assert isinstance(unlike, LlmError)
    assert "cannot constrain" in str(unlike)
    assert not any("\n" in str(error) for error in (long, tool, unlike))


def test_a_reply_ends_where_the_model_does(backend):
    asked = request("a" * (LONGEST - 40), max_tokens=10_000)
    completion = backend.complete([asked])[0]
    assert completion.tokens_in + completion.tokens_out <= LONGEST
    assert completion.cut == (completion.tokens_in + completion.tokens_out == LONGEST)


def test_batches_keep_to_their_tokens(folder, backend):
    small = TransformersBackend(folder, device="cpu", precision="32", max_batch_tokens=300)
    asked = [request(text) for text in texts(9, 2)]
    assert small.complete(asked) == backend.complete(asked)
    prompts = [small._prompt(i, one) for i, one in enumerate(asked)]
    batches = list(small._batches(prompts))
    assert sorted(prompt.index for batch in batches for prompt in batch) == list(range(9))
    assert 1 < len(batches) < 9
    for batch in batches:
        size = len(batch) * (max(len(p.ids) for p in batch) + max(p.limit for p in batch))
        assert size <= 300 or len(batch) == 1


def test_no_memory_for_a_batch(folder, backend, monkeypatch):
    """The batch is halved until it fits; a request that never fits fails alone."""
    tight = TransformersBackend(folder, device="cpu", precision="32")

    def small_only(model, prompts, *others):
        if len(prompts) * max(map(len, prompts)) > 120:
            raise torch.OutOfMemoryError("none left")
        return generate(model, prompts, *others)

    monkeypatch.setattr(transformers_backend, "generate", small_only)
    asked = [request("the", THING, max_tokens=90, seed=i, temperature=1.0) for i in range(6)] + [request("a" * 150)]
    *fine, failed = tight.complete(asked)
    assert fine == backend.complete(asked[:-1])
    assert "out of memory for" in str(failed)


def test_the_name_is_of_the_files_not_of_their_place(folder, backend, tmp_path):
    import shutil

    copy = shutil.copytree(folder, tmp_path / folder.name)
    assert load_backend(str(copy), device="cpu", precision="32").name == backend.name
    assert TransformersBackend(copy, device="cpu", precision="bf16").name != backend.name
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**settings, "rms_norm_eps": 1e-3}))
    assert TransformersBackend(copy, device="cpu", precision="32").name != backend.name


def test_whole_layer(backend):
    thing, text = Llm(backend).ask([request("the", THING, max_tokens=120), request("an anchor")])
    assert set(thing.value) == {"kind", "facts", "sure"}
    assert text.failure or text.value == text.text.strip()


def test_models_that_cannot_be_loaded(folder, tmp_path):
    import shutil

    (tmp_path / "empty").mkdir()
    (tmp_path / "garbage.gguf").write_bytes(b"GGUF" + bytes(range(200)))
    silent = shutil.copytree(folder, tmp_path / "silent")
    (silent / "chat_template.jinja").unlink()
    stateful = shutil.copytree(folder, tmp_path / "stateful")
    (stateful / "config.json").unlink()
    (stateful / "model.safetensors").unlink()
    MambaForCausalLM(MambaConfig(vocab_size=300, hidden_size=8, num_hidden_layers=1)).save_pretrained(stateful)
    for spec, problem in {
        "empty": "cannot be loaded",
        "stateful": "a model of type mamba has no cache of keys and values",
        "garbage.gguf": "cannot be loaded",
        "missing.gguf": "no such file",
        "silent": "no chat template",
    }.items():
        with pytest.raises(CheckpointError, match=problem) as caught:
            TransformersBackend(tmp_path / spec)
        assert "\n" not in str(caught.value)
    with pytest.raises(BgrError, match="no such file or folder; allowed: smollm2"):
        load_backend("no-such-thing")
    with pytest.raises(BgrError, match="unexpected keyword argument 'colour'"):
        load_backend(str(folder), colour="red")


def test_a_server_by_its_address():
    model = load_backend("http://127.0.0.1:9/v1#owner/name", timeout=3.0)
    assert (model.name, model.timeout) == ("openai:owner/name@http://127.0.0.1:9/v1", 3.0)
    with pytest.raises(BgrError, match="requires its model"):
        load_backend("http://127.0.0.1:9/v1")


def test_tokens_of_a_batch_by_the_size_of_the_model():
    """By hand: SmolLM2 takes 2 bytes × (2 × 30 × 3 × 64 + 3 × 1536) = 32,256 for a token, 66,576 of which are 2 GiB;
    eight billion weights take 2 × (2 × 32 × 8 × 128 + 3 × 14,336) = 217,088, that is 9,892."""

    def tokens(**sizes):
        config = LlamaConfig(**sizes)
        return batch_tokens(SimpleNamespace(config=config, dtype=torch.bfloat16))

    small = {"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "hidden_size": 576}
    assert tokens(**small, intermediate_size=1536) == 65_536
    assert tokens(**small, intermediate_size=3072) == 2**31 // (2 * (2 * 30 * 3 * 64 + 3 * 3072))
    large = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
    assert tokens(**large, intermediate_size=14_336) == 16_384
    assert batch_tokens(SimpleNamespace(config=GPT2Config(), dtype=torch.float32)) == 16_384


def test_a_prompt_that_is_too_long_from_the_cache_alone(backend, tmp_path):
    """It fails as before and does not count as a missing reply, unlike a request that could be answered."""
    asked = [request("a"), request("b" * LONGEST)]
    with Replay(tmp_path / "r") as replay:
        first = Llm(backend, replay=replay).ask(asked)
        assert len(replay) == 1
    with Replay(tmp_path / "r", replay_only=True) as replay:
        again = (llm := Llm(backend, replay=replay)).ask(asked)
        assert [(one.value, one.failure) for one in again] == [(one.value, one.failure) for one in first]
        assert "the limit of the model is 256" in again[1].failure
        assert (llm.usage.calls, llm.usage.cached, llm.usage.failed) == (0, 1, 1)
        with pytest.raises(ReplayError, match="1 replies of step"):
            llm.ask([*asked, request("c")])
