"""A small knowledge base in KQA Pro's form with every part of its schema, and questions of all types about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program

CONCEPTS = {"K0": ("thing", []), "K1": ("place", ["K0"]), "K2": ("city", ["K1"]), "K3": ("country", ["K1"])} | {
    "K4": ("person", ["K0"]),
    "K5": ("work", ["K0"]),
    "K6": ("film", ["K5"]),
    "K7": ("genre", ["K0"]),
    "K8": ("sea drama", ["K7"]),
}
PEOPLE = ["Ada Berg", "Bo Lind", "Cai Moreau", "Dora Funk", "Emil Gray", "Fay Holm"]
COUNTRIES = [("Nordia", "Norhaven", 250_000), ("Sudia", "Portsud", 1_400_000), ("Estia", "Estburg", 90_000)]
FILMS = 10
VICTIM = "F3"
"""The damaged entity; questions that do not depend on it must not change."""


def make_records() -> dict[str, Any]:
    """Both spellings, dates and years under one key, units, ambiguous names, qualifiers of several values, a concept
    as a relation's object."""
    entities: dict[str, Any] = {}
    for n, name in enumerate(PEOPLE):
        entities[f"P{n}"] = _entity(name, "K4")
    for n, (country, city, people) in enumerate(COUNTRIES):
        entities[f"C{n}"] = _entity(country, "K3")
        entities[f"T{n}"] = _entity(city, "K2", _attribute("population", people, stated_in=["Census"]))
        _relate(entities, f"C{n}", "capital", f"T{n}", "relation")
    for n in range(FILMS):
        film = f"F{n}"
        date = (
            ("year", 1960 + n) if n % 3 == 0 else ("date", f"{1960 + n}{'-/'[n % 2]}0{1 + n % 9}{'-/'[n % 2]}1{n % 9}")
        )
        entities[film] = _entity(
            "Hamlet" if n < 2 else f"The {n}th  Winter",
            "K6",
            {"key": "release date", "value": {"type": date[0], "value": date[1]}, "qualifiers": {}},
            _attribute("runtime", 80 + n, unit="minute"),
            _attribute("budget", 2.5 + n, unit="euro" if n % 4 else "dollar"),
            _attribute("review score", 50 + n, unit="percent", review_score_by=["Tomato", "Meter"]),
            _attribute("catalogue code", f"xk-{n:03d}", stated_in=["Index"], applies_to_part=["reel"]),
        )
        spelling = ("relation", "predicate")[n % 2]
        _relate(entities, film, "director", f"P{n % 3}", spelling)
        _relate(entities, film, "cast member", f"P{3 + n % 3}", spelling, character_role=[f"Captain {n}"])
        _relate(entities, film, "country of origin", f"C{n % 3}", spelling)
        _relate(entities, film, "genre", "K8", spelling)
    concepts = {
        i: {"name": name, ("instanceOf", "subclassOf")[n % 2]: above}
        for n, (i, (name, above)) in enumerate(CONCEPTS.items())
    }
    return {"concepts": concepts, "entities": entities}


def _entity(name: str, concept: str, *attributes: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "instanceOf": [concept], "attributes": list(attributes), "relations": []}


def _attribute(key: str, value: Any, *, unit: str = "1", **qualifiers: list[str]) -> dict[str, Any]:
    record = {"type": "string", "value": value} if isinstance(value, str) else None
    record = record or {"type": "quantity", "value": value, "unit": unit}
    return {"key": key, "value": record, "qualifiers": _qualifiers(qualifiers)}


def _qualifiers(named: dict[str, list[str]]) -> dict[str, Any]:
    return {key.replace("_", " "): [{"type": "string", "value": v} for v in values] for key, values in named.items()}


def _relate(
    entities: dict[str, Any], head: str, predicate: str, tail: str, spelling: str, **qualifiers: list[str]
) -> None:
    row = {spelling: predicate, "qualifiers": _qualifiers(qualifiers)}
    entities[head]["relations"].append({**row, "object": tail, "direction": "forward"})
    if tail in entities:
        entities[tail]["relations"].append({**row, "object": head, "direction": "backward"})


