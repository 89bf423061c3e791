"""Answers equal those of `kopl`, the reference, on programs over every function; unknown names are refused."""

import json
import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bgr.cli import main
from bgr.data.kb import steps
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import FUNCTIONS, Program
from bgr.data.kb.provenance import TooManyFactsError
from bgr.errors import ProgramError
from bgr.graph.evidence_graph import ROOT
from eval.bench.reference.kopl_reference import KoplReference, ordered_sets
from eval.bench.reference.random_programs import random_programs

REFUSALS = (KeyError, ValueError, IndexError, TypeError, AssertionError)


def compare(records: dict[str, Any], programs: list[Program], linear: bool = False) -> Counter[str]:
    """Assert equal answers, in equal order, and count what was seen.

    kopl's sets are put in order of insertion: then its lists and ties are determined, and ours must be the same.
    """
    reference, executor = KoplReference(records), Executor(KnowledgeBase(records))
    answer = partial(linear_answer, reference) if linear else reference.answer
    seen: Counter[str] = Counter()
    with ordered_sets():
        for program in programs:
            seen.update({step.function for step in program.steps})
            try:
                expected = answer(program)
            except REFUSALS:
                seen["refused"] += 1
                with pytest.raises(ProgramError):
                    executor.answer(program, strict=False)
                continue
            assert executor.answer(program, strict=False) == expected, program.to_json()
            seen["empty"] += expected in ([], "0")
    return seen


def linear_answer(reference: KoplReference, program: Program) -> str | list[str]:
    """kopl's answer by its public ``forward``, which infers the dependencies from the order of the steps."""
    return reference.engine.forward([step.function for step in program.steps], [list(s.inputs) for s in program.steps])


def check_coverage(seen: Counter[str], count: int) -> None:
    assert min(seen[name] for name in FUNCTIONS) >= 5, seen
    assert seen["empty"] + seen["refused"] < count / 4, seen


def test_answers_equal_the_reference(random_records: dict[str, Any]) -> None:
    programs = random_programs(KnowledgeBase(random_records), 1000, random.Random(1))
    check_coverage(compare(random_records, programs), 1000)


def test_answers_equal_with_columns(random_records: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "SCAN_LIMIT", 0)
    programs = random_programs(KnowledgeBase(random_records), 300, random.Random(2))
    compare(random_records, programs)


def test_answers_equal_the_public_interface_of_the_reference(random_records: dict[str, Any]) -> None:
    programs = random_programs(KnowledgeBase(random_records), 300, random.Random(3))
    compare(random_records, programs, linear=True)


def test_misfit_inputs_give_what_the_reference_gives(random_records: dict[str, Any]) -> None:
    programs = random_programs(KnowledgeBase(random_records), 300, random.Random(4), noise=0.5)
    seen = compare(random_records, programs)
    assert seen["empty"] + seen["refused"] > 60


@pytest.mark.slow
def test_answers_equal_the_reference_on_atlas(tmp_path: Path) -> None:
    assert main(["atlas", "--out", str(tmp_path / "atlas"), "--questions", "1000"]) == 0
    records = json.loads((tmp_path / "atlas" / "kb.json").read_text())
    programs = random_programs(KnowledgeBase(records), 5000, random.Random(5))
    check_coverage(compare(records, programs), 5000)


