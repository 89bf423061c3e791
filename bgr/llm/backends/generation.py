"""Generation loop for a batch of replies, with sampling under the grammar of a schema.

The common prefix of all prompts is processed once, finished replies leave the batch, and keys and values are written in
place; `transformers.generate` keeps all rows to the end and copies keys and values for every token. Together with
`bgr.llm.backends.cpu_attention`, complete replies take 0.37 to 0.63 times as long on a CPU as with `generate`
(SmolLM2-135M in bfloat16, `bgr bench llm`, docs/speed.md).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import llguidance
import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from bgr.llm.backends.cpu_attention import NAME
from bgr.llm.interface import Request
from bgr.utils.json_utils import one_line

SPACING: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""JSON in Python's default format. With free white space, a small model may generate nothing else."""


class GrammarError(Exception):
    """A schema that cannot be used as a grammar."""


def grammar_of(schema: Mapping[str, Any], tokenizer: Any) -> llguidance.LLMatcher:
    """The grammar of a JSON schema for a tokenizer of llguidance; each `TokenSampler` uses a copy.

    Raises:
        GrammarError: the schema cannot be used as a grammar; the message says why.
    """
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=SPACING)
    matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
    if matcher.is_error():
        raise GrammarError(one_line(Exception(matcher.get_error())))
    return matcher


class TokenSampler:
    """Sampler of one reply, with its own grammar, length limit and random generator.

    `ends` are the token ids that end the reply; without a `grammar` the reply is free text.
    """

    def __init__(
        self, request: Request, limit: int, ends: Sequence[int], grammar: llguidance.LLMatcher | None = None
    ) -> None:
        self.tokens: list[int] = []
        self.problem = ""
        self.first: list[tuple[int, float]] = []
        """The most likely first token ids and their log-probabilities, without grammar and temperature."""
        self._limit, self._ends, self._temperature, self._top = limit, ends, request.temperature, request.top_logprobs
        self._matcher = None if grammar is None else grammar.deep_copy()
        self._random = torch.Generator().manual_seed(request.seed)

    @property
    def ended(self) -> bool:
        """True if the last token is an end token."""
        return bool(self.tokens) and self.tokens[-1] in self._ends

    @property
    def done(self) -> bool:
        """True if the reply is complete, truncated or failed."""
        return self.ended or len(self.tokens) >= self._limit or bool(self.problem)

    def sample(self, scores: torch.Tensor) -> int:
        """Choose and store the next token by its scores ``[vocabulary]``, which are changed in place."""
        if self._top and not self.tokens:
            values, tokens = torch.log_softmax(scores, 0).topk(min(self._top, len(scores)))
            self.first = list(zip(tokens.tolist(), values.tolist(), strict=True))
        if self._matcher is not None:
            scores.masked_fill_(~self._allowed(self._matcher, len(scores)).to(scores.device), -torch.inf)
        if self._temperature <= 0:
            token = int(scores.argmax())
        else:
            probabilities = torch.softmax(scores.cpu() / self._temperature, 0).nan_to_num(1.0)
            token = int(torch.multinomial(probabilities, 1, generator=self._random))
        if not self.problem:
            self.tokens.append(token)
        if not self.done and self._matcher is not None and not self._matcher.consume_token(token):
            self._fail(self._matcher)
        return token

    def _allowed(self, matcher: llguidance.LLMatcher, vocabulary: int) -> torch.Tensor:
        """Tokens that the grammar allows next, bool [vocabulary]."""
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        if matcher.is_error():
            self._fail(matcher)
        allowed = torch.zeros(vocabulary, dtype=torch.bool)
        allowed[: len(bits)] = torch.from_numpy(bits[:vocabulary].astype(bool))
        return allowed

    def _fail(self, matcher: llguidance.LLMatcher) -> None:
        self.problem = one_line(Exception(matcher.get_error()))


ROOM = 64
"""Tokens for which a layer allocates memory in advance."""

SHARED = 24
"""Minimum length of a common prefix that is processed separately."""

LEAVE = 1 / 8
"""Share of finished rows at which they are removed from the batch, since removal copies the other rows."""


def generate(model: Any, prompts: Sequence[Sequence[int]], samplers: Sequence[TokenSampler], pad: int) -> None:
    """Generate all replies to their ends; the samplers hold the results.

    Models with a recurrent state, which padding would corrupt, generate one reply after the other.

    The model is a causal language model of `transformers` in evaluation mode that accepts ``past_key_values``; `pad` is
    the token id at masked positions.
    """
    if any(hasattr(layer, "recurrent_states") for layer in DynamicCache(config=model.config).layers):
        for prompt, sampler in zip(prompts, samplers, strict=True):
            _generate(model, [prompt], [sampler], pad)
    else:
        _generate(model, prompts, samplers, pad)


