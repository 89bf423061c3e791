"""The training loss over all pairs of a gold path and a candidate."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from bgr.models.retriever import BgrRetriever, Paths, Reading
from training.gold_paths import GoldLevel


def gold_logits(model: BgrRetriever, reading: Reading, levels: Sequence[GoldLevel]) -> tuple[Tensor, Tensor]:
    """Logits and targets of every pair, paths that end among them: two tensors ``[n]``, n = all open pairs."""
    paths = model.start(reading)
    states, owners, opens = [paths.states], [paths.question], [paths.open]
    for level in levels[1:]:
        paths = model.extend(reading, paths, level.parents, level.columns)
        states.append(paths.states)
        owners.append(paths.question)
        opens.append(paths.open)
    every = Paths(torch.cat(states), torch.cat(owners), torch.cat(opens))
    return model.match(reading, every)[every.open], torch.cat([level.targets for level in levels])[every.open].float()


def balanced_cross_entropy(logits: Tensor, targets: Tensor, *, positive_weight: float) -> Tensor:
    """Binary cross-entropy in which a positive pair counts `positive_weight` times; mean over pairs.

    Positives are few (about one in twenty), so an unweighted loss is low long before they are found.
    """
    weight = torch.as_tensor(positive_weight, device=logits.device)
    return F.binary_cross_entropy_with_logits(logits, targets, pos_weight=weight)
