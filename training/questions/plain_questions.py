"""Plain questions: about one statement of the data, in the words of many people, among facts about the same thing.

The questions of a dataset are worded by its phrasebook, and hardly any of them is about one fact alone among others of
the same thing. So a model could learn to look for the name, and only the dataset's words for a relation.

`same_things` takes from a database what the candidates of a dataset hardly have: other facts about what a question is
about, such as the running time of the film whose director is asked for.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from bgr.data.atlas.phrasing.phrasebook import agree, phrasebook
from bgr.data.example import Example
from bgr.data.kb.loading import BACKWARD, FORWARD
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.candidate_sets import entities_of, fair, sentences_by, topics
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

PATTERNS = Path(__file__).with_name("plain_questions.yaml")
"""By predicate and way, questions with ``{}`` in place of a name: `forward` asks for the value or tail of the statement
of a head, `backward` for the head."""

GOLD = EvidenceGraph([(ROOT, 0)])

MOST_BESIDE = 8
"""Maximum number of facts about the same things that a question gets."""

COMMON = 500
"""Of something that more sentences are about, such as the United States, a question gets none."""


@cache
def plain_patterns() -> Mapping[tuple[str, str], Sequence[str]]:
    """The shipped patterns by predicate and way, and those in the words of Atlas."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for predicate, ways in yaml.safe_load(PATTERNS.read_text(encoding="utf-8")).items():
        for way, texts in ways.items():
            found[predicate, way] = dict.fromkeys(texts)
    book = phrasebook()
    asks = {(key, FORWARD): book.attribute(key, "ask") for key in book.attributes}
    asks |= {(key, way): entry.get("ask", ()) for key, ways in book.relations.items() for way, entry in ways.items()}
    for place, texts in asks.items():
        if texts:
            found.setdefault(place, {}).update(dict.fromkeys(agree(text).replace("{x}", "{}") for text in texts))
    return {place: tuple(texts) for place, texts in found.items()}


@dataclass(frozen=True)
class _Asked:
    """What can be asked about a statement: `about` stands in the question, and `answer` is alone right."""

    predicate: str
    way: str
    about: str
    answer: str
    program: tuple[Mapping[str, Any], ...]


def plain_questions(examples: Sequence[Example], table: FactTable, share: float, *, seed: int = 0) -> list[Example]:
    """New examples, at most `share` times as many as there are: each about one candidate of one of the `examples`,
    among the other candidates and facts of the `table` about the same things. Each predicate and way is asked as often.

    Only statements with one answer are asked about, by a name that nothing else has.

    Raises:
        DataError: a candidate is not in the textual database, or no fact there has statements.
    """
    if not share:
        return []
    draw = random.Random(f"plain {seed}")
    homes: dict[str, list[Example]] = {}
    for example in examples:
        for sentence in example.facts if example.answerable else ():
            homes.setdefault(sentence, []).append(example)
    askable: dict[tuple[str, str], list[tuple[str, _Asked]]] = {}
    for sentence, asked in _askable(table, homes):
        askable.setdefault((asked.predicate, asked.way), []).append((sentence, asked))
    found: dict[str, Example] = {}
    for _ in range(round(share * len(examples)) if askable else 0):
        sentence, asked = draw.choice(askable[draw.choice(list(askable))])
        question = draw.choice(plain_patterns()[asked.predicate, asked.way]).replace("{}", asked.about)
        near = [fact for fact in draw.choice(homes[sentence]).facts if fact != sentence]
        name = f"plain {len(found)}"
        alone = Example(name, question, (sentence,), GOLD, asked.answer, asked.program, "query")
        found.setdefault(question, replace(alone, facts=(sentence, *fair(alone, near, table))))
    beside = same_things([*found.values()], table)
    return [_shuffled(replace(one, facts=(*one.facts, *beside[one.id])), draw) for one in found.values()]


def _shuffled(example: Example, draw: random.Random) -> Example:
    order = draw.sample(range(len(example.facts)), len(example.facts))
    graph = example.graph.relabel({old: new for new, old in enumerate(order)})
    return replace(example, facts=tuple(example.facts[old] for old in order), graph=graph)


