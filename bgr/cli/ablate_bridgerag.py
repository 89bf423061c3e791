"""BridgeRAG's ablations on passages: what the bridge is good for, with every judge on the same pool.

--data is a published file of MuSiQue, HotpotQA, 2WikiMultihopQA (also as HippoRAG samples them) or MultiHop-RAG, or a
dataset of `bgr data build` (its test split); without --corpus the passages of all its questions are searched. For each
question the pool is built once, then judged without a bridge (B), with it (C), and with the second-hop queries, the
pool's passage of lowest cosine, and the best-ranked wrong passage in its place; the order by cosine alone (A) asks
nobody. That is seven calls a question with --judge scores, and two and five for each candidate with --judge
probability, which needs a backend that gives log-probabilities.

Results are kept question by question in DIR/results.jsonl: the same command goes on where it was interrupted, and with
--replay questions in which a step failed are run again. Writes bridgerag.md, bridgerag.json, systems.csv, tests.csv,
flips.csv, proximity.csv, diversity.csv and alpha.csv.

  bgr ablate bridgerag --data musique.json --corpus musique_corpus.json --llm smollm2 --replay work/replies.db \\
      --limit 20 --out work/bridgerag
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from bgr.cli.study_options import add_search, add_study, check_study

if TYPE_CHECKING:
    from bgr.cli.passage_parts import PassageParts
    from bgr.data.multihop.assemble import MultihopData
    from eval.ablations.bridgerag_report import Study
    from eval.passages.run import System

SYSTEM = "bridgerag-ablation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_study(parser)
    add_search(parser)
    parser.add_argument("--judge", choices=("scores", "probability"), default="scores", help="default: scores")


def run(args: argparse.Namespace) -> None:
    """Load, run what is not done, analyse, write, print.

    Raises:
        BgrError: what is given is damaged, or does not belong together.
    """
    from bgr.cli.compare_passages import load_data, open_output, run_all
    from bgr.cli.passage_parts import PassageParts
    from eval.ablations.bridgerag_judged import Judged
    from eval.ablations.bridgerag_report import studies_of, write_report
    from eval.passages.compare import describe

    check_study(args)
    whole = load_data(args)
    data = whole.first(args.limit)
    parts = PassageParts(args, data)
    parts.check()
    _ = parts.encoder  # a wrong folder is told before anything is replaced
    system = _system(args, whole, parts)  # loads the model: what is wrong with it is said before old results go
    open_output(args.out, overwrite=args.overwrite)
    ((_, found),) = run_all(args, [system], data)
    pairs = zip(data.questions, found, strict=True)
    judged = [Judged.of(question, one, data) for question, one in pairs]
    alpha = system.settings["bridgerag"]["alpha"]
    studies = studies_of(judged, alpha)
    about = {"file": str(args.data), "corpus_file": str(args.corpus) if args.corpus else None, "limit": args.limit}
    about |= {**parts.about, "settings": dict(system.settings), **describe(data)}
    write_report(args.out, studies, about)
    _print(studies, about, args)


def _system(args: argparse.Namespace, data: MultihopData, parts: PassageParts) -> System:
    """All experiments as one system, with all that decides its results: the gold passages too, and those of all
    questions of the file, whatever the limit."""
    from bgr.llm.prompts import prompts_hash
    from bgr.retrievers.base import PassageRetriever
    from bgr.retrievers.bridgerag.agent import BridgeRag
    from bgr.retrievers.bridgerag.bridgerag_settings import PAPER
    from eval.ablations.bridgerag_retriever import AblationRetriever, gold_places
    from eval.passages.run import System

    def make() -> PassageRetriever:
        method = BridgeRag(parts.llm, parts.corpus, parts.dense, PAPER, judge=args.judge)
        return AblationRetriever(method, parts.dense, gold_places(data))

    settings = {
        "encoder": parts.encoder.identity(),
        "llm": parts.llm.backend.name,
        "judge": args.judge,
        "bridgerag": asdict(PAPER),
        "prompts": prompts_hash("bgr.bridgerag"),
        "data": data.hash,
    }
    return System(SYSTEM, settings, make)


def _print(studies: list[Study], about: dict, args: argparse.Namespace) -> None:
    from eval.ablations.bridgerag_report import JSON, MARKDOWN
    from eval.passages.compare import corpus_line

    if args.json:
        print((args.out / JSON).read_text(encoding="utf-8"), end="")
        return
    print(corpus_line(about))
    print(studies[0].table.as_text())
    print(studies[0].note)
    print(f"\nwritten to {args.out}; the other tables are in {MARKDOWN}")