def _generate(model: Any, prompts: Sequence[Sequence[int]], samplers: Sequence[TokenSampler], pad: int) -> None:
    """Generate all replies in one batch."""
    cache, known = growing_cache(model), inspect.signature(model.forward).parameters
    batch = list(samplers)
    with torch.inference_mode():
        scores, mask = _prefill(model, known, prompts, cache, pad)
        while True:
            tokens = [pad if sampler.done else sampler.sample(row) for sampler, row in zip(batch, scores, strict=True)]
            live = [i for i, sampler in enumerate(batch) if not sampler.done]
            if not live:
                return
            if len(batch) - len(live) >= LEAVE * len(batch):
                keep = torch.tensor(live, device=mask.device)
                cache.batch_select_indices(keep)
                mask, batch, tokens = mask[keep], [batch[i] for i in live], [tokens[i] for i in live]
            ids = torch.tensor(tokens, device=mask.device)[:, None]
            mask = torch.cat([mask, mask.new_ones(len(batch), 1)], 1)
            scores = _scores(model, known, ids, mask, cache)


def _prefill(
    model: Any, known: Collection[str], prompts: Sequence[Sequence[int]], cache: DynamicCache, pad: int
) -> tuple[Tensor, Tensor]:
    """Scores after the prompts, and the mask of the cache's positions, int64 [rows, positions].

    The common prefix comes first, then the rest of each prompt, padded on the left. The prefix is separated only if all
    layers see all positions; others would treat the padding between the two parts as tokens.
    """
    shared = shared_tokens(prompts) if all(type(layer) is GrowingLayer for layer in cache.layers) else 0
    shared = shared if shared >= SHARED else 0
    if shared:
        ids = torch.tensor([prompts[0][:shared]], device=model.device)
        _scores(model, known, ids, torch.ones_like(ids), cache)
        cache.batch_repeat_interleave(len(prompts))
    longest = max(map(len, prompts))
    ids = torch.tensor([[pad] * (longest - len(prompt)) + list(prompt[shared:]) for prompt in prompts])
    rows = [[1] * shared + [0] * (longest - len(prompt)) + [1] * (len(prompt) - shared) for prompt in prompts]
    mask = torch.tensor(rows).to(model.device)
    return _scores(model, known, ids.to(model.device), mask, cache), mask


def shared_tokens(prompts: Sequence[Sequence[int]]) -> int:
    """Length of the common prefix of two or more prompts; each prompt keeps at least one token of its own."""
    if len(prompts) < 2:
        return 0
    rows = sorted(map(tuple, prompts))
    first, last = rows[0], rows[-1]  # the common prefix of these two is that of all
    limit = min(map(len, rows)) - 1
    return next((i for i in range(limit) if first[i] != last[i]), limit)


def _scores(model: Any, known: Collection[str], ids: Tensor, mask: Tensor, cache: DynamicCache) -> Tensor:
    """Scores of the next token, float32 [rows, vocabulary]; `known` are the argument names of the model."""
    settings: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in known else {}
    if "position_ids" in known:
        settings["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    found = model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **settings)
    return found.logits[:, -1].float()


def growing_cache(model: Any) -> DynamicCache:
    """The model's cache, with plain layers replaced by `GrowingLayer` if the mask can hide their free memory.

    This is not possible for older models, which build masks of their own, and for Flash Attention, which uses lengths.
    """
    cache = DynamicCache(config=model.config)
    kernel = getattr(model.config.get_text_config(), "_attn_implementation", None)
    if not getattr(model, "_supports_attention_backend", False) or kernel not in ("eager", "sdpa", NAME):
        return cache
    cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class GrowingLayer(DynamicLayer):
    """Keys and values of a layer, ``[rows, heads, room, width]``, in memory allocated in advance.

    Attention uses all of the memory, whose end is masked, because a product over a part of it would copy that part.
    """

    def __init__(self) -> None:
        super().__init__()
        self.length = 0

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """See `DynamicLayer`."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        before, self.length = self.length, self.length + key_states.shape[2]
        room, _ = self.get_mask_sizes(0)
        self.keys = _with(self.keys, key_states, before, room)
        self.values = _with(self.values, value_states, before, room)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """Number of tokens in the cache."""
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Number of allocated positions after `query_length` more tokens, and the offset of the first."""
        keys, needed = self.keys, self.length + query_length
        held = 0 if keys is None or not keys.numel() else keys.shape[2]
        return held if needed <= held else needed + ROOM, 0


def _with(held: Tensor | None, states: Tensor, before: int, room: int) -> Tensor:
    """Write new states after the first `before` positions, in larger memory if there is no room left."""
    if held is None or not held.numel() or held.shape[2] < room:
        rows, heads, _, width = states.shape
        # zeros, since a NaN in a masked position would spoil the products
        grown = states.new_zeros(rows, heads, room, width)
        if before and held is not None:
            grown[:, :, :before] = held[:, :, :before]
        held = grown
    held[:, :, before : before + states.shape[2]] = states
    return held
