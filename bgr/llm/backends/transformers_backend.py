"""A model in this process, through `transformers`: on the CPU or the GPU, many requests at once."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from bgr.llm.backends.generation import write
from bgr.llm.backends.local_model import load_local_model
from bgr.llm.backends.sampler import GrammarError, Row, grammar_of
from bgr.llm.interface import Backend, Completion, LlmError, Request, in_order
from bgr.utils.json_utils import one_line

Result = Completion | LlmError

BATCH_BYTES = 2 << 30
"""Of keys, values and a layer's numbers, that a batch may take."""
BATCH_TOKENS = (16_384, 65_536)
"""Fewest and most tokens of a batch, unless it is said how many."""


@dataclass(frozen=True)
class _Prompt:
    """A request as token ids."""

    index: int
    request: Request
    ids: list[int]
    limit: int


def batch_tokens(model: Any) -> int:
    """How many tokens `BATCH_BYTES` hold, within `BATCH_TOKENS`; the fewest where a model's settings have other names.

    The memory of a token is that of its keys and values in all layers, and of three vectors as wide as a layer gets.
    """
    config = model.config.get_text_config()
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size")
    layers, heads, hidden, inner = (getattr(config, name, None) for name in names)
    if not (isinstance(layers, int) and isinstance(heads, int) and isinstance(hidden, int) and isinstance(inner, int)):
        return BATCH_TOKENS[0]
    width = getattr(config, "head_dim", None) or hidden // heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    found = BATCH_BYTES // (model.dtype.itemsize * (2 * layers * shared * width + 3 * inner))
    return min(max(found, BATCH_TOKENS[0]), BATCH_TOKENS[1])


class TransformersBackend(Backend):
    """Writes replies with a local model: the chat template of its tokenizer, rows padded on the left and batched by
    length, each with its own seed, length and grammar. An object's reply is held to its schema token by token
    (llguidance), so that it parses unless `max_tokens` cuts it.

    A row's scores do not depend on the other rows but for rounding: padding and batch size change the order of sums. In
    float32 that shows only where two tokens are as good as equal; in bfloat16 a reply may part from the one that the
    model writes alone. What the replay cache holds is not asked for again, so a run that went on after a stop forms
    other batches; `max_batch_tokens=1` writes every reply alone, for runs that must not differ at all.

    Args:
        model: hub id, folder or ``.gguf`` file.
        device, precision: as `devices` takes them; default: the GPU if there is one, bfloat16 where it is fast.
        max_batch_tokens: of a batch, rows × (longest prompt + longest reply); a longer request is a batch by itself.
            ``None``: as `batch_tokens` finds from the model's size. Each token that is written reads all weights once,
            for all rows of the batch.

    Raises:
        CheckpointError: the model cannot be loaded, or has no chat template.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | torch.device | None = None,
        precision: str | None = None,
        max_batch_tokens: int | None = None,
    ) -> None:
        self._local = load_local_model(model, device=device, precision=precision)
        self.max_batch_tokens = batch_tokens(self._local.model) if max_batch_tokens is None else max_batch_tokens
        self.name = self._local.name
        self._grammars: dict[str, Any] = {}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """See `Backend`."""
        return in_order(self.each(requests))

    def each(self, requests: Sequence[Request]) -> Generator[tuple[int, Result], None, None]:
        """See `Backend`: batch by batch, short prompts first."""
        prompts: list[_Prompt] = []
        for i, request in enumerate(requests):
            prompt = self._prompt(i, request)
            if isinstance(prompt, LlmError):
                yield i, prompt
            else:
                prompts.append(prompt)
        for batch in self._batches(prompts):
            yield from zip((prompt.index for prompt in batch), self._write(batch), strict=True)

    def refusal(self, request: Request) -> LlmError | None:
        """See `Backend`: a prompt that is too long for the model, for one."""
        prompt = self._prompt(0, request)
        return prompt if isinstance(prompt, LlmError) else None

    def _prompt(self, index: int, request: Request) -> _Prompt | LlmError:
        chat = [{"role": m.role, "content": m.content} for m in request.messages]
        try:
            text = self._local.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
            # the template writes the special tokens itself
            ids = list(self._local.tokenizer(text, add_special_tokens=False)["input_ids"])
            room = self._local.longest - len(ids)
            if room < 1:
                return self._error(f"a prompt of {len(ids):,} tokens; the model holds {self._local.longest:,}")
            self._grammar(request)  # whether there is one
            return _Prompt(index, request, ids, max(1, min(request.max_tokens, room)))
        except GrammarError as error:
            return self._error(f"the schema of step {request.step} cannot constrain the model: {error}")
        except Exception as error:  # a template is a program from the model's files, the messages may be anything
            return self._error(f"the messages of step {request.step} cannot be made a prompt: {one_line(error)}")

    def _batches(self, prompts: list[_Prompt]) -> Iterator[list[_Prompt]]:
        """Prompts of like length, as many together as the limit allows."""
        batch: list[_Prompt] = []
        reply = 0
        for prompt in sorted(prompts, key=lambda prompt: (len(prompt.ids), prompt.index)):
            reply = max(reply, prompt.limit)
            if batch and (len(batch) + 1) * (len(prompt.ids) + reply) > self.max_batch_tokens:
                yield batch
                batch, reply = [], prompt.limit
            batch.append(prompt)
        if batch:
            yield batch

    def _write(self, batch: list[_Prompt]) -> list[Result]:
        """The replies of one batch; in halves where the device has no memory for it."""
        try:
            return self._generate(batch)
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                return [self._error(f"no memory for {len(batch[0].ids):,} tokens of prompt and {batch[0].limit:,}")]
        middle = len(batch) // 2
        return [*self._write(batch[:middle]), *self._write(batch[middle:])]

    def _generate(self, batch: list[_Prompt]) -> list[Result]:
        ends = self._local.ends
        rows = [Row(prompt.request, prompt.limit, ends, self._grammar(prompt.request)) for prompt in batch]
        write(self._local.model, [prompt.ids for prompt in batch], rows, ends[0])
        return [self._result(*of_one) for of_one in zip(batch, rows, strict=True)]

    def _result(self, prompt: _Prompt, row: Row) -> Result:
        if row.problem:
            return self._error(f"the schema became too complex for the grammar: {row.problem}")
        text = self._decoded(row.tokens)
        first = tuple((self._decoded([token]), value) for token, value in row.first if value > float("-inf"))
        return Completion(text, len(prompt.ids), len(row.tokens), cut=not row.ended, first=first)

    def _decoded(self, tokens: list[int]) -> str:
        return self._local.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def _grammar(self, request: Request) -> Any:
        """The grammar of a request's schema, made once for all that have it; ``None`` where it has none."""
        if request.schema is None:
            return None
        key = json.dumps(request.schema)
        if key not in self._grammars:
            self._grammars[key] = grammar_of(request.schema, self._grammar_tokenizer)
        return self._grammars[key]

    @cached_property
    def _grammar_tokenizer(self) -> Any:
        """The tokenizer as llguidance reads it; takes about a second."""
        from llguidance.hf import from_tokenizer

        vocabulary = max(self._local.model.config.get_text_config().vocab_size, len(self._local.tokenizer))
        return from_tokenizer(self._local.tokenizer, n_vocab=vocabulary, eos_token=self._local.ends)

    def _error(self, what: str) -> LlmError:
        return LlmError(f"{self.name}: {what}")
