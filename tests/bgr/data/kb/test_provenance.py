"""Facts and edges of every kind of step, worked out by hand, and the two worked examples of the specification."""

from typing import Any

import pytest

from bgr.data.kb.executor import Execution, Executor
from bgr.data.kb.provenance import TooManyFactsError
from bgr.data.kb.schema import Value
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def short(execution: Execution) -> list[str]:
    """``head predicate tail-or-value [qualifier=value …]`` of each fact."""
    return [
        " ".join([f.head, f.predicate, f.tail or str(f.value), *(f"{key}={value}" for key, value in f.qualifiers)])
        for f in execution.facts
    ]


def edges(execution: Execution) -> set[tuple[str, str]]:
    """The edges between facts, the root as ``Q``."""
    names = {**dict(enumerate(short(execution))), ROOT: "Q"}
    assert execution.edges == tuple(sorted(execution.edges))
    EvidenceGraph(execution.edges)
    return {(names[a], names[b]) for a, b in execution.edges}


def test_worked_example_of_two_capitals(films: Executor, program: Any) -> None:
    execution = films.run(
        program(
            "Find(Persona)",
            "Relate(country of origin, forward)",
            "Relate(capital, forward)",
            "Find(Radium)",
            "Relate(country of discovery, forward)",
            "Relate(capital, forward)",
            "SelectBetween(population, greater) @2 5",
        )
    )
    assert execution.answer == "Paris"
    assert short(execution) == [
        "F1 country of origin L1",
        "L1 capital T1",
        "M1 country of discovery L2",
        "L2 capital T2",
        "T1 population 978770",
        "T2 population 2138551",
    ]
    assert execution.edges == ((-1, 0), (-1, 2), (0, 1), (1, 4), (2, 3), (3, 5))
    assert EvidenceGraph(execution.edges).structure == "MC-MH"


def test_worked_example_of_the_film_of_1963(films: Executor, program: Any) -> None:
    execution = films.run(
        program(
            "Find(Ingmar Bergman)",
            "Relate(director, backward)",
            "Find(Max von Sydow)",
            "Relate(cast member, backward)",
            "And @1 3",
            "FilterYear(release date, 1963, =)",
            "QueryAttr(runtime)",
        )
    )
    assert execution.answer == ["81 minute"]
    assert edges(execution) == {
        ("Q", "F2 director P1"),
        ("Q", "F2 cast member P2"),
        ("F2 director P1", "F2 release date 1963-02-11"),
        ("F2 cast member P2", "F2 release date 1963-02-11"),
        ("F2 release date 1963-02-11", "F2 runtime 81 minute"),
    }


def test_or_keeps_each_entity_with_its_own_branch(films: Executor, program: Any) -> None:
    execution = films.run(
        program(
            "Find(Ingmar Bergman)",
            "Relate(director, backward)",
            "Find(Max von Sydow)",
            "Relate(cast member, backward)",
            "Or @1 3",
            "FilterYear(release date, 1960, >)",
            "QueryAttr(runtime)",
        )
    )
    assert sorted(execution.answer) == ["81 minute", "83 minute"]
    assert edges(execution) == {
        ("Q", "F1 director P1"),
        ("Q", "F2 director P1"),
        ("Q", "F2 cast member P2"),
        ("F1 director P1", "F1 release date 1966-10-18"),
        ("F2 director P1", "F2 release date 1963-02-11"),
        ("F2 cast member P2", "F2 release date 1963-02-11"),
        ("F1 release date 1966-10-18", "F1 runtime 83 minute"),
        ("F2 release date 1963-02-11", "F2 runtime 81 minute"),
    }


def test_a_filter_slices_off_facts_of_nodes_that_it_drops(films: Executor, program: Any) -> None:
    count = films.run(program("Find(Ingmar Bergman)", "Relate(director, backward)", "Count"))
    assert (count.answer, len(count.facts)) == ("3", 3)
    assert set(count.edges) == {(ROOT, 0), (ROOT, 1), (ROOT, 2)}
    steps = ["Find(Ingmar Bergman)", "Relate(director, backward)", "FilterNum(runtime, 90 minute, >)", "What"]
    narrowed = films.run(program(*steps))
    assert narrowed.answer == ["The Seventh Seal"]
    assert edges(narrowed) == {("Q", "F3 director P1"), ("F3 director P1", "F3 runtime 96 minute")}


