"""Programs worded anew, over the small knowledge base of `conftest.py`."""

import pytest

from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.sampler.read_draft import Rewording
from bgr.data.atlas.sampler.sampler import MAX_WORDS
from bgr.data.kb.program import Program


@pytest.fixture(scope="module")
def words(kb):
    return Rewording(kb)


@pytest.fixture(scope="module")
def phrasings(questions):
    return {used for record in questions for used in record["phrasings"]}


def test_a_phrasing_that_is_not_allowed_is_not_used(words, questions, phrasings):
    changed = 0
    for record in questions[:60]:
        program, other = Program.from_json(record["program"]), record["phrasings"][-1]
        found = words.question(program, phrasings - {other})
        if found is None:  # its table has no other phrasing, or no draft has the program
            continue
        assert other not in words.phrasing.phrasings
        assert set(words.phrasing.phrasings) <= phrasings
        assert len(found.split()) <= MAX_WORDS
        changed += found != record["question"]
    assert changed > 30


def test_a_question_does_not_depend_on_those_before_it(words, kb, questions, phrasings):
    programs = [Program.from_json(record["program"]) for record in questions[:12]]
    first = [words.question(one, phrasings) for one in programs]
    assert [words.question(one, phrasings) for one in reversed(programs)] == first[::-1]
    assert [Rewording(kb).question(one, phrasings) for one in programs] == first
    assert [Rewording(kb, seed=1).question(one, phrasings) for one in programs] != first
    assert [words.question(one, phrasings, "q2") for one in programs] != first


def test_what_cannot_be_worded(words, questions, phrasings, monkeypatch):
    program = Program.from_json(questions[0]["program"])
    assert words.question(program, set()) is None
    everything = {"function": "FindAll", "dependencies": [], "inputs": []}
    none_of_atlas = Program.from_json([everything, {"function": "Count", "dependencies": [0], "inputs": []}])
    assert words.question(none_of_atlas, phrasings) is None

    def no_words(self, draft):
        raise KeyError("chief executive officer")

    monkeypatch.setattr(Phrasing, "question", no_words)
    assert words.question(program, phrasings) is None
