"""BridgeRAG's ablations on passages: what the bridge is good for, with every judge on the same pool.

--data is a published file of MuSiQue, HotpotQA, 2WikiMultihopQA (also as HippoRAG samples them) or MultiHop-RAG;
without --corpus the passages of all its questions are searched. For each question the pool is built once, then judged
without a bridge (B), with it (C), and with the second-hop queries, the pool's passage of lowest cosine, and the
best-ranked wrong passage in its place; the order by cosine alone (A) asks nobody. That is seven calls a question with
--judge scores, and two and five for each candidate with --judge probability, which needs a backend that gives
log-probabilities.

Results are kept question by question in DIR/results.jsonl: the same command goes on where it was interrupted, and with
--replay questions in which a step failed are run again. Writes bridgerag.md, bridgerag.json, systems.csv, tests.csv,
flips.csv, proximity.csv, diversity.csv and alpha.csv.

  bgr ablate bridgerag --data musique.json --corpus musique_corpus.json --llm smollm2 --replay work/replies.db \\
      --limit 20 --out work/bridgerag
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.commands.counts import positive
from bgr.commands.machine_options import add_machine
from bgr.errors import BgrError, DataError

if TYPE_CHECKING:
    from bgr.commands.passage_parts import PassageParts
    from bgr.multihop.data import MultihopData
    from eval.bridgerag.report import Section
    from eval.passages.run import System

SYSTEM = "bridgerag-ablation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="questions")
    parser.add_argument("--form", metavar="NAME", help="of the data: musique, hotpotqa, 2wikimultihopqa, multihop-rag")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="passages to search; default: those of the data")
    parser.add_argument("--encoder", type=Path, metavar="DIR", help="for dense search; default: the packaged MiniLM")
    parser.add_argument(
        "--llm", required=True, metavar="SPEC", help="smollm2, a .gguf file, a folder, http://host/v1#m"
    )
    parser.add_argument("--judge", choices=("scores", "probability"), default="scores", help="default: scores")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="keep the language model's replies here")
    parser.add_argument("--replay-only", action="store_true", help="refuse calls that --replay cannot answer")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument("--batch-size", type=positive, default=16, help="questions at a time; default: 16")
    add_machine(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the report's folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the output folder")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON instead of the first table")
    parser.set_defaults(openie=None, reader=None)  # parts of passages that this command does not need


def run(args: argparse.Namespace) -> None:
    """Load, run what is not done, analyse, write, print.

    Raises:
        BgrError: what is given is damaged, or does not belong together.
    """
    from bgr.commands.compare_passages import RESULTS, load_data, open_output
    from bgr.commands.passage_parts import PassageParts
    from eval.bridgerag.judged import Judged
    from eval.bridgerag.report import sections_of, write_report
    from eval.passages.compare import describe
    from eval.passages.log import ResultLog
    from eval.passages.run import run_system

    if args.replay_only and args.replay is None:
        raise BgrError("--replay-only needs --replay FILE")
    if not args.data.exists():
        raise DataError(f"{args.data}: no such file or folder")
    whole = load_data(args)
    data = whole.first(args.limit)
    parts = PassageParts(args, data)
    _ = parts.encoder  # a wrong folder is told before anything is replaced
    open_output(args.out, overwrite=args.overwrite)
    system = _system(args, whole, parts)
    retry = args.replay is not None
    with ResultLog(args.out / RESULTS) as log:
        found = run_system(system, data, log, batch_size=args.batch_size, retry=retry, progress=True)
    pairs = zip(data.questions, found, strict=True)
    judged = [Judged.of(question, one, data) for question, one in pairs]
    alpha = system.settings["bridgerag"]["alpha"]
    sections = sections_of(judged, alpha)
    about = {"file": str(args.data), "corpus_file": str(args.corpus) if args.corpus else None, "limit": args.limit}
    about |= {**parts.about, "settings": dict(system.settings), **describe(data)}
    write_report(args.out, sections, about)
    _print(sections, about, args)


def _system(args: argparse.Namespace, data: MultihopData, parts: PassageParts) -> System:
    """All experiments as one system, with all that decides its results: the gold passages too, and those of all
    questions of the file, whatever the limit."""
    from bgr.bridgerag.agent import BridgeRag
    from bgr.bridgerag.settings import PAPER
    from bgr.llm.prompts import prompts_hash
    from bgr.passages import PassageRetriever
    from eval.bridgerag.retriever import AblationRetriever, gold_places
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


def _print(sections: list[Section], about: dict, args: argparse.Namespace) -> None:
    from eval.bridgerag.report import JSON, MARKDOWN, table
    from eval.passages.text import corpus_line
    from eval.tables import text_table

    if args.json:
        print((args.out / JSON).read_text(encoding="utf-8"), end="")
        return
    print(corpus_line(about))
    print(text_table(*table(sections[0].rows)))
    print(sections[0].note)
    print(f"\nwritten to {args.out}; the other tables are in {MARKDOWN}")