def test_filter_concept_passes_provenance_on(films: Executor, program: Any) -> None:
    steps = ["Find(Marie Curie)", "Relate(discoverer, backward)", "FilterConcept(element)", "QueryAttr(symbol)"]
    assert edges(films.run(program(*steps))) == {("Q", "M1 discoverer P3"), ("M1 discoverer P3", "M1 symbol Ra")}


def test_a_qualifier_filter_narrows_the_facts_of_one_entity(films: Executor, program: Any) -> None:
    before = ["Find(The Seventh Seal)", "Relate(cast member, forward)"]
    # two statements that differ only in an unused qualifier are one fact, though KoPL counts two
    both = films.run(program(*before, "Count"))
    assert (both.answer, short(both)) == ("2", ["F3 cast member P2"])
    one = films.run(program(*before, "QFilterStr(object has role, squire)", "What"))
    assert (one.answer, short(one)) == (["Max von Sydow"], ["F3 cast member P2 object has role=squire"])
    assert one.edges == ((ROOT, 0),)


def test_statements_that_differ_in_a_used_qualifier_are_two_facts(films: Executor, program: Any) -> None:
    execution = films.run(
        program(
            "Find(The Seventh Seal)", "Find(Max von Sydow)", "QueryRelationQualifier(cast member, object has role) @0 1"
        )
    )
    assert execution.answer == ["knight", "squire"]
    assert short(execution) == ["F3 cast member P2 object has role=knight", "F3 cast member P2 object has role=squire"]


def test_qualifier_after_an_attribute_filter(films: Executor, program: Any) -> None:
    steps = ["FindAll", "FilterNum(score, 80 percent, >)", "QFilterStr(review score by, Critic)", "What"]
    execution = films.run(program(*steps))
    assert short(execution) == ["F3 score 88 percent review score by=Critic"]
    assert execution.edges == ((ROOT, 0),)


def test_condition_and_attribute_qualifier_name_the_qualifier(films: Executor, program: Any) -> None:
    steps = ["Find(The Seventh Seal)", "QueryAttrUnderCondition(score, review score by, Tomatoes)"]
    execution = films.run(program(*steps))
    assert (execution.answer, short(execution)) == (["93 percent"], ["F3 score 93 percent review score by=Tomatoes"])
    asked = films.run(program("Find(The Seventh Seal)", "QueryAttrQualifier(score, 88 percent, review score by)"))
    assert (asked.answer, short(asked)) == (["Critic"], ["F3 score 88 percent review score by=Critic"])


def test_qualifiers_of_one_statement_are_merged_over_the_program(films: Executor, program: Any) -> None:
    execution = films.run(
        program(
            "Find(Radium)",
            "Relate(country of discovery, forward)",
            "QFilterYear(point in time, 1898, =)",
            "Find(Radium)",
            "QueryRelation @3 2",
        )
    )
    assert execution.answer == ["country of discovery"]
    (fact,) = execution.facts
    assert fact.qualifiers == (("point in time", Value("year", 1898)),)
    # read twice, the fact has no edge from itself
    assert execution.edges == ((ROOT, 0),)


def test_select_among_is_supported_by_every_entity_compared(films: Executor, program: Any) -> None:
    steps = ["Find(Ingmar Bergman)", "Relate(director, backward)", "SelectAmong(runtime, smallest)"]
    execution = films.run(program(*steps))
    assert execution.answer == ["Winter Light"]
    assert edges(execution) == {
        pair
        for film, minutes in (("F1", 83), ("F2", 81), ("F3", 96))
        for pair in (("Q", f"{film} director P1"), (f"{film} director P1", f"{film} runtime {minutes} minute"))
    }


