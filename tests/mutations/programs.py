"""Cases for one question: invalid programs, and other damage to a record of train.json."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from .campaign import Case
from .cases import edited

QUESTION = 12
"""Index of the damaged item of train.json."""

Step = tuple[str, list[Any], list[Any]]
FIND: Step = ("Find", [], ["The 4th Winter"])
ALL: Step = ("FindAll", [], [])
FILMS: list[Step] = [ALL, ("FilterConcept", [0], ["film"])]
COUNT: Step = ("Count", [1], [])
WHAT: Step = ("What", [0], [])


def _date(*verify: Any) -> list[Step]:
    return [FIND, ("QueryAttr", [0], ["release date"]), verify]


def _budget(*inputs: str) -> list[Step]:
    return [FIND, ("QueryAttr", [0], ["budget"]), ("VerifyNum", [1], list(inputs))]


def _there_and_back(steps: int) -> list[Step]:
    return [("Relate", [n], ["director", ("forward", "backward")[n % 2]]) for n in range(steps)]


PROGRAMS: dict[str, list[Step]] = {
    "no step": [],
    "an unknown function": [FIND, ("Seek", [0], [])],
    "a function of 100,000 letters": [FIND, ("What" * 25_000, [0], [])],
    "a function in other letters": [FIND, ("what", [0], [])],
    "depends on itself": [FIND, ("What", [1], [])],
    "depends on a later step": [("What", [1], []), FIND],
    "depends on a step before the first": [FIND, ("What", [-1], [])],
    "depends on a step far away": [FIND, ("What", [10**30], [])],
    "depends on a fraction": [FIND, ("What", [0.0], [])],
    "depends on nothing": [FIND, ("What", [], [])],
    "depends on too much": [FIND, ("What", [0, 0], [])],
    "too many inputs": [FIND, ("What", [0], ["x"])],
    "too few inputs": [FIND, ("QueryAttr", [0], [])],
    "a number as input": [FIND, ("QueryAttr", [0], [5])],
    "half a surrogate pair": [("Find", [], ["\ud83c"]), WHAT],
    "ends in entities": [FIND],
    "takes an answer for entities": [FIND, WHAT, ("What", [1], [])],
    "an unknown entity": [("Find", [], ["Nobody"]), WHAT],
    "an entity without a name": [("Find", [], [""]), WHAT],
    "an unknown concept": [ALL, ("FilterConcept", [0], ["ship"]), COUNT],
    "an entity as a concept": [ALL, ("FilterConcept", [0], ["Nordia"]), COUNT],
    "an unknown relation": [FIND, ("Relate", [0], ["directed", "forward"]), ("What", [1], [])],
    "an unknown direction": [FIND, ("Relate", [0], ["director", "up"]), ("What", [1], [])],
    "an unknown key": [FIND, ("QueryAttr", [0], ["length"])],
    "an unknown qualifier": [FIND, ("QueryAttrQualifier", [0], ["runtime", "84 minute", "colour"])],
    "a key without a name": [FIND, ("QueryAttr", [0], [""])],
    "a key of 100,000 letters": [FIND, ("QueryAttr", [0], ["runtime" * 15_000])],
    "not a number": _budget("seven", ">"),
    "an infinite number": _budget("1e999", "<"),
    "no such comparison": _budget("7", ">="),
    "another unit": _budget("7 krone", "<"),
    "not a year": _date("VerifyYear", [1], ["soon", "="]),
    "no such day": _date("VerifyDate", [1], ["1964-02-30", "="]),
    "a year of 5,000 digits": _date("VerifyYear", [1], ["9" * 5000, "<"]),
    "more facts than allowed": [
        *FILMS,
        ("Relate", [1], ["cast member", "forward"]),
        ("Relate", [2], ["cast member", "backward"]),
        ("Relate", [3], ["director", "forward"]),
        ("Count", [4], []),
    ],
    "10,000 steps": [FIND, *(("FilterConcept", [n], ["film"]) for n in range(10_000)), ("What", [10_000], [])],
    "101 steps": [FIND, *(("FilterConcept", [n], ["film"]) for n in range(99)), ("What", [99], [])],
    "100 steps": [FIND, *(("FilterConcept", [n], ["film"]) for n in range(98)), ("What", [98], [])],
    "100 steps that double": [*FILMS, *(("Or", [n + 1, n + 1], []) for n in range(97)), ("Count", [98], [])],
    "there and back": [FIND, *_there_and_back(8), ("What", [8], [])],
    "there and back, often": [FIND, *_there_and_back(98), ("What", [98], [])],
    "between what is not related": [FIND, ("Find", [], ["Estburg"]), ("QueryRelation", [0, 1], [])],
    "all with all": [ALL, ALL, ("QueryRelation", [0, 1], [])],
    "compares texts": [FIND, ("Find", [], ["Hamlet"]), ("SelectBetween", [0, 1], ["catalogue code", "less"])],
    "compares nothing": [("Find", [], ["Ada Berg"]), FIND, ("SelectBetween", [0, 0], ["runtime", "less"])],
}
ANSWERS = (
    "83",
    "84 minutes",
    "no",
    "",
    "1" * 100_000 + "x",
    "1," * 50_000,
    "nan",
    "1e999",
    "-",
    "1984-02-30",
    "\udfff",
)


def program_cases(item: str) -> Iterator[Case]:
    """The question with every program and answer above in place of its own; `item` is the question."""

    def case(title: str, change: Any) -> Case:
        return edited("train.json", title, lambda questions: change(questions[QUESTION]), item)

    for title, steps in PROGRAMS.items():
        records = [{"function": f, "dependencies": d, "inputs": i} for f, d, i in steps]
        yield case(f"program: {title}", lambda question, records=records: question.update(program=records))
    for answer in ANSWERS:
        yield case(f"answer {answer[:12]!a}", lambda question, answer=answer: question.update(answer=answer))
    for field in ("choices", "program", "answer", "question", "sparql"):
        yield case(f"without {field}", lambda question, field=field: question.update({field: question.pop(field)[:0]}))
    yield case("answer not among the choices", lambda question: question.update(choices=["x"] * 10))
    yield case("other spelling of the steps", _other_spelling)
    yield edited("train.json", "a question twice", lambda found: found + [copy.deepcopy(found[QUESTION])], item)
    yield edited("train.json", "all questions one", lambda found: [found[QUESTION]] * 40)
    yield edited("train.json", "no questions", lambda found: [])
    yield edited("train.json", "one question", lambda found: found[:1])
    yield edited("train.json", "an object of questions", lambda found: dict(enumerate(found)))
    yield edited("train.json", "questions of the test", lambda found: [{"question": q["question"]} for q in found])
    yield Case("train.json: missing", lambda folder: (folder / "train.json").unlink())
    yield Case("both missing", _neither)


def _other_spelling(question: dict[str, Any]) -> None:
    for step in question["program"]:
        step["functions"] = step.pop("function")


def _neither(folder: Any) -> None:
    for name in ("train.json", "val.json"):
        (folder / name).unlink()
