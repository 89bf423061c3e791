"""Grounding of a question: its gold facts and their graph, or the reason why it is dropped (paper, section 3.1.1)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import networkx as nx

from bgr.data.kb.executor import Executor
from bgr.data.kb.provenance import TooManyFactsError
from bgr.data.kb.schema import Fact, parse_date
from bgr.data.reasongraphqa.construction.questions import Dropped, Question
from bgr.errors import DataError, GraphError, ProgramError
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph

# possessive quantifiers, so that answers of a hundred thousand digits do not cause backtracking
_NUMBER = re.compile(r"([-+]?(?:[\d,]*+(?<=\d)|[\d,]*+\.\d+)(?:[eE][-+]?\d+)?)(?: (.+))?")


def same_answer(executed: str, annotated: str) -> bool:
    """True if KoPL's printed answer equals KQA Pro's annotation.

    Texts are compared without case and extra spaces, dates as dates, and numbers, with equal units, by value.
    """
    a, b = (" ".join(text.casefold().split()) for text in (executed, annotated))
    if a == b:
        return True
    dates = _date(a), _date(b)
    if None not in dates:
        return dates[0] == dates[1]
    left, right = _number(a), _number(b)
    if left is None or right is None:
        return False
    # KoPL prints a number within 1e-5 of an integer as that integer
    return left[1] == right[1] and math.isclose(left[0], right[0], rel_tol=1e-6, abs_tol=1e-5)


def _date(text: str) -> str | None:
    try:
        return parse_date(text).isoformat()
    except DataError:
        return None


def _number(text: str) -> tuple[float, str] | None:
    match = _NUMBER.fullmatch(text)
    number = float(match[1].replace(",", "")) if match else math.inf
    return (number, match[2] or "") if match and math.isfinite(number) else None


MAX_FACTS = 24
MAX_DETAIL = 300
"""Maximum number of characters of a question, and of the detail about it, in a report."""

TYPE_OF_FUNCTION = {
    "What": "query",
    "QueryAttr": "query",
    "QueryAttrUnderCondition": "query",
    "QueryRelation": "query",
    "SelectBetween": "comparison",
    "SelectAmong": "comparison",
    "Count": "count",
    "VerifyStr": "boolean",
    "VerifyNum": "boolean",
    "VerifyYear": "boolean",
    "VerifyDate": "boolean",
    "QueryAttrQualifier": "qualifier",
    "QueryRelationQualifier": "qualifier",
}
"""Question type by a program's last function (paper, section 3.3)."""


@dataclass(frozen=True)
class Grounded:
    """A question with the facts that support its answer; `graph` numbers `facts` from 0."""

    question: Question
    facts: tuple[Fact, ...]
    graph: EvidenceGraph
    type: str


def ground(question: Question, executor: Executor) -> Grounded | Dropped:
    """Execute a question's program, compare the answers, and check the constraints of the paper's section 3.2.

    Raises:
        ProgramError: the program uses an entity, concept, relation or key that is not in the knowledge base.
    """
    executor.check_names(question.program)

    def drop(reason: str, detail: str) -> Dropped:
        return Dropped(question.where, reason, f"{_cut(question.text)} ({_cut(detail)})")

    try:
        # without the limit, a count over thousands of entities would have millions of edges
        execution = executor.run(question.program, strict=False, max_facts=MAX_FACTS)
    except TooManyFactsError as error:
        return drop(f"more than {MAX_FACTS} facts", str(error))
    except ProgramError as error:
        return drop("the program cannot be executed", str(error))
    answers = [execution.answer] if isinstance(execution.answer, str) else list(dict.fromkeys(execution.answer))
    if not answers:
        return drop("no answer", f"annotated: {question.answer}")
    if len(answers) > 1:
        return drop("several answers", f"executed: {', '.join(answers[:5])}; annotated: {question.answer}")
    if not same_answer(answers[0], question.answer):
        return drop("another answer", f"executed: {answers[0]}; annotated: {question.answer}")
    if not execution.facts:
        return drop("no fact", f"answer: {question.answer}")
    try:
        graph = EvidenceGraph(execution.edges)
    except GraphError as error:
        return drop(_broken(execution.edges), str(error))
    if len(graph.nodes) != len(execution.facts):
        lost = sorted(set(range(len(execution.facts))) - set(graph.nodes))
        return drop("a fact cannot be reached from the question", f"facts {lost} have no edge")
    last = question.program.steps[-1].function
    return Grounded(question, execution.facts, graph, TYPE_OF_FUNCTION[last])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DETAIL else f"{text[: MAX_DETAIL - 1]}…"


def _broken(edges: tuple[Edge, ...]) -> str:
    """The constraint that a set of edges violates, as a reason."""
    graph = nx.DiGraph(edges)
    if any(b == ROOT for _, b in edges) or not nx.is_directed_acyclic_graph(graph):
        return "the graph has a cycle"
    return "a fact cannot be reached from the question"
