"""The BM25 index against the formula written out, and at its edges."""

import math
import re

import numpy as np
import pytest

from bgr.collection.bm25 import Bm25Index

TEXTS = [
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
    assert Bm25Index(TEXTS).scores(query) == pytest.approx(by_hand(TEXTS, query), rel=1e-5)


def test_top_is_sorted_and_ties_go_by_place():
    top = Bm25Index(["a cat", "a dog", "another dog", "cat dog dog"]).top("dog", 4)
    assert [place for place, _ in top][-1] == 0
    assert [score for _, score in top] == sorted((score for _, score in top), reverse=True)
    assert [place for place, _ in Bm25Index(["red", "blue", "green"]).top("yellow", 2)] == [0, 1]


@pytest.mark.parametrize("texts", [[], [""], ["the of"], ["the", "film"]])
def test_nothing_to_match_scores_zero(texts):
    assert np.array_equal(Bm25Index(texts).scores("the of"), np.zeros(len(texts)))
    assert np.array_equal(Bm25Index(texts).scores("unheard"), np.zeros(len(texts)))
    assert len(Bm25Index(texts).top("film", 9)) == len(texts)
