"""A search over some of the texts equals a search that is built over them alone, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection import search as search_module
from bgr.collection.bm25 import Bm25Search
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, HybridSearch, Search
from bgr.collection.vectors import DenseSearch, VectorRows

WORDS = ["persona", "sweden", "norway", "border", "fish", "minutes", "of"]
TEXTS = [
    " ".join(np.random.default_rng(seed).choice(WORDS, np.random.default_rng(seed).integers(0, 7)))
    for seed in range(40)
]
QUERIES = ["sweden border", "fish fish of norway", "zebra", "", "persona minutes"]
SUBSETS = [None, [3], [], [0, 5, 6, 7, 11, 30], [0, 5, 6, 7, 11, 30], list(range(40)), [30, 2, 11]]


class ByLength(Search):
    """A search that does not override `subset`; most scores are equal."""

    def __len__(self):
        return len(TEXTS)

    def search_all(self, queries, k):
        scores = np.array([[-abs(len(text) - len(query)) // 9 for text in TEXTS] for query in queries], np.float32)
        return [search_module.best(row, k) for row in scores]


class ByLengthOf(ByLength):
    def __init__(self, texts):
        self.texts = texts

    def __len__(self):
        return len(self.texts)

    def search_all(self, queries, k):
        scores = [[-abs(len(text) - len(query)) // 9 for text in self.texts] for query in queries]
        return [search_module.best(np.array(row, np.float32), k) for row in scores]


def fresh(kind, texts, encoder):
    """A search built over the texts of a subset alone: the slow twin."""
    words = Bm25Search(texts)
    if kind == "by length":
        return ByLengthOf(texts)
    if kind == "bm25":
        return words
    dense = DenseSearch(encoder, VectorRows([encoder(texts)]))
    return dense if kind == "dense" else HybridSearch([words, dense], depth=7)


def whole(kind, encoder, folder):
    """The same searches over all texts, in memory and in a folder of three segments with deleted passages."""
    if kind == "by length":
        return [ByLength()]
    texts = [Passage(f"p{number}", "", text) for number, text in enumerate(TEXTS)]
    gone = Passage("gone", "", "sweden sweden"), Passage("lost", "", "zebra")
    index = Collection.build(Corpus([*texts[:9], gone[0]]), folder, encoder=encoder, key="k")
    index.add([*texts[9:12], gone[1], *texts[12:20]])
    index.add(texts[20:])
    index.delete(["gone", "lost"])
    memory = fresh(kind, TEXTS, encoder)
    disk = {"bm25": index.bm25, "dense": index.dense, "hybrid": HybridSearch([index.bm25, index.dense], depth=7)}
    return [memory, disk[kind]]


@pytest.mark.parametrize("kind", ["bm25", "dense", "hybrid", "by length"])
def test_equal_to_a_search_over_the_part(kind, encoder, tmp_path):
    asked = [(query, None if subset is None else np.array(subset, np.int64)) for subset in SUBSETS for query in QUERIES]
    asked = [asked[number] for number in np.random.default_rng(0).permutation(len(asked))]
    for search in whole(kind, encoder, tmp_path / "index"):
        for k in (0, 1, 4, 50):
            found = search.search([query for query, _ in asked], k, [subset for _, subset in asked])
            for (query, subset), hits in zip(asked, found, strict=True):
                if subset is None:
                    expected = search.search([query], k)[0]
                else:
                    local = fresh(kind, [TEXTS[index] for index in subset], encoder).search([query], k)[0]
                    expected = Hits(subset[local.indices], local.scores)
                assert hits.indices.tolist() == expected.indices.tolist()
                assert hits.indices.dtype == np.int64
                assert hits.scores.tolist() == expected.scores.tolist()


@given(st.lists(st.integers(0, 39), unique=True, max_size=12), st.lists(st.sampled_from(WORDS), max_size=4))
def test_bm25_over_any_part(subset, words):
    indices, query = np.array(subset, dtype=np.int64), " ".join(words)
    search, local = Bm25Search(TEXTS), Bm25Search([TEXTS[index] for index in subset]).search([query], 5)[0]
    hits = search.search([query], 5, [indices])[0]
    assert hits.indices.tolist() == indices[local.indices].tolist()
    assert hits.scores.tolist() == local.scores.tolist()


def test_equal_parts_share_a_search_and_keep_it(encoder, monkeypatch):
    search, made = DenseSearch.of_texts(TEXTS, encoder), []
    monkeypatch.setattr(DenseSearch, "subset", lambda self, indices: made.append(indices) or Bm25Search(TEXTS[:3]))
    parts = [np.array([1, 2, 3]), np.array([4, 5, 6])]
    search.search(["a", "b", "c"], 2, [parts[0], parts[1], parts[0].copy()])
    search.search(["a", "b"], 2, [parts[1].copy(), parts[0]])
    assert [one.tolist() for one in made] == [[1, 2, 3], [4, 5, 6]]
    monkeypatch.setattr(search_module, "MAX_SUBSET_TEXTS", 3)
    search.search(["a", "a"], 2, [np.array([7, 8, 9]), parts[0]])  # one is left, the last
    assert [one.tolist() for one in made[2:]] == [[7, 8, 9], [1, 2, 3]]


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ([], "within has 0 items for 1 queries"),
        ([np.array([40])], "indices outside 0 to 39"),
        ([np.array([-1])], "indices outside 0 to 39"),
        ([np.array([3, 3])], "an index twice"),
        ([np.array([[1, 2]])], r"shape \(1, 2\)"),
    ],
)
def test_a_part_that_is_not_valid_is_refused(within, message):
    with pytest.raises(ValueError, match=message):
        Bm25Search(TEXTS).search(["sweden"], 3, within)
