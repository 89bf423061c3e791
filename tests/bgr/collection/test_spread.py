"""Texts that workers encode: the same chunks, kept in the same files, and the same counts."""

import numpy as np
import pytest

from bgr.collection.embedding import SentenceEncoder, VectorStore
from bgr.collection.spread import SpreadEncoder
from bgr.errors import BgrError
from bgr.models.truncation import Truncation
from bgr.utils.ray_map import RayOptions

LISTS = [["a", "b", "a", "c"], ["d"], ["a", "b", "c"], ["e", "f", "g", "h", "e"]]


class Lengths:
    """Vectors that depend on what else is in the call; counts what it encodes."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts):
        self.calls.append(list(texts))
        return np.array([[ord(text), len(texts)] for text in texts], dtype=np.float32)


@pytest.fixture
def worker():
    return Lengths()


@pytest.fixture
def spread(worker):
    """An encoder whose only worker is this process."""
    return SpreadEncoder(Lengths(), lambda: worker, RayOptions())


def test_workers_fill_the_cache_of_the_encoder(tmp_path, worker, spread):
    alone, filled = (VectorStore(Lengths(), tmp_path / name, key="k", chunk=3) for name in ("alone", "filled"))
    expected = [alone(texts) for texts in LISTS]
    filled.fill(iter(LISTS), spread)
    assert worker.calls == [["a", "b", "c"], ["d"], ["e", "f", "g"], ["h"]]  # equal chunks once
    assert [vectors.tolist() for vectors in map(filled, LISTS)] == [vectors.tolist() for vectors in expected]
    assert filled.encoder.calls == spread.encoder.calls == []
    assert {f.name: f.read_bytes() for f in (tmp_path / "filled").iterdir()} == {
        f.name: f.read_bytes() for f in (tmp_path / "alone").iterdir()
    }


def test_only_what_is_missing_or_damaged_is_encoded_again(tmp_path, worker, spread):
    store = VectorStore(spread, tmp_path, key="k", chunk=3)
    store(LISTS[0])
    store.fill(LISTS, spread)
    assert worker.calls == [["d"], ["e", "f", "g"], ["h"]]
    worker.calls.clear()
    sorted(tmp_path.iterdir())[0].write_bytes(b"damaged")
    store.fill(LISTS, spread)
    assert len(worker.calls) == 1


def test_truncated_texts_are_counted_here_and_in_workers(encoder_folder):
    here, there = (SentenceEncoder(encoder_folder, max_tokens=4) for _ in range(2))
    spread = SpreadEncoder(here, lambda: there, RayOptions())
    there(["paris"])  # of earlier work
    spread(["rome", "persona was made in italy ."])
    list(spread.each([["paris"], ["persona was made in sweden .", "rome"]]))
    assert spread.truncation == Truncation(2, 5)


def test_an_error_of_a_worker_keeps_what_is_finished(tmp_path, spread):
    def fails(texts):
        if "d" in texts:
            raise BgrError("the encoder is gone")
        return Lengths()(texts)

    spread.load = lambda: fails
    store = VectorStore(spread, tmp_path, key="k", chunk=3)
    with pytest.raises(BgrError, match="the encoder is gone"):
        store.fill(LISTS, spread)
    assert len(list(tmp_path.iterdir())) == 1
