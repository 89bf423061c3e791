"""Backend for a local model with `transformers`, on CPU or GPU: loading, and replies in batches."""

from __future__ import annotations

import inspect
import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import transformers

from bgr.errors import CheckpointError
from bgr.llm.backends.cpu_attention import use_cpu_attention
from bgr.llm.backends.generation import GrammarError, TokenSampler, generate, grammar_of
from bgr.llm.interface import Backend, Completion, LlmError, Request, Result, Unanswerable
from bgr.utils.devices import pick_device, pick_precision
from bgr.utils.hashing import hash_file, hash_files
from bgr.utils.json_utils import one_line

_HASHED = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
"""Files of a folder that determine the output of its model."""


@dataclass(frozen=True)
class LocalModel:
    """A model that is ready to generate.

    Args:
        name: name of the model and its precision; equal files give equal names in any folder.
        ends: token ids that end a reply.
        longest: maximum number of tokens of prompt and reply together.
    """

    name: str
    model: Any
    tokenizer: Any
    ends: list[int]
    longest: int


def load_local_model(
    model: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> LocalModel:
    """Load a model, by default on the GPU if there is one, in float32, or in bfloat16 if that is fast on the device.

    Only safetensors and GGUF files are read, no code of the model is run, and only a hub id uses the network.

    Args:
        model: hub id, folder, or ``.gguf`` file.
        device, precision: see `bgr.utils.devices`.

    Raises:
        CheckpointError: the model is missing or damaged, has no chat template or no attention, or requires a library
            that is not installed.
    """
    place = pick_device(device)
    precision = pick_precision(place, precision)
    path = Path(model)
    if path.suffix == ".gguf" and not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    source = str(model)
    settings: dict[str, Any] = {"local_files_only": path.is_dir()}
    only_weights: dict[str, Any] = {"use_safetensors": True}
    if path.is_file():
        source, settings = str(path.parent), {"gguf_file": path.name, "local_files_only": True}
        # transformers would download compiled code from the hub to compute with GGUF weights directly
        config = getattr(transformers, "GgufConfig", None)
        only_weights = {} if config is None else {"quantization_config": config(dequantize=True)}
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **settings)
        weights: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=dtype, **settings, **only_weights
        )
    except ImportError as error:
        raise CheckpointError(f"{model}: {one_line(error)} (pip install 'bgr[llm]')") from None
    except Exception as error:  # an untrusted file read by a third-party library may raise anything
        raise CheckpointError(f"{model}: cannot be loaded: {one_line(error)}") from None
    if not getattr(tokenizer, "chat_template", None):
        raise CheckpointError(f"{model}: its tokenizer has no chat template; use a model trained for chat")
    if "past_key_values" not in inspect.signature(weights.forward).parameters:
        problem = f"a model of type {weights.config.model_type} has no cache of keys and values; use one with attention"
        raise CheckpointError(f"{model}: {problem}")
    ends = _ends(weights, tokenizer)
    # defaults of the folder (temperature, penalties) would interfere with the settings of a request
    weights.generation_config = transformers.GenerationConfig(eos_token_id=ends, pad_token_id=ends[0])
    longest = int(getattr(weights.config.get_text_config(), "max_position_embeddings", None) or 1 << 30)
    if place.type == "cpu":
        use_cpu_attention(weights)
    name = f"transformers:{_identity(path, str(model), weights)}:{precision}"
    return LocalModel(name, weights.to(place).eval(), tokenizer, ends, longest)


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """The token ids that end a reply, according to the model and the tokenizer."""
    named = model.generation_config.eos_token_id
    ids = [tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])]
    ends = sorted({i for i in ids if i is not None})
    if not ends:
        place = model.config._name_or_path
        raise CheckpointError(f"{place}: neither model nor tokenizer names a token that ends a reply")
    return ends


def _identity(path: Path, model: str, weights: Any) -> str:
    if path.is_file():
        return f"{path.name}@{hash_file(path)[:16]}"
    if path.is_dir():
        names = sorted({file.name for pattern in _HASHED for file in path.glob(pattern)})
        return f"{path.resolve().name}@{hash_files(path, names)[:16]}"
    return f"{model}@{getattr(weights.config, '_commit_hash', None)}"


BATCH_BYTES = 2 << 30
"""Memory of a batch for keys, values and the activations of a layer."""
BATCH_TOKENS = (16_384, 65_536)
"""Minimum and maximum of the default number of tokens in a batch."""


@dataclass(frozen=True)
class _Prompt:
    """A request as token ids."""

    index: int
    request: Request
    ids: list[int]
    limit: int


