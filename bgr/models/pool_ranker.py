"""The order of a large pool of candidates, from the names that they share.

A pruner (`bgr.models.pruner`) compares each candidate with the question and with a few others. Which of a thousand
candidates are evidence shows in how they hang together: of all casts, the actor counts who leads to both films of the
question. So the pool is read as a graph of texts and names, and messages go from the texts to the names that they
mention and back. It knows no words, only the scores of the pruner, how near a text is by words, and how many texts have
a name; so it is small, and holds for words that training never had.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

TEXT_FEATURES, NAME_FEATURES = 11, 3
WALK = 4
"""Steps from text to text of the walk that starts at a name of the question."""
DAMPING = 0.5
"""Weight of a step of the walk, relative to the one before."""
LEAST = 1e-6
"""What is added to the share of a walk before its logarithm."""


class RankerConfig(PretrainedConfig):
    """Configuration of a `PoolRanker`.

    Args:
        width: numbers of a text or a name.
        rounds: messages from texts to names and back.
        keep: number of the first candidates that the graph model should read: in a better order fewer are enough, and
            near facts that are not read cannot be taken for evidence.
    """

    model_type = "bgr-ranker"

    def __init__(self, width: int = 16, rounds: int = 3, keep: int = 24, **kwargs: Any) -> None:
        self.width, self.rounds, self.keep = width, rounds, keep
        super().__init__(**kwargs)
        if not (1 <= width <= 1024 and 1 <= rounds <= 16 and keep >= 1):
            raise ValueError(f"width {width}, rounds {rounds} and keep {keep}, allowed: 1 to 1,024, 1 to 16, 1 or more")


class PoolGraph(NamedTuple):
    """The ``c`` candidates of a question with the ``m`` names that they mention.

    Args:
        texts: ``float32 [c, 11]``, features of the candidates.
        names: ``float32 [m, 3]``, features of the names.
        text, name: ``int64 [l]``, a mention each: a candidate, and a name that it mentions.
    """

    texts: Tensor
    names: Tensor
    text: Tensor
    name: Tensor

    @classmethod
    def of(cls, logits: Tensor, near: Tensor, text: Tensor, name: Tensor, asked: Tensor, spread: Tensor) -> PoolGraph:
        """The features of a pool.

        Args:
            logits: ``[c]`` of the pruner.
            near: ``[c]`` scores of the search by words.
            text, name: as in the class.
            asked: bool ``[m]``, the names that the question has.
            spread: ``[m]`` number of texts of the whole collection that mention a name, at least 1.
        """
        mentions = torch.bincount(text, minlength=len(logits)).float()  # [c]
        here = torch.bincount(name, minlength=len(asked)).float().clamp(min=1)  # [m]
        direct = torch.zeros_like(logits).index_add(0, text, asked.float()[name])
        walks = _walks(text, name, asked, mentions, here)
        near = near.clamp(min=0)
        parts = [
            logits / 5,
            (logits - logits.max()) / 5,
            near.log1p() / 2,
            near / near.max().clamp(min=1e-3),
            mentions / 4,
            direct / 2,
            torch.full_like(logits, float(asked.sum()) / 3),
            *walks,
        ]
        names = torch.stack([asked.float(), spread.float().clamp(min=1).log() / 5, here.log() / 5], 1)
        return cls(torch.stack(parts, 1), names, text, name)


def _walks(text: Tensor, name: Tensor, asked: Tensor, mentions: Tensor, here: Tensor) -> tuple[Tensor, ...]:
    """How much of a random walk from each name of the question comes by each text, as logarithms: of the two names from
    which most does, the mean and the least, ``[c]`` each."""
    starts = asked.nonzero().squeeze(1)
    if not len(starts):
        return (torch.full_like(mentions, LEAST).log() / 5,) * 4
    at = torch.zeros(len(asked), len(starts), device=mentions.device)
    at[starts, torch.arange(len(starts))] = 1.0
    passed = torch.zeros(len(mentions), len(starts), device=mentions.device)
    for step in range(WALK):
        to = torch.zeros_like(passed).index_add(0, text, (at / here[:, None])[name])
        passed += DAMPING**step * to
        at = torch.zeros_like(at).index_add(0, name, (to / mentions.clamp(min=1)[:, None])[text])
    logs = ((passed + LEAST).log() / 5).sort(1, descending=True).values
    second = logs[:, 1] if len(starts) > 1 else torch.full_like(mentions, LEAST).log() / 5
    return logs[:, 0], second, logs.mean(1), logs[:, -1]


class PoolRanker(PreTrainedModel):
    """Scores of all candidates of a pool, higher is better."""

    config_class = RankerConfig

    def __init__(self, config: RankerConfig) -> None:
        super().__init__(config)
        width, rounds = config.width, config.rounds
        self.read = _layer(TEXT_FEATURES, width)
        self.to_names = nn.ModuleList(_layer(2 * width + NAME_FEATURES, width) for _ in range(rounds))
        self.to_texts = nn.ModuleList(_layer(3 * width, width) for _ in range(rounds))
        self.direct = nn.Linear(TEXT_FEATURES, 1)
        self.out = nn.Linear(width, 1)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Do nothing: every layer initializes itself in its constructor."""

    def forward(self, graph: PoolGraph) -> Tensor:
        """A graph of ``c`` candidates → ``[c]``."""
        with torch.autocast(graph.texts.device.type, enabled=False):
            states = self.read(graph.texts)
            for to_names, to_texts in zip(self.to_names, self.to_texts, strict=True):
                heard = _messages(states, graph.text, graph.name, len(graph.names))
                names = to_names(torch.cat([heard, graph.names], 1))
                heard = _messages(names, graph.name, graph.text, len(states))
                states = states + to_texts(torch.cat([states, heard], 1))
            scores: Tensor = (self.out(states) + self.direct(graph.texts)).squeeze(-1)
            return scores


def _layer(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.GELU())


def _messages(states: Tensor, source: Tensor, target: Tensor, count: int) -> Tensor:
    """The largest and the mean state that each of `count` targets hears, 0 if none. *Shape:* ``[n, w]`` → ``[count, 2 ·
    w]``."""
    place = target[:, None].expand(-1, states.shape[1])
    empty = states.new_zeros(count, states.shape[1])
    sent = states[source]
    largest = empty.scatter_reduce(0, place, sent, "amax", include_self=False)
    mean = empty.scatter_reduce(0, place, sent, "mean", include_self=False)
    return torch.cat([largest, mean], 1)
