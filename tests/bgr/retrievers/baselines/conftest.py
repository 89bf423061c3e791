"""Small trained-baseline models and batches, made here."""

import pytest
import torch

from bgr.models.batching import Sentences, make_batch
from bgr.retrievers.baselines.baseline_config import BaselineConfig
from bgr.retrievers.baselines.trained import MODELS

QUESTIONS = ["where is the film ?", "which capital has 5 people ?", "who directed persona and radium ?"]
FACTS = ["paris is the capital of france .", "persona was made in sweden .", "rome .", "radium has 9 people .", "alpha"]
SAMPLES = [(QUESTIONS[0], FACTS[:3]), (QUESTIONS[1], FACTS), (QUESTIONS[2], [FACTS[4], FACTS[0]])]


@pytest.fixture
def samples():
    """Questions with three, five and two candidates; some share a fact."""
    return SAMPLES


@pytest.fixture
def make_baseline(encoder_config):
    """``make_baseline("dpr")``: a seeded random model in evaluation mode."""

    def make(kind, *, seed=0, **settings):
        torch.manual_seed(seed)
        sizes = {"frozen_layers": 1, "width": 16, "rows": 2, **settings}
        return MODELS[kind](BaselineConfig(encoder=encoder_config, kind=kind, **sizes)).eval()

    return make


@pytest.fixture
def batch_of(tokenizer):
    """``batch_of(samples)``: a batch of token ids."""

    def make(samples=SAMPLES):
        questions = Sentences((q for q, _ in samples), tokenizer, max_tokens=64)
        facts = Sentences((f for _, part in samples for f in part), tokenizer, max_tokens=64)
        return make_batch(questions, facts, samples)

    return make
