"""From requests to responses: the checks that need the sources, and the answering of a batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bgr.data.example import Example
from bgr.errors import DataError
from bgr.reader.answer import Answer
from bgr.retrievers.base import Query
from bgr.serve.schema import AnswerResponse, AskRequest, Milliseconds, response
from bgr.serve.sources import Sources
from bgr.utils.json_utils import repr_short, text_problem


@dataclass(frozen=True)
class Job:
    """A request that was checked: its question, its own candidates if it has any, and what answers it."""

    request: AskRequest
    query: Query
    system: str
    collection: str | None
    pool: int | None
    example: Example | None


class Answering:
    """Answers requests with the sources of a server.

    Args:
        sources: systems, collections and examples.
        max_facts: maximum candidates of a question.
        pool: number of candidates from a collection where the request does not say.
    """

    def __init__(self, sources: Sources, *, max_facts: int, pool: int | None) -> None:
        self.sources, self.max_facts, self.pool = sources, max_facts, pool

    def job(self, request: AskRequest) -> Job:
        """Check a request; DataError if it names what is not there, or holds what cannot be read."""
        systems, collections, examples = self.sources.systems, self.sources.collections, self.sources.examples
        system = next(iter(systems)) if request.system is None else request.system
        _known("system", system, systems)
        example, collection, facts = None, None, request.facts
        if request.example is not None:
            if request.example not in examples:
                raise DataError(f"example is {repr_short(request.example)}, allowed: an id of /v1/examples")
            example = examples[request.example]
            facts = list(example.facts)
        question = " ".join((request.question or (example.question if example else "")).split())
        if problem := text_problem(question):
            raise DataError(f"the question {problem}")
        if facts is None:
            if not collections:
                raise DataError("this server has no collection; give facts")
            collection = next(iter(collections)) if request.collection is None else request.collection
            _known("collection", collection, collections)
            return Job(request, Query(question), system, collection, request.pool or self.pool, example)
        if not facts:
            raise DataError("facts is empty; give at least one")
        if len(facts) > self.max_facts:
            raise DataError(f"{len(facts):,} facts, allowed: {self.max_facts:,}")
        for number, fact in enumerate(facts):
            if problem := text_problem(fact):
                raise DataError(f"fact {number} {problem}")
        return Job(request, Query(question, facts), system, None, None, example)

    def answers(self, jobs: Sequence[Job]) -> list[Answer]:
        """One answer for each job, in order: those that are alike are answered together."""
        alike: dict[tuple[str, str | None, int | None], list[int]] = {}
        for number, job in enumerate(jobs):
            alike.setdefault((job.system, job.collection, job.pool), []).append(number)
        found: dict[int, Answer] = {}
        for (system, collection, pool), numbers in alike.items():
            searched = None if collection is None else self.sources.collections[collection]
            queries = [jobs[number].query for number in numbers]
            answers = self.sources.systems[system].answer_all(queries, searched, pool)
            found.update(zip(numbers, answers, strict=True))
        return [found[number] for number in range(len(jobs))]

    def respond(self, job: Job, answer: Answer, milliseconds: Milliseconds) -> AnswerResponse:
        """The response to a job's request."""
        example = job.example
        return response(
            job.request,
            answer,
            system=job.system,
            collection=job.collection,
            directed=self.sources.systems[job.system].directed,
            gold=None if example is None else (example.graph, example.answer),
            milliseconds=milliseconds,
        )


def _known(what: str, name: str, allowed: Collection[str]) -> None:
    if name not in allowed:
        raise DataError(f"{what} is {repr_short(name)}, allowed: {', '.join(allowed)}")