def _askable(table: FactTable, sentences: Iterable[str]) -> Iterator[tuple[str, _Asked]]:
    """What can be asked about each of the sentences."""
    tails: dict[tuple[str, str], set[Any]] = {}
    heads: dict[tuple[str, Any], set[str]] = {}
    for sentence in table.sentences:
        for fact in _facts(table, sentence):
            tails.setdefault((fact.head, fact.predicate), set()).add(_end(fact))
            heads.setdefault((fact.predicate, _end(fact)), set()).add(fact.head)
    names = Counter(name.casefold() for name in table.names.values())

    def alone(name: str) -> bool:
        return names[name.casefold()] == 1

    for sentence in sentences:
        for fact in _facts(table, sentence):
            head = table.names.get(fact.head, "")
            end = str(fact.value) if fact.tail is None else table.names.get(fact.tail, "")
            known = fact.tail is None or alone(end)
            if len(tails[fact.head, fact.predicate]) == 1 and alone(head) and end:
                yield from _with_patterns(sentence, _Asked(fact.predicate, FORWARD, head, end, _forward(fact, head)))
            if len(heads[fact.predicate, _end(fact)]) == 1 and known and head and end:
                yield from _with_patterns(sentence, _Asked(fact.predicate, BACKWARD, end, head, _backward(fact, end)))


def _with_patterns(sentence: str, asked: _Asked) -> Iterator[tuple[str, _Asked]]:
    if (asked.predicate, asked.way) in plain_patterns():
        yield sentence, asked


def _facts(table: FactTable, sentence: str) -> list[Fact]:
    """The statements of a sentence; none if it has several meanings."""
    units = table.units_of(sentence)
    return list(units[0].facts) if len(units) == 1 else []


def _end(fact: Fact) -> Any:
    return fact.value if fact.tail is None else fact.tail


def _forward(fact: Fact, head: str) -> tuple[Mapping[str, Any], ...]:
    if fact.tail is None:
        return _steps(("Find", [head]), ("QueryAttr", [fact.predicate]))
    return _steps(("Find", [head]), ("Relate", [fact.predicate, FORWARD]), ("What", []))


def _backward(fact: Fact, end: str) -> tuple[Mapping[str, Any], ...]:
    if fact.value is None:
        return _steps(("Find", [end]), ("Relate", [fact.predicate, BACKWARD]), ("What", []))
    if fact.value.type == "quantity":
        return _steps(("FindAll", []), ("FilterNum", [fact.predicate, end, "="]), ("What", []))
    return _steps(("FindAll", []), ("FilterStr", [fact.predicate, end]), ("What", []))


def _steps(*steps: tuple[str, list[str]]) -> tuple[Mapping[str, Any], ...]:
    """A program whose steps follow one another."""
    return tuple(
        {"function": function, "dependencies": [number - 1] if number else [], "inputs": inputs}
        for number, (function, inputs) in enumerate(steps)
    )


def same_things(examples: Sequence[Example], table: FactTable) -> Mapping[str, list[str]]:
    """For each question with an answer, by its id, up to `MOST_BESIDE` sentences about the heads and tails of its gold
    facts that are neither candidates nor as good as a gold fact; the same at each call.

    Raises:
        DataError: a candidate is not in the textual database, or no fact there has statements.
    """
    sentences, about = table.sentences, sentences_by(table, entities_of)
    if not about:
        raise DataError("the facts have no statements, so that it is not known what they are about")
    found = {}
    for example in examples:
        if not example.answerable:
            continue
        gold = topics(table.units(example, node) for node in example.graph.nodes)
        ends = dict.fromkeys(end for fact in gold for end in entities_of(fact))
        near = dict.fromkeys(row for end in ends if len(about[end]) <= COMMON for row in about[end])
        drawn = random.Random(f"same things {example.id}").sample([sentences[row] for row in near], len(near))
        found[example.id] = list(islice(fair(example, drawn, table), MOST_BESIDE))
    return found
