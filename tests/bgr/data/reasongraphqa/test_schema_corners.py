"""Corner cases of KQA Pro's documented form, in files written by hand, from reading to evidence graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import Dropped, Grounded, Questions, ground, read_questions

KB = """{
 "concepts": {
  "Q5": {"name": "human", "instanceOf": ["Q215627"]},
  "Q215627": {"name": "person", "subclassOf": []},
  "Q11424": {"name": "film", "instanceOf": []},
  "Q130232": {"name": "drama   film", "subclassOf": ["Q11424", "Q999999"]}
 },
 "entities": {
  "Q25191": {"name": "Christopher  Nolan", "instanceOf": ["Q5"],
   "attributes": [
    {"key": "date of birth", "value": {"type": "date", "value": "1970-07-30"}, "qualifiers": {}},
    {"key": "height", "value": {"type": "quantity", "value": 1.81, "unit": "metre"}, "qualifiers": {}},
    {"key": "ISNI", "value": {"type": "string", "value": "0000 0001 2147 7700"}, "qualifiers": {}}
   ],
   "relations": [
    {"predicate": "director", "object": "Q25188", "direction": "backward", "qualifiers": {}},
    {"relation": "occupation", "object": "Q215627", "direction": "forward", "qualifiers": {}}
   ]},
  "Q25188": {"name": "Inception", "instanceOf": ["Q130232"],
   "attributes": [
    {"key": "publication date", "value": {"type": "date", "value": "2010/07/16"},
     "qualifiers": {"place of publication": [{"type": "string", "value": "Canada"},
                                             {"type": "string", "value": "United States of America"}]}},
    {"key": "duration", "value": {"type": "quantity", "value": 148, "unit": "minute"}, "qualifiers": {}},
    {"key": "cost", "value": {"type": "quantity", "value": 160000000, "unit": "United States dollar"}},
    {"key": "number of seasons", "value": {"type": "quantity", "value": 1, "unit": "1"}, "qualifiers": {}}
   ],
   "relations": [
    {"relation": "director", "object": "Q25191", "direction": "forward", "qualifiers": {}},
    {"predicate": "cast member", "object": "Q38111", "direction": "forward",
     "qualifiers": {"character role": [{"type": "string", "value": "Cobb"}],
                    "point in time": [{"type": "year", "value": 2010}, {"type": "date", "value": "2009-06-19"}]}}
   ]},
  "Q38111": {"name": "Leonardo DiCaprio", "instanceOf": ["Q5"],
   "attributes": [{"key": "date of birth", "value": {"type": "year", "value": 1974}, "qualifiers": {}}],
   "relations": [{"predicate": "cast member", "object": "Q25188", "direction": "backward",
     "qualifiers": {"character role": [{"type": "string", "value": "Cobb"}],
                    "point in time": [{"type": "date", "value": "2009/6/19"}, {"type": "year", "value": "2010"}]}}]},
  "Q1001": {"name": "Inception", "instanceOf": ["Q11424"],
   "attributes": [{"key": "publication date", "value": {"type": "year", "value": 1984}, "qualifiers": {}}],
   "relations": []}
 }
}"""


def step(function: str, *inputs: str, on: tuple[int, ...] = (), name: str = "function") -> dict[str, Any]:
    return {name: function, "dependencies": list(on), "inputs": list(inputs)}


PROGRAMS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "a concept as a relation's object": (
        "person",
        [step("Find", "Christopher Nolan"), step("Relate", "occupation", "forward", on=(0,)), step("What", on=(1,))],
    ),
    "from a concept back to who has it": (
        "Christopher Nolan",
        [step("Find", "person"), step("Relate", "occupation", "backward", on=(0,)), step("QueryName", on=(1,))],
    ),
    "a date among years": (
        "Christopher Nolan",
        [
            step("FindAll"),
            step("FilterYear", "date of birth", "1972", "<", on=(0,)),
            step("FilterConcept", "human", on=(1,)),
            step("What", on=(2,)),
        ],
    ),
    "a year among dates": ("1974", [step("Find", "Leonardo DiCaprio"), step("QueryAttr", "date of birth", on=(0,))]),
    "a date in slashes": (
        "2010-07-16",
        [
            step("Find", "Inception"),
            step("FilterConcept", "drama film", on=(0,)),
            step("QueryAttr", "publication date", on=(1,)),
        ],
    ),
    "a unit": ("1.81 metre", [step("Find", "Christopher Nolan"), step("QueryAttr", "height", on=(0,))]),
    "no unit": ("1", [step("Find", "Inception"), step("QueryAttr", "number of seasons", on=(0,))]),
    "a large number": (
        "160000000 United States dollar",
        [step("Find", "Inception"), step("QueryAttr", "cost", on=(0,))],
    ),
    "one of a qualifier's values": (
        "2010-07-16",
        [
            step("Find", "Inception"),
            step(
                "QueryAttrUnderCondition",
                "publication date",
                "place of publication",
                "United States of America",
                on=(0,),
            ),
        ],
    ),
    "a qualifier that is a date and a year": (
        "Leonardo DiCaprio",
        [
            step("Find", "Inception"),
            step("Relate", "cast member", "forward", on=(0,)),
            step("QFilterYear", "point in time", "2009", "=", on=(1,)),
            step("What", on=(2,)),
        ],
    ),
    "the other spelling of a function": (
        "148 minute",
        [step("Find", "Inception", name="functions"), step("QueryAttr", "duration", on=(0,), name="functions")],
    ),
}


def write(folder: Path) -> Path:
    """All files of a download; the test set has neither programs nor answers."""
    folder.mkdir()
    (folder / "kb.json").write_text(KB)
    questions = [
        {"question": f"{title}?", "program": steps, "sparql": "SELECT", "choices": [answer] * 10, "answer": answer}
        for title, (answer, steps) in PROGRAMS.items()
    ]
    ambiguous = [step("Find", "Inception"), step("QueryAttr", "publication date", on=(0,))]
    questions.append({"question": "ambiguous?", "program": ambiguous, "answer": "2010-07-16", "choices": []})
    (folder / "train.json").write_text(json.dumps(questions))
    (folder / "test.json").write_text(json.dumps([{"question": "open?", "choices": ["x"] * 10}]))
    return folder


@pytest.fixture(scope="module")
def corners(tmp_path_factory) -> tuple[KnowledgeBase, Questions]:
    folder = write(tmp_path_factory.mktemp("corners") / "kqapro")
    return KnowledgeBase.load(folder), read_questions(folder)


def grounded(corners: tuple[KnowledgeBase, Questions], title: str) -> Grounded | Dropped:
    kb, source = corners
    return ground(next(q for q in source.questions if q.text == f"{title}?"), Executor(kb))


@pytest.mark.parametrize("title", PROGRAMS)
def test_answered_with_evidence(corners, title):
    found = grounded(corners, title)
    assert isinstance(found, Grounded), found
    assert found.question.answer == PROGRAMS[title][0]
    assert found.facts


def test_names_values_and_the_two_ends(corners):
    kb, source = corners
    assert kb.name("Q25191") == "Christopher Nolan"
    assert kb.name("Q130232") == "drama film"
    assert kb.concepts_of("Q130232") == ("Q11424",)  # Q999999 is not in the file
    assert set(kb.members("Q215627")) == {"Q5", "Q25191", "Q38111"}
    assert kb.ids("Inception") == ("Q25188", "Q1001")
    # one statement, though its ends use different spellings and orders of a qualifier's values
    (here,) = [s for s, _ in kb.relations("Q25188") if s.predicate == "director"]
    assert [s for s, _ in kb.relations("Q25191") if s.predicate == "director"] == [here]
    assert source.without_program == 1


def test_an_ambiguous_name_without_a_single_answer_is_dropped(corners):
    found = grounded(corners, "ambiguous")
    assert isinstance(found, Dropped)
    assert found.reason == "several answers"
    assert "2010-07-16, 1984" in found.detail


def test_a_dataset_of_them(corners, encoder):
    kb, source = corners
    built = build(kb, source.questions, encoder, Settings())
    kept = [example for examples in built.splits.values() for example in examples]
    assert {example.question for example in kept} == {f"{title}?" for title in PROGRAMS}
    assert {reason: entry["count"] for reason, entry in built.drop_report().items()} == {"several answers": 1}
    sentences = [unit.sentence for unit in built.database.units]
    assert any("1.81 metres" in sentence or "1.81 metre" in sentence for sentence in sentences)
    assert any("person" in sentence and "Christopher Nolan" in sentence for sentence in sentences)
