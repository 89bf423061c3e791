"""Diverse triple beam search against Algorithm 1 in plain loops."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.retrievers.gear.beam import Beams, BeamSettings, beam_search
from bgr.retrievers.gear.scores import EncodedText, MeanVectors, SequenceScores
from eval.bench.reference.plain_beam import PlainBeam, cosine


class TableScores(SequenceScores):
    """Scores that have nothing to do with vectors: eighths from −1 to 2, so that sums are exact and ties are many."""

    def one(self, query: int, sequence: tuple[int, ...]) -> float:
        return ((7 * query + sum(31 * (n + 2) ** (i + 1) for i, n in enumerate(sequence))) % 25 - 8) / 8

    def __call__(self, queries, owner, sequences):
        rows = zip(owner.tolist(), sequences.tolist(), strict=True)
        return np.array([self.one(query, tuple(row)) for query, row in rows], dtype=np.float64)


def pairs(beams: Beams):
    rows = zip(beams.scores.tolist(), beams.triples.tolist(), strict=True)
    return [(score, tuple(row)) for score, row in rows]


@st.composite
def graphs(draw):
    """An index over few entities, some questions, their initial triples, and settings.

    All from one seed: drawn one by one, most graphs would be too small to have many neighbours.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    entities, count = random.integers(2, 12), random.integers(1, 40)
    triples = [
        Triple(f"e{a}", f"r{n}", f"e{b}", n % 5) for n, (a, b) in enumerate(random.integers(entities, size=(count, 2)))
    ]
    small = lambda texts: random.integers(-2, 3, size=(len(texts), 3)).astype(np.float16)  # noqa: E731
    index = TripleIndex.build(triples, small)  # whole numbers, not unit length: similarities are exact, and tie
    starts = [random.integers(count, size=random.integers(0, 12)).tolist() for _ in range(random.integers(1, 5))]
    options = BeamSettings(
        width=int(random.integers(1, 7)),
        length=int(random.integers(1, 5)),
        neighbours=int(random.integers(1, 9)),
        gamma=random.choice([None, 1, 3]),
        diverse=bool(random.integers(2)),
        read=int(random.choice([2, 10_000])),
    )
    return index, small(starts).astype(np.float32), starts, options


@given(graphs())
def test_it_is_algorithm_1(case):
    index, queries, starts, options = case
    table = TableScores(index)
    found = beam_search(index, queries, starts, options, table)
    plain = PlainBeam(index, options)
    for number, start in enumerate(starts):
        wanted = plain(queries[number].tolist(), start, lambda row, n=number: table.one(n, row))
        assert pairs(found[number]) == wanted


@pytest.fixture
def random_index(encode):
    random = np.random.default_rng(5)
    names = [f"name{n} word{n % 7}" for n in range(25)]
    ends = random.integers(0, len(names), size=(120, 2))
    triples = [Triple(names[a], f"rel{n}", names[b], int(a)) for n, (a, b) in enumerate(ends)]  # no two texts alike
    return TripleIndex.build(triples, encode)


@pytest.mark.parametrize("kind", [MeanVectors, EncodedText])
@pytest.mark.parametrize("diverse", [True, False])
def test_with_real_scores_it_is_algorithm_1(random_index, encode, kind, diverse):
    index, options = random_index, BeamSettings(width=4, length=3, neighbours=7, diverse=diverse)
    queries = encode(["name3 word2 rel9", "rel20 word5", "nothing known"])
    starts = [[1, 5, 9, 30, 31, 32], list(range(120)), [7]]

    def encoded(query, sequence):
        return cosine(query, encode([". ".join(index.triples[n].text for n in sequence)])[0].tolist())

    found = beam_search(index, queries, starts, options, kind(index))
    plain = PlainBeam(index, options)
    for query, start, beams in zip(queries.tolist(), starts, found, strict=True):
        wanted = plain(query, start, partial(encoded, query) if kind is EncodedText else None)
        assert [row for _, row in pairs(beams)] == [row for _, row in wanted]
        assert beams.scores == pytest.approx([score for score, _ in wanted], abs=1e-5)


def test_mean_vectors_scores_the_default(random_index, encode):
    queries, starts = encode(["name3 rel9"]), [[1, 5, 9]]
    (default,) = beam_search(random_index, queries, starts)
    (mean,) = beam_search(random_index, queries, starts, score=MeanVectors(random_index))
    assert pairs(default) == pairs(mean)
    assert len(default.scores) == 10


@pytest.fixture
def star(encode):
    """``star(n)``: initial triples 0 and 1; 2, 4, … are neighbours of the first, 3, 5, … of the second."""
    first = [Triple("a", "start", "x", 0), Triple("b", "start", "y", 1)]

    def make(neighbours):
        others = [Triple("ab"[n % 2], f"r{n}", f"end{n}", 2 + n) for n in range(neighbours)]
        return TripleIndex.build([*first, *others], encode)

    return make


class FirstIsBetter(SequenceScores):
    """Every extension of triple 0 scores a little more than any of triple 1."""

    def __call__(self, queries, owner, sequences):
        return np.where(sequences[:, 0] == 0, 0.52, 0.50)


@pytest.mark.parametrize(("diverse", "firsts"), [(True, [0, 1, 0, 1]), (False, [0, 0, 0, 0])])
def test_diversity_keeps_one_beam_from_taking_all(star, encode, diverse, firsts):
    index = star(10)
    options = BeamSettings(width=4, diverse=diverse)
    (beams,) = beam_search(index, encode(["q"]), [[0, 1]], options, FirstIsBetter(index))
    assert beams.triples[:, 0].tolist() == firsts
    weight = np.exp(-1 / 8) if diverse else 1.0
    assert beams.scores[2] == pytest.approx(1.04 * weight)


def test_a_negative_score_rises_with_its_rank_as_in_the_paper(star, encode):
    class Bad(FirstIsBetter):
        def __call__(self, queries, owner, sequences):
            return np.full(len(sequences), -0.5)

    index = star(3)
    (beams,) = beam_search(index, encode(["q"]), [[0]], BeamSettings(width=1), Bad(index))
    assert beams.triples.tolist() == [[0, 4]]
    assert beams.scores == pytest.approx([-1.0 * np.exp(-1 / 2)])


def test_flattening_goes_breadth_first_and_takes_each_once():
    beams = Beams(np.array([[4, 2], [1, 7], [4, 9]]), np.zeros(3))
    assert beams.flat() == [4, 1, 2, 7, 9]


def test_a_question_without_neighbours_keeps_its_initial_triples(encode):
    index = TripleIndex.build([Triple("a", "r", "b", 0), Triple("c", "r", "d", 1), Triple("c", "s", "e", 1)], encode)
    lone, extended, nothing = beam_search(index, encode(["a b", "c d", "x"]), [[0], [1, 0], []])
    assert lone.triples.tolist() == [[0]]
    assert extended.triples.tolist() == [[1, 2]]  # the beam of triple 0 ends here, as in Algorithm 1
    assert nothing.flat() == []


def test_no_questions_and_no_triples(star, encode):
    assert beam_search(star(2), np.zeros((0, 64), dtype=np.float32), []) == []
    empty = TripleIndex.build([], encode)
    for kind in (MeanVectors, EncodedText):
        (found,) = beam_search(empty, encode(["q"]), [[]], score=kind(empty))
        assert found.flat() == []


def test_settings_refuse_what_is_not_positive():
    with pytest.raises(ValueError, match="width is 0; it must be 1 or more"):
        BeamSettings(width=0)
    with pytest.raises(ValueError, match="gamma"):
        BeamSettings(gamma=0.0)
