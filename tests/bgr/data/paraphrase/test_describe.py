"""The plain words of programs: every function, references, operators, directions."""

from __future__ import annotations

import pytest

from bgr.data.kb.program import FUNCTIONS, Program
from bgr.data.reasongraphqa.paraphrase.prompt import describe

FIND = ("Find", "France")
BETWEEN = "Answer: which of the two, (1) or (2), has "
AND = [("Find", "A"), ("Find", "B")]


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        ([FIND, ("What",)], "Answer: the name of (1)."),
        ([("FindAll",), ("FilterConcept", "city"), ("Count",)], "Answer: how many there are in (2)."),
        ([FIND, ("QueryAttr", "population")], "Answer: the population of (1)."),
        ([*AND, ("SelectBetween", "area", "greater", [0, 1])], BETWEEN + "the higher area."),
        ([*AND, ("SelectBetween", "area", "less", [0, 1])], BETWEEN + "the lower area."),
        ([FIND, ("SelectAmong", "area", "largest")], "Answer: which one of (1) has the highest area."),
        ([FIND, ("SelectAmong", "area", "smallest")], "Answer: which one of (1) has the lowest area."),
        ([*AND, ("QueryRelation", [0, 1])], "Answer: how (2) is related to (1)."),
        (
            [FIND, ("QueryAttrUnderCondition", "score", "source", "Meter")],
            "Answer: the score of (1), the one whose source is Meter.",
        ),
        (
            [FIND, ("QueryAttrQualifier", "population", "5", "source")],
            "Answer: the source of the statement that the population of (1) is 5.",
        ),
        (
            [*AND, ("QueryRelationQualifier", "discoverer", "point in time", [0, 1])],
            "Answer: the point in time of the statement that the discoverer of (1) is (2).",
        ),
        (
            [FIND, ("QueryAttr", "area"), ("VerifyNum", "5 foot", "<")],
            "Answer yes or no: is it true that (2) is less than 5 foot.",
        ),
        (
            [FIND, ("QueryAttr", "date"), ("VerifyDate", "1963-05-05", "=")],
            "Answer yes or no: is it true that (2) is on 1963-05-05.",
        ),
        ([FIND, ("QueryAttr", "motto"), ("VerifyStr", "Go")], "Answer yes or no: is it true that (2) is Go."),
    ],
)  # fmt: skip
def test_the_last_step_says_what_is_asked(question, steps, last):
    lines = describe(question("?", *steps).program).splitlines()
    assert lines[-1] == f"{len(steps)}. {last}"


def test_steps_refer_to_each_other(question):
    program = question(
        "?",
        ("Find", "Bo Lind"),
        ("Relate", "director", "backward"),
        ("FilterYear", "release date", "1981", ">"),
        ("Find", "Nordia"),
        ("Relate", "capital", "forward"),
        ("Or", [2, 4]),
        ("QFilterYear", "point in time", "1949", "!=", [2]),
        ("And", [5, 6]),
        ("What",),
    ).program
    assert describe(program).splitlines() == [
        "1. Find Bo Lind.",
        "2. Take all that have (1) as director.",
        "3. Of (2), keep only those whose release date is after 1981.",
        "4. Find Nordia.",
        "5. Take the capital of (4).",
        "6. Take what is in (3) or in (5).",
        "7. Of (3), keep only those for which this has a point in time that is not in 1949.",
        "8. Keep only what is in both (6) and (7).",
        "9. Answer: the name of (8).",
    ]


@pytest.mark.parametrize("function", [name for name, signature in FUNCTIONS.items() if signature.gives != "an answer"])
@pytest.mark.parametrize("op", ["=", "!=", "<", ">"])
def test_every_function_and_operator_has_words_of_its_own(function, op):
    signature = FUNCTIONS[function]
    values = {"string": "x", "quantity": "7 foot", "year": "1999", "date": "1999-01-02", None: "x"}
    given = {"op": op, "direction": "forward", "value": values[signature.kind]}
    inputs = [given.get(role, role) for role in signature.inputs]
    start = [{"function": "FindAll", "dependencies": [], "inputs": []}]
    start += [{"function": "FilterStr", "dependencies": [0], "inputs": ["k", "v"]}]
    step = {"function": function, "dependencies": [1] * len(signature.takes), "inputs": inputs}
    tail = [] if signature.gives == "values" else [{"function": "Count", "dependencies": [2], "inputs": []}]
    line = describe(Program.from_json([*start, step, *tail])).splitlines()[2]
    for text in (
        values[signature.kind] if "value" in signature.inputs else "",
        *set(inputs) - {"=", "!=", "<", ">", "forward"},
    ):
        assert text in line


def test_opposite_operators_and_directions_differ(question):
    texts = set()
    for op in ("=", "!=", "<", ">"):
        for function, value in (("FilterNum", "1963"), ("FilterYear", "1963"), ("FilterDate", "1963-05-05")):
            texts.add(describe(question("?", FIND, (function, "key", value, op), ("Count",)).program))
    for direction in ("forward", "backward"):
        texts.add(describe(question("?", FIND, ("Relate", "made", direction), ("Count",)).program))
    assert len(texts) == 14
