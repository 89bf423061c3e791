"""Sentence vectors."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch

from bgr.collection.embedding import SentenceEncoder, _batches
from bgr.errors import CheckpointError
from bgr.models.packaged import packaged_minilm
from bgr.models.truncation import Truncation

TEXTS = [
    "The Seventh Seal was directed by Ingmar Bergman.",
    "Ingmar Bergman made The Seventh Seal, a film.",
    "Gold melts at 1,337.33 kelvins.",
    "Gold.",
    "It takes 96 minutes to watch The Seventh Seal from start to end, with a cast of Max von Sydow and many others.",
]


@pytest.fixture(scope="module")
def encoder():
    return SentenceEncoder(packaged_minilm(), device="cpu")


def slow_vectors(texts):
    """One text at a time, in float32, pooled by hand."""
    from transformers import AutoModel, AutoTokenizer

    folder = str(packaged_minilm())
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        mean = states.mean(0).numpy()
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows)


def test_float32_equals_the_slow_way():
    vectors = SentenceEncoder(packaged_minilm(), device="cpu", batch_tokens=64, precision="32")(TEXTS)
    np.testing.assert_allclose(vectors, slow_vectors(TEXTS), atol=1e-5)


def test_the_fast_way_is_near(encoder):
    vectors = encoder(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.sum(vectors * slow_vectors(TEXTS), axis=1).min() > 0.999
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


def test_equal_texts_and_equal_calls_give_equal_vectors(encoder):
    vectors = encoder([*TEXTS, TEXTS[0]])
    assert np.array_equal(vectors[0], vectors[-1])
    assert np.array_equal(vectors, encoder([*TEXTS, TEXTS[0]]))


def test_no_text_and_empty_text(encoder):
    assert encoder([]).shape == (0, 384)
    assert np.isfinite(encoder([""])).all()


def test_a_long_text_is_cut(encoder):
    long = "word " * 1000
    assert np.isfinite(encoder([long, "short"])).all()


def test_batches_cover_all_rows_within_the_bound():
    lengths = [5, 40, 7, 7, 30, 3, 90, 12]
    batches = list(_batches(lengths, 60))
    assert sorted(row for batch in batches for row in batch) == list(range(8))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[row] for row in batch) * len(batch) <= 60
    assert batches[0] == [6]


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="no such folder"):
        SentenceEncoder(tmp_path / "none")
    with pytest.raises(CheckpointError, match="not an encoder"):
        SentenceEncoder(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_file_of_another_kind_is_told(name, encoder_folder, tmp_path):
    folder = shutil.copytree(encoder_folder, tmp_path / "encoder")
    (folder / name).write_text("[]")
    with pytest.raises(CheckpointError, match=rf"{name}: is \[\], allowed: an object"):
        SentenceEncoder(folder)


def test_truncated_sentences_are_counted():
    encoder = SentenceEncoder(packaged_minilm(), device="cpu", max_tokens=8)
    assert encoder.truncation == Truncation(0, 0)
    encoder([TEXTS[0], TEXTS[3], TEXTS[0]])
    assert encoder.truncation == Truncation(1, 2)
    encoder([TEXTS[3], TEXTS[4]])
    assert encoder.truncation == Truncation(2, 4)
    encoder([])
    assert encoder.truncation == Truncation(2, 4)
