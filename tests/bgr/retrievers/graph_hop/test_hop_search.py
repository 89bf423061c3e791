"""Candidates of a question, hop by hop, in comparison with a plain search."""

import numpy as np
import pytest
import torch

from bgr.collection.collection import Collection
from bgr.collection.word_counts import split_words
from bgr.models.batching import Sentences
from bgr.models.pool_ranker import PoolGraph, PoolRanker, RankerConfig
from bgr.retrievers.graph_hop import hop_search
from bgr.retrievers.graph_hop.hop_search import HopSearch, HopSettings

TEXTS = [
    "Persona was made by Ingmar Bergman .",
    "Ingmar Bergman was in Uppsala .",
    "Uppsala lies in Sweden .",
    "Theta is a city in Sweden .",
    "The city Theta has 3 people .",
    "Radium was discovered in Paris .",
    "Paris lies in France , as Uppsala lies in Sweden .",
    "Made is a film , and Persona is a film .",
    "it has people , as Persona has",
]
QUESTIONS = [
    "Who made Persona ?",
    "In which country was the one who made Persona discovered ?",
    "who made persona",
    "WHO MADE PERSONA",
    "Which city lies in Sweden ?",
    "How long is the reign of Persona in Uppsala ?",
    "How many people has Theta ?",
    "Qwertz ?",
]
SMALL = HopSettings(seeds=2, of_question=2, of_word=2, of_candidate=2, leaders=2, newest=1, few=1, hops=2, common=3)


@pytest.fixture(scope="module")
def collection():
    return Collection.in_memory(TEXTS, encoder=None)


@pytest.fixture(scope="module")
def models(make_retriever):
    return [make_retriever(direction, seed=seed, prune=4) for direction, seed in (("forward", 0), ("backward", 1))]


@pytest.fixture
def search(collection, models, tokenizer):
    def make(settings=SMALL, models=models, over=collection, ranker=None):
        index = over.hop_index(tokenizer, max_tokens=16)
        return HopSearch(over.bm25, index, models, tokenizer, settings, ranker=ranker)

    return make


@pytest.fixture(scope="module")
def a_ranker():
    torch.manual_seed(0)
    return PoolRanker(RankerConfig()).eval()


