"""`bgr ablate answers`: a language model without examples answers from the question alone, from the facts of an
evidence graph, and from the graph in words (ReasonGraphQA paper, Table 5)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import Any

from bgr.data.multihop.assemble import MultihopData
from bgr.errors import BgrError
from bgr.llm.prompts import prompts_hash
from bgr.retrievers.base import Retriever
from bgr.retrievers.llm_graph.answerer import FACTS, GRAPH, QUESTION, LlmAnswerer
from bgr.retrievers.llm_graph.prompts import DEFAULT
from bgr.utils.atomic_io import complete_folder
from bgr.utils.json_utils import repr_short
from eval.ablations.options import AblateAnswersOptions
from eval.compare.passages import PassageComparison, compare_passages
from eval.report.passages import write_passages
from eval.run.passage_answers import GraphAnswers
from eval.run.passage_scores import ANSWERS, score
from eval.run.run_system import Bound, System
from eval.systems.resources import Resources
from eval.systems.retrievers import load_place, place_settings
from eval.systems.spec import GOLD, SystemSpec, parse_specs
from eval.systems.study import load_questions, open_output, run_all


def ablate_answers(options: AblateAnswersOptions) -> PassageComparison:
    """Answer the questions, score and compare the answers, and write the report.

    Raises:
        BgrError: the options contradict each other, or a file is damaged.
    """
    specs = parse_specs(options.evidence, option="--evidence", known=(GOLD,))
    data = load_questions(options).first(options.limit)
    without = next((one.id for one in data.questions if one.graph is None), None)
    if without is not None:
        raise BgrError(
            f"{options.data}: question {repr_short(without)} has no evidence graph; allowed: datasets, MuSiQue"
        )
    with closing(Resources(options, data.of_contexts())) as resources:
        resources.check()
        systems = _systems(specs, data, resources)
        open_output(options)
        about: dict[str, Any] = {"file": str(options.data), "limit": options.limit, "scope": "question"}
        about |= {"llm": resources.llm.backend.name}
        scores = [score(one.name, found, data, only=ANSWERS) for one, found in run_all(options, systems, data)]
        comparison = compare_passages(scores, data, {**about, **resources.about})
        write_passages(options.out, comparison)
        complete_folder(options.out)
        return comparison


def _systems(specs: Sequence[SystemSpec], data: MultihopData, resources: Resources) -> list[System]:
    """The question alone, then facts and graph of each source of evidence."""
    model: dict[str, Any] = {"llm": resources.backend(resources.llm_spec).name}
    model |= {"prompts": prompts_hash("bgr.llm_graph"), "llm_graph": asdict(DEFAULT)}
    nothing = partial(Bound, data.corpus, gold=False)
    answers = partial(_answers, resources, QUESTION)
    found = [System("question", {**model, "way": QUESTION}, nothing, answers=answers)]
    for spec in specs:
        of_graphs = {} if spec.is_bound else place_settings(spec, resources.options)
        for way in (FACTS, GRAPH):
            settings, make = {**model, **of_graphs, "way": way}, partial(_make, spec, data, resources)
            answers = partial(_answers, resources, way)
            found.append(System(f"{spec.label}-{way}", settings, make, within=not spec.is_bound, answers=answers))
    return found


def _make(spec: SystemSpec, data: MultihopData, resources: Resources) -> Retriever:
    return Bound(data.corpus, gold=True) if spec.is_bound else load_place(spec, resources.options)


def _answers(resources: Resources, way: str) -> GraphAnswers:
    return GraphAnswers(LlmAnswerer(resources.llm, way, DEFAULT), resources.corpus)
