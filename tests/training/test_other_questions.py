"""Questions about what the data never state."""

import random

import pytest

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.questions.unanswerable import INDIRECT, KINDS, _patterns, other_question
from training.reader.data import ReaderDataModule
from training.reader.targets import NOTHING

NAMES = {"P": "Persona", "B": "Ingmar Bergman"}
DIRECTED = Fact("P", "director", tail="B")


def directed(film, person):
    return {"head": film, "name": film, "predicate": "director", "tail": person, "tail_name": person}


def test_every_pattern_has_a_place_for_a_name_and_every_kind_patterns():
    kinds = {kind for pair in KINDS.values() for kind in pair if kind}
    assert kinds == _patterns().keys()
    assert INDIRECT.keys() <= KINDS.keys()
    for patterns in _patterns().values():
        assert len(set(patterns)) == len(patterns) >= 20
        assert all(one.count("{}") == 1 and one.endswith("?") for one in patterns)
        assert all("{" not in one.replace("{}", "") for one in patterns)


def test_they_are_about_the_head_or_the_tail_by_what_it_is():
    found = {other_question([DIRECTED], NAMES, random.Random(seed)) for seed in range(3_000)}
    film = {one.format("Persona") for one in _patterns()["film"]}
    person = {
        one.format(name) for one in _patterns()["person"] for name in ("Ingmar Bergman", "the director of Persona")
    }
    assert found == film | person


def test_the_same_seed_draws_the_same_and_what_is_not_known_has_none():
    assert other_question([DIRECTED], NAMES, random.Random(3)) == other_question([DIRECTED], NAMES, random.Random(3))
    assert other_question([Fact("P", "unheard of", tail="B")], NAMES, random.Random(0)) is None
    assert other_question([DIRECTED], {}, random.Random(0)) is None
    assert other_question([], NAMES, random.Random(0)) is None
    assert "Persona" in other_question([DIRECTED], {"P": "Persona"}, random.Random(0))


def test_predicates_are_those_of_atlas():
    book = phrasebook()
    assert KINDS.keys() <= {*book.relations, *book.attributes}


@pytest.mark.parametrize("name", ["{0}", "{} {x}", "A {B}"])
def test_braces_in_a_name_are_letters(name):
    found = other_question([Fact("P", "runtime")], {"P": name}, random.Random(0))
    assert name in found


def test_a_reader_is_asked_them_about_a_fact_and_there_is_no_answer(tmp_path, tokenizer, make_retriever):
    facts = "Bergman directed Persona .", "Scott directed Alien ."
    records = [
        {"id": f"F{n}", "sentence": text, "gold": True, "facts": [fact]}
        for n, (text, fact) in enumerate(zip(facts, map(directed, "PA", "BS"), strict=True))
    ]
    asked = Example("e", "Who directed Persona ?", facts, EvidenceGraph([(ROOT, 0)]), "Bergman", (), "query")
    write_dataset(tmp_path / "data", {"train": [asked], "dev": [asked], "test": []}, records, {})
    data = ReaderDataModule(str(tmp_path / "data"), other=0.5, hasty=0.0, withheld=0.0, swapped=0.0)
    data.setup()
    data.others = data._other_questions(data.table)
    data.tokenize(tokenizer, make_retriever())
    other = data.others["e"]
    assert other.fact == 0
    batch = data.training_batch([asked] * 40, "epoch 1", range(40))
    others = [example.question == other.question for example in batch.examples]
    assert 10 < sum(others) < 30
    assert [target is NOTHING for target in batch.targets] == others
    with pytest.raises(ValueError, match="other"):
        ReaderDataModule(str(tmp_path), other=1.5)
