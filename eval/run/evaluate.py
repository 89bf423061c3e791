"""Run retrievers over a split and score every question with every metric (paper, section 5.3 and Table 4)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from tqdm import tqdm

from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import ROOT
from bgr.metrics.answers import answer_match
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.ged import graph_edit_distance, released_graph_edit_distance
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.models.truncation import Truncation
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from eval.run.refusal import Refusals

if TYPE_CHECKING:
    from bgr.pipeline import BgrPipeline, DirectedGraphs

METRICS = ("gm", "gs", "ged", "ged_labelled", "f1", "precision", "recall", "em")
CHUNK = 64


@dataclass(frozen=True)
class Row:
    """The scores of one question. `type` to `facts` describe the gold graph, by which results are broken down.

    The distances are the best edits found (upper bounds); if a search ran out of time, its `…_exact` is false and
    `…_lower` is the proven bound. `ged_released` is the authors' variant, if it was requested; `qa_em` tells whether
    the answer is right, if a reader was asked and the right answer is known.
    """

    id: str
    type: str
    structure: str
    hops: int
    chains: int
    facts: int
    gm: bool
    gs: bool
    ged: int
    ged_lower: int
    ged_exact: bool
    ged_labelled: int
    ged_labelled_lower: int
    ged_labelled_exact: bool
    precision: float
    recall: float
    f1: float
    em: float
    limits: tuple[str, ...] = ()
    ged_released: float | None = None
    qa_em: bool | None = None


@dataclass(frozen=True)
class Predictions:
    """The results of one system, in the order of the examples, with the wall time of retrieval in seconds and the
    number of the system's weights, if known. `answers` are those of a reader, ``None`` where it could give none; they
    are ``None`` as a whole if no reader was asked. `inputs_truncated` is the number of questions of which the reader
    did not read the whole input. `refusals` are the scores on questions without an answer, if it was run on some."""

    results: Sequence[RetrievalResult]
    seconds: float | None = None
    answers: Sequence[str | None] | None = None
    parameters: int | None = None
    inputs_truncated: int | None = None
    refusals: Refusals | None = None


@dataclass(frozen=True, kw_only=True)
class Evaluation(Predictions):
    """The predictions of one system with the scores of every question, in the order of the examples. `truncation` is
    that of `count_truncated`."""

    name: str
    rows: tuple[Row, ...]
    truncation: Mapping[str, Truncation]

    @cached_property
    def mean(self) -> dict[str, float]:
        """`summarize` over all questions, with ``seconds_per_question``, ``parameters``, ``inputs_truncated`` and the
        counts of `truncation` (``facts_distinct``, ``facts_truncated``) where they are known."""
        extra: dict[str, float] = {}
        for name, count in self.truncation.items():
            extra |= {f"{name}_distinct": count.texts, f"{name}_truncated": count.truncated}
        if self.inputs_truncated is not None:
            extra["inputs_truncated"] = self.inputs_truncated
        if self.seconds is not None:
            extra["seconds_per_question"] = self.seconds / len(self.rows)
        if self.parameters is not None:
            extra["parameters"] = self.parameters
        return summarize(self.rows) | extra


def named(evaluations: Sequence[Evaluation], name: str) -> Evaluation:
    """The evaluation of one system.

    Raises:
        BgrError: no system has that name.
    """
    for evaluation in evaluations:
        if evaluation.name == name:
            return evaluation
    raise BgrError(f"no system {name!r}, there are: {', '.join(e.name for e in evaluations)}")


def query_of(example: Example) -> Query:
    """The part of an example that a retriever may see, and the number of gold facts for the paper's top-k protocol: at
    least 1, since 0 would tell that the question has no answer."""
    return Query(example.question, example.facts, gold_count=max(1, len(example.graph.nodes)))


def run(retriever: Retriever, examples: Sequence[Example], progress: str | None = None) -> Predictions:
    """Retrieve for all examples, timed. The retriever does its own batching within chunks of questions."""
    start, results = time.perf_counter(), []
    for first in tqdm(range(0, len(examples), CHUNK), desc=progress, disable=progress is None, delay=2, unit="chunk"):
        results += retriever.retrieve([query_of(example) for example in examples[first : first + CHUNK]])
    seconds = time.perf_counter() - start
    return Predictions(results, seconds, parameters=getattr(retriever, "parameters", 0))  # BM25 has no weights


@dataclass(frozen=True)
class Directions:
    """Both directions of a checkpoint, run once on the examples in `seconds` of wall time; every reconstruction rule is
    applied to them."""

    pipeline: BgrPipeline
    graphs: Sequence[DirectedGraphs]
    seconds: float

    @classmethod
    def run(cls, pipeline: BgrPipeline, examples: Sequence[Example], batch_size: int = 16) -> Directions:
        start = time.perf_counter()
        queries = [query_of(example) for example in examples]
        graphs = pipeline.retrieve_directions(queries, batch_size=batch_size, progress=True)
        return cls(pipeline, graphs, time.perf_counter() - start)

    def predictions(self, rule: str, gamma: float) -> Predictions:
        """The predictions of one rule. A single direction has no time of its own, and only its own model's weights."""
        settings = self.pipeline.settings
        results = [one.merged(rule, gamma, fusion=settings.fusion, refusal=settings.refusal) for one in self.graphs]
        single = rule in ("forward", "backward")
        models = [getattr(self.pipeline, rule)] if single else [self.pipeline.forward, self.pipeline.backward]
        parameters = sum(weights.numel() for model in models for weights in model.parameters())
        return Predictions(results, None if single else self.seconds, parameters=parameters)


