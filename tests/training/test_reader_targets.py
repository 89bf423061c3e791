"""What a reader should find, by answer and program."""

from dataclasses import replace

import pytest

from bgr.data.example import Example
from bgr.data.kb.schema import Fact, Value
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.reader.targets import Place, target_of

FACTS = ("Alpha runs for 1,120 minutes.", "Beta, a film of 90 minutes, stars Ann Lee.", "Ann Lee acted in Alpha.")
STATEMENTS = {
    0: [Fact("A", "runtime", value=Value("quantity", 1120, "minute"))],
    1: [Fact("B", "runtime", value=Value("quantity", 90, "minute")), Fact("B", "cast member", tail="L")],
    2: [Fact("A", "cast member", tail="L")],
}


def step(function, *inputs):
    return {"function": function, "dependencies": [], "inputs": list(inputs)}


def example(answer, *program, kind="query", nodes=(0, 1, 2)):
    graph = EvidenceGraph([(ROOT, node) for node in nodes])
    return Example("e", "Which?", FACTS, graph, answer, program, kind)


def found(one, statements=True):
    return target_of(one, one.graph, lambda _, node: STATEMENTS[node] if statements else [])


def test_a_number_is_found_however_it_is_written():
    target = found(example("1120 minute", step("Find", "Alpha"), step("QueryAttr", "runtime")))
    assert (target.kind, target.unit, target.support) == ("quantity", "minute", {0})
    assert [FACTS[one.fact][one.start : one.end] for one in target.quantities] == ["1,120"]


def test_a_name_is_a_span_in_every_fact_that_has_it():
    target = found(example("Ann Lee", step("Find", "Alpha"), step("Relate", "cast member", "forward"), step("What")))
    assert target.kind == "span"
    assert target.spans == (Place(1, 34, 41), Place(2, 0, 7))


def test_a_choice_compares_the_facts_with_the_attribute():
    target = found(example("Alpha", step("Find", "x"), step("SelectBetween", "runtime", "greater"), kind="comparison"))
    assert (target.kind, target.most, target.support) == ("choice", True, {0, 1})
    assert [FACTS[one.fact][one.start : one.end] for one in target.quantities] == ["1,120", "90"]
    assert target.spans == (Place(0, 0, 5),)


def test_without_statements_a_choice_is_a_span():
    one = example("Alpha", step("Find", "x"), step("SelectBetween", "runtime", "less"), kind="comparison")
    assert found(one, statements=False).kind == "span"


def compare(question, answer, kind="comparison"):
    graph = EvidenceGraph([(ROOT, 0), (0, 1), (ROOT, 2)])
    texts = ("Alpha was lit by Ann Lee.", "Ann Lee's lamp Beta is 20 m high.", "The lamp Gamma of 1990 is 300 cm high.")
    one = Example("e", question, texts, graph, answer, (), kind)
    return texts, target_of(one, one.graph, lambda *_: ())


def test_without_a_program_the_ends_of_the_evidence_are_compared():
    texts, target = compare("Which lamp is higher, Gamma or that of her who lit Alpha?", "Beta")
    assert (target.kind, target.most, target.support) == ("choice", True, {1, 2})
    assert [texts[one.fact][one.start : one.end] for one in target.quantities] == ["20", "300"]
    assert [texts[one.fact][one.start : one.end] for one in target.spans] == ["Beta"]
    assert compare("Which lamp is lower, Gamma or that of her who lit Alpha?", "Gamma")[1].most is False


@pytest.mark.parametrize(
    "question",
    [
        "Which lamp is higher, Gamma or that of her who lit Alpha?",  # the words do not lead to the answer
        "Which lamp of 1990 is by someone of Alpha?",  # two conditions
    ],
)
def test_other_evidence_with_several_ends_has_a_span(question):
    assert compare(question, "Gamma")[1].kind == "span"


