"""Evidence graphs by a language model that sees a few examples (paper, sections 5.1 and 5.4; Table 4, LLM rows)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bgr.collection.bm25 import Bm25Search
from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.llm_graph.form import Form, Numbers
from bgr.retrievers.llm_graph.llm_graph_settings import DEFAULT, LlmGraphSettings
from bgr.retrievers.llm_graph.prompts import clip, fact_line, prompt, too_long
from bgr.retrievers.llm_graph.repair import FAULTS, Repaired, repair
from bgr.retrievers.llm_graph.shots import choose_shots, shot_texts

CONTEXT, CLIPPED, SHOTS, EDGES = "context", "clipped", "shots", "edges"
"""Names of limits: not all candidates were shown; some were cut short; not all examples had room; more edges were
written than are read."""


@dataclass(frozen=True)
class _Task:
    """A query, the places of the facts that are shown, in the order of the candidates, and the prompt."""

    query: Query
    shown: tuple[int, ...]
    text: str


class LlmGraph(Retriever):
    """One call a question. A reply that cannot be used gives an empty graph and counts as failed.

    All questions see the same examples. Where the candidates do not fit beside them, the best by BM25 are shown, as
    many as fit, in the order they had.

    `details` of a result: ``variant``, ``examples`` and ``shots`` (how many were chosen, and had room), ``facts``,
    ``shown`` and ``clipped`` (how many there are, were shown, and were cut short), ``unknown`` (numbers that the model
    made up), each of `repair.FAULTS`, ``failure`` (one line or ``None``), ``usage``, ``reply``.

    Args:
        llm: is asked.
        form: how it is asked; one of `bgr.retrievers.llm_graph.forms.FORMS`.
        examples: of the train split, from which the examples in the prompt are chosen; none for zero-shot.
        settings: see there.
    """

    parameters = None  # of the model: not known here

    def __init__(
        self, llm: LanguageModel, form: Form, examples: Sequence[Example] = (), settings: LlmGraphSettings = DEFAULT
    ) -> None:
        self.llm, self.form, self.settings = llm, form, settings
        room = (settings.characters - len(self._prompt("", ""))) // 2
        chosen = choose_shots(examples, settings)
        self.examples = len(chosen)
        self.shots = shot_texts(chosen, form, settings, room)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One graph for each query; all calls are one batch.

        Raises:
            BgrError: see `LanguageModel.ask`.
        """
        tasks = [self._task(query) for query in queries]
        asked = [task for task in tasks if task.shown]
        replies = iter(self.llm.ask([self._request(task) for task in asked]) if asked else [])
        return [self._read(task, next(replies)) if task.shown else self._unasked(task) for task in tasks]

    def _task(self, query: Query) -> _Task:
        question = clip(query.question, self.settings.fact_characters)
        shots = "".join(f"{text}\n\n" for text in self.shots)
        room = self.settings.characters - len(self._prompt(shots, question))
        shown = self._shown(query, room)
        facts = "\n".join(self._line(number, query.facts[place]) for number, place in enumerate(shown, 1))
        return _Task(query, shown, self._prompt(shots, question, facts))

    def _shown(self, query: Query, room: int) -> tuple[int, ...]:
        """Places of all candidates, or of the best by BM25 that fit into so many characters."""
        most = len(query.facts)
        lengths = [len(self._line(most, fact)) + 1 for fact in query.facts]
        if sum(lengths) <= room:
            return tuple(range(most))
        chosen = []
        for place, _ in Bm25Search(query.facts).top(query.question, most):
            room -= lengths[place]
            if room < 0:
                break
            chosen.append(place)
        return tuple(sorted(chosen))

    def _line(self, number: int, fact: str) -> str:
        return fact_line(number, fact, self.settings.fact_characters)

    def _prompt(self, shots: str, question: str, facts: str = "") -> str:
        return prompt(self.form.name, shots=shots, facts=facts, question=question)

    def _request(self, task: _Task) -> Request:
        schema = self.form.schema(self.settings.edges)
        step = f"llm_graph.{self.form.name}"
        return Request(step, (Message("user", task.text),), schema, self.settings.max_tokens)

    def _read(self, task: _Task, reply: Reply) -> RetrievalResult:
        numbers = Numbers(len(task.shown))
        edges = self.form.read(reply.value, numbers) if reply.failure is None else None
        failure, usage = reply.failure, reply.usage
        if edges is None and failure is None:
            failure, usage = "the reply holds no graph", usage + Usage(failed=1)
        found = repair(edges or [], self.settings.edges)
        graph = found.graph.relabel(dict(enumerate(task.shown)))
        return self._result(task, found._replace(graph=graph), numbers.unknown, failure, usage, reply.text)

    def _unasked(self, task: _Task) -> RetrievalResult:
        """No candidates, or none that fits."""
        failure = "no candidate fits into the prompt" if task.query.facts else None
        empty = Repaired(EvidenceGraph(), dict.fromkeys(FAULTS, 0))
        return self._result(task, empty, 0, failure, Usage(failed=int(failure is not None)), "")

    def _result(
        self, task: _Task, found: Repaired, unknown: int, failure: str | None, usage: Usage, reply: str
    ) -> RetrievalResult:
        most = self.settings.fact_characters
        details: dict[str, Any] = {
            "variant": self.form.name,
            "examples": self.examples,
            "shots": len(self.shots),
            "facts": len(task.query.facts),
            "shown": len(task.shown),
            "clipped": sum(too_long(task.query.facts[place], most) for place in task.shown),
            "unknown": unknown,
            **found.faults,
            "failure": failure,
            "usage": usage.to_json(),
            "reply": reply,
        }
        reached = {
            CONTEXT: details["shown"] < details["facts"],
            CLIPPED: details["clipped"] > 0,
            SHOTS: bool(task.shown) and details["shots"] < details["examples"],
            EDGES: found.faults["beyond"] > 0,
        }
        limits = tuple(name for name, there in reached.items() if there)
        return RetrievalResult(found.graph, limits, details, searched=task.query.facts, usage=usage)
