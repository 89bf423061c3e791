"""How unlike its training questions a question is, so that an answer about something else is believed less."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bgr.models.ragged import Ragged

FLOOR = 1e-3
"""Variance that is added in all directions, so that few questions suffice. Unit vectors of a width of 384 that point
anywhere have 2.6e-3."""


class QuestionDistance(nn.Module):
    """The Mahalanobis distance of a question from those of the training, by the encoder's states (Lee et al. 2018, "A
    simple unified framework for detecting out-of-distribution samples and adversarial attacks", section 2.1, with one
    class).

    Its weights are not trained but measured (`learn`).
    """

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(width), requires_grad=False)
        self.whiten = nn.Parameter(torch.eye(width), requires_grad=False)

    def forward(self, states: Ragged) -> Tensor:
        """*Shape:* ``states.flat [total, d]``, the states of the tokens of each question; result ``[q]``."""
        with torch.autocast(states.flat.device.type, enabled=False):  # bfloat16 has too few digits for it
            return ((question_vectors(states) - self.mean) @ self.whiten).norm(dim=1)

    @torch.no_grad()
    def learn(self, vectors: Tensor) -> None:
        """Measure mean and covariance of the training questions: ``vectors [n, d]`` of `question_vectors`."""
        vectors = vectors.double()
        away = vectors - vectors.mean(0)
        covariance = away.T @ away / len(vectors)
        variances, axes = torch.linalg.eigh(covariance)
        self.mean.copy_(vectors.mean(0))
        self.whiten.copy_(axes / (variances.clamp(min=0) + FLOOR).sqrt())


def question_vectors(states: Ragged) -> Tensor:
    """The unit vector of each question, the mean of its token states: ``[q, d]``."""
    return nn.functional.normalize(states.padded().float().sum(1), dim=1)