def test_answer_and_run_agree_and_facts_are_sound(random_records: dict[str, Any]) -> None:
    kb = KnowledgeBase(random_records)
    executor = Executor(kb)
    known = {s.fact().statement for i in kb.all_ids for s in (*kb.attributes(i), *(r for r, _ in kb.relations(i)))}
    for program in random_programs(kb, 300, random.Random(6), noise=0):
        try:
            answer = executor.answer(program)
        except ProgramError:
            continue
        try:
            execution = executor.run(program, max_facts=100)
        except TooManyFactsError:
            continue
        assert execution.answer == answer
        assert len(set(execution.facts)) == len(execution.facts)
        assert {fact.statement for fact in execution.facts} <= known
        assert execution.edges == tuple(sorted(set(execution.edges)))
        # every fact has a predecessor, and that of the first is the question
        assert {b for _, b in execution.edges} == set(range(len(execution.facts)))
        assert not execution.facts or (ROOT, 0) in execution.edges


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["Find(Winter Lights)", "What"], "step 0 (Find): unknown entity 'Winter Lights'; close: 'Winter Light'"),
        (
            ["Find(Persona)", "Relate(directed, forward)", "What"],
            "(Relate): unknown relation 'directed'; close: 'director'",
        ),
        (["FindAll", "FilterConcept(fillm)", "Count"], "(FilterConcept): unknown concept 'fillm'; close: 'film'"),
        (["FindAll", "FilterConcept(Persona)", "Count"], "(FilterConcept): unknown concept 'Persona'"),
        (["Find(Persona)", "QueryAttr(run time)"], "(QueryAttr): unknown attribute 'run time'; close: 'runtime'"),
        (["FindAll", "FilterNum(height, 3, >)", "Count"], "step 1 (FilterNum): unknown attribute 'height'"),
        (
            ["Find(Persona)", "Relate(director, forward)", "QFilterStr(role, x)", "Count"],
            "step 2 (QFilterStr): unknown qualifier 'role'",
        ),
        (
            ["Find(Persona)", "QueryAttrUnderCondition(score, scored by, x)"],
            "step 1 (QueryAttrUnderCondition): unknown qualifier 'scored by'",
        ),
    ],
)
def test_unknown_names(films: Executor, program: Any, lines: list[str], message: str) -> None:
    for call in (films.answer, films.run):
        with pytest.raises(ProgramError) as error:
            call(program(*lines))
        assert str(error.value).startswith("program, step ")
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_unknown_names_find_nothing_when_not_strict(films: Executor, program: Any) -> None:
    steps = program("Find(nobody)", "Relate(likes, forward)", "What")
    assert films.answer(steps, strict=False) == []
    assert films.run(steps, strict=False).facts == ()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["Find(Radium)", "SelectAmong(runtime, largest)"], "none of the entities has a quantity under 'runtime'"),
        (
            ["Find(Persona)", "Find(Radium)", "SelectBetween(symbol, less) @0 1"],
            "(SelectBetween): none of the entities",
        ),
        (
            ["Find(Persona)", "QueryAttrQualifier(runtime, long, stated in)"],
            "(QueryAttrQualifier): not a quantity: 'long'",
        ),
    ],
)
def test_steps_that_cannot_run(films: Executor, program: Any, lines: list[str], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        films.answer(program(*lines))
    assert message in str(error.value)


def test_verify_is_not_sure_where_values_disagree(films: Executor, program: Any) -> None:
    steps = ["Find(Hamlet)", "QueryAttr(runtime)"]
    assert films.answer(program(*steps, "VerifyNum(200 minute, >)")) == "not sure"
    assert films.answer(program(*steps, "VerifyNum(100 minute, >)")) == "yes"
    assert films.answer(program(*steps, "VerifyNum(300 minute, >)")) == "no"
    assert films.answer(program("Find(Radium)", "QueryAttr(runtime)", "VerifyNum(1 minute, >)")) == "no"


def test_the_answer_does_not_depend_on_hash_order(random_records: dict[str, Any]) -> None:
    """Our order is that of first appearance; the comparison with ordered sets relies on it."""
    kb = KnowledgeBase(random_records)
    both = Program.from_json(
        [
            {"function": "Find", "inputs": ["Beta"]},
            {"function": "Find", "inputs": ["Alpha"]},
            {"function": "Or", "dependencies": [0, 1]},
            {"function": "What", "dependencies": [2]},
        ]
    )
    assert Executor(kb).answer(both) == ["Beta"] * len(kb.ids("Beta")) + ["Alpha"] * len(kb.ids("Alpha"))
