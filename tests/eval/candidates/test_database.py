"""Questions over a whole database: pools of a search, and scores that are fair to other words."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bgr.cli import main
from bgr.collection.bm25 import Bm25Search
from bgr.collection.collection import Collection
from bgr.collection.search import Hits, Search
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.data.reasongraphqa.io.fact_records import fact_corpus, read_facts
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.reader.reader import ReaderAnswer
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.gear.sync import NaiveGe
from eval.ablations.database import FIRST, NAIVE, DatabaseStudy, FirstFacts, _search, measure
from eval.run.pooled import pooled


@pytest.fixture
def table(films):
    return FactTable.read(films)


@pytest.fixture
def examples(films):
    return load_split(films, "test")


def parts(example):
    """The film's country, the country's capital, and the film's country in other words."""
    capital, country = (example.facts[node] for node in (2, 3))
    return country, capital, f"{country.split()[-2]} has made {example.id} ."


def strangers(table, example, count=5):
    others = [s for s in table.sentences if s not in example.facts and s != parts(example)[2]]
    return others[:count]


def test_the_pool_comes_first_and_what_it_lacks_after_it(table, examples):
    for example in examples:
        country, capital, _ = parts(example)
        found = pooled(example, [*strangers(table, example), country], table)
        assert found.example.facts == (*strangers(table, example), country, capital)
        assert found.example.graph == EvidenceGraph([(ROOT, 5), (5, 6)])
        assert tuple(found.query.candidates) == found.example.facts[:6]
        assert found.found == 0.5
        whole = pooled(example, [country, *strangers(table, example), capital], table)
        assert (whole.found, whole.found_in(6), whole.found_in(7)) == (1.0, 0.5, 1.0)


def test_other_words_of_a_gold_fact_count_as_this(table, examples):
    for example in examples:
        country, capital, other = parts(example)
        found = pooled(example, [other, capital], table)
        assert found.found == 1
        assert found.example.graph == EvidenceGraph([(ROOT, 0), (0, 1)])
        both = pooled(example, [other, capital, country], table)
        gold = both.example.graph
        assert gold == EvidenceGraph([(ROOT, 2), (2, 1)])  # the sentence itself comes first
        for edges in ([(ROOT, 0), (0, 1)], [(ROOT, 2), (2, 1)], [(ROOT, 0), (ROOT, 2), (0, 1), (2, 1)]):
            assert both.judged(RetrievalResult(EvidenceGraph(edges))).graph == gold
        # one follows the other: no step of its own
        assert both.judged(RetrievalResult(EvidenceGraph([(ROOT, 0), (0, 2), (2, 1)]))).graph == gold
        wrong = EvidenceGraph([(ROOT, 1), (1, 0)])
        assert both.judged(RetrievalResult(wrong)).graph == EvidenceGraph([(ROOT, 1), (1, 2)])


def test_a_way_through_a_third_fact_is_not_made_a_cycle(table, examples):
    country, capital, other = parts(examples[0])
    both = pooled(examples[0], [other, capital, country], table)
    round_about = EvidenceGraph([(ROOT, 0), (0, 1), (1, 2)])
    assert len(both.judged(RetrievalResult(round_about)).graph.nodes) == 3


class Given(Search):
    """Finds the same texts for each question."""

    def __init__(self, found):
        self.found = found

    def __len__(self):
        return 1000

    def search_all(self, queries, k):
        return [Hits(np.array(self.found[:k]), np.zeros(len(self.found[:k]), np.float32)) for _ in queries]


class Only(Search):
    """A search that finds something for one question alone."""

    def __init__(self, search, question):
        self.search_of, self.question = search, question

    def __len__(self):
        return len(self.search_of)

    def search_all(self, queries, k):
        nothing = Hits(np.zeros(0, np.int64), np.zeros(0, np.float32))
        return [self.search_of.search([one], k)[0] if one == self.question else nothing for one in queries]


