"""A dataset of two-hop questions over a textual database with statements."""

from __future__ import annotations

import shutil

import pytest

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.graph_hop.checkpoint import load_retriever
from bgr.utils.checksums import write_sums

COUNTRIES = ("france", "italy", "sweden", "beta")
CAPITALS = ("paris", "rome", "alpha", "gamma")
FILMS = "persona radium bergman delta epsilon zeta eta theta sunset harvest lagoon meridian".split()


def made_in(film):
    """The country of a film."""
    return COUNTRIES[FILMS.index(film) % 4]


def record(number, sentence, head, predicate, *, tail=None, amount=None):
    fact = {"head": head, "name": head, "predicate": predicate}
    if tail is not None:
        fact |= {"tail": tail, "tail_name": tail}
    else:
        fact["value"] = {"type": "quantity", "value": amount, "unit": "1"}
    return {"id": f"F{number}", "sentence": sentence, "gold": False, "facts": [fact]}


def records():
    """Films with their country (in two sentences of one statement) and length, capitals and populations."""
    rows = []
    for n, film in enumerate(FILMS):
        rows.append((f"{film} was made in {made_in(film)} .", film, "made in", {"tail": made_in(film)}))
        rows.append((f"{made_in(film)} has made {film} .", film, "made in", {"tail": made_in(film)}))
        rows.append((f"{film} has {n} people .", film, "length", {"amount": n}))
    for n, (country, capital) in enumerate(zip(COUNTRIES, CAPITALS, strict=True)):
        rows.append((f"{capital} is the capital of {country} .", capital, "capital of", {"tail": country}))
        rows.append((f"the population of {country} has {n} .", country, "population", {"amount": n}))
    return [record(n, sentence, *rest, **end) for n, (sentence, *rest, end) in enumerate(rows)]


def question(film):
    """The capital of a film's country, with two other films among the candidates."""
    country = made_in(film)
    others = [FILMS[(FILMS.index(film) + step) % 12] for step in (1, 2)]
    facts = [f"{other} was made in {made_in(other)} ." for other in others]
    facts += [f"{CAPITALS[COUNTRIES.index(country)]} is the capital of {country} .", f"{film} was made in {country} ."]
    answer = CAPITALS[COUNTRIES.index(country)]
    graph = EvidenceGraph([(ROOT, 3), (3, 2)])
    return Example(
        film, f"what is the capital of the country where {film} was made ?", tuple(facts), graph, answer, (), "query"
    )


@pytest.fixture(scope="session")
def films(build_once):
    """The folder of the dataset, with six questions in test."""

    def make(folder):
        splits = {"train": [], "dev": [], "test": [question(film) for film in FILMS[:6]]}
        write_dataset(folder / "data", splits, records(), {"recipe": "rivals-2"})

    return build_once("films", make) / "data"


@pytest.fixture(scope="session")
def split_films(build_once):
    """The same with four questions in each split."""

    def make(folder):
        parts = {"train": FILMS[:4], "dev": FILMS[4:8], "test": FILMS[8:]}
        splits = {split: [question(film) for film in part] for split, part in parts.items()}
        write_dataset(folder / "data", splits, records(), {"recipe": "rivals-2"})

    return build_once("split-films", make) / "data"


@pytest.fixture(scope="session")
def film_facts(build_once, split_films):
    """A collection of the films' facts."""
    sentences = FactTable.read(split_films).sentences
    return (
        build_once("film-facts", lambda folder: Collection.build(sentences, folder / "facts", encoder=None)) / "facts"
    )


@pytest.fixture
def train_on_pools(split_films, film_facts, pruned_checkpoint, tmp_path):
    """``train_on_pools("pruner", *more)``: the exit code of the command over `film_facts`."""

    def run(part, *more, checkpoint=pruned_checkpoint, out="new"):
        words = ["--checkpoint", checkpoint, "--data", split_films, "--collection", film_facts, "--out", tmp_path / out]
        return main(["train", part, *map(str, words), *more])

    return run


@pytest.fixture
def bare_checkpoint(pruned_checkpoint, tmp_path):
    """`pruned_checkpoint` without its pruners."""
    bare = shutil.copytree(pruned_checkpoint, tmp_path / "bare")
    for direction in ("forward", "backward"):
        model = load_retriever(bare, direction)
        model.pruner, model.config.prune = None, 0
        model.save_pretrained(bare / direction)
    return bare


@pytest.fixture
def damaged_checkpoint(pruned_checkpoint, tmp_path):
    """`pruned_checkpoint` with hashes, and a reader, which is copied, that is not as it was written."""
    damaged = shutil.copytree(pruned_checkpoint, tmp_path / "damaged")
    (damaged / "reader").mkdir()
    (damaged / "reader" / "model.safetensors").write_bytes(b"weights")
    write_sums(damaged)
    (damaged / "reader" / "model.safetensors").write_bytes(b"weighty")
    return damaged


@pytest.fixture
def check_refusals(train_on_pools, bare_checkpoint, damaged_checkpoint, split_films, tmp_path, capsys):
    """``check_refusals("pruner")``: checkpoints that cannot be trained are told in one line, and nothing is written."""

    def check(part):
        cases = (
            (tmp_path / "missing", "missing"),
            (split_films, "bgr.json"),
            (bare_checkpoint, "has no pruner"),
            (damaged_checkpoint, "reader/model.safetensors: is damaged or was changed"),
        )
        for checkpoint, words in cases:
            assert train_on_pools(part, checkpoint=checkpoint) != 0
            error = capsys.readouterr().err.strip().splitlines()[-1]
            assert words in error
            assert not (tmp_path / "new").exists()

    return check
