"""Shortcuts: hints planted in a dataset are found, and without hints nothing but the question tells the gold fact."""

from __future__ import annotations

import json
from itertools import permutations
from random import Random

import pytest
from datasets import load_from_disk

from bgr.cli import main
from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.shortcuts import MIN_SAMPLES, find_shortcuts, rarity
from bgr.data.reasongraphqa.construction.recipe import RECIPES
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import load_metadata, recipe_of, write_dataset
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

WORDS = "amber birch cedar dune elm fern grove heath iris juniper kelp larch moss nettle oak pine".split()


def write(folder, hint, measure=None):
    """Samples with one gold fact among twelve: the fact of which the question repeats a name, marked by `hint`."""
    rng, splits, facts = Random(0), {}, {}
    for split, count in (("train", 120), ("dev", 40), ("test", 60)):
        splits[split] = []
        for number in range(count):
            names = rng.sample(range(900), 12)
            right = rng.randrange(12)
            sentences = []
            for place, name in enumerate(names):
                plain = f"Person{name} likes {rng.choice(WORDS)}."
                sentences.append(hint(plain) if place == right else plain)
            facts.update(dict.fromkeys(sentences))
            splits[split].append(
                Example(
                    id=f"{split}{number}",
                    question=f"What does Person{names[right]} like?",
                    facts=tuple(sentences),
                    graph=EvidenceGraph([(ROOT, right)]),
                    answer=sentences[right].split()[-1].rstrip("."),
                    program=(),
                    type="query",
                )
            )
    units = [{"id": f"F{n}", "sentence": s, "gold": True, "facts": []} for n, s in enumerate(facts)]
    write_dataset(folder, splits, units, {}, measure=measure)
    return folder


@pytest.mark.workflow
def test_only_the_question_tells_which_fact_is_gold(tmp_path):
    found = find_shortcuts(write(tmp_path / "data", lambda plain: plain))
    assert 0.4 < found.blind.auc < 0.6
    assert found.lexical.auc > 0.95
    assert found.lexical.gm > 0.9 > 0.4 > found.blind.gm
    assert (found.rivals, found.filtered) == (None, 0)


def test_without_distractors_there_is_nothing_to_compare(tmp_path):
    def sample(split, number):
        fact = f"Person{number} likes oak."
        graph = EvidenceGraph([(ROOT, 0)])
        return Example(f"{split}{number}", f"What does Person{number} like?", (fact,), graph, "oak", (), "query")

    splits = {split: [sample(split, number) for number in range(MIN_SAMPLES)] for split in SPLITS}
    units = [
        {"id": f"F{number}", "sentence": one.facts[0], "gold": True, "facts": []}
        for number, one in enumerate(splits["train"])
    ]
    write_dataset(tmp_path / "data", splits, units, {})
    with pytest.raises(DataError, match="no question of train has both gold facts and distractors to compare"):
        find_shortcuts(tmp_path / "data")


@pytest.mark.workflow
@pytest.mark.parametrize(
    "hint", [lambda s: s.replace("likes", "is fond of"), lambda s: s.replace(".", " very much indeed.")]
)
def test_a_hint_in_words_or_length_is_found_without_the_question(tmp_path, hint):
    assert find_shortcuts(write(tmp_path / "data", hint)).blind.auc > 0.95


def test_rarity_does_not_depend_on_the_order_of_the_words():
    frequency = {"film": 700, "by": 900, "lind": 3, "1963": 11, "long": 40}
    [found] = {rarity(words, frequency, 1000) for words in permutations([*frequency, "new"])}
    assert found == pytest.approx(20.5057, abs=1e-4)


@pytest.mark.workflow
def test_the_card_and_the_metadata_have_what_was_measured(tmp_path):
    folder = write(tmp_path / "data", lambda plain: plain, lambda work: {"shortcuts": find_shortcuts(work).to_json()})
    found = find_shortcuts(folder)
    assert load_metadata(folder)["shortcuts"] == found.to_json()
    card = (folder / "README.md").read_text()
    assert "## What can be guessed" in card
    assert f"| blind, auc | {found.blind.auc:.4g} |" in card
    assert f"| shares, words, gold | {found.shares['words'][0]:.4g} |" in card


def test_the_command(tmp_path, source, small_encoder, capsys):
    """The recipe with rivals from end to end: built, valid, counted, and measured."""
    out = str(tmp_path / "data")
    build = ["data", "build", "--kqapro", str(source), "--out", out, "--similarity", str(small_encoder)]
    assert main([*build, "--recipe", "rivals", "--candidates", "30", "--unanswerable", "0.2"]) == 0
    assert "other question" in capsys.readouterr().out
    assert main(["data", "verify", out]) == 0
    assert "none entails a gold fact" in capsys.readouterr().out
    assert main(["data", "stats", out, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unanswerable"]["total"] > 5
    assert found["questions"]["total"] + found["unanswerable"]["total"] == 92
    assert sum(found["missing"]["total"].values()) == found["unanswerable"]["total"]
    records = [json.loads(line) for line in (tmp_path / "data" / "train.jsonl").read_text().splitlines()]
    assert {record["answerable"] for record in records} == {True, False}
    assert load_from_disk(f"{out}/arrow")["train"]["answerable"] == [record["answerable"] for record in records]
    assert recipe_of(out) == str(RECIPES["rivals"]) == load_metadata(out)["recipe"]
    assert main(["data", "shortcuts", out]) == 1
    assert "needed: 20 with gold facts" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*build, "--recipe", "rivals", "--hard"])
    assert "for --recipe paper" in capsys.readouterr().err
