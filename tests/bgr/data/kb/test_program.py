"""Programs in KQA Pro's form: what is accepted, and one-line errors that name the step and what is allowed."""

import re
from typing import Any

import pytest

from bgr.data.kb.program import FUNCTIONS, Program
from bgr.errors import ProgramError

FIND = {"function": "Find", "dependencies": [], "inputs": ["LeBron  James "]}
ATTRIBUTE = {"function": "QueryAttr", "dependencies": [0], "inputs": ["height"]}
COUNT = {"function": "Count", "dependencies": [0], "inputs": []}


def step(function: str, dependencies: Any, *inputs: Any) -> dict[str, Any]:
    return {"function": function, "dependencies": dependencies, "inputs": list(inputs)}


def test_27_functions() -> None:
    assert len(FUNCTIONS) == 27


def test_json_and_back() -> None:
    program = Program.from_json([FIND, step("Relate", [0], "drafted by", "forward"), step("QueryName", [1])])
    assert [s.function for s in program.steps] == ["Find", "Relate", "What"]
    assert program.steps[0].inputs == ("LeBron James",)
    assert program.steps[1].inputs == ("drafted by", "forward")
    assert Program.from_json(program.to_json()) == program
    # KQA Pro sometimes omits empty fields
    assert (
        Program.from_json([{"function": "FindAll"}, {"function": "Count", "dependencies": [0]}]).steps[0].inputs == ()
    )


BAD: list[tuple[Any, str]] = [
    ({}, "a program is a list of steps, not {}"),
    ("Find", "a program is a list of steps, not 'Find'"),
    ([], "the program has no steps"),
    ([FIND, 3], ", step 1: not a step {function, dependencies, inputs}"),
    ([{"dependencies": []}], ", step 0: not a step {function, dependencies, inputs}"),
    ([FIND, step("Cuont", [0])], ", step 1 (Cuont): unknown function, known: And, Count, Filter"),
    ([FIND, step("Count", [1])], ", step 1 (Count): depends on step 1, allowed: earlier steps, 0 to 0"),
    ([FIND, step("Count", [2]), COUNT], ", step 1 (Count): depends on step 2, allowed: earlier steps, 0 to 0"),
    ([FIND, step("Count", [-1])], ", step 1 (Count): depends on step -1"),
    ([FIND, step("Count", ["0"])], ", step 1 (Count): dependencies ['0'], allowed: a list of step numbers"),
    ([FIND, step("Count", [True])], ", step 1 (Count): dependencies [True], allowed: a list of step numbers"),
    ([FIND, step("Count", None)], ", step 1 (Count): dependencies None, allowed: a list of step numbers"),
    ([FIND, step("And", [0]), COUNT], ", step 1 (And): 1 dependencies, takes 2"),
    ([step("FindAll", [], "x")], ", step 0 (FindAll): 1 inputs, takes none"),
    ([FIND, step("Relate", [0], "director")], ", step 1 (Relate): 1 inputs, takes 2 (predicate, direction)"),
    ([FIND, step("Count", [0], 1)], ", step 1 (Count): inputs [1], allowed: a list of texts"),
    ([FIND, step("Relate", [0], "director", "up")], "(Relate): direction 'up', allowed: forward, backward"),
    ([FIND, step("FilterNum", [0], "height", "3", ">=")], "(FilterNum): op '>=', allowed: =, !=, <, >"),
    ([FIND, ATTRIBUTE, step("VerifyYear", [1], "1984", "is")], "(VerifyYear): op 'is', allowed: =, !=, <, >"),
    ([FIND, step("SelectAmong", [0], "height", "greater")], "'greater', allowed: smallest, largest"),
    ([FIND, step("SelectBetween", [0, 0], "height", "largest")], "'largest', allowed: less, greater"),
    ([FIND, step("FilterNum", [0], "height", "tall", ">")], "(FilterNum): not a quantity: 'tall'"),
    ([FIND, step("FilterNum", [0], "height", "nan", ">")], "(FilterNum): not a quantity: 'nan'"),
    ([FIND, step("FilterYear", [0], "born", "long ago", ">")], "(FilterYear): not a year or a date: 'long ago'"),
    ([FIND, step("FilterDate", [0], "born", "1984-02-30", ">")], "(FilterDate): not a date: '1984-02-30'"),
    (
        [FIND, step("QFilterStr", [0], "k", "v"), COUNT],
        "(QFilterStr): takes entities with facts, but run, step 0 (Find)",
    ),
    (
        [FIND, ATTRIBUTE, step("Count", [1])],
        ", step 2 (Count): takes entities, but run, step 1 (QueryAttr) gives values",
    ),
    (
        [FIND, COUNT, step("VerifyNum", [1], "1", "=")],
        "(VerifyNum): takes values, but run, step 1 (Count) gives an answer",
    ),
    ([FIND], ", step 0 (Find): gives entities, a program must end in an answer"),
]


@pytest.mark.parametrize(("records", "message"), BAD, ids=range(len(BAD)))
def test_malformed_programs(records: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(message)) as error:
        Program.from_json(records, where="run")
    assert str(error.value).startswith("run")
    assert "\n" not in str(error.value)
