"""Inverted lists of compressed vectors: candidates near to the exact ones, exact scores, arrays that are checked."""

import numpy as np
import pytest

from bgr.collection import approximate
from bgr.collection.approximate import Approximate, Form, is_exact
from bgr.collection.arrays import LiveRows
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.collection.vectors import VectorRows
from bgr.errors import DataError

COUNT, WIDTH = 4000, 32


@pytest.fixture(scope="module")
def vectors():
    """Unit vectors in clusters, as those of texts are."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(40, WIDTH))
    rows = centers[rng.integers(0, 40, COUNT)] + 0.5 * rng.normal(size=(COUNT, WIDTH))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


FORMS = {"bytes": Form(64, 0), "parts": Form(64, 8)}


@pytest.fixture(scope="module", params=FORMS)
def near(request, vectors):
    return Approximate.build(vectors, FORMS[request.param])


def test_most_neighbors_are_found_with_exact_scores(near, vectors):
    queries = vectors[::100].astype(np.float32)
    exact = VectorRows([vectors]).nearest(queries, 10)
    found = VectorRows([vectors], near=near).nearest(queries, 10)
    shares = []
    for a, b in zip(exact, found, strict=True):
        scores = dict(zip(a.indices.tolist(), a.scores.tolist(), strict=True))
        assert b.scores.tolist() == sorted(b.scores.tolist(), reverse=True)
        assert all(scores.get(n, s) == s for n, s in zip(b.indices.tolist(), b.scores.tolist(), strict=True))
        shares.append(len(set(b.indices.tolist()) & set(scores)) / 10)
    assert np.mean(shares) > 0.9


def test_saved_and_opened_it_is_the_same(near, vectors, tmp_path):
    near.save(tmp_path)
    opened = Approximate.open(tmp_path, *vectors.shape)
    queries = vectors[:20].astype(np.float32)
    assert np.array_equal(opened.nearest(queries, 50), near.nearest(queries, 50))
    assert opened.form == near.form
    assert Approximate.open(tmp_path / "nothing", *vectors.shape) is None


@pytest.mark.workflow
def test_the_same_vectors_give_the_same_index(near, vectors):
    again = Approximate.build(vectors, near.form)
    assert np.array_equal(again.codes, near.codes)
    assert np.array_equal(again.rows, near.rows)


@pytest.mark.parametrize("name", ["starts", "rows", "trained", "codes", "centroids"])
def test_damaged_arrays_are_refused(near, vectors, tmp_path, name):
    near.save(tmp_path)
    file = tmp_path / f"near_{name}.npy"
    array = np.load(file)
    wrong = {"rows": array + 1, "starts": array[::-1].copy()}.get(name, array[:-1])
    np.save(file, wrong)
    with pytest.raises(DataError, match="near_"):
        Approximate.open(tmp_path, *vectors.shape)


def test_deleted_rows_are_not_found(near, vectors):
    deleted = np.arange(0, COUNT, 2)
    rows = VectorRows([vectors], LiveRows(COUNT, deleted), near=near)
    exact = VectorRows([vectors[1::2]]).nearest(vectors[1:40:2].astype(np.float32), 5)
    found = rows.nearest(vectors[1:40:2].astype(np.float32), 5)
    shares = [len({*a.indices.tolist()} & {*b.indices.tolist()}) / 5 for a, b in zip(exact, found, strict=True)]
    assert np.mean(shares) > 0.9


def test_the_form_follows_the_size():
    assert is_exact(1_000_000)
    assert not is_exact(1_000_001)
    assert Form.for_size(1_500_000, 384) == Form(1024, 0)
    assert Form.for_size(5_000_000, 384) == Form(2048, 96)
    assert Form.for_size(5_000_000, 30).parts == 6


def test_a_large_triple_index_has_one(tmp_path, monkeypatch, vectors):
    monkeypatch.setattr(approximate, "EXACT_UP_TO", 100)
    rows = iter(vectors[:500])
    triples = [Triple(f"a{n}", "is", f"b{n}", n) for n in range(500)]

    def encode(texts):
        return np.stack([next(rows) for _ in texts])

    built = TripleIndex.build(triples, encode)
    assert built.near is None
    built.save(tmp_path / "index", corpus_hash="c", encoder_key="k")
    opened = TripleIndex.open(
        tmp_path / "index", lambda texts: vectors[: len(texts)].astype(np.float32), corpus_hash="c", encoder_key="k"
    )
    assert opened.near is not None
    (hits,) = opened.search(["q"], 3)
    assert hits.indices[0] == 0
