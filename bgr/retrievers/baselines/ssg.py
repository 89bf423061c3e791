"""SSG: a decoder over encoded facts writes support sets, fact by fact (Thorne et al. 2021, arXiv:2106.01074)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bgr.models.attention import Attention
from bgr.models.batching import Batch
from bgr.models.ragged import Ragged
from bgr.retrievers.baselines.baseline_config import BaselineConfig
from bgr.retrievers.baselines.beam import FoundPath, Search
from bgr.retrievers.baselines.model import BaselineModel, FactsInQuestion, SentenceVectors, TokenLayers

NEW_CHAIN = 0
"""Pointer to the question: the next support set begins. Candidate ``i`` is pointer ``i + 1``, the stop ``1 + c``."""


class SsgReading(NamedTuple):
    """An encoded batch: ``memory [q, 1 + c, d]``, the question and its facts; ``mask [q, 1 + c]``, true where there is
    one."""

    memory: Tensor
    mask: Tensor


class SsgModel(BaselineModel):
    """Writes pointers to facts (pointer network, arXiv:1506.03134): each support set is a chain from the question, a
    pointer to the question begins the next one, a stop ends the last. Decoding is greedy.

    Facts are encoded given the question, then all candidates together; a GRU reads the pointers so far and attends to
    all candidates. The paper compares one next fact with a threshold, again for each partial support set.
    """

    def build(self, config: BaselineConfig) -> None:
        sizes: dict[str, Any] = {"width": config.width, "heads": config.heads, "dropout": config.dropout}
        self.question = SentenceVectors(**sizes, rows=config.rows)
        self.facts = FactsInQuestion(**sizes, rows=config.rows)
        self.kind = nn.Embedding(2, config.width)
        self.context = TokenLayers(**sizes, layers=config.context_layers)
        self.walk = nn.GRU(config.width, config.width, batch_first=True)
        self.look = Attention(width=config.width, heads=config.heads)
        self.norm = nn.LayerNorm(config.width)
        self.point = nn.Linear(config.width, config.width)
        self.begin = nn.Parameter(torch.randn(config.width))
        self.stop = nn.Parameter(torch.randn(config.width))
        nn.init.normal_(self.kind.weight, std=0.02)

    def encode_batch(self, batch: Batch) -> SsgReading:
        questions, facts = self.token_states(batch)
        vectors = self.facts(questions, facts, batch.candidates)
        states = torch.cat([self.question(questions)[:, None] + self.kind.weight[0], vectors + self.kind.weight[1]], 1)
        there = batch.candidates >= 0
        mask = torch.cat([torch.ones_like(there[:, :1]), there], dim=1)
        # a question's facts precede its −1, so padding its memory gives the same columns
        return SsgReading(self.context(Ragged(states[mask], mask.sum(1))).padded(), mask)

    def logits(self, reading: SsgReading, written: Tensor) -> Tensor:
        """Logits of the next item after every prefix of the sequence; −inf where an item is not allowed.

        *Shape:* ``written [q, s]`` pointers, −1 after the end → ``[q, 1 + s, 2 + c]``.
        """
        memory, mask = reading
        questions = torch.arange(len(memory), device=memory.device)[:, None]
        begin = self.begin.to(memory.dtype).expand(len(memory), 1, -1)
        steps = torch.cat([begin, memory[questions, written.clamp(min=0)]], dim=1).float()
        with torch.autocast(memory.device.type, enabled=False):  # recurrent networks need one type throughout
            states, _ = self.walk(steps, memory[:, NEW_CHAIN].float()[None].contiguous())
        states = self.point(self.norm(states + self.look(states, memory, mask)))
        stop = self.stop.to(memory.dtype).expand(len(memory), 1, -1)
        keys = torch.cat([memory, stop], dim=1).to(states.dtype)
        logits = (states @ keys.transpose(1, 2)).float() * self.config.width**-0.5
        return logits.masked_fill(~allowed(written, mask), float("-inf"))

    @torch.inference_mode()
    def search(self, batch: Batch) -> list[Search]:
        reading = self.encode_batch(batch)
        stop, most = reading.mask.shape[1], 2 * self.config.max_depth
        written = torch.zeros(len(reading.mask), 0, dtype=torch.long, device=reading.mask.device)
        chances = written.float()
        running = torch.ones(len(written), dtype=torch.bool, device=written.device)
        while written.shape[1] < most and bool(running.any()):
            best = self.logits(reading, written)[:, -1].log_softmax(1).max(1)
            running = running & (best.indices != stop)
            written = torch.cat([written, best.indices.where(running, -1)[:, None]], dim=1)
            chances = torch.cat([chances, best.values[:, None]], dim=1)
        limits = [("max_depth",) if cut else () for cut in running.tolist()]
        rows = zip(written.tolist(), chances.tolist(), limits, strict=True)
        return [Search(tuple(chains(pointers, chance)), limit) for pointers, chance, limit in rows]


def allowed(written: Tensor, mask: Tensor) -> Tensor:
    """The items that may follow every prefix: a fact that is not in the current chain; a new chain, or the stop, if
    that chain is not empty. *Shape:* ``written [q, s]``, ``mask [q, 1 + c]`` → ``[q, 1 + s, 2 + c]`` bool."""
    count, length = written.shape
    chain = (written == NEW_CHAIN).cumsum(1)
    # [q, 1 + s]: number of the current chain after 0 … s pointers
    now = torch.cat([chain.new_zeros(count, 1), chain], dim=1)
    before = torch.ones(1 + length, length, dtype=torch.bool, device=written.device).tril(-1)
    same = before & (now[:, :, None] == chain[:, None, :])
    facts = torch.arange(1, mask.shape[1], device=written.device)
    pointed = written[:, :, None] == facts
    # [q, 1 + s, c]: facts of the current chain
    used = (same.float() @ pointed.float()) > 0
    begun = used.any(2, keepdim=True)
    return torch.cat([begun, mask[:, None, 1:] & ~used, begun], dim=2)


def chains(pointers: list[int], chances: list[float]) -> list[FoundPath]:
    """The written sequence, cut into chains; a chain's score is the log-probability of its facts."""
    found, facts, score = [], [], 0.0
    for pointer, chance in zip([*pointers, NEW_CHAIN], [*chances, 0.0], strict=True):
        if pointer > NEW_CHAIN:
            facts.append(pointer - 1)
            score += chance
        elif facts:
            found.append(FoundPath(tuple(facts), score))
            facts, score = [], 0.0
    return found