class Chain(Retriever):
    """The first two candidates that share the film's name or its country, one after the other."""

    def retrieve(self, queries):
        found = []
        for query in queries:
            film = query.question.split()[-3]
            first = next((n for n, text in enumerate(query.facts) if film in text and ("made" in text)), None)
            if first is None:
                found.append(RetrievalResult(EvidenceGraph()))
                continue
            land = next(word for word in query.facts[first].split() if word in ("france", "italy", "sweden", "beta"))
            later = [n for n, text in enumerate(query.facts) if f"capital of {land}" in text]
            found.append(RetrievalResult(EvidenceGraph([(ROOT, first), *((first, n) for n in later)])))
        return found


class Capital:
    """Reads the first word of the last fact."""

    def answer(self, items, **_):
        last = [item.facts[item.graph.leaves[-1]].split()[0] if item.graph.nodes else None for item in items]
        return [ReaderAnswer(text, 1.0) for text in last]


def test_systems_over_the_pools_of_searches(table, examples):
    texts = table.sentences
    searches = {"bm25": Bm25Search(texts), "nothing": Given([len(texts) - 1])}
    systems = [("chain", "bm25", Chain()), ("chain", "nothing", Chain())]
    found, lost = measure(searches, systems, texts, examples, table, pool=len(texts), reader=Capital())
    assert [one.id for one in found.scores] == [example.id for example in examples]
    assert all(one.gm and one.gs and one.f1 == one.recall == 1 and one.exact for one in found.scores)
    assert all(one.pool == len(texts) and one.hops == 2 for one in found.scores)
    assert all((one.gm, one.f1, one.recall, one.exact) == (False, 0, 0, False) for one in lost.scores)
    study = DatabaseStudy((found, lost), {})
    [pool, other] = study.pools().frame.values.tolist()
    assert pool[:6] == ["bm25", "all", str(len(examples)), str(len(texts)), "100.0", "100.0"]
    assert other[:2] == ["nothing", "all"]
    assert other[4:9] == ["0.0"] * 5
    [row, _] = study.graphs().frame.values.tolist()
    assert row[:4] == ["chain", "bm25", "all", str(len(examples))]
    assert row[4:8] == ["100.0 [100, 100]"] * 4


def test_a_small_pool_limits_what_can_be_found(table, examples):
    texts = table.sentences
    [row] = measure({"bm25": Bm25Search(texts)}, [("chain", "bm25", Chain())], texts, examples, table, pool=1)
    assert all(one.pool == 1 and not one.gm and one.exact is None for one in row.scores)
    assert 0 < sum(one.recall for one in row.scores) < len(row.scores)


def test_recall_at_k_and_the_first_k(table, examples):
    """The pool holds seven strangers, the capital in eighth place, and the country last: R@5 is 0 and R@20 is 1."""
    example = examples[0]
    country, capital, _ = parts(example)
    texts = [*strangers(table, example, 7), capital, *strangers(table, example, 12)[7:], country]
    systems = [(FIRST, "given", FirstFacts())]
    searches = {"given": Given(list(range(len(texts))))}
    [row] = measure(searches, systems, texts, [example], table, pool=10)
    assert row.scores[0].recall == 0.5
    assert row.scores[0].recall_at == (0, 0.5, 0.5)
    assert row.scores[0].f1 == 0
    first = {"given": Given([7, len(texts) - 1, 0])}
    [row] = measure(first, systems, texts, [example], table, pool=10)
    assert row.scores[0].recall_at == (1, 1, 1)
    assert (row.scores[0].f1, row.scores[0].gm) == (1, False)  # both follow the question


