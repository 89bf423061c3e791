"""Token ids of many texts on disk."""

import numpy as np
import pytest
import torch

from bgr.collection.hop_index import TokenStore
from bgr.errors import DataError
from bgr.models.batching import Sentences

TEXTS = ["Paris lies in France .", "Persona", "", "Persona was made in Sweden by Bergman .", "Rome lies in Italy ."]


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3, 4], [3, 1, 3], [2], []])
def test_rows_are_those_of_sentences(tokenizer, tmp_path, chosen):
    TokenStore.of(TEXTS, tokenizer, max_tokens=6).save(tmp_path)
    store = TokenStore.open(tmp_path, words=len(tokenizer))
    assert len(store) == len(TEXTS)
    rows = store.rows(np.array(chosen, dtype=np.int64))
    wanted = Sentences(TEXTS, tokenizer, max_tokens=6).take(chosen)
    assert torch.equal(rows.ids, wanted.ids)
    assert torch.equal(rows.lengths, wanted.lengths)
    assert rows.flat.dtype == torch.long


def test_no_texts(tokenizer, tmp_path):
    TokenStore.of([], tokenizer, max_tokens=6).save(tmp_path)
    assert len(TokenStore.open(tmp_path, words=len(tokenizer))) == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ids.npy", None),
        ("ids.npy", b"no array"),
        ("ids.npy", np.zeros((2, 2), dtype=np.uint16)),
        ("ids.npy", np.zeros(3, dtype=np.float32)),
        ("ids.npy", np.full(4, 60_000, dtype=np.uint16)),
        ("starts.npy", np.zeros(0, dtype=np.int64)),
        ("starts.npy", np.array([0, 5, 2, 4], dtype=np.int64)),
        ("starts.npy", np.array([0, 9], dtype=np.int64)),
        ("starts.npy", np.array([0, 4], dtype=np.int32)),
    ],
)
def test_damaged_files_are_told_in_one_line(tokenizer, tmp_path, name, content):
    np.save(tmp_path / "ids.npy", np.zeros(4, dtype=np.uint16))
    np.save(tmp_path / "starts.npy", np.array([0, 1, 4], dtype=np.int64))
    TokenStore.open(tmp_path, words=len(tokenizer))
    if content is None:
        (tmp_path / name).unlink()
    elif isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        np.save(tmp_path / name, content)
    with pytest.raises(DataError, match=r"damaged.*remove .*, which is built again") as error:
        TokenStore.open(tmp_path, words=len(tokenizer))
    assert "\n" not in str(error.value)
