"""The pool that the pruner chooses from in training."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from transformers import AutoTokenizer

from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.checkpoint import Settings
from training.data_module import BgrDataModule
from training.search.own_pools import own_pools
from training.search.pools import FEW, among_few


@pytest.fixture
def module(toy_data, encoder_folder, make_retriever):
    def make(**settings):
        data = BgrDataModule(str(toy_data), batch_size=4, **settings)
        data.setup()
        data.tokenize(AutoTokenizer.from_pretrained(encoder_folder), make_retriever())
        return data

    return make


class Near:
    """In place of a textual database: the same facts are near to every question."""

    def __init__(self, facts):
        self.facts, self.fills = facts, []

    def additions(self, example, fill, count):
        self.fills.append(fill)
        return [fact for fact in self.facts if fact not in example.facts][: count - len(example.facts)]


def pools(data, batch):
    texts = list(data.facts.number)
    facts = [texts[number] for number in sorted(range(len(texts)))]
    ids = [data.facts.take([number]).ids.tolist() for number in range(len(facts))]
    rows = batch.batch.facts.ids.split(batch.batch.facts.lengths.tolist())
    names = [facts[ids.index(row.tolist())] for row in rows]
    return [[names[number] for number in row if number >= 0] for row in batch.batch.candidates.tolist()]


def test_a_pool_begins_with_the_questions_own_facts_and_has_no_fact_twice(module):
    data = module(pool=8, candidates=6)
    examples = data.splits["train"][:4]
    batch = data._with_pool(examples, "seed")
    assert 2 <= batch.most <= 6
    for example, pool in zip(examples, pools(data, batch), strict=True):
        assert pool[: len(example.facts)] == list(example.facts)
        assert len(pool) == len(set(pool)) <= 8
    again = data._with_pool(examples, "seed")
    assert (again.most, again.batch.candidates.tolist()) == (batch.most, batch.batch.candidates.tolist())


def test_a_share_of_the_questions_has_few_candidates_of_its_own(module):
    data = module(pool=8, few=0.5)
    examples = [one for one in data.splits["train"] if one.answerable][:12]
    examples = [
        replace(one, facts=(*one.facts, *(f for f in data.facts.number if f not in one.facts))) for one in examples
    ]
    sizes = Counter()
    for seed in range(8):
        batch = data._with_pool(examples, f"seed {seed}")
        for before, asked, pool in zip(examples, batch.examples, pools(data, batch), strict=True):
            gold = [asked.facts[node] for node in asked.graph.nodes]
            assert gold == [before.facts[node] for node in before.graph.nodes]
            if len(asked.facts) < len(before.facts):
                assert pool == list(asked.facts)
                sizes[len(pool) - len(gold)] += 1
    assert set(sizes) == set(range(FEW + 1))
    assert 30 <= sizes.total() <= 66
    # without an answer there is at least one candidate
    none = replace(examples[0], graph=EvidenceGraph(()), missing="all")
    found = [among_few(none, random.Random(seed)).facts for seed in range(40)]
    assert {len(facts) for facts in found} == set(range(1, FEW + 1))


def test_hard_facts_fill_the_pools_of_questions_with_an_answer(module):
    data = module(pool=7)
    data.hard, data.sets = 1.0, Near(random.Random(0).sample(list(data.facts.number), 8))
    examples = data.splits["train"][:12]
    for example, pool in zip(examples, pools(data, data._with_pool(examples, "seed")), strict=True):
        assert pool[5:] == data.sets.additions(example, "", 7)
    assert {"bm25", "rivals"} <= set(data.sets.fills)


def test_facts_about_the_same_things_follow_the_candidates(module):
    data = module(pool=9)
    examples = [example for example in data.splits["train"] if example.answerable][:12]
    others = list(data.facts.number)
    data.beside = 0.5
    data.same_things = {one.id: [text for text in others if text not in one.facts][:2] for one in examples}
    several = [pools(data, data._with_pool(examples, f"seed {number}")) for number in range(6)]
    first = [
        pool[len(example.facts) :][:2] == data.same_things[example.id]
        for found in several
        for example, pool in zip(examples, found, strict=True)
    ]
    assert 0.3 < sum(first) / len(first) < 0.8
    assert all(len(pool) == len(set(pool)) <= 9 for found in several for pool in found)


def test_what_a_search_found_replaces_the_candidates_of_most_questions(module):
    data = module(pool=7, candidates=6)
    strangers = random.Random(0).sample(list(data.facts.number), 8)
    examples = [example for example in data.splits["train"] if example.answerable][:24]
    data.own_pools = {example.id: [text for text in strangers if text not in gold(example)] for example in examples}
    batch = data._with_pool(examples, "seed")
    searched = 0
    for example, asked, pool in zip(examples, batch.examples, pools(data, batch), strict=True):
        found = data.own_pools[example.id]
        assert gold(asked) == gold(example)
        if len(asked.facts) == len(gold(example)):  # the gold facts, then the first that were found
            searched += 1
            assert pool == [*asked.facts, *found][: max(batch.most, len(asked.facts))]
        else:
            assert pool[: len(example.facts)] == list(example.facts)
    assert 0.5 < searched / len(examples) < 1


def gold(example):
    return [example.facts[node] for node in example.graph.nodes]


def test_own_pools_are_searched_once(make_retriever, tokenizer, toy_data, tmp_path, monkeypatch):
    for direction in ("forward", "backward"):
        make_retriever(direction, frozen_layers=1, prune=4).save_pretrained(tmp_path / "run" / direction)
    tokenizer.save_pretrained(tmp_path / "run")
    Settings().save(tmp_path / "run")
    examples = load_split(toy_data, "train")
    texts = list(dict.fromkeys(fact for example in examples for fact in example.facts))
    Collection.build(texts, tmp_path / "texts", encoder=None)
    places = tmp_path / "run", tmp_path / "texts", examples
    found = own_pools(*places, 3, tmp_path / "cache")
    assert found.keys() == {example.id for example in examples}
    assert all(0 < len(pool) <= 3 and set(pool) <= set(texts) for pool in found.values())
    monkeypatch.setattr(BgrPipeline, "from_pretrained", None)
    assert own_pools(*places, 3, tmp_path / "cache") == found
    with pytest.raises(TypeError):
        own_pools(*places, 4, tmp_path / "cache")


def test_collection_searcher_and_number_go_together():
    with pytest.raises(ValueError, match="go together"):
        BgrDataModule("data", pool=8, searched=5)
    with pytest.raises(ValueError, match="searched needs a pool"):
        BgrDataModule("data", candidates=4, searched=5, searcher="a", collection="b")
    with pytest.raises(ValueError, match="searched needs candidates"):
        BgrDataModule("data", pool=8, searched=5, searcher="a", collection="b")


def test_hard_facts_need_statements_and_a_pool(module):
    with pytest.raises(ValueError, match="hard needs a pool"):
        module(hard=0.5)
    with pytest.raises(ValueError, match="beside needs a pool"):
        module(beside=0.5)
    with pytest.raises(DataError, match="has no facts"):
        module(hard=0.5, pool=8)


def test_withheld_facts_are_in_no_pool_of_their_question(module):
    data = module(pool=8, withheld=1.0)
    find = {"function": "Find", "dependencies": [], "inputs": ["Paris"]}
    examples = [replace(example, program=(find,)) for example in data.splits["train"] if example.answerable][:8]
    batch = data._with_pool(examples, "seed")
    assert not any(batch.answerable)
    for example, lacking, pool in zip(examples, batch.examples, pools(data, batch), strict=True):
        (gone,) = set(example.facts) - set(lacking.facts)
        assert example.facts.index(gone) in example.graph.nodes
        assert gone not in pool


def test_questions_with_a_foreign_word_have_no_evidence(tokenizer, make_retriever, toy_data):
    data = BgrDataModule(str(toy_data), pool=8, foreign=0.5)
    data.setup()
    data.tokenize(tokenizer, make_retriever())
    asked = [one for one in data.splits["train"] if data.foreign_questions.get(one.question)]
    assert asked
    batch = data.training_batch(asked * 8, "epoch 1", range(8 * len(asked)))
    for example, found in zip(asked * 8, batch.examples, strict=True):
        assert found.answerable is (found.question == example.question)
    assert len(set(batch.answerable)) == 2
    with pytest.raises(ValueError, match="foreign needs a pool"):
        BgrDataModule(str(toy_data), foreign=0.5)


def test_some_questions_have_another_spelling(tokenizer, make_retriever, toy_data):
    data = BgrDataModule(str(toy_data), hasty=0.5)
    data.setup()
    data.tokenize(tokenizer, make_retriever())
    train = data.splits["train"]
    asked = [one.question for one in data.training_batch(train, "epoch 1", range(len(train))).examples]
    [other] = data.spellings[train[0].question]
    assert other != train[0].question
    assert set(asked) == {train[0].question, other}
    assert asked != [one.question for one in data.training_batch(train, "epoch 2", range(len(train))).examples]
    assert [one.question for one in data.collate(train).examples] == [one.question for one in train]
