"""A dataset over the real Atlas: complete sentences, fair candidates, and too hard for lexical matching."""

from __future__ import annotations

import json
from statistics import fmean

import pytest

from bgr.cli import main
from bgr.collection.bm25 import Bm25Search
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import load_metadata, read_split

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("atlas")
    assert main(["atlas", "--out", str(root / "atlas"), "--questions", "1500"]) == 0
    assert main(["data", "build", "--kqapro", str(root / "atlas"), "--out", str(root / "data"), "--limit", "800"]) == 0
    return root / "atlas", root / "data"


@pytest.fixture(scope="module")
def examples(folders):
    return [example for split in SPLITS for example in read_split(folders[1], split)]


def test_atlas_questions_survive(folders, examples):
    sheet = load_metadata(folders[1])
    assert len(examples) == 800
    assert sum(entry["count"] for entry in sheet["dropped"].values()) <= 0.02 * sheet["tried"]
    assert {example.type for example in examples} == {"query", "comparison", "count", "boolean", "qualifier"}


def test_candidates_differ_and_are_of_the_asked_number(examples):
    for example in examples:
        assert len(set(example.facts)) == len(example.facts)
        assert 15 <= len(example.facts) <= 120


def test_every_sentence_says_its_facts(folders):
    kb = KnowledgeBase.load(folders[0])
    for line in (folders[1] / "facts.jsonl").read_text(encoding="utf-8").splitlines():
        unit = json.loads(line)
        text = unit["sentence"].casefold()
        for fact in unit["facts"]:
            assert kb.name(fact["head"]).casefold() in text, unit
            assert "tail" not in fact or kb.name(fact["tail"]).casefold() in text, unit


def test_matching_words_is_not_enough(examples):
    """BM25 retrieves as many facts as there are gold ones; its set F1 is the share of gold facts among them."""
    scores = []
    for example in filter(lambda one: one.answerable, examples):
        gold = set(example.graph.nodes)
        found = Bm25Search(example.facts).top(example.question, len(gold))
        scores.append(len(gold & {place for place, _ in found}) / len(gold))
    assert 0.1 < fmean(scores) < 0.65


def test_gold_facts_are_not_guessed_without_the_question(folders):
    assert load_metadata(folders[1])["shortcuts"]["blind"]["auc"] < 0.75  # 80 test questions: 0.05 is chance


def test_a_tenth_has_no_answer(examples):
    assert 0.06 < fmean(not example.answerable for example in examples) < 0.14