def batch_tokens(model: Any) -> int:
    """The number of tokens that fit in `BATCH_BYTES`, within `BATCH_TOKENS` (the minimum if sizes are unknown).

    A token takes the memory of its keys and values in all layers, and of three vectors of a layer's largest width.
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
    """Generation of replies with a local model.

    Prompts use the chat template of the tokenizer and are batched by length. Each reply has its own seed, length limit
    and grammar. Objects are constrained to their schema token by token (llguidance), so that they parse unless
    `max_tokens` truncates them.

    The other replies of a batch, which change in a resumed run, affect the rounding of a reply's scores. In float32
    this matters only if two tokens are nearly tied; in bfloat16, a reply may differ from the one that the model
    generates alone. With `max_batch_tokens=1`, every reply is generated alone, for runs that must be identical.

    Args:
        model, device, precision: see `load_local_model`.
        max_batch_tokens: maximum of rows × (longest prompt + longest reply) in a batch; a longer request is a batch by
            itself. ``None`` derives it from the model's size (`batch_tokens`). Each generated token reads all weights
            once for all rows of the batch.

    Raises:
        CheckpointError: see `load_local_model`.
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

    def each(self, requests: Sequence[Request]) -> Generator[tuple[int, Result], None, None]:
        """See `Backend`; works batch by batch, short prompts first."""
        prompts: list[_Prompt] = []
        for i, request in enumerate(requests):
            prompt = self._prompt(i, request)
            if isinstance(prompt, LlmError):
                yield i, prompt
            else:
                prompts.append(prompt)
        for batch in self._batches(prompts):
            yield from zip((prompt.index for prompt in batch), self._replies(batch), strict=True)

    def refusal(self, request: Request) -> LlmError | None:
        """See `Backend`."""
        prompt = self._prompt(0, request)
        return prompt if isinstance(prompt, LlmError) else None

    def _prompt(self, index: int, request: Request) -> _Prompt | LlmError:
        chat = [{"role": m.role, "content": m.content} for m in request.messages]
        try:
            text = self._local.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
            # the template contains the special tokens
            ids = list(self._local.tokenizer(text, add_special_tokens=False)["input_ids"])
            room = self._local.longest - len(ids)
            if room < 1:
                limit = self._local.longest
                return self._error(f"a prompt of {len(ids):,} tokens; the limit of the model is {limit:,}")
            self._grammar(request)  # raises if there is none
            return _Prompt(index, request, ids, max(1, min(request.max_tokens, room)))
        except GrammarError as error:
            return self._error(f"the schema of step {request.step} cannot constrain the model: {error}")
        except Exception as error:  # templates are programs from the model's files, and messages are untrusted
            return self._error(f"the messages of step {request.step} cannot be made a prompt: {one_line(error)}")

    def _batches(self, prompts: list[_Prompt]) -> Iterator[list[_Prompt]]:
        """Batches of prompts of similar length, as large as the limit allows."""
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

    def _replies(self, batch: list[_Prompt]) -> list[Result]:
        """The replies of one batch, which is split in halves if it exceeds the memory of the device."""
        ends = self._local.ends
        try:
            samplers = [
                TokenSampler(prompt.request, prompt.limit, ends, self._grammar(prompt.request)) for prompt in batch
            ]
            generate(self._local.model, [prompt.ids for prompt in batch], samplers, ends[0])
            return [self._result(prompt, sampler) for prompt, sampler in zip(batch, samplers, strict=True)]
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                prompt, reply = len(batch[0].ids), batch[0].limit
                return [self._error(f"out of memory for {prompt:,} tokens of prompt and {reply:,} of reply")]
        middle = len(batch) // 2
        return [*self._replies(batch[:middle]), *self._replies(batch[middle:])]

    def _result(self, prompt: _Prompt, sampler: TokenSampler) -> Result:
        if sampler.problem:
            return self._error(f"the schema became too complex for the grammar: {sampler.problem}")
        text = self._decoded(sampler.tokens)
        first = tuple((self._decoded([token]), value) for token, value in sampler.first if value > float("-inf"))
        return Completion(text, len(prompt.ids), len(sampler.tokens), cut=not sampler.ended, first=first)

    def _decoded(self, tokens: list[int]) -> str:
        return self._local.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def _grammar(self, request: Request) -> Any:
        """The grammar of a request's schema, built once for equal schemas; ``None`` without a schema."""
        if request.schema is None:
            return None
        key = json.dumps(request.schema)
        if key not in self._grammars:
            self._grammars[key] = grammar_of(request.schema, self._grammar_tokenizer)
        return self._grammars[key]

    @cached_property
    def _grammar_tokenizer(self) -> Any:
        """The tokenizer in the form of llguidance; building it takes about a second."""
        from llguidance.hf import from_tokenizer

        vocabulary = max(self._local.model.config.get_text_config().vocab_size, len(self._local.tokenizer))
        return from_tokenizer(self._local.tokenizer, n_vocab=vocabulary, eos_token=self._local.ends)

    def _error(self, what: str) -> Unanswerable:
        return Unanswerable(f"{self.name}: {what}")
