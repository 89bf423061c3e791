"""Evidence graphs by a language model with a few examples (paper, sections 5.1 and 5.4; Table 4, LLM rows)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bgr.collection.bm25 import Bm25Search
from bgr.data.example import Example
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import LanguageModel, Reply, failed
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.llm_graph.forms import Form, Numbers, repair
from bgr.retrievers.llm_graph.prompts import DEFAULT, LlmGraphSettings, clip, fact_line, prompt
from bgr.retrievers.llm_graph.shots import choose_shots, shot_texts

CONTEXT, CLIPPED, SHOTS, EDGES = "context", "clipped", "shots", "edges"
"""Names of limits: not all candidates fit into the prompt; some were truncated; not all examples fit; the reply has
more edges than are read."""


@dataclass(frozen=True)
class _Task:
    """A query, the indices of the facts in the prompt, in the order of the candidates, and the prompt."""

    query: Query
    shown: tuple[int, ...]
    text: str


class LlmGraph(Retriever):
    """One call for each question. An unusable reply gives an empty graph and counts as failed.

    All questions have the same examples in their prompts. If the candidates do not fit, the best by BM25 are used, as
    many as fit, in their original order.

    `details` of a result: ``variant``, ``examples`` and ``shots`` (number of those chosen, and of those that fit),
    ``facts``, ``shown`` and ``clipped`` (number of all, of those in the prompt, and of the truncated ones), ``unknown``
    (numbers that do not exist), each of `repair.FAULTS`, ``failure`` (one line or ``None``), ``usage``, ``reply``.

    Args:
        form: one of `bgr.retrievers.llm_graph.forms.FORMS`.
        examples: examples of the train split, from which those in the prompt are chosen; none for zero-shot.
    """

    parameters = None  # of the model: unknown

    def __init__(
        self, llm: LanguageModel, form: Form, examples: Sequence[Example] = (), settings: LlmGraphSettings = DEFAULT
    ) -> None:
        self.llm, self.form, self.settings = llm, form, settings
        room = (settings.characters - len(self._prompt("", ""))) // 2
        chosen = choose_shots(examples, settings)
        self.examples = len(chosen)
        self.shots = shot_texts(chosen, form, settings, room)

    @property
    def concurrency(self) -> int:
        """That of the model: the one call of a query needs no other."""
        return self.llm.workers

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One graph for each query; all calls are one batch and raise what `LanguageModel.ask` does."""
        tasks = [self._task(query) for query in queries]
        asked = [task for task in tasks if task.shown]
        replies = iter(self.llm.ask([self._request(task) for task in asked]) if asked else [])
        return [self._result(task, next(replies) if task.shown else _unasked(task)) for task in tasks]

    def _task(self, query: Query) -> _Task:
        question = clip(query.question, self.settings.fact_characters)
        shots = "".join(f"{text}\n\n" for text in self.shots)
        room = self.settings.characters - len(self._prompt(shots, question))
        shown = self._shown(query, room)
        facts = "\n".join(self._line(number, query.facts[place]) for number, place in enumerate(shown, 1))
        return _Task(query, shown, self._prompt(shots, question, facts))

    def _shown(self, query: Query, room: int) -> tuple[int, ...]:
        """Indices of all candidates, or of the best by BM25 that fit into `room` characters."""
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

    def _result(self, task: _Task, reply: Reply) -> RetrievalResult:
        numbers = Numbers(len(task.shown))
        edges = self.form.read(reply.value, numbers) if reply.failure is None else None
        failure, usage = reply.failure, reply.usage
        if edges is None and task.shown:
            _, failure, usage = failed(reply, None, "no graph")
        graph, faults = repair(edges or [], self.settings.edges)
        facts = task.query.facts
        details: dict[str, Any] = {
            "variant": self.form.name,
            "examples": self.examples,
            "shots": len(self.shots),
            "facts": len(facts),
            "shown": len(task.shown),
            "clipped": sum(len(" ".join(facts[i].split())) > self.settings.fact_characters for i in task.shown),
            "unknown": numbers.unknown,
            **faults,
            "failure": failure,
            "usage": usage.to_json(),
            "reply": reply.text,
        }
        reached = {
            CONTEXT: details["shown"] < details["facts"],
            CLIPPED: details["clipped"] > 0,
            SHOTS: bool(task.shown) and details["shots"] < details["examples"],
            EDGES: faults["beyond"] > 0,
        }
        limits = tuple(name for name, there in reached.items() if there)
        graph = graph.relabel(dict(enumerate(task.shown)))
        return RetrievalResult(graph, limits, details, searched=facts, usage=usage)


def _unasked(task: _Task) -> Reply:
    """The reply for a query without candidates, or with none that fits."""
    failure = "no candidate fits into the prompt" if task.query.facts else None
    return Reply({}, "", failure, Usage(failed=int(failure is not None)))
