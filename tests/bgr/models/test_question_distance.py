"""Distances of questions from those of the training, against the definition."""

import numpy as np
import pytest
import torch

from bgr.models.question_distance import FLOOR, QuestionDistance, question_vectors
from bgr.models.ragged import Ragged

WIDTH = 6


def questions(count, seed, shift=0.0):
    """Token states of questions of one to four tokens."""
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 5, (count,), generator=draw)
    states = torch.randn(int(lengths.sum()), WIDTH, generator=draw)
    states[:, 0] += 2.0 - shift
    states[:, 1] += shift
    return Ragged(states, lengths)


def vectors(rows):
    """The unit vector of the mean of each row, one by one."""
    parts = torch.split(rows.flat.double(), rows.lengths.tolist())
    return np.stack([(part.mean(0) / part.mean(0).norm()).numpy() for part in parts])


@pytest.mark.parametrize("count", [3, 200])  # fewer than the dimensions, and many
def test_it_is_mahalanobis_distance(count):
    known, asked = questions(count, 0), questions(9, 1)
    distance = QuestionDistance(width=WIDTH)
    distance.learn(question_vectors(known))
    there = vectors(known)
    covariance = np.cov(there.T, bias=True)
    covariance += FLOOR * np.eye(WIDTH)
    away = vectors(asked) - there.mean(0)
    expected = [np.sqrt(one @ np.linalg.inv(covariance) @ one) for one in away]
    assert distance(asked).tolist() == pytest.approx(expected, rel=1e-3)


def test_other_questions_are_farther():
    distance = QuestionDistance(width=WIDTH)
    distance.learn(question_vectors(questions(500, 0)))
    alike, unlike = distance(questions(100, 1)), distance(questions(100, 2, shift=3.0))
    assert unlike.median() > 1.3 * alike.median()
    assert distance(questions(1, 3)).shape == (1,)


def test_one_question_or_equal_ones_have_a_distance():
    distance = QuestionDistance(width=WIDTH)
    distance.learn(question_vectors(questions(1, 0)).repeat(4, 1))
    assert torch.isfinite(distance(questions(5, 1))).all()
    assert distance(questions(1, 0)).item() == pytest.approx(0, abs=1e-2)
