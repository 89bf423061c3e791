"""Compiled programs give the answers of the steps with facts, text and order included; the calls they consist of."""

import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest

from bgr.data.kb import compiled_steps, steps
from bgr.data.kb.compiled_steps import Chain, CompiledCall
from bgr.data.kb.compiler import BINARY, compile_program
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.errors import ProgramError
from eval.bench.reference.random_programs import random_programs

HELPERS = {"evaluate", "nodes", "distinct"}
STEPS = {
    name
    for name, function in vars(compiled_steps).items()
    if getattr(function, "__module__", "") == compiled_steps.__name__ and name[0] != "_" and name not in HELPERS
}


def answer_or_error(call: Any) -> Any:
    try:
        return call()
    except ProgramError as error:
        return str(error)


def calls(chain: Chain | None) -> Iterator[CompiledCall]:
    """All calls of a chain and of the chains inside it, in the order of execution."""
    for run, given in chain or ():
        if run in BINARY.values():
            yield from calls(given[0])
        yield run, given


def names(program: Program) -> list[str]:
    return [run.__name__ for run, _ in calls(program.compiled)]


@pytest.mark.workflow
@pytest.mark.parametrize(("noise", "limit"), [(0.0, 128), (0.3, 128), (0.0, 1)])
def test_equal_to_the_steps_with_facts(
    random_records: dict[str, Any], noise: float, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "SCAN_LIMIT", limit)
    executor = Executor(KnowledgeBase(random_records))
    seen: set[str] = set()
    for program in random_programs(executor.kb, 1500, random.Random(11), noise=noise):
        answer = answer_or_error(lambda program=program: executor.answer(program, strict=False))
        slow = answer_or_error(lambda program=program: executor.run(program, strict=False).answer)
        assert answer == slow, program.to_json()
        seen.update(names(program))
    assert seen == STEPS


def test_steps_merged_into_one_call(program: Any) -> None:
    reached = program("Find(Persona)", "Relate(director, forward)", "What")
    assert names(reached) == ["find_relate", "what"]
    facts = program(
        "Find(The Seventh Seal)", "Relate(cast member, forward)", "QFilterStr(object has role, knight)", "What"
    )
    assert names(facts) == ["find", "relate_with_facts", "filter_qualifier", "what"]
    values = program("Find(Persona)", "QueryAttr(runtime)", "VerifyNum(80 minute, >)")
    assert names(values) == ["find", "verify_attribute"]
    assert names(program("FindAll", "FilterConcept(film)", "Count")) == ["members", "count"]


def test_a_branch_is_a_chain_in_the_input(program: Any) -> None:
    both = program("Find(Sweden)", "Find(France)", "Relate(capital, forward)", "Or @0 2", "Count")
    assert [run.__name__ for run, _ in both.compiled] == ["find", "unite", "count"]
    assert names(both) == ["find", "find_relate", "unite", "count"]


@pytest.mark.parametrize(
    "lines",
    [
        ["Find(Sweden)", "Relate(capital, forward)", "Or @0 1", "What"],
        ["Find(Sweden)", "Find(France)", "Relate(capital, forward) @0", "What"],
    ],
)
def test_a_result_read_twice_or_never_is_not_compiled(films: Executor, program: Any, lines: list[str]) -> None:
    steps = program(*lines)
    assert steps.compiled is None
    assert films.answer(steps) == films.run(steps).answer != []


def test_a_failing_step_that_nobody_reads_is_reported(films: Executor, program: Any) -> None:
    steps = program("Find(Sweden)", "SelectAmong(runtime, largest)", "Find(France)", "What")
    with pytest.raises(ProgramError, match="step 1"):
        films.answer(steps)


def test_a_failing_branch_names_its_step(films: Executor, program: Any) -> None:
    steps = program("Find(Persona)", "QueryAttrQualifier(runtime, long, stated in)")
    with pytest.raises(ProgramError, match=r"step 1 \(QueryAttrQualifier\): not a quantity: 'long'"):
        films.answer(steps)


def test_programs_can_be_sent_to_other_processes(random_records: dict[str, Any]) -> None:
    executor = Executor(KnowledgeBase(random_records))
    for program in random_programs(executor.kb, 100, random.Random(12), noise=0):
        sent = pickle.loads(pickle.dumps(program))
        assert sent == program
        assert answer_or_error(lambda sent=sent: executor.answer(sent)) == answer_or_error(
            lambda program=program: executor.answer(program)
        )


def test_compilation_depends_only_on_the_steps(program: Any) -> None:
    steps = program("Find(Persona)", "QueryAttr(runtime)")
    assert compile_program(steps.plan) == steps.compiled
