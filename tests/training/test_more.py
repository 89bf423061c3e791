"""Training questions of another dataset beside those of the first."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from tests.training.test_pool import Near
from training.data_module import BgrDataModule
from training.reader.data import NEAREST, ReaderDataModule
from training.reader.retrieved import alike
from training.retriever.calibrate import calibrated


@pytest.fixture
def more(tmp_path, toy_data):
    """Three questions of another domain in train, one of them without an answer."""
    facts = tuple(f"Lamp {n} is in tower {n}." for n in range(4))
    one = replace(load_split(toy_data, "train")[0], id="x", facts=facts, question="Where is lamp 1?", answer="tower 1")
    asked = [replace(one, graph=EvidenceGraph([(ROOT, 1)]), program=(), type="query")]
    asked.append(replace(asked[0], id="y", question="How many lamps are there?", answer="4", type="count"))
    asked.append(
        replace(asked[0], id="z", question="Who made lamp 1?", answer="", graph=EvidenceGraph(()), missing="all")
    )
    write_dataset(tmp_path / "more", {"train": asked, "dev": asked, "test": []}, [], {})
    return tmp_path / "more"


def test_its_questions_are_learned_with_their_own_candidates(toy_data, more, tokenizer, make_retriever):
    data = BgrDataModule(str(toy_data), more=str(more), pool=8, candidates=6, unanswerable=True, hasty=0.5)
    data.setup()
    data.tokenize(tokenizer, make_retriever())
    added = [one for one in data.splits["train"] if one.id in data.from_more]
    assert [one.question for one in added] == ["Where is lamp 1?", "How many lamps are there?", "Who made lamp 1?"]
    assert len(data.splits["train"]) == len(load_split(toy_data, "train", unanswerable=True)) + 3
    assert data.splits["dev"] == sorted(data.splits["dev"], key=lambda one: (max(map(len, one.facts)), one.id))
    dev = list(data.splits["dev"])
    assert sum(one.id in data.from_more for one in dev) == 3
    data.setup()
    assert data.splits["dev"] == dev
    assert data.own("dev") == [one for one in dev if not one.id.startswith("more: ")]
    # what is near them is not known
    data.hard, data.sets = 1.0, Near(list(data.facts.number)[:8])
    batch = data._with_pool(added, "seed")
    assert data.sets.fills == []
    assert batch.batch.candidates.shape[0] == 3
    assert len(data.own("train")) == len(data.splits["train"]) - 3


@pytest.mark.workflow
def test_the_settings_of_the_pair_are_chosen_without_them(train, short_data, more, tmp_path, monkeypatch):
    chosen_on = []

    def recorded(forward, backward, examples, *, rule):
        chosen_on.extend([(len(forward), len(backward)), {one.id for one in examples}])
        return calibrated(forward, backward, examples, rule=rule)

    monkeypatch.setattr("training.retriever.train.calibrated", recorded)
    assert train(tmp_path / "run", f"--data.more={more}", epochs=1) == 0
    own = {one.id for one in load_split(short_data, "dev")}
    assert chosen_on == [(len(own), len(own)), own]


def test_a_reader_learns_what_their_text_shows(toy_data, more):
    data = ReaderDataModule(str(toy_data), more=str(more))
    data.setup()
    added = {one.question for one in data.splits["train"] if one.id in data.from_more}
    assert added == {"Where is lamp 1?", "Who made lamp 1?"}  # one fact does not show what four lamps there are
    assert [one.question for one in data.first_asked(1)] == [data.splits["train"][0].question, "Where is lamp 1?"]


def test_a_reader_also_gets_other_facts_about_the_same_thing(toy_data, more):
    data = ReaderDataModule(str(toy_data), more=str(more), noise=0.0, hasty=0.0, withheld=0.0, swapped=1.0)
    data.setup()
    where, who = (one for one in data.splits["train"] if one.id in data.from_more)
    for seed in range(20):
        example, graph, target = data._noised(where, random.Random(seed))
        assert (example.question, target.kind) == (where.question, "none")
        assert len(graph.nodes) == 1
        assert graph.nodes[0] != 1
    who = replace(who, facts=(*who.facts, *(f"Boat {n} lies in port {n}." for n in range(40))))
    wrong = [data._noised(who, random.Random(seed)) for seed in range(40)]
    assert all(target.kind == "none" for *_, target in wrong)
    near = set(alike(who.question, who.facts, range(44))[:NEAREST])
    assert {0, 1, 2, 3} <= near
    assert 10 <= sum(near.issuperset(graph.nodes) for _, graph, _ in wrong) <= 30
    data.swapped = 0.0
    assert data._noised(where, random.Random(0))[1:] == (where.graph, data.target(where, where.graph))
    count = replace(where, type="count")
    assert not data._needs_all(count)


def test_a_folder_that_is_no_dataset_is_told(toy_data, tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        BgrDataModule(str(toy_data), more=str(tmp_path / "nowhere")).setup()
