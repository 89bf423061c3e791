"""Cached vectors are found again, and never stale or damaged."""

from __future__ import annotations

import numpy as np
import pytest

from bgr.collection.embedding import VectorStore
from bgr.errors import DataError

TEXTS = [f"sentence {'x' * (n % 7)} {n}" for n in range(25)]


class Counting:
    """Vectors that depend on what else is in the call, as those of a batch with padding do; counts what it encodes."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        longest = max(map(len, texts), default=0)
        rows = [[hash(text) % 1000 / 1000, len(text), longest] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)


def store(folder, encoder=None, key="model", chunk=10):
    return VectorStore(encoder or Counting(), folder, key=key, chunk=chunk)


def test_vectors_are_the_encoders_chunk_by_chunk(tmp_path):
    vectors = store(tmp_path / "work")(TEXTS)
    expected = np.concatenate([Counting()(TEXTS[start : start + 10]) for start in (0, 10, 20)])
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, expected)


def test_equal_texts_are_encoded_once(tmp_path):
    encoder = Counting()
    vectors = store(tmp_path / "work", encoder)(["b", "a", "b", "c", "a"])
    assert encoder.calls == [["b", "a", "c"]]
    assert np.array_equal(vectors, Counting()(["b", "a", "c"])[[0, 1, 0, 2, 1]])


def test_what_is_there_is_not_encoded_again(tmp_path):
    first = store(tmp_path / "work")(TEXTS)
    encoder = Counting()
    again = store(tmp_path / "work", encoder)(TEXTS)
    assert encoder.calls == []
    assert np.array_equal(again, first)
    more = store(tmp_path / "work", encoder)([*TEXTS[:10], "other", *TEXTS[10:]])
    assert [len(call) for call in encoder.calls] == [10, 6]  # the first chunk is the same, the others are not
    assert np.array_equal(more[:10], first[:10])


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_an_interrupted_run_goes_on_to_the_same_vectors(tmp_path, done):
    class Interrupted(Counting):
        def __call__(self, texts):
            if len(self.calls) == done:
                raise KeyboardInterrupt
            return super().__call__(texts)

    whole = store(tmp_path / "whole")(TEXTS)
    if done < 3:
        with pytest.raises(KeyboardInterrupt):
            store(tmp_path / "work", Interrupted())(TEXTS)
    else:
        store(tmp_path / "work", Interrupted())(TEXTS)
    encoder = Counting()
    assert np.array_equal(store(tmp_path / "work", encoder)(TEXTS), whole)
    assert len(encoder.calls) == 3 - done


@pytest.mark.parametrize(("key", "chunk", "calls"), [("other", 10, 3), ("model", 12, 3), ("model", 10, 0)])
def test_other_encoders_and_chunks_do_not_reuse(tmp_path, key, chunk, calls):
    store(tmp_path / "work")(TEXTS)
    encoder = Counting()
    store(tmp_path / "work", encoder, key, chunk)(TEXTS)
    assert len(encoder.calls) == calls


def test_borders_between_texts_count(tmp_path):
    encoder = Counting()
    for key, texts in (("m", ["ab", "c"]), ("m", ["a", "bc"]), ("ma", ["b", "c"]), ("m", ["abc"])):
        store(tmp_path / "work", encoder, key)(texts)
    assert len(encoder.calls) == 4


def flip(raw):
    return raw[:-3] + bytes([raw[-3] ^ 1]) + raw[-2:]


DAMAGE = {
    "cut": lambda raw: raw[:-5],
    "a row short": lambda raw: raw[:-12],
    "a row more": lambda raw: raw + bytes(12),
    "a bit": flip,
    "empty": lambda raw: b"",
    "head alone": lambda raw: raw[:32],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_chunk_is_encoded_again(tmp_path, name):
    first = store(tmp_path / "work")(TEXTS)
    files = sorted((tmp_path / "work").iterdir())
    assert len(files) == 3
    files[1].write_bytes(DAMAGE[name](files[1].read_bytes()))
    encoder = Counting()
    assert np.array_equal(store(tmp_path / "work", encoder)(TEXTS), first)
    assert len(encoder.calls) == 1
    assert np.array_equal(store(tmp_path / "work", encoder)(TEXTS), first)
    assert len(encoder.calls) == 1  # mended on disk


def test_no_texts(tmp_path):
    assert store(tmp_path / "work")([]).shape == (0, 3)
    assert not (tmp_path / "work").exists()


def test_clear_removes_its_own_files_only(tmp_path):
    folder = tmp_path / "work"
    vectors = store(folder)
    vectors.clear()
    vectors(TEXTS)
    chunk = next(folder.iterdir())
    (folder / f"{chunk.name}.abc.half").write_bytes(b"of a killed run")
    (folder / "notes.txt").write_text("a user's")
    vectors.clear()
    assert [file.name for file in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    vectors.clear()
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(tmp_path):
    (tmp_path / "work").write_text("a file")
    with pytest.raises(DataError, match="cannot be written"):
        store(tmp_path / "work")(TEXTS)