def plain_search(collection, models, tokenizer, question, settings, ranker=None):
    """The same for one question, in plain Python: texts and scores, best first."""
    near = collection.bm25.scores(question).tolist()
    mentions = collection.hop_index(tokenizer, max_tokens=16).mentions

    def nearest(texts, most):
        return sorted(texts, key=lambda text: (-near[text], text))[:most]

    def of_question(name):
        among, most = mentions.of_name(name).tolist(), settings.of_question
        topic = [text for text in among if mentions.of_text(text)[0] == name] if len(among) > most else []
        return list(dict.fromkeys([*nearest(topic, settings.of_topic), *nearest(among, most)]))[:most]

    def scored(pool):
        asked = Sentences([question], tokenizer, max_tokens=models[0].config.question_tokens).take([0])
        facts = Sentences([TEXTS[text] for text in pool], tokenizer, max_tokens=16)
        rows = facts.take([facts.number[TEXTS[text]] for text in pool])
        with torch.inference_mode():
            logits = [model.prune(asked, rows, torch.arange(len(pool))[None])[-1][0] for model in models]
            logits = sum(logits) / len(models)
            values = (logits if ranker is None else ranker(graph(pool, logits))).tolist()
        return sorted(zip(pool, values, strict=True), key=lambda pair: (-pair[1], pair[0]))

    def graph(pool, logits):
        links = [(place, name) for place, text in enumerate(pool) for name in mentions.of_text(text).tolist()]
        found = sorted({name for _, name in links})
        text = torch.tensor([place for place, _ in links], dtype=torch.long)
        name = torch.tensor([found.index(name) for _, name in links], dtype=torch.long)
        spread = torch.tensor([len(mentions.of_name(name)) for name in found])
        marks = torch.tensor([name in names for name in found], dtype=torch.bool)
        return PoolGraph.of(logits, torch.tensor([near[one] for one in pool]), text, name, marks, spread)

    capitals = any(c.isupper() for c in question[1:]) and question != question.upper()
    names = mentions.finder.find(question, strict=capitals)
    pool = [text for text in nearest(range(len(TEXTS)), settings.seeds) if near[text] > 0]
    for name in names:
        pool += of_question(name)
    for word in () if capitals else split_words([question])[0]:
        having = [number for number, text in enumerate(TEXTS) if word in split_words([text])[0]]
        pool += nearest(having, settings.of_word) if len(having) <= settings.common else []
    pool, seen = list(dict.fromkeys(pool)), set(names)
    if not pool:
        return []
    rare = [of_question(name) for name in names if len(mentions.of_name(name)) <= settings.few]
    direct, last = [text for texts in rare for text in texts], []
    for _ in range(settings.hops):
        found = [text for text, _ in scored(pool)]
        newest = [text for text in found if text in last][: settings.newest]
        before = list(pool)
        for text in dict.fromkeys([*found[: settings.leaders], *direct, *newest]):
            for name in mentions.of_text(text).tolist():
                if name not in seen and len(mentions.of_name(name)) <= settings.common:
                    pool += nearest(mentions.of_name(name).tolist(), settings.of_candidate)
                seen |= {name} if len(mentions.of_name(name)) <= settings.common else set()
        pool = list(dict.fromkeys(pool))
        direct, last = [], pool[len(before) :]
    return scored(pool)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("settings", [SMALL, HopSettings(), HopSettings(seeds=1, of_question=1, leaders=1, hops=3)])
@pytest.mark.parametrize("ranked", [False, True])
def test_it_equals_a_plain_search(
    search, collection, models, tokenizer, a_ranker, batch, settings, ranked, monkeypatch
):
    monkeypatch.setattr(hop_search, "BATCH", batch)
    ranker = a_ranker if ranked else None
    hits = search(settings, ranker=ranker).search(QUESTIONS, 100)
    for question, found in zip(QUESTIONS, hits, strict=True):
        wanted = plain_search(collection, models, tokenizer, question, settings, ranker)
        assert found.indices.tolist() == [text for text, _ in wanted]
        np.testing.assert_allclose(found.scores, [score for _, score in wanted], atol=1e-5)


def test_the_best_come_first_and_no_more_than_asked(search):
    [all_of_them] = search().search(QUESTIONS[:1], 100)
    [two] = search().search(QUESTIONS[:1], 2)
    assert two.indices.tolist() == all_of_them.indices[:2].tolist()
    assert (np.diff(all_of_them.scores) <= 0).all()
    assert two.indices.dtype == np.int64
    assert two.scores.dtype == np.float32


def test_names_lead_where_no_word_does(search):
    """The city of the director: neither text shares a word with the question."""
    [found] = search(HopSettings(seeds=2, of_question=2)).search(["Who made Persona ?"], 100)
    assert {1, 2} <= set(found.indices.tolist())
    [near] = search(HopSettings(seeds=2, of_question=2, hops=0)).search(["Who made Persona ?"], 100)
    assert 2 not in near.indices


def test_of_a_name_with_many_texts_those_that_mention_it_first_are_found_too(collection, models, tokenizer):
    texts = [*(f"Town{n} Hall is in Sweden ." for n in range(6)), "Sweden is governed from Stockholm ."]
    over = Collection.in_memory(texts, encoder=None)
    index = over.hop_index(tokenizer, max_tokens=16)
    pools = [
        HopSearch(
            over.bm25, index, models, tokenizer, HopSettings(seeds=0, of_question=3, of_topic=topic, hops=0)
        ).search(["What is in the very middle of Sweden ?"], 100)[0]
        for topic in (0, 1)
    ]
    assert [6 in pool.indices for pool in pools] == [False, True]
    assert [len(pool.indices) for pool in pools] == [3, 3]