def make_questions(records: dict[str, Any]) -> list[dict[str, Any]]:
    """About forty questions with their programs' answers."""
    executor = Executor(KnowledgeBase(records))
    found = []
    for n, (text, steps) in enumerate(_questions()):
        program = _program(steps)
        answer = executor.answer(Program.from_json(program, text))
        answers = [answer] if isinstance(answer, str) else list(dict.fromkeys(answer))
        assert len(answers) == 1, (text, answers)
        choices = [answers[0], *(f"other {k}" for k in range(9))]
        found.append({"question": text, "program": program, "sparql": "", "choices": choices, "answer": answers[0]})
        program[-1]["inputs"] = list(program[-1]["inputs"])
        if n % 5 == 0 and program[-1]["function"] == "What":
            program[-1]["function"] = "QueryName"
    return found


def _questions() -> list[tuple[str, list[str]]]:
    found = [
        ("Which of the two has more people, Norhaven or Portsud?",
         ["Find Norhaven", "Find Portsud", "SelectBetween 0 1|population|greater"]),
        ("Which city has the fewest people?", ["FindAll", "FilterConcept 0|city", "SelectAmong 1|population|smallest"]),
        ("How many works did Bo Lind lead?", ["Find Bo Lind", "Relate 0|director|backward", "Count 1"]),
        ("How many works did Ada Berg or Cai Moreau lead?",
         ["Find Ada Berg", "Relate 0|director|backward", "Find Cai Moreau", "Relate 2|director|backward", "Or 1 3",
          "Count 4"]),
        ("What sort of story is The 5th Winter?", ["Find The 5th Winter", "Relate 0|genre|forward", "What 1"]),
        ("Which work has the code xk-008?", ["FindAll", "FilterStr 0|catalogue code|xk-008", "What 1"]),
        ("Which Hamlet came out in 1961?", ["Find Hamlet", "FilterDate 0|release date|1961-02-11|=",
         "QueryAttr 1|runtime"]),
    ]  # fmt: skip
    for n in range(2, FILMS):
        name, find = f"The {n}th Winter", f"Find The {n}th Winter"
        found += [
            (f"How long is {name}?", [find, "QueryAttr 0|runtime"]),
            (f"Where does the government of the land of {name} sit?",
             [find, "Relate 0|country of origin|forward", "Relate 1|capital|forward", "What 2"]),
            (f"Did {name} cost more than seven?", [find, "QueryAttr 0|budget",
             f"VerifyNum 1|7 {'euro' if n % 4 else 'dollar'}|>"]),
            (f"Who is played in {name}?", [find, f"Find {PEOPLE[3 + n % 3]}",
             "QueryRelationQualifier 0 1|cast member|character role"]),
            (f"What did the Tomato give to the work of {1960 + n} led by {PEOPLE[n % 3]}?",
             [f"Find {PEOPLE[n % 3]}", "Relate 0|director|backward", f"FilterYear 1|release date|{1960 + n}|=",
              "QueryAttrUnderCondition 2|review score|review score by|Tomato"]),
        ]  # fmt: skip
    return found


def _program(steps: list[str]) -> list[dict[str, Any]]:
    """Parse ``"Function[ dependency…][|input…]"``; for Find the rest of the line is the name."""
    records = []
    for step in steps:
        call, *inputs = step.split("|")
        function, *rest = call.split(" ")
        if function == "Find":
            rest, inputs = [], [" ".join(rest)]
        records.append({"function": function, "dependencies": [int(d) for d in rest], "inputs": inputs})
    return records


def write_source(folder: Path) -> Path:
    """Write a folder in the form of KQA Pro's download."""
    records = make_records()
    questions = make_questions(records)
    folder.mkdir(parents=True)
    files = {
        "kb.json": records,
        "train.json": questions[:38],
        "val.json": questions[38:],
        "test.json": [{"question": "What is missing?", "choices": ["x"] * 10}] * 2,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder
