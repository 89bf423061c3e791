"""Requirements for a dataset built from damaged files: all samples are correct, and unrelated ones are unchanged.

The checks go back to the source files as Python's own JSON reader gives them, not through the reader under test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.kb.executor import Executor, run_step
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.data.kb.schema import Fact, Nodes, Value
from bgr.data.reasongraphqa.checks.verify import verify_dataset
from bgr.data.reasongraphqa.construction.questions import TYPE_OF_FUNCTION, same_answer
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.data.reasongraphqa.verbalize.verbalizer import missing_parts

from .cases import read

Form = tuple[Any, ...]


@dataclass(frozen=True)
class Baseline:
    """The dataset of the undamaged source: each question's form, and the nodes that its program depends on."""

    forms: Mapping[str, Form]
    near: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, source: Path, data: Path) -> Baseline:
        kb = KnowledgeBase.load(source)
        near = {example.question: _near(kb, example) for example in samples(data)}
        return cls(forms(data), near)

    def far_from(self, item: str | None) -> set[str]:
        """The questions that damage to one question or entity cannot affect; none if everything was damaged."""
        if item is None:
            return set()
        return {question for question in self.forms if question != item and item not in self.near[question]}


def samples(data: Path) -> list[Example]:
    return [example for split in SPLITS for example in load_split(data, split)]


def forms(data: Path) -> dict[str, Form]:
    """Each question to its answer, type, program and graph over triples, which do not depend on random choices."""
    units = _units(data)
    found = {}
    for example in samples(data):
        name = {-1: "Q"} | {n: _triples(units[example.facts[n]]) for n in example.graph.nodes}
        edges = frozenset((name[a], name[b]) for a, b in example.graph.edges)
        found[example.question] = (example.answer, example.type, json.dumps(example.program), edges)
    return found


def wrong_samples(source: Path, data: Path, baseline: Baseline, item: str | None) -> list[str]:
    """The problems of a dataset built from damaged files."""
    found = verify_dataset(data).entailments.total
    wrong = [f"{found} distractors entail a gold fact"] if found else []
    kb, raw, units = KnowledgeBase.load(source), read(source / "kb.json"), _units(data)
    executor = Executor(kb)
    built = samples(data)
    for example in built:
        wrong += [f"{example.question[:80]}: {why}" for why in _wrong(example, executor, raw, units)]
    have, told = forms(data), [record["question"] for record in _questions(source)]
    for question in sorted(baseline.far_from(item)):
        if have.get(question) != baseline.forms[question]:
            wrong.append(f"{question}: {'changed' if question in have else 'lost'}, though nothing near it was touched")
    plain = {" ".join(question.split()) for question in told if isinstance(question, str)}
    wrong += [f"{question[:80]}: is not in the source" for question in have if question not in plain]
    return wrong


def _wrong(
    example: Example, executor: Executor, raw: Mapping[str, Any], units: Mapping[str, list[dict[str, Any]]]
) -> Iterable[str]:
    program = Program.from_json(example.program)
    answer = executor.answer(program)
    answers = [answer] if isinstance(answer, str) else list(dict.fromkeys(answer))
    if len(answers) != 1 or not same_answer(answers[0], example.answer):
        yield f"executed {answers[:3]}, annotated {example.answer[:80]!r}"
    if example.type != TYPE_OF_FUNCTION[program.steps[-1].function]:
        yield f"is a {example.type}"
    if not 1 <= len(example.graph.nodes) <= 24:
        yield f"{len(example.graph.nodes)} gold facts"
    for node in example.graph.nodes:
        for unit in units[example.facts[node]]:
            yield from (f"{fact} is not in kb.json" for fact in unit["facts"] if not stated(raw, fact))
            yield from _unsaid(executor.kb, unit)


def _unsaid(kb: KnowledgeBase, unit: Mapping[str, Any]) -> Iterable[str]:
    missing = missing_parts(kb, unit["sentence"], [_fact(row) for row in unit["facts"]])
    if missing:
        yield f"{unit['sentence'][:200]!r} lacks {missing[0][:80]!r}"


def _fact(row: Mapping[str, Any]) -> Fact:
    value = Value.from_json(row["value"]) if "value" in row else None
    qualifiers = tuple((key, Value.from_json(told)) for key, told in row.get("qualifiers", ()))
    return Fact(row["head"], row["predicate"], value, row.get("tail"), qualifiers)


def stated(raw: Mapping[str, Any], fact: Mapping[str, Any]) -> bool:
    """True if kb.json states a fact, at either end, with a value of the same type."""
    rows = []
    for node, other, direction in (
        (fact["head"], fact.get("tail"), "forward"),
        (fact.get("tail"), fact["head"], "backward"),
    ):
        for row in (raw["entities"].get(node) or {}).get("relations") or [] if other is not None and node else []:
            name = row.get("relation", row.get("predicate"))
            if (row["object"], row["direction"], _plain(name)) == (other, direction, fact["predicate"]):
                rows.append(row)
    if "tail" not in fact:
        attributes = (raw["entities"].get(fact["head"]) or {}).get("attributes") or []
        rows = [row for row in attributes if _plain(row["key"]) == fact["predicate"] and _says(row, fact["value"])]
    qualifiers = fact.get("qualifiers", [])
    return any(
        all(
            any(_says({"value": v}, value) for k, vs in _items(row) for v in vs if _plain(k) == key)
            for key, value in qualifiers
        )
        for row in rows
    )


def _items(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return (row.get("qualifiers") or {}).items()


def _says(row: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    raw = row["value"]
    if isinstance(raw["value"], bool) or not isinstance(raw["value"], str | int | float):
        return False
    if value["type"] == "quantity":
        return (
            raw["type"] == "quantity"
            and float(raw["value"]) == value["value"]
            and raw.get("unit", "1") == value["unit"]
        )
    if value["type"] == "string":
        return raw["type"] == "string" and _plain(str(raw["value"])) == value["value"]
    parts = [int(part) for part in str(raw["value"]).strip().lstrip("-").replace("/", "-").split("-")]
    return parts == [int(part) for part in str(value["value"]).lstrip("-").split("-")]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _units(data: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for unit in read(data / "facts.jsonl"):
        found.setdefault(unit["sentence"], []).append(unit)
    return found


def _triples(units: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    found = [
        {k: v for k, v in unit["facts"][0].items() if k in ("head", "predicate", "value", "tail")} for unit in units
    ]
    return frozenset(json.dumps(triple, sort_keys=True) for triple in found)


def _questions(source: Path) -> list[Any]:
    files = [source / f"{name}.json" for name in ("train", "val")]
    found = [record for file in files if file.exists() for record in read(file)]
    return [record for record in found if isinstance(record, dict) and "question" in record]


def _near(kb: KnowledgeBase, example: Example) -> frozenset[str]:
    results: list[Any] = []
    seen: set[str] = set()
    for step in Program.from_json(example.program).steps:
        results.append(run_step(kb, step, results))
        found = results[-1]
        seen |= set(found.ids) if isinstance(found, Nodes) and step.function != "FindAll" else set()
        seen |= {end for fact in found.facts or () for end in (fact.head, fact.tail) if end is not None}
    return frozenset(seen)