def test_rows_by_hops_and_structure(table, examples):
    texts = table.sentences
    [row] = measure({"bm25": Bm25Search(texts)}, [("chain", "bm25", Chain())], texts, examples[:3], table, pool=9)
    one, two, three = row.scores
    scores = (replace(one, hops=1, structure="SC-SH"), two, replace(three, structure="MC-MH"))
    study = DatabaseStudy((replace(row, scores=scores),), {})
    pools = [cells[1:3] for cells in study.pools().frame.values.tolist()]
    assert pools == [["all", "3"], ["1 hop", "1"], ["2 hops", "2"]]
    parts = [cells[2] for cells in study.graphs().frame.values.tolist()]
    assert parts == ["all", "1 hop", "2 hops", "MC-MH", "SC-MH", "SC-SH"]


def test_a_question_without_any_candidate(table, examples):
    """No retriever is asked, since a checkpoint refuses questions without facts."""

    class Refusing(Chain):
        def retrieve(self, queries):
            assert all(query.facts for query in queries)
            return super().retrieve(queries)

    texts = table.sentences
    searches = {"some": Only(Bm25Search(texts), examples[0].question), "none": Given([])}
    systems = [("chain", name, Refusing()) for name in searches]
    some, none = measure(searches, systems, texts, examples, table, pool=len(texts), reader=Capital())
    assert [one.pool for one in none.scores] == [0] * len(examples)
    assert not any(one.gm or one.f1 or one.recall or one.exact for one in none.scores)
    assert [one.pool > 0 for one in some.scores] == [one.question == examples[0].question for one in examples]
    assert some.scores[0].gm


@pytest.fixture
def ablate(films, pruned_checkpoint, tmp_path):
    """The command over a collection of some texts."""

    def run(texts, *more):
        if not (tmp_path / "texts").exists():
            Collection.build(texts, tmp_path / "texts", encoder=None)
        words = ["--checkpoint", str(pruned_checkpoint), "--data", str(films), "--collection", str(tmp_path / "texts")]
        return main(["ablate", "database", *words, "--out", str(tmp_path / "report"), *more])

    return run


def test_the_command_writes_a_report(ablate, table, tmp_path, capsys):
    options = ["--pool", "9", "--limit", "3", "--systems", "bm25"]
    assert ablate(table.sentences, *options) == 0
    said = capsys.readouterr().out
    rows = json.loads((tmp_path / "report" / "database.json").read_text())["rows"]
    assert [(row["system"], row["search"]) for row in rows] == [
        ("first k", "hops"),
        ("bgr", "hops"),
        ("first k", "bm25"),
        ("bgr", "bm25"),
        ("bm25", "bm25"),
    ]
    assert all(len(row["scores"]) == 3 and all(one["pool"] <= 9 for one in row["scores"]) for row in rows)
    assert "all R" in said
    assert "all R" in (tmp_path / "report" / "database.md").read_text()


def test_naive_ge_follows_the_triples_of_the_facts(films, table, examples, word_encoder):
    """The film's country shares a name with its capital's fact, which shares no word with the question."""
    corpus, triples = fact_corpus(read_facts(films))
    collection = Collection.in_memory(corpus, encoder=word_encoder, triples=triples)
    search = _search(NAIVE, collection, None, 50)
    assert search.retriever.settings.passages == 50
    questions = [example.question for example in examples]
    found = search.search(questions, 3)
    assert len(search) == len(corpus)
    assert [len(hits.indices) for hits in found] == [3] * len(examples)
    assert all((np.diff(hits.scores) <= 0).all() for hits in found)
    whole = NaiveGe.over(collection).retrieve([Query(question) for question in questions])
    assert [tuple(hits.indices) for hits in found] == [one.indices[:3] for one in whole]
    [row] = measure({"naive": search}, [(FIRST, "naive", FirstFacts())], table.sentences, examples, table, pool=50)
    assert all(one.recall == 1 for one in row.scores)


def test_a_collection_without_texts_is_refused(ablate, tmp_path, capsys):
    assert ablate([]) == 1
    assert "texts: the collection has no texts; add some first" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_a_collection_of_other_texts_is_refused(ablate, table, tmp_path, capsys):
    assert ablate([*table.sentences, "Nobody stated this."]) == 1
    assert "not a sentence of" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()