def evaluate(
    systems: Mapping[str, Retriever | Predictions],
    examples: Sequence[Example],
    *,
    ged_seconds: float | None = 1.0,
    released_ged: bool = False,
    progress: bool = False,
) -> list[Evaluation]:
    """Score several systems on the same examples, in the order given. Retrievers are run, predictions only scored. The
    time limit `ged_seconds` is that of one `graph_edit_distance`; the authors' variant (`released_ged`) takes up to 0.8
    s a question.

    Raises:
        DataError: there are no examples.
        BgrError: the number of a system's results or answers is not that of the examples.
    """
    if not examples:
        raise DataError("there are no examples to score")
    done = []
    for name, system in systems.items():
        found = system if isinstance(system, Predictions) else run(system, examples, name if progress else None)
        for what, items in (("results", found.results), ("answers", found.answers)):
            if items is not None and len(items) != len(examples):
                raise BgrError(f"system {name!r}: {len(items)} {what} for {len(examples)} examples")
        pairs = list(zip(examples, found.results, strict=True))
        bar = tqdm(pairs, desc=f"score {name}", disable=not progress, delay=2, unit="question")
        rows = [score(*pair, ged_seconds=ged_seconds, released_ged=released_ged) for pair in bar]
        if found.answers is not None:
            judged = zip(rows, found.answers, examples, strict=True)
            rows = [
                replace(row, qa_em=answer_match(answer, example.answer) if example.answer else None)
                for row, answer, example in judged
            ]
        truncation = count_truncated(examples, found.results)
        done.append(Evaluation(name=name, rows=tuple(rows), truncation=truncation, **vars(found)))
    return done


def count_truncated(examples: Sequence[Example], results: Sequence[RetrievalResult]) -> dict[str, Truncation]:
    """How many of the distinct ``questions`` and ``facts`` of the examples a system truncated; empty if it has no limit
    of tokens."""
    questions: set[str] = set()
    facts: set[str] = set()
    for example, result in zip(examples, results, strict=True):
        if result.truncated is None:
            return {}
        questions |= {example.question} if ROOT in result.truncated else set()
        facts |= {example.facts[index] for index in result.truncated if index != ROOT}
    return {
        "questions": Truncation(len(questions), len({example.question for example in examples})),
        "facts": Truncation(len(facts), len({fact for example in examples for fact in example.facts})),
    }


def score(
    example: Example, result: RetrievalResult, *, ged_seconds: float | None = 1.0, released_ged: bool = False
) -> Row:
    """All metrics of the graph of one question.

    Raises:
        BgrError: the graph holds a fact that is not among the candidates.
    """
    predicted, gold = result.graph, example.graph
    if predicted.nodes and predicted.nodes[-1] >= len(example.facts):
        count = len(example.facts)
        raise BgrError(f"sample {example.id!r}: fact {predicted.nodes[-1]} was retrieved, there are {count} candidates")
    plain = graph_edit_distance(predicted, gold, time_limit=ged_seconds)
    labeled = graph_edit_distance(predicted, gold, labeled=True, time_limit=ged_seconds)
    found = evidence_set(predicted, gold)
    return Row(
        id=example.id,
        type=example.type,
        structure=example.structure,
        hops=gold.hops,
        chains=gold.chains,
        facts=len(gold.nodes),
        gm=graph_match(predicted, gold),
        gs=graph_structure_match(predicted, gold),
        ged=plain.upper,
        ged_lower=plain.lower,
        ged_exact=plain.exact,
        ged_labelled=labeled.upper,
        ged_labelled_lower=labeled.lower,
        ged_labelled_exact=labeled.exact,
        precision=found.precision,
        recall=found.recall,
        f1=found.f1,
        em=found.em,
        limits=result.limits,
        ged_released=released_graph_edit_distance(predicted, gold) if released_ged else None,
    )


def summarize(rows: Iterable[Row]) -> dict[str, float]:
    """``n``, the mean of each of `METRICS`, and how many rows are not exact or met a decoding limit.

    GM, GS and the set scores are in 0 … 1; a distance that ran out of time counts with the best edit found, and
    ``ged_lower`` is the mean of the proven bounds. ``qa_em`` is of the rows whose answer is known, if there are any.
    """
    rows = list(rows)
    means = {metric: fmean(getattr(row, metric) for row in rows) for metric in METRICS}
    released = [row.ged_released for row in rows if row.ged_released is not None]
    answered = [row.qa_em for row in rows if row.qa_em is not None]
    return {
        "n": len(rows),
        **means,
        "ged_lower": fmean(row.ged_lower for row in rows),
        "ged_labelled_lower": fmean(row.ged_labelled_lower for row in rows),
        "ged_not_exact": sum(not row.ged_exact for row in rows),
        "ged_labelled_not_exact": sum(not row.ged_labelled_exact for row in rows),
        "limits_reached": sum(bool(row.limits) for row in rows),
        **({"ged_released": fmean(released)} if released else {}),
        **({"qa_em": fmean(answered)} if answered else {}),
    }
