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
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.metrics.answers import answer_match
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.ged import graph_edit_distance, released_graph_edit_distance
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.retrievers.base import Query, RetrievalResult, Retriever

if TYPE_CHECKING:
    from bgr.pipeline import BgrPipeline, DirectedGraphs

METRICS = ("gm", "gs", "ged", "ged_labelled", "f1", "precision", "recall", "em")


@dataclass(frozen=True)
class Row:
    """One question's scores. `type` to `chains` describe the gold graph, by which results are broken down.

    The distances are the best edits found (upper bounds); where a search ran out of time its `…_exact` is false and
    `…_lower` is the proven bound. `ged_released` is the authors' variant, if it was asked for; `qa_em` whether the
    answer is right, where there is one to judge.
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
    """The results of one system, in the order of the examples.

    `seconds` is the wall time that retrieval took and `parameters` the number of the system's weights, if known;
    `answers` is what a reader made of its evidence (an item is ``None`` where the reader found nothing to answer from),
    ``None`` where no reader was asked.
    """

    results: Sequence[RetrievalResult]
    seconds: float | None = None
    answers: Sequence[str | None] | None = None
    parameters: int | None = None


@dataclass(frozen=True)
class Evaluation:
    """One system, scored: `rows`, `results` and `answers` are in the order of the examples."""

    name: str
    rows: tuple[Row, ...]
    results: tuple[RetrievalResult, ...]
    seconds: float | None = None
    answers: tuple[str | None, ...] | None = None
    parameters: int | None = None

    @cached_property
    def mean(self) -> dict[str, float]:
        """`summarise` over all questions, with ``seconds_per_question`` and ``parameters`` where they are known."""
        extra: dict[str, float] = {}
        if self.seconds is not None:
            extra["seconds_per_question"] = self.seconds / len(self.rows)
        if self.parameters is not None:
            extra["parameters"] = self.parameters
        return summarise(self.rows) | extra


def named(evaluations: Sequence[Evaluation], name: str) -> Evaluation:
    """The evaluation of one system.

    Raises:
        BgrError: there is none of that name.
    """
    for evaluation in evaluations:
        if evaluation.name == name:
            return evaluation
    raise BgrError(f"no system {name!r}, there are: {', '.join(e.name for e in evaluations)}")


def query_of(example: Example) -> Query:
    """The part of an example that a retriever may see, and the number of gold facts for the paper's top-k protocol."""
    return Query(example.question, example.facts, gold_count=len(example.graph.nodes))


def evaluate(
    systems: Mapping[str, Retriever | Predictions],
    examples: Sequence[Example],
    *,
    ged_seconds: float | None = 1.0,
    released_ged: bool = False,
    progress: bool = False,
) -> list[Evaluation]:
    """Score several systems on the same examples, in the order given. Retrievers are run, predictions are only scored.

    Args:
        systems: name to retriever, or to what it has retrieved already.
        ged_seconds: time limit of one edit distance; see `graph_edit_distance`.
        released_ged: also compute the authors' variant, up to 0.8 s a question.
        progress: show progress bars on standard error.

    Raises:
        DataError: there are no examples.
        BgrError: a system has not one result, or answer, for each example.
    """
    done = []
    for name, system in systems.items():
        found = system if isinstance(system, Predictions) else run(system, examples, name if progress else None)
        scored = score(
            name,
            examples,
            found.results,
            seconds=found.seconds,
            answers=found.answers,
            ged_seconds=ged_seconds,
            released_ged=released_ged,
            progress=progress,
        )
        done.append(replace(scored, parameters=found.parameters))
    return done


def run(retriever: Retriever, examples: Sequence[Example], progress: str | None = None, chunk: int = 64) -> Predictions:
    """Retrieve for all examples, timed. The retriever does its own batching within chunks of questions."""
    start, results = time.perf_counter(), []
    for first in tqdm(range(0, len(examples), chunk), desc=progress, disable=progress is None, delay=2, unit="chunk"):
        results += retriever.retrieve([query_of(example) for example in examples[first : first + chunk]])
    seconds = time.perf_counter() - start
    return Predictions(results, seconds, parameters=getattr(retriever, "parameters", 0))  # BM25, say, has none


def timed_directions(
    pipeline: BgrPipeline, examples: Sequence[Example], batch_size: int = 16
) -> tuple[list[DirectedGraphs], float]:
    """The graphs of both directions, and the seconds that retrieval took."""
    start = time.perf_counter()
    queries = [query_of(example) for example in examples]
    found = pipeline.retrieve_directions(queries, batch_size=batch_size, progress=True)
    return found, time.perf_counter() - start


def by_rule(
    pipeline: BgrPipeline, found: Sequence[DirectedGraphs], rule: str, gamma: float, seconds: float
) -> Predictions:
    """The predictions of one reconstruction rule. `seconds` is the time of both directions: a single direction has no
    time of its own, and the weights of its own model."""
    results = [one.merged(rule, gamma, fusion=pipeline.settings.fusion) for one in found]
    single = rule in ("forward", "backward")
    models = [getattr(pipeline, rule)] if single else [pipeline.forward, pipeline.backward]
    parameters = sum(weights.numel() for model in models for weights in model.parameters())
    return Predictions(results, None if single else seconds, parameters=parameters)


def score(
    name: str,
    examples: Sequence[Example],
    results: Sequence[RetrievalResult],
    *,
    seconds: float | None = None,
    answers: Sequence[str | None] | None = None,
    ged_seconds: float | None = 1.0,
    released_ged: bool = False,
    progress: bool = False,
) -> Evaluation:
    """Score one system's results; arguments and errors as for `evaluate`."""
    if not examples:
        raise DataError("there are no examples to score")
    if len(results) != len(examples):
        raise BgrError(f"system {name!r}: {len(results)} results for {len(examples)} examples")
    if answers is not None and len(answers) != len(examples):
        raise BgrError(f"system {name!r}: {len(answers)} answers for {len(examples)} examples")
    pairs = tqdm(
        list(zip(examples, results, strict=True)), desc=f"score {name}", disable=not progress, delay=2, unit="question"
    )
    rows = tuple(score_one(example, result, ged_seconds, released_ged) for example, result in pairs)
    if answers is None:
        return Evaluation(name, rows, tuple(results), seconds)
    judged = zip(rows, answers, examples, strict=True)
    rows = tuple(replace(row, qa_em=answer_match(answer, example.answer)) for row, answer, example in judged)
    return Evaluation(name, rows, tuple(results), seconds, tuple(answers))


def score_one(
    example: Example, result: RetrievalResult, ged_seconds: float | None = 1.0, released_ged: bool = False
) -> Row:
    """All metrics of one question."""
    predicted, gold = result.graph, example.graph
    _check_facts(example, predicted)
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


def summarise(rows: Iterable[Row]) -> dict[str, float]:
    """``n``, the mean of each of `METRICS`, and how many rows are not exact or met a decoding limit.

    GM, GS and the set scores are in 0 … 1; a distance that ran out of time enters with the best edit found, and
    ``ged_lower`` has the mean of the proven bounds. ``qa_em`` is there where every row has an answer.
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
        **({"qa_em": fmean(answered)} if len(answered) == len(rows) else {}),
    }


def _check_facts(example: Example, graph: EvidenceGraph) -> None:
    if graph.nodes and graph.nodes[-1] >= len(example.facts):
        raise BgrError(
            f"sample {example.id!r}: fact {graph.nodes[-1]} was retrieved, there are {len(example.facts)} candidates"
        )
