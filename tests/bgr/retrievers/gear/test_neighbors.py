"""Which neighbours of a triple are tried."""

import numpy as np
import pytest

from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.retrievers.gear.beam import neighbor_pairs, ranges, ranks
from bgr.retrievers.gear.scores import CHUNK, products, take_rows


def of(index, last, queries=None, owner=None, *, max_kept=100, read=10_000):
    last = np.array(last)
    queries = np.zeros((1, index.vectors.shape[1]), dtype=np.float32) if queries is None else queries
    owner = np.zeros(len(last), dtype=np.int64) if owner is None else np.array(owner)
    beam, triple = neighbor_pairs(index, last, owner, queries, max_kept=max_kept, read=read)
    return [triple[beam == n].tolist() for n in range(len(last))]


def test_neighbours_share_the_head_or_the_tail(index):
    assert of(index, [1, 5, 2]) == [[0, 2, 3], [], [1, 3, 4]]


def test_a_triple_that_leads_to_itself(encode):
    index = TripleIndex.build([Triple("a", "is", "a", 0), Triple("b", "of", "a", 0)], encode)
    assert of(index, [0, 1, 0]) == [[1], [0], [1]]


@pytest.fixture
def hub(encode):
    """Triples 1 to 300 share an entity with triple 0; each names a word of its own, three of them "gold"."""
    words = ["gold" if n in (7, 90, 300) else f"w{n}" for n in range(1, 301)]
    return TripleIndex.build([Triple("hub", "r", w, 0) for w in ["start", *words]], encode)


def test_the_hundred_most_similar_to_the_question_are_kept(hub, encode):
    queries = encode(["gold", "w33 w44"])
    gold, other = of(hub, [0, 0], queries, [0, 1])
    assert len(gold) == len(other) == 100
    assert {7, 90, 300} <= set(gold)
    assert {33, 44} <= set(other)
    similar = hub.vectors @ queries[0]
    assert set(gold) == set(sorted(range(1, 301), key=lambda n: -similar[n])[:100])
    assert gold == sorted(gold)


def test_of_a_common_entity_only_the_first_triples_are_read(hub, encode):
    (found,) = of(hub, [0], encode(["gold"]), max_kept=3, read=91)
    assert len(found) == 3
    assert {7, 90} <= set(found) <= set(range(1, 91))


def test_ranges():
    numbers, row = ranges(np.array([5, 0, 9]), np.array([2, 0, 3]))
    assert numbers.tolist() == [5, 6, 9, 10, 11]
    assert row.tolist() == [0, 0, 2, 2, 2]


def test_ranks_of_each_owner():
    owner, scores = np.array([1, 0, 1, 1, 0]), np.array([0.5, 0.1, 0.9, 0.5, 0.2])
    assert ranks(owner, scores).tolist() == [1, 1, 0, 2, 0]


def test_rows_of_a_memory_mapped_half_precision_matrix(tmp_path):
    half = np.arange(12, dtype=np.float16).reshape(4, 3)
    np.save(tmp_path / "v.npy", half)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    rows = take_rows(mapped, np.array([3, 0, 3]))
    assert rows.dtype == np.float32
    assert rows.tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert take_rows(mapped, np.zeros(0, dtype=np.int64)).shape == (0, 3)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("count", [0, 1, CHUNK, 2 * CHUNK + 5])
def test_products_are_those_of_the_rows(kind, count):
    random = np.random.default_rng(1)
    vectors, query = random.normal(size=(50, 8)).astype(kind), random.normal(size=8).astype(np.float32)
    numbers = random.integers(0, 50, size=count)
    wanted = [float(vectors[n].astype(np.float64) @ query) for n in numbers]
    assert products(vectors, numbers, query) == pytest.approx(wanted, abs=1e-5)
