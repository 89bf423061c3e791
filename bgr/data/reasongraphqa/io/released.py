"""Reading and writing of the JSON in which the paper's authors released ReasonGraphQA.

The form is a list of ``{question, answer, program, fact: [sentence], order_true_fact: [{facts: sentence, relation:
{before: [sentence], after: [sentence]}}]}``. There is an edge from ``facts`` to each ``after``; a node with an empty
``before`` has an edge from the question. Facts are identified by their sentences.

Conversion from that form to ours and back changes only the order of nodes and of their neighbors (ours is the order of
reasoning) and answers that are numbers, which become texts; fields outside the form are dropped. Conversion from our
form to that form and back has these effects:

- ids become the split and the index in the file;
- an edge from the question to a fact that has other edges is lost (`lost_edges`);
- a gold sentence that is repeated among the candidates becomes its first occurrence; two gold facts with the same
  sentence cannot be written;
- the type follows from the program's last function; a sample without a program has an additional field ``type``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.kb.program import ALIASES
from bgr.data.reasongraphqa.build.grounding import TYPE_OF_FUNCTION
from bgr.data.reasongraphqa.io.dataset import STEP_FIELDS, example_of
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, Edge
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import shown


def read_released(path: str | Path, prefix: str) -> list[Example]:
    """The examples of one released file; ids are `prefix` and the index in the file.

    Raises:
        DataError: the file has another form; the message names file and item.
    """
    records = read_json(path)
    if not isinstance(records, list):
        raise DataError(f"{path}: must be a list of questions, is {shown(records)}")
    return [from_released(record, f"{prefix}-{n:06d}", f"{path}: item {n}") for n, record in enumerate(records)]


def from_released(record: Any, id: str, where: str) -> Example:
    """One example from a released record.

    Raises:
        DataError: a field is missing, empty or has another type, a sentence of the graph is not a candidate, or the
            graph violates a constraint.
    """
    try:
        facts = _texts(record, "fact")
        steps = _list(record, "program")
        example = example_of(
            {
                "id": id,
                "question": _field(record, "question"),
                "facts": facts,
                "edges": [list(edge) for edge in _edges(_list(record, "order_true_fact"), facts)],
                "answer": _answer(_field(record, "answer")),
                "program": [{field: _field(step, field) for field in STEP_FIELDS} for step in steps],
                "type": _type(record, steps),
            }
        )
        _check_filled(example)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    return example


def _check_filled(example: Example) -> None:
    for name, text in (("question", example.question), ("answer", example.answer)):
        if not text.strip():
            raise DataError(f"the {name} is empty")
    if not all(fact.strip() for fact in example.facts):
        raise DataError("fact has an empty sentence")
    if not example.graph.nodes:
        raise DataError("order_true_fact is empty: there is no graph")


def _edges(nodes: Sequence[Any], facts: Sequence[str]) -> list[Edge]:
    """Sorted edges of a graph given by sentences, including edges that are given only at one of their ends."""
    index = {sentence: number for number, sentence in reversed(list(enumerate(facts)))}

    def find(sentence: Any) -> int:
        if not isinstance(sentence, str) or sentence not in index:
            raise DataError(f"order_true_fact names {shown(sentence)}, which is not in 'fact'")
        return index[sentence]

    edges: set[Edge] = set()
    for node in nodes:
        number, relation = find(_field(node, "facts")), _field(node, "relation")
        before, after = _texts(relation, "before"), _texts(relation, "after")
        edges |= {(find(sentence), number) for sentence in before} if before else {(ROOT, number)}
        edges |= {(number, find(sentence)) for sentence in after}
    return sorted(edges)


def _field(record: Any, name: str) -> Any:
    if not isinstance(record, Mapping):
        raise DataError(f"{shown(record)}, allowed: an object with {name!r}")
    if name not in record:
        raise DataError(f"field {name!r} is missing")
    return record[name]


def _list(record: Any, name: str) -> list[Any]:
    found = _field(record, name)
    if not isinstance(found, list):
        raise DataError(f"{name} is {shown(found)}, allowed: a list")
    return found


def _texts(record: Any, name: str) -> list[str]:
    found = _list(record, name)
    for text in found:
        if not isinstance(text, str):
            raise DataError(f"{name} has {shown(text)}, allowed: sentences")
    return found


def _answer(value: Any) -> Any:
    """A number as its text; anything else unchanged."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _type(record: Any, steps: Sequence[Any]) -> Any:
    if not steps:
        if "type" not in record:
            raise DataError("field 'type' is missing, which is required without a program")
        return record["type"]
    last = _field(steps[-1], "function")
    known = ALIASES.get(last, last) if isinstance(last, str) else None
    if known not in TYPE_OF_FUNCTION:
        raise DataError(f"the program ends in {shown(last)}, allowed: {', '.join(sorted(TYPE_OF_FUNCTION))}")
    return TYPE_OF_FUNCTION[known]


def to_released(example: Example) -> dict[str, Any]:
    """One record in the authors' form; see the module for its limitations.

    Raises:
        DataError: two gold facts have the same sentence.
    """
    graph = example.graph
    if len({example.facts[node] for node in graph.nodes}) != len(graph.nodes):
        raise DataError(f"sample {example.id!r}: two gold facts are equal, which the released form cannot distinguish")

    def sentences(nodes: Sequence[int]) -> list[str]:
        return [example.facts[node] for node in nodes if node != ROOT]

    nodes = [
        {
            "facts": example.facts[node],
            "relation": {
                "before": sentences(graph.predecessors(node)),
                "after": sentences(graph.successors(node)),
            },
        }
        for node in graph.order()
    ]
    record = {
        "question": example.question,
        "answer": example.answer,
        "program": [dict(step) for step in example.program],
        "fact": list(example.facts),
        "order_true_fact": nodes,
    }
    return record if example.program else {**record, "type": example.type}


def lost_edges(example: Example) -> int:
    """Number of edges that the released form drops: those from the question to facts with edges from other facts."""
    graph = example.graph
    return sum(ROOT in graph.predecessors(node) and len(graph.predecessors(node)) > 1 for node in graph.nodes)