def test_without_a_program_as_many_ends_as_the_answer_says_are_counted():
    assert compare("How many lamps are by people of Alpha?", "2", "count")[1].support == {1, 2}
    assert compare("How many lamps are by people of Alpha?", "3", "count")[1] is None


def test_without_a_program_a_number_at_the_one_end_of_the_evidence_is_found():
    graph = EvidenceGraph([(ROOT, 0), (0, 1)])
    texts = ("Alpha was lit by Ann Lee.", "Ann Lee has 7 lamps and 2 cats.")
    one = Example("e", "How many lamps has she who lit Alpha?", texts, graph, "7", (), "count")
    target = target_of(one, graph, lambda *_: ())
    assert (target.kind, target.quantities) == ("quantity", (Place(1, 12, 13),))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [("20 m", "quantity"), ("20", "quantity"), ("20 crowns", "quantity"), ("20 mirks", "span"), ("8 May", "span")],
)
def test_without_a_program_a_number_with_another_word_is_a_span(answer, kind):
    text = f"It took {answer} to light the lamp."
    one = Example("e", "What did it take to light the lamp?", (text,), EvidenceGraph([(ROOT, 0)]), answer, (), "query")
    assert target_of(one, one.graph, lambda *_: ()).kind == kind


@pytest.mark.parametrize(
    ("question", "answer", "support"),
    [
        ("How many of Moor's lamps are over 60 cm high?", "2", {1, 2}),
        ("How many of Moor's lamps are over 70 cm high?", "2", None),  # one of them
        ("How many of Moor's lamps stand in Oskar?", "2", {0, 1}),
        ("How many of Moor's lamps stand in Arden?", "2", None),  # no two
        ("How many of Moor's 3 lamps stand in Oskar?", "2", None),  # the number may be a condition
        ("How many of Moor's tall lamps stand in Oskar?", "2", None),  # tall or in Oskar?
    ],
)
def test_without_a_program_the_ends_that_are_as_the_question_wants_are_counted(question, answer, support):
    texts = ("Om stands in Oskar, 40 cm high.", "Ur is in Oskar and tall: 70 cm.", "Es is in Arden and tall: 80 cm.")
    graph = EvidenceGraph([(ROOT, node) for node in range(3)])
    one = Example("e", question, texts, graph, answer, (), "count")
    target = target_of(one, graph, lambda _, node: [])
    assert (target and target.support) == support


def test_a_count_names_one_fact_for_each_entity():
    program = step("Find", "L"), step("Relate", "cast member", "backward"), step("Count")
    target = found(example("2", *program, kind="count"))
    assert (target.kind, target.support) == ("count", {1, 2})
    assert found(example("5", *program, kind="count")) is None


def counted(answer, *program, statements=None):
    """The target of a question that counts, over three facts."""
    one = example(answer, *program, step("Count"), kind="count")
    told = statements or {
        0: [Fact("A", "director", tail="L")],
        1: [Fact("B", "director", tail="M")],
        2: [Fact("A", "director", tail="M")],
    }
    return target_of(one, one.graph, lambda _, node: told[node], {"A": "Alpha", "B": "Beta", "L": "Ann Lee"})


def directed(by):
    return step("Find", by), step("Relate", "director", "backward")


def test_what_several_facts_state_is_counted_in_each_of_them_and_named():
    one = counted("1", *directed("Ann Lee"), *directed("M"), step("And"))
    assert one.support == {0, 2}
    assert [[(at.fact, at.start, at.end) for at in name] for name in one.names] == [[(0, 0, 5)], [(2, 17, 22)]]
    assert counted("2", *directed("Ann Lee"), *directed("M"), step("Or")).support == {0, 1, 2}
    assert counted("3", *directed("Ann Lee"), *directed("M"), step("Or")) is None


