"""Splits and their held-out parts; classes of isomorphic graphs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from random import Random

import networkx as nx
import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import Question, ground, grouped, read_questions
from bgr.data.reasongraphqa.construction.splits import (
    SPLIT_METHODS,
    composition,
    composition_split,
    domain_split,
    entity_split,
    random_split,
    structure_classes,
    structure_split,
    wording_split,
)
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def random_graph(rng: Random, nodes: int) -> EvidenceGraph:
    names = rng.sample(range(20), nodes)
    edges = []
    for place, name in enumerate(names):
        before = [ROOT, *names[:place]]
        edges += [(a, name) for a in rng.sample(before, rng.randint(1, min(2, len(before))))]
    return EvidenceGraph(edges)


@pytest.fixture(scope="module")
def graphs():
    rng = Random(5)
    return [random_graph(rng, rng.choice((1, 1, 2, 2, 2, 3, 3, 4))) for _ in range(400)]


def slow_isomorphic(a: EvidenceGraph, b: EvidenceGraph) -> bool:
    left, right = a.to_networkx(), b.to_networkx()
    for graph in (left, right):
        nx.set_node_attributes(graph, {node: node == ROOT for node in graph}, "root")
    return nx.is_isomorphic(left, right, node_match=lambda x, y: x["root"] == y["root"])


def test_classes_are_those_of_pairwise_comparison(graphs):
    some = graphs[:70]
    classes = structure_classes(some)
    for (i, a), (j, b) in combinations(enumerate(some), 2):
        assert (classes[i] == classes[j]) is slow_isomorphic(a, b)
    assert classes[0] == 0
    assert len(set(classes)) > 8


def test_the_root_is_pinned():
    # graphs that differ only in the position of the root: the fork is at the root or below it
    fork_at_root = EvidenceGraph([(ROOT, 0), (ROOT, 1), (1, 2)])
    fork_below = EvidenceGraph([(ROOT, 0), (0, 1), (0, 2)])
    assert structure_classes([fork_at_root, fork_below, fork_at_root.relabel({0: 7, 1: 3, 2: 5})]) == [0, 1, 0]


def test_random_split_is_eight_one_one():
    split = random_split(1000, seed=1)
    assert Counter(split) == {"train": 800, "dev": 100, "test": 100}
    assert split == random_split(1000, seed=1) != random_split(1000, seed=2)
    assert Counter(random_split(3, seed=0)) == {"train": 3}


def test_structures_are_held_out(graphs):
    split = structure_split(graphs, seed=1)
    classes = structure_classes(graphs)
    of = {name: {c for c, s in zip(classes, split, strict=True) if s == name} for name in ("train", "dev", "test")}
    assert not of["train"] & of["dev"]
    assert not of["train"] & of["test"]
    assert not of["dev"] & of["test"]
    for name in ("dev", "test"):
        assert 0.05 * len(graphs) < split.count(name) <= 0.1 * len(graphs)
    assert split == structure_split(graphs, seed=1)


def test_entities_are_held_out():
    rng = Random(3)
    # one entity in every question, others rare
    entities = [frozenset({"everywhere", *(f"e{rng.randrange(300)}" for _ in range(2))}) for _ in range(500)]
    split = entity_split(entities, seed=1)
    train = {e for group, s in zip(entities, split, strict=True) if s == "train" for e in group}
    for group, name in zip(entities, split, strict=True):
        if name != "train":
            assert group - train, "every held-out question is about an entity that train lacks"
    assert "everywhere" in train
    for name in ("dev", "test"):
        assert 50 <= split.count(name) <= 60
    assert split == entity_split(entities, seed=1)


def check_composition_promise(compositions, split):
    """The guarantees in the docstring of `composition_split`."""
    of = {
        name: [pairs for pairs, s in zip(compositions, split, strict=True) if s == name]
        for name in ("train", "dev", "test")
    }
    seen = {name: {pair for pairs in part for pair in pairs} for name, part in of.items()}
    assert all(pairs - seen["train"] - seen["dev"] for pairs in of["test"])
    assert all(pairs - seen["train"] - seen["test"] for pairs in of["dev"])
    for a, b in combinations(of, 2):
        assert not set(of[a]) & set(of[b]) - {frozenset()}
    known = {predicate for pair in seen["train"] for predicate in pair}
    assert {predicate for name in ("dev", "test") for pair in seen[name] for predicate in pair} <= known
    for name in ("dev", "test"):
        assert len(of[name]) <= 0.1 * len(compositions) + 1e-9


def test_composition_is_the_pairs_of_neighbours():
    graph = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (1, 2), (2, 3)])
    assert composition(graph, ["director", "cast", "release", "score"]) == {
        ("director", "release"),
        ("cast", "release"),
        ("release", "score"),
    }
    assert composition(EvidenceGraph([(ROOT, 0), (ROOT, 1)]), ["a", "b"]) == frozenset()


def random_compositions(rng: Random, count: int, predicates: int) -> list[frozenset[tuple[str, str]]]:
    """Pairs with frequencies as in language: few frequent, many rare; some questions have none."""
    names = [f"r{n}" for n in range(predicates)]
    weights = [1 / (n + 1) for n in range(predicates)]

    def pair() -> tuple[str, str]:
        a, b = rng.choices(names, weights, k=2)
        return a, b

    return [frozenset(pair() for _ in range(rng.choice((0, 1, 1, 2, 3)))) for _ in range(count)]


def test_compositions_are_held_out():
    compositions = random_compositions(Random(2), 600, 15)
    split = composition_split(compositions, seed=1)
    check_composition_promise(compositions, split)
    for name in ("dev", "test"):
        assert 50 <= split.count(name) <= 60
        assert len({c for c, s in zip(compositions, split, strict=True) if s == name}) > 10
    most = Counter(pair for pairs in compositions for pair in pairs).most_common(1)[0][0]
    assert {s for c, s in zip(compositions, split, strict=True) if most in c and len(c) == 1} == {"train"}
    assert {s for c, s in zip(compositions, split, strict=True) if not c} == {"train"}
    assert split == composition_split(compositions, seed=1) != composition_split(compositions, seed=2)


@pytest.mark.parametrize("seed", range(20))
def test_the_guarantees_hold_for_any_compositions(seed):
    rng = Random(seed)
    compositions = random_compositions(rng, rng.randint(0, 120), rng.randint(1, 30))
    check_composition_promise(compositions, composition_split(compositions, seed))


def test_a_predicate_of_a_single_question_stays_in_train():
    once = frozenset({("a", "rare")})
    compositions = [once, *[frozenset({("a", "b")})] * 9, *[frozenset({("b", "a")})] * 10]
    for seed in range(10):
        assert composition_split(compositions, seed)[0] == "train"


def check_wording_promise(phrasings, split):
    """The guarantees in the docstring of `wording_split`."""
    of = {
        name: [group for group, s in zip(phrasings, split, strict=True) if s == name]
        for name in ("train", "dev", "test")
    }
    seen = {name: {phrasing for group in part for phrasing in group} for name, part in of.items()}
    assert all(group - seen["train"] - seen["dev"] for group in of["test"])
    trained = {phrasing.partition(": ")[0] for phrasing in seen["train"]}
    assert {phrasing.partition(": ")[0] for phrasing in seen["test"]} <= trained
    for name in ("dev", "test"):
        assert len(of[name]) <= round(0.1 * len(phrasings))


def random_phrasings(rng: Random, count: int, tables: int) -> list[frozenset[str]]:
    """One to three templates from each of some tables; the first of a table are the most frequent."""

    def template(table: int) -> str:
        return f"table {table}: template {rng.choices(range(9), [1 / (n + 1) for n in range(9)])[0]}"

    chosen = [rng.sample(range(tables), min(tables, rng.choice((0, 1, 2, 3)))) for _ in range(count)]
    return [frozenset(template(table) for table in group) for group in chosen]


def test_wordings_are_held_out():
    phrasings = random_phrasings(Random(2), 2000, 60)
    split = wording_split(phrasings, seed=1)
    check_wording_promise(phrasings, split)
    assert split.count("test") >= 190
    assert split.count("dev") == 200
    kept = {phrasing for group, s in zip(phrasings, split, strict=True) if s != "test" for phrasing in group}
    held_out = {phrasing for group in phrasings for phrasing in group} - kept
    # of many tables, so that the wording is new everywhere and not in one relation
    assert len({phrasing.partition(": ")[0] for phrasing in held_out}) >= 10
    uses = Counter(phrasing for group in phrasings for phrasing in group)
    assert max(uses[phrasing] for phrasing in held_out) <= 20
    assert split == wording_split(phrasings, seed=1) != wording_split(phrasings, seed=2)


@pytest.mark.parametrize("seed", range(20))
def test_the_guarantees_hold_for_any_phrasings(seed):
    rng = Random(seed)
    phrasings = random_phrasings(rng, rng.randint(0, 150), rng.randint(1, 40))
    check_wording_promise(phrasings, wording_split(phrasings, seed))


def test_the_only_phrasing_of_a_table_stays_in_train():
    phrasings = [frozenset({"rare: a"}), *[frozenset({"usual: a"})] * 30, *[frozenset({"usual: b"})] * 3]
    for seed in range(10):
        split = wording_split(phrasings, seed)
        assert split[0] == "train"
        assert split[-3:] == ["test"] * 3


def chain(rng: Random, number: int, kb) -> Question:
    """A question from a person or country to one of its films by an attribute, and to another attribute of the film."""
    n = rng.randrange(2, 24)
    starts = [("country of origin", f"{'NS'[n % 2]}{'or' if n % 2 == 0 else 'u'}dia")]
    starts += [("director", ("Ada Berg", "Bo Lind", "Cai Moreau")[n % 3])]
    starts += [("cast member", ("Dora Funk", "Emil Gray", "Fay Holm", "Gus Ibsen", "Hal Jung")[n % 5])]
    filters = [
        ("FilterYear", "release date", str(1960 + n), "="),
        ("FilterNum", "runtime", f"{80 + n} minute", "="),
        ("FilterStr", "IMDb ID", f"tt{n:04d}"),
    ]
    [(relation, start)] = rng.choices(starts, (12, 4, 0.5))
    [(function, *inputs)] = rng.choices(filters, (12, 4, 0.5))
    [last] = rng.choices([key for _, key, *_ in filters if key != inputs[0]], (12, 1))
    calls = [("Find", start), ("Relate", relation, "backward"), (function, *inputs), ("QueryAttr", last)]
    steps = [
        {"function": name, "dependencies": [place - 1] if place else [], "inputs": list(given)}
        for place, (name, *given) in enumerate(calls)
    ]
    [answer] = Executor(kb).run(Program.from_json(steps)).answer
    record = {"question": f"The {last} of number {number}?", "program": steps, "answer": answer}
    return Question.from_json(record, f"q{number}", f"question {number}")


def test_a_built_dataset_has_held_out_compositions(kb, encoder):
    rng = Random(2)
    questions = [chain(rng, number, kb) for number in range(160)]
    grounded = {question.id: ground(question, Executor(kb)) for question in questions}
    built = build(kb, questions, encoder, Settings(split="composition", seed=3))
    assert not built.dropped
    pairs, split = [], []
    for name, examples in built.splits.items():
        for example in examples:
            found = grounded[example.id]
            pairs.append(composition(found.graph, [fact.predicate for fact in found.facts]))
            split.append(name)
    assert {len(found) for found in pairs} == {2}
    check_composition_promise(pairs, split)
    assert split.count("test") > 0
    assert split.count("dev") > 0


def test_test_is_the_domain_and_dev_a_tenth_of_the_others():
    inside = [number % 5 == 0 for number in range(500)]
    split = domain_split(inside, seed=1)
    assert all((name == "test") is held_out for name, held_out in zip(split, inside, strict=True))
    assert (split.count("dev"), split.count("train")) == (40, 360)
    assert split == domain_split(inside, seed=1) != domain_split(inside, seed=2)


def test_the_domain_is_named_by_concepts(kb, source, encoder):
    questions = read_questions(source).questions
    settings = Settings(split="domain", domain=("country", "chemical element"))
    made = build(kb, questions, encoder, settings)
    programs = {question.id: question.program for question in questions}
    members = {node for name in settings.domain for node in kb.members_of_name(name)}

    def about(example):
        facts = Executor(kb).run(programs[example.id]).facts
        return any(fact.head in members for fact in facts)

    assert made.splits["test"]
    assert all(map(about, made.splits["test"]))
    assert not any(map(about, made.splits["train"] + made.splits["dev"]))
    heads = {unit.sentence: unit.facts[0].head for unit in made.database.units}
    for example in made.splits["train"] + made.splits["dev"]:
        assert not members & {heads[fact] for fact in example.facts}
    everywhere = build(kb, questions, encoder, replace(settings, split="random", domain=()))
    heads = {unit.sentence: unit.facts[0].head for unit in everywhere.database.units}
    assert any(members & {heads[fact] for fact in example.facts} for example in everywhere.splits["train"])
    for wrong in ({"split": "domain"}, {"domain": ("country",)}):
        with pytest.raises(DataError, match="concepts with the split 'domain' only"):
            Settings(**wrong)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("planet", "domain 'planet': no such concept, allowed: agent, chemical element, .*country"),
        ("human", "domain 'human': 0 of 12 questions have a gold fact about a member, allowed: some, not all"),
        ("film", "domain 'film': 12 of 12 questions"),
    ],
)
def test_a_domain_without_a_test_or_a_train_split(domain, message, kb, encoder):
    questions = [chain(Random(2), number, kb) for number in range(12)]
    with pytest.raises(DataError, match=message):
        build(kb, questions, encoder, Settings(split="domain", domain=(domain,)))


def test_a_built_dataset_has_held_out_wordings(kb, encoder):
    rng = Random(2)
    questions = [chain(rng, number, kb) for number in range(160)]
    worded = [replace(question, phrasings=(f"ask: {min(rng.randrange(80), 40)}",)) for question in questions]
    built = build(kb, worded, encoder, Settings(split="wording", seed=3))
    by_id = {question.id: question for question in worded}
    found = [(frozenset(by_id[e.id].phrasings), name) for name, part in built.splits.items() for e in part]
    check_wording_promise(*zip(*found, strict=True))
    assert len(built.splits["dev"]) == 16
    assert 12 <= len(built.splits["test"]) <= 16


def test_a_split_by_wording_needs_phrasings(kb, encoder):
    questions = [chain(Random(2), number, kb) for number in range(12)]
    questions[:3] = [replace(question, phrasings=("ask: a",)) for question in questions[:3]]
    message = "question 3: phrasings is missing or empty, allowed with split 'wording': questions of `bgr atlas`"
    with pytest.raises(DataError, match=message):
        build(kb, questions, encoder, Settings(split="wording"))


def with_paraphrases(questions: list[Question]) -> list[Question]:
    """The questions, and up to three further wordings of each after all of them, in another order."""
    more = [
        replace(one, id=f"{one.id}-p{n}", text=f"{one.text} ({n})", phrasings=(), paraphrase_of=one.id)
        for n in range(3)
        for place, one in enumerate(questions)
        if place % 4 > n
    ]
    Random(1).shuffle(more)
    return [*questions, *more]


def test_groups_are_the_wordings_of_a_question(kb):
    questions = [chain(Random(2), number, kb) for number in range(3)]
    a, _, c = questions
    others = [replace(one, id="x", paraphrase_of=one.id) for one in (c, a, c)]
    assert grouped([*questions, *others]) == [[0, 4], [1], [2, 3, 5]]
    assert grouped([others[0], c]) == [[0, 1]]  # whichever comes first
    assert grouped([]) == []


@pytest.mark.parametrize("method", SPLIT_METHODS)
def test_all_wordings_of_a_question_are_in_one_split(method, kb, encoder):
    rng = Random(2)
    steps = [("Find", [], ["Nordia"]), ("QueryAttr", [0], ["population"])]
    program = [dict(zip(("function", "dependencies", "inputs"), step, strict=True)) for step in steps]
    asked = {"question": "How many live in Nordia?", "program": program, "answer": "5000000"}
    questions = [Question.from_json(asked, f"country{number}", f"item {number}") for number in range(8)]
    questions += [chain(rng, number, kb) for number in range(72)]
    questions = [replace(one, phrasings=(f"ask: {number % 20}",)) for number, one in enumerate(questions)]
    settings = Settings(split=method, seed=3, domain=("country",) if method == "domain" else ())
    alone = build(kb, questions, encoder, settings)
    built = build(kb, with_paraphrases(questions), encoder, settings)
    assert not built.dropped
    split = {one.id: name for name, examples in built.splits.items() for one in examples}
    assert len(split) == 80 + 120
    for id, name in split.items():
        assert split[id.partition("-")[0]] == name
    # the wordings change nothing for the questions themselves
    expected = {one.id: name for name, examples in alone.splits.items() for one in examples}
    assert {id: name for id, name in split.items() if "-" not in id} == expected
    assert set(split.values()) >= ({"test"} if method == "test" else {"train", "test"})


def test_a_limit_counts_questions_not_wordings(kb, encoder):
    rng = Random(2)
    questions = [chain(rng, number, kb) for number in range(40)]
    few = build(kb, questions, encoder, Settings(limit=10, seed=3))
    more = build(kb, with_paraphrases(questions), encoder, Settings(limit=10, seed=3))
    chosen = {one.id for examples in few.splits.values() for one in examples}
    found = [one.id for examples in more.splits.values() for one in examples]
    assert len(chosen) == 10
    assert {id for id in found if "-" not in id} == chosen
    whole = {one.id for one in with_paraphrases(questions) if one.group in chosen}
    assert set(found) == whole > chosen
