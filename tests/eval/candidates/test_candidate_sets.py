"""Questions with any number of candidates: gold stays, what is added is fair, and the seed alone decides."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

from bgr.collection.bm25 import Bm25Search
from bgr.data.reasongraphqa.candidate_sets import FILLS, CandidateSets, _descending
from bgr.data.reasongraphqa.checks.verify import find_entailments
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError


@pytest.fixture
def sets(films):
    return CandidateSets.read(films)


@pytest.fixture
def examples(films):
    return load_split(films, "test")


def resized(sets, example, count, fill="random"):
    return sets.resized(example, count, sets.additions(example, fill, count))


def sentences(example):
    """The edges of the gold graph, by sentence."""
    facts = (*example.facts, "Q")
    return {(facts[a], facts[b]) for a, b in example.graph.edges}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 20])
def test_as_many_candidates_as_wanted_with_the_gold_graph(sets, examples, fill, count):
    for example in examples:
        found = resized(sets, example, count, fill)
        assert len(found.facts) == len(set(found.facts)) == max(2, count)
        assert sentences(found) == sentences(example)
        own = set(example.facts)
        assert set(found.facts) <= own if count <= 4 else set(found.facts) > own
        assert find_entailments([found], sets.table).total == 0


@pytest.mark.parametrize("fill", FILLS)
def test_another_sentence_of_a_gold_statement_is_never_added(sets, examples, fill):
    """Each film's country is stated twice; the database has 44 sentences, and a question four of its own."""
    for example in examples:
        restated = next(s for s in sets.sentences if s.endswith(f"has made {example.id} ."))
        added = sets.additions(example, fill, 1000)
        assert restated not in added
        assert len(added) == len(set(added)) == 44 - 4 - 1


def test_smaller_sets_are_parts_of_larger_ones(sets, examples):
    for fill in FILLS:
        sizes = [set(resized(sets, examples[0], count, fill).facts) for count in (1, 3, 4, 9, 20)]
        assert all(one < other for one, other in pairwise(sizes))


def test_the_seed_decides(films, sets, examples):
    again, other = CandidateSets.read(films), CandidateSets.read(films, seed=1)
    for fill in ("random", "rivals"):
        first = [resized(sets, example, 12, fill) for example in examples]
        assert first == [resized(again, example, 12, fill) for example in reversed(examples)][::-1]
        assert first != [resized(other, example, 12, fill) for example in examples]
    assert sets.additions(examples[0], "bm25", 12) == other.additions(examples[0], "bm25", 12)


def test_bm25_adds_the_best_first(sets, examples):
    search = Bm25Search(sets.sentences)
    for example in examples:
        scores = dict(zip(sets.sentences, search.scores(example.question).tolist(), strict=True))
        found = [scores[sentence] for sentence in sets.additions(example, "bm25", 30)]
        assert found == sorted(found, reverse=True)


def distance(sets, example, sentence):
    """By a plain loop: 0 to 2 beside the gold facts, 3 to 5 beside a candidate, else 6."""
    [fact] = sets.table.units_of(sentence)[0].facts
    for start, numbers in ((0, example.graph.nodes), (3, range(len(example.facts)))):
        near = [sets.table.units(example, number)[0].facts[0] for number in numbers]
        entity = any({fact.head, fact.tail} - {None} & {one.head, one.tail} for one in near)
        predicate = any(fact.predicate == one.predicate for one in near)
        if entity or predicate:
            return start + (0 if entity and predicate else 1 if entity else 2)
    return 6


def test_rivals_come_by_nearness(sets, examples):
    seen = set()
    for example in examples:
        found = [distance(sets, example, sentence) for sentence in sets.additions(example, "rivals", 1000)]
        assert found == sorted(found)
        seen |= set(found)
    assert seen >= {0, 1, 2, 4, 6}


def test_databases_that_cannot_be_used(films, tmp_path, examples):
    bare = shutil.copytree(films, tmp_path / "bare")
    (bare / "facts.jsonl").write_text('{"id": "F0", "sentence": "a ."}\n')
    with pytest.raises(DataError, match=r"bare: the facts have no statements"):
        CandidateSets.read(bare)
    (bare / "facts.jsonl").unlink()
    with pytest.raises(DataError, match=r"facts\.jsonl: no such file"):
        CandidateSets.read(bare)
    lines = (films / "facts.jsonl").read_text().splitlines()
    (bare / "facts.jsonl").write_text("\n".join(line for line in lines if "radium was" not in line))
    with pytest.raises(DataError, match="is not in the textual database"):
        CandidateSets.read(bare).additions(examples[0], "rivals", 10)


@pytest.mark.parametrize("first", [1, 3, 10, 50])
def test_the_order_by_score_is_that_of_a_stable_sort(first):
    scores = np.random.default_rng(first).integers(0, 4, 10).astype(np.float32)
    assert list(_descending(scores, first)) == np.argsort(-scores, kind="stable").tolist()
