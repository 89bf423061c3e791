"""The cost of a question in `bgr compare` equals the counts of the model's own tokenizer."""

import json

import pytest
import transformers

from bgr.cli.compare import command
from bgr.cli.parser import execute
from bgr.llm.backends import transformers_backend
from bgr.llm.backends.transformers_backend import TransformersBackend


@pytest.fixture
def counted(monkeypatch):
    """Every request that reaches a model, and the number of token ids that were written in all."""
    requests, written = [], []
    each, generate = TransformersBackend.each, transformers_backend.generate

    def watched_each(self, asked):
        requests.extend(asked)
        yield from each(self, asked)

    def watched_generate(model, prompts, samplers, pad):
        generate(model, prompts, samplers, pad)
        written.extend(len(sampler.tokens) for sampler in samplers)

    monkeypatch.setattr(TransformersBackend, "each", watched_each)
    monkeypatch.setattr(transformers_backend, "generate", watched_generate)
    return requests, written


def test_tokens_and_cost_are_right_to_the_token(toy_data, encoder_folder, tiny_llama, tmp_path, counted, capsys):
    model = tiny_llama(8192)
    words = ["--data", toy_data, "--encoder", encoder_folder, "--samples", "20", "--limit", "1", "--json"]
    words += ["--systems", "bridgerag", "--llm", model, "--price", "2", "30", "--precision", "32"]
    execute("bgr compare", command(), [*map(str, words), "--out", str(tmp_path / "out")])
    found = json.loads(capsys.readouterr().out)["systems"]["bridgerag"]
    requests, written = counted
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    read = 0
    for request in requests:
        chat = [{"role": message.role, "content": message.content} for message in request.messages]
        read += len(tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"])
    assert len(requests) >= 3
    assert found["usage"]["calls"] == len(requests) == len(written)
    assert (found["usage"]["tokens_in"], found["usage"]["tokens_out"]) == (read, sum(written))
    assert found["per_question"]["cost"] == pytest.approx((2 * read + 30 * sum(written)) / 1e6, abs=1e-12)
