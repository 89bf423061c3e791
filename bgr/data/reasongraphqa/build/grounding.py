"""From a KQA Pro question to its gold facts and their graph, or the reason why it is dropped (paper, section 3.1.1).

Do two answers say the same? KoPL's printed forms against KQA Pro's annotations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx

from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.kb.provenance import TooManyFactsError
from bgr.data.kb.schema import Fact, parse_date
from bgr.errors import DataError, GraphError, ProgramError
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.utils.json_utils import is_text, shown

# possessive, so that an answer of a hundred thousand digits is not tried in every way
_NUMBER = re.compile(r"([-+]?(?:[\d,]*+(?<=\d)|[\d,]*+\.\d+)(?:[eE][-+]?\d+)?)(?: (.+))?")


def same_answer(executed: str, annotated: str) -> bool:
    """Equal texts without regard to case and spaces, equal dates, or equal numbers with equal units."""
    a, b = (" ".join(text.casefold().split()) for text in (executed, annotated))
    if a == b:
        return True
    dates = _date(a), _date(b)
    if None not in dates:
        return dates[0] == dates[1]
    left, right = _number(a), _number(b)
    if left is None or right is None:
        return False
    # KoPL prints a number within 1e-5 of a whole one as that whole number
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
"""Characters of a question, and of what is said about it, in a report."""

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
class Question:
    """A record of a KQA Pro file with its program checked. `where` names file and item in messages."""

    id: str
    where: str
    text: str
    answer: str
    program: Program

    @classmethod
    def from_json(cls, record: Any, id: str, where: str) -> Question:
        """From ``{question, program, answer, …}``.

        Raises:
            DataError: a field is missing or is not what it should be.
            ProgramError: the program is malformed.
        """
        if not isinstance(record, Mapping):
            raise DataError(f"{where}: a question is an object, not {shown(record)}")
        for field in ("question", "program", "answer"):
            if field not in record:
                raise DataError(f"{where}: field {field!r} is missing")
        answer = record["answer"]
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            answer = str(answer)  # some write a number as such
        texts = {"question": record["question"], "answer": answer}
        for field, given in texts.items():
            if not is_text(given) or not given.strip():
                raise DataError(f"{where}: {field} is {shown(given)}, allowed: a text of whole characters, not empty")
        text, answer = (" ".join(given.split()) for given in texts.values())
        return cls(id, where, text, answer, Program.from_json(record["program"], where))


@dataclass(frozen=True)
class Grounded:
    """A question with the facts its answer rests on; `graph` numbers `facts` from 0."""

    question: Question
    facts: tuple[Fact, ...]
    graph: EvidenceGraph
    type: str


@dataclass(frozen=True)
class Dropped:
    """A question that is left out: `reason` is one of few phrases, `detail` is about this question."""

    where: str
    reason: str
    detail: str


def ground(question: Question, executor: Executor) -> Grounded | Dropped:
    """Execute, compare with the annotated answer, and check the constraints of the paper's section 3.2.

    Raises:
        ProgramError: the program names an entity, concept, relation or key that the knowledge base does not hold.
    """
    executor.check_names(question.program)

    def drop(reason: str, detail: str) -> Dropped:
        return Dropped(question.where, reason, f"{_cut(question.text)} ({_cut(detail)})")

    try:
        # without the bound a count over thousands of entities would spend its time on edges
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
    """Which constraint an edge set breaks."""
    graph = nx.DiGraph(edges)
    if any(b == ROOT for _, b in edges) or not nx.is_directed_acyclic_graph(graph):
        return "the graph has a cycle"
    return "a fact cannot be reached from the question"
