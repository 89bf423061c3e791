"""The answer alone equals the answer with facts (its slow twin) in text and order; what the lean plan leaves out."""

import random
from typing import Any

import pytest

from bgr.errors import ProgramError
from bgr.kb.executor import Executor
from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.lean_plan import FOR_VALUES, WITH_FACTS
from bgr.kb.lean_steps import LEAN
from bgr.kb.program import Program
from eval.random_programs import random_programs


def answer_or_error(call: Any) -> Any:
    try:
        return call()
    except ProgramError as error:
        return str(error)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_equal_to_the_steps_with_facts(random_records: dict[str, Any], noise: float) -> None:
    executor = Executor(KnowledgeBase(random_records))
    seen: set[str] = set()
    for program in random_programs(executor.kb, 1500, random.Random(11), noise=noise):
        answer = answer_or_error(lambda program=program: executor.answer(program, strict=False))
        slow = answer_or_error(lambda program=program: executor.run(program, strict=False).answer)
        assert answer == slow, program.to_json()
        seen.update(call[0] for call in program.lean or ())
    assert seen == set(LEAN)


def calls(program: Program) -> list[str]:
    assert program.lean is not None
    return [name for name, *_ in program.lean]


def test_what_a_plan_leaves_out(program: Any) -> None:
    reached = program("Find(Persona)", "Relate(director, forward)", "What")
    assert calls(reached) == ["FindRelate", "What"]
    assert reached.lean[1][1:3] == (0, -1)
    facts = program(
        "Find(The Seventh Seal)", "Relate(cast member, forward)", "QFilterStr(object has role, knight)", "What"
    )
    assert calls(facts) == ["Find", "Relate" + WITH_FACTS, "QFilter", "What"]
    values = program("Find(Persona)", "QueryAttr(runtime)", "VerifyNum(80 minute, >)")
    assert calls(values) == ["Find", "QueryAttr" + FOR_VALUES, "Verify"]


def test_a_find_that_two_steps_read_stays(films: Executor, program: Any) -> None:
    twice = program("Find(Sweden)", "Relate(capital, forward)", "Or @0 1", "What")
    assert calls(twice) == ["Find", "Relate", "Or", "What"]
    assert films.answer(twice) == films.run(twice).answer == ["Sweden", "Stockholm"]


def test_a_result_read_with_facts_and_without_has_no_lean_plan(films: Executor, program: Any) -> None:
    steps = ["Find(The Seventh Seal)", "Relate(cast member, forward)", "QFilterStr(object has role, knight)"]
    both = program(*steps, "Or @1 2", "What")
    assert both.lean is None
    assert films.answer(both) == films.run(both).answer == ["Max von Sydow"]