def test_facts_that_only_lead_to_what_is_counted_are_not_counted():
    told = {
        0: [Fact("A", "director", tail="L")],
        1: [Fact("B", "screenwriter", tail="L")],
        2: [Fact("A", "screenwriter", tail="L")],
    }
    program = step("Find", "Beta"), step("Relate", "screenwriter", "forward"), step("Relate", "director", "backward")
    assert counted("1", *program, statements=told).support == {0}


def test_what_has_a_value_is_counted_with_the_fact_that_says_so():
    told = {
        0: [Fact("A", "runtime", value=Value("quantity", 9, "minute"))],
        1: [],
        2: [Fact("A", "director", tail="L")],
    }
    narrowed = step("FilterConcept", "film"), step("FilterNum", "runtime", "9 minute", "=")
    assert counted("1", step("FindAll"), *narrowed, statements=told).support == {0}
    assert counted("1", *directed("Ann Lee"), *narrowed, statements=told).support == {0, 2}
    assert counted("1", step("QueryAttr", "runtime"), statements=told) is None  # not a set of entities


@pytest.mark.parametrize(
    ("answer", "value", "order"), [("yes", "1,000", ">"), ("no", "1,000", "<"), ("no", "1,120", "!=")]
)
def test_a_value_is_verified_against_the_number_of_the_question(answer, value, order):
    program = (
        step("Find", "Alpha"),
        step("QueryAttr", "runtime"),
        step("VerifyNum", f"{value.replace(',', '')} minute", order),
    )
    one = replace(example(answer, *program, kind="boolean", nodes=(0,)), question=f"Is Alpha {value} minutes long?")
    target = found(one)
    assert (target.kind, target.operator, target.support) == ("verify", order, {0})
    assert [FACTS[0][at.start : at.end] for at in target.quantities] == ["1,120"]
    assert [one.question[at.start : at.end] for at in target.asked] == [value]
    # what code would answer wrongly is learned as it is
    assert found(replace(one, answer="no" if answer == "yes" else "yes")).kind == "boolean"


@pytest.mark.parametrize(("answer", "said"), [("yes", "Is Ann Lee's name in it?"), ("no", "Is Ann Leery in it?")])
def test_words_are_verified_by_the_question(answer, said):
    facts = {0: [Fact("A", "lead", value=Value("string", "Ann Lee"))]}
    program = step("Find", "Alpha"), step("QueryAttr", "lead"), step("VerifyStr", "x")
    one = replace(example(answer, *program, kind="boolean", nodes=(2,)), question=said)
    target = target_of(one, one.graph, lambda *_: facts[0])
    assert (target.kind, target.operator, target.spans) == ("verify", "said", (Place(0, 0, 7),))


def test_a_boolean_without_one_value_is_learned_as_it_is():
    program = step("Find", "Alpha"), step("QueryAttr", "runtime"), step("VerifyNum", "100 minute", ">")
    target = found(example("yes", *program, kind="boolean"))
    assert (target.kind, target.yes, target.support) == ("boolean", True, {0, 1})


def test_what_no_fact_says_is_a_label():
    assert found(example("cast member", step("QueryRelation"))).label == "cast member"
    assert found(example("cast member", step("QueryRelation"))).support == {1, 2}
    assert found(example("elsewhere", step("What"))).kind == "label"


def test_the_relation_of_a_fact_that_states_one_is_known():
    assert found(example("Ann Lee", step("What"))).relations == {1: "cast member", 2: "cast member"}


@pytest.mark.parametrize(("answer", "text"), [("ann Lee", "Ann Lee"), ("Ann Le", None)])
def test_names_are_whole_words_with_either_first_letter(answer, text):
    target = found(example(answer, step("What")))
    assert (target.kind == "span") is (text is not None)


def test_facts_keep_their_place_in_the_order_of_the_graph():
    one = replace(example("Ann Lee", step("What")), graph=EvidenceGraph([(ROOT, 2), (2, 1)]))
    assert [place.fact for place in found(one).spans] == [0, 1]