def test_query_relation_has_edges_from_both_ends(films: Executor, program: Any) -> None:
    plain = films.run(program("Find(Winter Light)", "Find(Ingmar Bergman)", "QueryRelation @0 1"))
    assert (plain.answer, plain.edges) == (["director"], ((ROOT, 0),))
    steps = ["Find(Paris)", "Relate(capital, backward)", "Find(Radium)", "QueryRelation @2 1"]
    assert edges(films.run(program(*steps))) == {
        ("Q", "L2 capital T2"),
        ("L2 capital T2", "M1 country of discovery L2"),
    }


def test_relation_qualifier(films: Executor, program: Any) -> None:
    steps = ["Find(Radium)", "Find(France)", "QueryRelationQualifier(country of discovery, point in time) @0 1"]
    execution = films.run(program(*steps))
    assert execution.answer == ["1898"]
    assert short(execution) == ["M1 country of discovery L2 point in time=1898"]


def test_verify_is_supported_by_the_value_it_checks(films: Executor, program: Any) -> None:
    steps = ["Find(Ingmar Bergman)", "Relate(director, backward)", "FilterYear(release date, 1963, =)"]
    execution = films.run(program(*steps, "QueryAttr(runtime)", "VerifyNum(80 minute, >)"))
    assert execution.answer == "yes"
    assert len(execution.facts) == 3
    assert edges(execution) == {
        ("Q", "F2 director P1"),
        ("F2 director P1", "F2 release date 1963-02-11"),
        ("F2 release date 1963-02-11", "F2 runtime 81 minute"),
    }


def test_an_ambiguous_name_keeps_all_its_facts(films: Executor, program: Any) -> None:
    execution = films.run(program("Find(Hamlet)", "QueryAttr(runtime)"))
    assert execution.answer == ["242 minute", "112 minute"]
    assert execution.edges == ((ROOT, 0), (ROOT, 1))


def test_an_entity_reached_by_several_facts_keeps_all(films: Executor, program: Any) -> None:
    steps = ["Find(Max von Sydow)", "Relate(cast member, backward)", "Relate(country of origin, forward)"]
    execution = films.run(program(*steps, "Relate(capital, forward)", "What"))
    assert set(execution.answer) == {"Stockholm"}
    assert edges(execution) == {
        ("Q", "F2 cast member P2"),
        ("Q", "F3 cast member P2"),
        ("F2 cast member P2", "F2 country of origin L1"),
        ("F3 cast member P2", "F3 country of origin L1"),
        ("F2 country of origin L1", "L1 capital T1"),
        ("F3 country of origin L1", "L1 capital T1"),
    }


def test_a_relation_read_from_either_end_is_one_fact(films: Executor, program: Any) -> None:
    there = films.run(program("Find(Sweden)", "Relate(capital, forward)", "What"))
    back = films.run(program("Find(Stockholm)", "Relate(capital, backward)", "What"))
    assert there.facts == back.facts


def test_a_fact_read_twice_has_no_edge_from_itself(films: Executor, program: Any) -> None:
    steps = ["Find(Sweden)", "Relate(capital, forward)", "Relate(capital, backward)", "What"]
    assert films.run(program(*steps)).edges == ((ROOT, 0),)


def test_an_empty_answer_has_no_facts(films: Executor, program: Any) -> None:
    steps = ["Find(Ingmar Bergman)", "Relate(director, backward)", "FilterYear(release date, 1900, =)", "Count"]
    execution = films.run(program(*steps))
    assert (execution.answer, execution.facts, execution.edges) == ("0", (), ())


def test_more_facts_than_allowed(films: Executor, program: Any) -> None:
    steps = program("Find(Ingmar Bergman)", "Relate(director, backward)", "Count")
    assert len(films.run(steps, max_facts=3).facts) == 3
    with pytest.raises(TooManyFactsError, match="3 facts support the answer, allowed: 2") as error:
        films.run(steps, max_facts=2)
    assert error.value.count == 3
