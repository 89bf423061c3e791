"""What a language model that saw no examples answers: from the question alone, from the facts of an evidence graph
besides, and from the graph in words, each fact with what it was found from (ReasonGraphQA paper, Table 5).

--data is a dataset of `bgr data build` (its test split), or a published file of MuSiQue, whose decompositions are
graphs. --evidence says whose graphs: gold, or [NAME=]FOLDER[:RULE], a checkpoint or a trained baseline, run over the
candidates of each question. Where a system finds nothing, nothing is answered.

Results are kept question by question in DIR/results.jsonl as they come: the same command goes on where it was
interrupted, and with --replay questions in which a step failed are run again. Writes passages.md, passages.json,
systems.csv, pairs.csv, groups.csv, pareto.png and traces.html, with answers for all scores.

  bgr ablate answers --data work/data --llm smollm2 --limit 100 --replay work/replies.db --out work/answers
  bgr ablate answers --data work/data --llm smollm2 --evidence gold bgr=work/checkpoint --out work/answers
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from bgr.cli.passage_parts import PassageParts
from bgr.cli.passage_systems import Named, parse_names
from bgr.cli.study_options import add_study, check_study
from bgr.errors import BgrError
from bgr.utils.json_utils import shown

if TYPE_CHECKING:
    from eval.passages.run import System
    from eval.passages.runners import Runner

ALONE = "question"
"""The row without evidence."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_study(parser)
    parser.add_argument("--evidence", nargs="+", default=["gold"], metavar="SYSTEM", help="default: gold")
    parser.set_defaults(seed=0)  # of a random baseline


def run(args: argparse.Namespace) -> None:
    """Load, run what is not done, score, compare, write, print.

    Raises:
        BgrError: what is given is damaged, or does not belong together.
    """
    from bgr.cli.compare_passages import load_data, open_output, print_comparison, run_all
    from eval.passages.compare import compare_passages
    from eval.passages.score import ANSWERS, score
    from eval.report.passages import write_passages

    check_study(args)
    named = parse_names(args.evidence, option="--evidence", known=("gold",))
    data = load_data(args).first(args.limit)
    without = next((one.id for one in data.questions if one.graph is None), None)
    if without is not None:
        raise BgrError(f"{args.data}: question {shown(without)} has no evidence graph; allowed: datasets, MuSiQue")
    parts = PassageParts(args, data.of_contexts())
    parts.check()
    systems = _systems(named, parts)
    open_output(args.out, overwrite=args.overwrite)
    about = {"file": str(args.data), "limit": args.limit, "scope": "question", "llm": parts.llm.backend.name}
    scores = [score(one.name, found, data, only=ANSWERS) for one, found in run_all(args, systems, data)]
    comparison = compare_passages(scores, data, {**about, **parts.about})
    write_passages(args.out, comparison)
    print_comparison(args, comparison)


def _systems(named: list[Named], parts: PassageParts) -> list[System]:
    """The question alone, then facts and graph of each kind of evidence."""
    from bgr.cli.graph_systems import place_settings
    from bgr.llm.prompts import prompts_hash
    from bgr.retrievers.llm_graph.answerer import FACTS, GRAPH, QUESTION
    from bgr.retrievers.llm_graph.llm_graph_settings import DEFAULT
    from eval.passages.run import System

    model: dict[str, Any] = {"llm": parts.llm.backend.name, "prompts": prompts_hash("bgr.llm_graph")}
    model["llm_graph"] = asdict(DEFAULT)
    found = [System(ALONE, {**model, "way": QUESTION}, partial(_make, None, QUESTION, parts))]
    for one in named:
        of_graphs = {} if one.asked is None else place_settings(one.asked, parts.args)
        for way in (FACTS, GRAPH):
            settings = {**model, **of_graphs, "way": way}
            found.append(System(f"{one.name}-{way}", settings, partial(_make, one, way, parts)))
    return found


def _make(one: Named | None, way: str, parts: PassageParts) -> Runner:
    from bgr.cli.graph_systems import load_place
    from bgr.retrievers.llm_graph.answerer import LlmAnswerer
    from bgr.retrievers.llm_graph.llm_graph_settings import DEFAULT
    from eval.passages.answers import GraphAnswers
    from eval.passages.runners import Answering, ByGraph, Given

    answers = GraphAnswers(LlmAnswerer(parts.llm, way, DEFAULT), parts.corpus)
    if one is None or one.asked is None:
        return Answering(Given(gold=one is not None), answers)
    return Answering(ByGraph(load_place(one.asked, parts.args), parts.corpus), answers)
