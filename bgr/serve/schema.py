"""Requests and responses of the HTTP API, version 1."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, FailFast, Field, model_validator
from pydantic_core import InitErrorDetails, ValidationError

from bgr.data.example import Example as Sample
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.reader.answer import Answer
from bgr.utils.json_utils import MAX_TEXT

MAX_BATCH = 1_000
"""Maximum questions of one batch."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Request(_Strict):
    """A body. Only its first problem is looked for: pydantic would collect millions of them, for a minute and in
    gigabytes of memory, while nobody else is answered. Its lists have `FailFast` for the same reason."""

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, body: object) -> object:
        for name, value in body.items() if isinstance(body, dict) else ():
            if name not in cls.model_fields:
                unknown = InitErrorDetails(type="extra_forbidden", loc=(name,), input=value)
                raise ValidationError.from_exception_data(cls.__name__, [unknown])
        return body


class AskRequest(_Request):
    """A question, and where its evidence is looked for: in facts, a collection or the candidates of an example. With
    none of them, the server's first collection is searched."""

    question: Annotated[str, Field(max_length=MAX_TEXT, description="the question; may be left out for an example")] = (
        ""
    )
    facts: Annotated[list[str] | None, FailFast(), Field(description="the candidates, one sentence each")] = None
    collection: Annotated[str | None, Field(description="name of a collection")] = None
    example: Annotated[str | None, Field(description="id of an example")] = None
    system: Annotated[str | None, Field(description="name of a system; the first of /v1/systems if left out")] = None
    pool: Annotated[int | None, Field(ge=1, le=10_000, description="candidates from a collection")] = None

    @model_validator(mode="after")
    def _one_source(self) -> AskRequest:
        given = [name for name in ("facts", "collection", "example") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of facts, collection and example, not {' and '.join(given)}")
        if self.example is None and not self.question.strip():
            raise ValueError("the question is empty")
        if self.pool is not None and given not in ([], ["collection"]):
            raise ValueError(f"pool is a number of texts of a collection, and {given[0]} is given")
        return self


class BatchRequest(_Request):
    requests: Annotated[list[AskRequest], FailFast(), Field(min_length=1, max_length=MAX_BATCH)]


class Edge(_Strict):
    """`target` is found from `source`, −1 for the question, with this probability."""

    source: int
    target: int
    score: float | None


class Graph(_Strict):
    """An evidence graph: the numbers of its facts in the order of reasoning, and its edges."""

    nodes: list[int]
    edges: list[Edge]

    @classmethod
    def of(cls, graph: EvidenceGraph) -> Graph:
        scores = graph.scores
        edges = [Edge(source=a, target=b, score=scores.get((a, b))) for a, b in sorted(graph.edges)]
        return cls(nodes=graph.order(), edges=edges)


class Candidate(_Strict):
    """A fact by its number. Those of a collection have the id and title of their document."""

    number: int
    text: str
    id: str | None = None
    title: str | None = None


class Span(_Strict):
    """The words from which the answer was read: characters `start` to `end` of a fact."""

    fact: int
    start: int
    end: int


class Milliseconds(_Strict):
    waited: Annotated[float, Field(description="in the queue")]
    answered: Annotated[float, Field(description="search, retrieval and reader, for all of its batch")]


class AnswerResponse(_Strict):
    """The answer to one question, with its evidence (`bgr.Answer`)."""

    question: str
    system: str
    source: Literal["facts", "collection", "example"]
    collection: str | None
    answer: Annotated[str | None, Field(description="null if the evidence does not answer the question")]
    has_reader: Annotated[bool, Field(description="false if the system gives evidence alone")]
    confidence: Annotated[float | None, Field(description="probability that the answer is right")]
    completeness: Annotated[float | None, Field(description="probability that the candidates hold all of the evidence")]
    agreement: Annotated[float | None, Field(description="how much of both directions' graphs is the same")]
    graph: Graph
    forward: Graph | None
    backward: Graph | None
    gold: Annotated[Graph | None, Field(description="of an example")]
    gold_answer: str | None
    candidates: Annotated[list[Candidate], Field(description="best first; of facts given those of the graphs alone")]
    count: Annotated[int, Field(description="number of candidates")]
    support: list[int]
    spans: list[Span]
    warnings: list[str]
    milliseconds: Milliseconds


class Failure(_Strict):
    """An error in one line."""

    error: str


class BatchResponse(_Strict):
    """A result or an error for each request, in order."""

    results: list[AnswerResponse | Failure]


class SystemInfo(_Strict):
    name: str
    description: str
    answers: Annotated[bool, Field(description="whether it answers, or finds evidence alone")]


class CollectionInfo(_Strict):
    name: str
    texts: int


class ExampleInfo(_Strict):
    id: str
    question: str
    type: str
    structure: str
    answerable: bool

    @classmethod
    def of(cls, example: Sample, **more: object) -> Self:
        """The fields of a sample, and `more` of a subclass."""
        structure = example.structure if example.answerable else ""
        return cls.model_validate(
            {
                "id": example.id,
                "question": example.question,
                "type": example.type,
                "structure": structure,
                "answerable": example.answerable,
                **more,
            }
        )


class Example(ExampleInfo):
    """A question of a dataset with its candidates, gold graph and answer."""

    facts: list[str]
    answer: str
    graph: Graph


class Limits(_Strict):
    facts: int
    bytes: int
    queue: int
    seconds: float


class Health(_Strict):
    status: Literal["ready", "stopping"]
    version: str
    queue: Annotated[int, Field(description="questions that wait or are being answered")]
    limits: Limits
    token: Annotated[bool, Field(description="whether a token is required")]


def response(
    request: AskRequest,
    answer: Answer,
    *,
    system: str,
    collection: str | None,
    directed: bool,
    gold: tuple[EvidenceGraph, str] | None,
    milliseconds: Milliseconds,
) -> AnswerResponse:
    """The response to a request, which was answered over a `collection` or the request's own facts; `directed` if the
    system has graphs of two directions."""
    source: Literal["facts", "collection", "example"] = (
        "facts" if request.facts is not None else "example" if request.example is not None else "collection"
    )
    shown = range(len(answer.facts))
    if source == "facts":
        graphs = (answer.graph, answer.forward, answer.backward)
        shown = sorted({node for graph in graphs for node in graph.nodes})  # type: ignore[assignment]
    documents = answer.documents
    candidates = [
        Candidate(number=n, text=answer.facts[n], id=documents[n].id, title=documents[n].title)
        if documents
        else Candidate(number=n, text=answer.facts[n])
        for n in shown
    ]
    return AnswerResponse(
        question=answer.question,
        system=system,
        source=source,
        collection=collection,
        answer=answer.text,
        has_reader=answer.has_reader,
        confidence=answer.confidence,
        completeness=answer.completeness,
        agreement=answer.agreement if directed else None,
        graph=Graph.of(answer.graph),
        forward=Graph.of(answer.forward) if directed else None,
        backward=Graph.of(answer.backward) if directed else None,
        gold=None if gold is None else Graph.of(gold[0]),
        gold_answer=None if gold is None else gold[1],
        candidates=candidates,
        count=len(answer.facts),
        support=list(answer.support),
        spans=[Span(fact=one.fact, start=one.start, end=one.end) for one in answer.spans],
        warnings=_warnings(answer),
        milliseconds=milliseconds,
    )


def _warnings(answer: Answer) -> list[str]:
    facts = sum(number >= 0 for number in answer.truncated)
    cut = ["the question was too long, its end was not read"] if len(answer.truncated) > facts else []
    cut += [f"the ends of {facts:,} facts were not read: too long"] if facts else []
    return [*cut, *answer.warnings]