def test_a_question_in_lower_case_finds_its_names(search):
    nothing = HopSettings(seeds=0, hops=0)
    found = [set(one.indices.tolist()) for one in search(nothing).search(["is Persona it ?", "is persona it ?"], 100)]
    assert found[0] == found[1] == {0, 7, 8}


def test_a_name_that_has_no_capital_is_found_by_its_word(search):
    """Radium is no name: one text has it."""
    nothing = HopSettings(seeds=0, hops=0)
    questions = ["Who discovered radium ?", "Who discovered radium in Paris ?"]
    small, capital = (set(one.indices.tolist()) for one in search(nothing).search(questions, 100))
    assert 5 in small
    assert capital == {5, 6}  # by Paris
    [none] = search(HopSettings(seeds=0, hops=0, common=0)).search(questions[:1], 100)
    assert not len(none.indices)


def test_each_word_of_a_long_question_is_looked_up_once(search, monkeypatch):
    made, looked, scored = search(HopSettings()), [], []
    scores = type(made.words).scores
    monkeypatch.setattr(
        made, "_with_word", lambda word, near: looked.append(word) or HopSearch._with_word(made, word, near)
    )
    monkeypatch.setattr(made.words, "scores", lambda text: scored.append(text) or scores(made.words, text))
    short = "who made persona in sweden and who made radium"
    [wanted] = made.search([short], 100)
    assert looked == ["who", "made", "persona", "sweden", "radium"]
    [found] = made.search([" ".join([short] * 2_000)], 100)
    assert set(found.indices.tolist()) == set(wanted.indices.tolist())
    assert looked[5:] == looked[:5]
    looked.clear()
    scored.clear()
    made.search([" ".join(f"word{number}" for number in range(10_000))], 100)
    assert looked == [f"word{number}" for number in range(hop_search.MAX_WORDS)]
    assert max(map(len, scored)) <= hop_search.MAX_SEARCHED


def test_only_the_first_names_of_a_long_question_are_followed(search, monkeypatch):
    made = search(HopSettings(seeds=0, hops=0))
    monkeypatch.setattr(hop_search, "MAX_WORDS", 1)
    *_, pool = made.stages("Is Theta in Uppsala, or Persona?")
    assert [made.mentions.finder.names[name] for name in pool.asked] == ["theta"]


def test_nothing_fits(search, tokenizer, models):
    assert [len(one.indices) for one in search().search(["Qwertz ?", "", "of the"], 10)] == [0, 0, 0]
    empty = Collection.in_memory([], encoder=None)
    assert [len(one.indices) for one in search(over=empty).search(["Who ?"], 10)] == [0]
    assert search().search([], 10) == []


def test_a_part_of_a_collection_in_a_folder(search, tmp_path):
    whole = Collection.build(["Nothing .", *TEXTS, "Persona ."], tmp_path / "films", encoder=None)
    whole.delete([whole.corpus[0].id])
    part = whole.subset(list(range(len(TEXTS)))[::-1]).subset(list(range(len(TEXTS)))[::-1])
    for found, wanted in zip(search(over=part).search(QUESTIONS, 50), search().search(QUESTIONS, 50), strict=True):
        assert found.indices.tolist() == wanted.indices.tolist()


def test_models_and_texts_must_fit(search, make_retriever, collection, models, tokenizer):
    with pytest.raises(ValueError, match="needs models with a pruner"):
        search(models=[make_retriever("forward")])
    other = Collection.in_memory(TEXTS[:1], encoder=None).hop_index(tokenizer, max_tokens=16)
    with pytest.raises(ValueError, match="BM25 over 9 texts, and an index of 1"):
        HopSearch(collection.bm25, other, models, tokenizer)
