"""BM25 in memory and from counts on disk, compared with the formula."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection import word_counts
from bgr.collection.arrays import LiveRows
from bgr.collection.bm25 import Bm25Search, CountedBm25Search
from bgr.collection.word_counts import CountsFolder, count_words, keep_texts, merge, save_counts, split_words
from bgr.errors import DataError

FACTS = [
    "Persona runs for 83 minutes",
    "Persona Persona Sweden",
    "Sweden borders Norway, says Persona",
    "Norway exports fish",
    "",
]


def by_hand(texts: list[str], query: str, k1: float = 1.5, b: float = 0.75) -> list[float]:
    stop = {"for", "the", "in"}
    split = [[w for w in re.findall(r"\w\w+", text.lower()) if w not in stop] for text in texts]
    mean = sum(map(len, split)) / len(split)
    totals = []
    for words in split:
        total = 0.0
        for word in re.findall(r"\w\w+", query.lower()):
            holding = sum(word in other for other in split)
            idf = math.log(1 + (len(split) - holding + 0.5) / (holding + 0.5))
            count = words.count(word)
            total += idf * count / (k1 * (1 - b + b * len(words) / mean) + count)
        totals.append(total)
    return totals


@pytest.mark.parametrize("query", ["Persona Sweden", "norway", "unknown Sweden"])
def test_scores_equal_the_formula(query):
    assert Bm25Search(FACTS).scores(query) == pytest.approx(by_hand(FACTS, query), rel=1e-5)


def test_top_is_sorted_and_ties_go_by_place():
    top = Bm25Search(["a cat", "a dog", "another dog", "cat dog dog"]).top("dog", 4)
    assert [place for place, _ in top][-1] == 0
    assert [score for _, score in top] == sorted((score for _, score in top), reverse=True)
    assert [place for place, _ in Bm25Search(["red", "blue", "green"]).top("yellow", 2)] == [0, 1]


@pytest.mark.parametrize("texts", [[], [""], ["the of"], ["the", "film"]])
def test_nothing_to_match_scores_zero(texts):
    assert np.array_equal(Bm25Search(texts).scores("the of"), np.zeros(len(texts)))
    assert np.array_equal(Bm25Search(texts).scores("unheard"), np.zeros(len(texts)))
    assert len(Bm25Search(texts).top("film", 9)) == len(texts)


WORDS = ["fish", "ship", "Étude", "ετυδε", "the", "sea", "se", "42"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)


def slow(texts):
    """``{word: {text: count}}`` and lengths, by counting."""
    found = {}
    for row, words in enumerate(split_words(texts)):
        for word, count in Counter(words).items():
            found.setdefault(word.encode(), {})[row] = count
    return found, [len(words) for words in split_words(texts)]


def as_dict(counts):
    found = {}
    for word, row, count in zip(counts.word.tolist(), counts.row.tolist(), counts.count.tolist(), strict=True):
        assert found.setdefault(counts.words[word], {}).setdefault(row, count) == count
    return found, counts.lengths.tolist()


@given(st.lists(TEXT, max_size=12), st.data())
def test_counts_are_those_of_a_loop(texts, data):
    counts = count_words(texts)
    assert as_dict(counts) == slow(texts)
    cut = data.draw(st.integers(0, len(texts)))
    parts = merge([count_words(texts[:cut]), count_words(texts[cut:])])
    live = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)
    assert as_dict(parts) == slow(texts)
    assert as_dict(keep_texts(parts, live)) == slow([text for text, kept in zip(texts, live, strict=True) if kept])


def test_blocks_change_nothing(monkeypatch):
    texts = [f"word{n % 7} word{n % 3} and more" for n in range(50)]
    whole = count_words(texts)
    monkeypatch.setattr(word_counts, "BLOCK", 8)
    blocks = count_words(texts)
    assert blocks.words == whole.words
    for part in ("word", "row", "count", "lengths"):
        assert np.array_equal(getattr(blocks, part), getattr(whole, part))


@given(st.lists(st.lists(TEXT, min_size=1, max_size=8), max_size=4), st.data())
def test_scores_are_those_of_a_fresh_index_to_the_bit(tmp_path_factory, parts, data):
    folder = tmp_path_factory.mktemp("counts")
    segments = []
    for number, texts in enumerate(parts):
        (folder / str(number)).mkdir()
        save_counts(folder / str(number), count_words(texts))
        segments.append(CountsFolder(folder / str(number), len(texts)))
        assert as_dict(segments[-1].load()) == slow(texts)
    texts = [text for part in parts for text in part]
    deleted = sorted(data.draw(st.sets(st.sampled_from(range(len(texts)))))) if texts else []
    search = CountedBm25Search(segments, LiveRows(len(texts), np.array(deleted, dtype=np.int64)))
    fresh = Bm25Search([text for row, text in enumerate(texts) if row not in deleted])
    assert len(search) == len(fresh)
    for query in [*WORDS, "sea sea fish", "unheard ship", "", "the"]:
        assert np.array_equal(search.scores(query), fresh.scores(query))
        (hits,) = search.search([query], 3)
        assert list(zip(hits.indices.tolist(), hits.scores.tolist(), strict=True)) == fresh.top(query, 3)


def test_a_part_of_a_part_scores_as_a_fresh_index(tmp_path):
    texts = ["fish sea", "ship sea sea", "fish", "ship fish", "sea ship ship"]
    save_counts(tmp_path, count_words(texts))
    whole = CountedBm25Search([CountsFolder(tmp_path, 5)], LiveRows(5, np.array([0], dtype=np.int64)))
    part = whole.subset(np.array([3, 0, 2])).subset(np.array([2, 0]))
    fresh = Bm25Search([texts[3], texts[4]])
    for query in ("sea ship", "fish", "the"):
        assert np.array_equal(part.scores(query), fresh.scores(query))


FILES = ["words", "word_ends", "starts", "rows", "counts", "lengths"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "other", "short", "pickle"])
def test_damaged_files_are_errors_of_one_line(tmp_path, name, damage):
    save_counts(tmp_path, count_words(["one fish", "two fish"]))
    path = tmp_path / f"{name}.npy"
    raw = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "other":
        np.save(path, np.zeros((2, 2), dtype=np.float16))
    elif damage == "short":
        np.save(path, np.load(path)[:-1])
    elif damage == "pickle":
        np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    else:
        path.write_bytes(raw[:-3] if damage == "cut" else b"")
    with pytest.raises(DataError, match=r"build the collection again") as error:
        CountsFolder(tmp_path, 2)
    assert "\n" not in str(error.value)


def test_rows_that_there_are_not_are_found_when_read(tmp_path):
    save_counts(tmp_path, count_words(["one fish", "two fish"]))
    np.save(tmp_path / "rows.npy", np.array([0, 7, 0, 0], dtype=np.int32)[: len(np.load(tmp_path / "rows.npy"))])
    search = CountedBm25Search([CountsFolder(tmp_path, 2)], LiveRows(2))
    with pytest.raises(DataError, match=r"rows.npy: damaged"):
        search.scores("one two fish")
