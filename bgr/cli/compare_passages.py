"""Passages: recall, answers, calls, tokens and time on multi-hop questions. --data is a published file of MuSiQue,
HotpotQA, 2WikiMultihopQA (also as HippoRAG samples them) or MultiHop-RAG; its form is told from its content. Without
--corpus the passages of all its questions are searched. A dataset of `bgr data build` serves too, if systems of this
kind are named: the facts of the test split are the passages.

A system is bm25, dense, hybrid (both, by reciprocal rank fusion); each of them with +naive, +naive-plain or +naive-text
(NaiveGE; without diverse beams; its sequences encoded as text), +sync (SyncGE) or +gear, which go along triples: those
of --openie, or a dataset's own; gear is hybrid+gear; prism; bridgerag, and bridgerag-p, whose judge gives
probabilities; llm-edges, llm-chains, llm-parents, llm-steps, llm-arrows (a language model writes the graph); gold and
nothing, between which a reader's answers lie; or [NAME=]FOLDER[:PART], a checkpoint or a trained baseline. What asks a
language model needs --llm. With --reader, a model's SPEC or the folder of a trained reader, it answers from what each
of them found, and PRISM is not asked for an answer of its own.

Results are kept question by question in DIR/results.jsonl as they come: the same command goes on where it was
interrupted, one with more systems runs only these, and --overwrite begins anew. With --replay, questions in which a
step failed are run again: what the model has answered comes from the cache. Writes passages.md, passages.json,
systems.csv, pairs.csv, groups.csv, rounds.csv, recall.png, pareto.png and traces.html (what every system did for any
question).

  bgr compare --data musique.json --corpus musique_corpus.json --openie openie.json \\
      --systems bm25 bm25+naive dense dense+naive hybrid hybrid+naive --out work/passages
  bgr compare --data musique.json --openie openie.json --systems hybrid hybrid+sync gear --llm smollm2 \\
      --replay work/replies.db --limit 20 --out work/gear
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from bgr.cli.counts import amount, positive
from bgr.errors import BgrError, DataError

if TYPE_CHECKING:
    from bgr.data.multihop.assemble import MultihopData
    from eval.passages.compare import PassageComparison
    from eval.passages.found import Found
    from eval.passages.run import System

RESULTS = "results.jsonl"

OPTIONS = (
    "form",
    "corpus",
    "openie",
    "encoder",
    "llm",
    "replay",
    "replay_only",
    "scope",
    "price",
    "most_calls",
    "most_tokens",
    "most_cost",
)
"""What is for passages alone."""

SCOPES = ("corpus", "question")


def add_options(parser: argparse._ArgumentGroup) -> None:
    """What is for passages alone."""
    parser.add_argument("--form", metavar="NAME", help="of the data: musique, hotpotqa, 2wikimultihopqa, multihop-rag")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="passages to search; default: those of the data")
    parser.add_argument(
        "--scope",
        choices=SCOPES,
        help="search the whole corpus, or for each question the passages that come with it; default: corpus for a "
        "file, question for a dataset",
    )
    parser.add_argument("--openie", type=Path, metavar="FILE", help="triples of the passages, in HippoRAG's form")
    parser.add_argument("--encoder", type=Path, metavar="DIR", help="for dense search; default: the packaged MiniLM")
    parser.add_argument(
        "--llm", metavar="SPEC", help="language model: smollm2, a .gguf file, a folder, http://host/v1#model"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="keep the language model's replies here")
    parser.add_argument("--replay-only", action="store_true", help="refuse calls that --replay cannot answer")
    parser.add_argument(
        "--price",
        type=amount,
        nargs=2,
        metavar=("IN", "OUT"),
        help="of a million tokens that the model reads and writes, for the cost",
    )
    parser.add_argument(
        "--most-calls", type=positive, metavar="N", help="stop before this run calls a model more often"
    )
    parser.add_argument(
        "--most-tokens", type=positive, metavar="N", help="stop when this run has used up a model's tokens"
    )
    parser.add_argument(
        "--most-cost", type=amount, metavar="X", help="stop when this run has spent so much; needs --price"
    )


def asked_for(args: argparse.Namespace) -> bool:
    """Whether these arguments are about passages and not about graphs.

    Raises:
        BgrError: they are about both, or there is no data.
    """
    from bgr.cli.passage_systems import KNOWN

    if not args.data.exists():
        raise DataError(f"{args.data}: no such file or folder")
    only = [f"--{name.replace('_', '-')}" for name in OPTIONS if getattr(args, name)]
    passages = args.data.is_file() or bool(set(args.systems) & (set(KNOWN) - {"bm25"})) or args.scope is not None
    of_graphs = [f"--{name}" for name in ("main", "sweep") if getattr(args, name) is not None]
    if passages and of_graphs:
        raise BgrError(f"{of_graphs[0]} is for graphs alone, and these systems are run on passages")
    if passages and args.data.is_file() and args.split != "test":
        raise BgrError(f"--split is for datasets, and {args.data} is a file")
    if only and not passages:
        raise BgrError(f"{only[0]} is for passages, allowed there: --systems {' '.join(KNOWN)}")
    return passages


def run(args: argparse.Namespace) -> None:
    """Load, run what is not done, score, compare, write, print.

    Raises:
        BgrError: what is given is damaged, or does not belong together.
    """
    from bgr.cli.passage_parts import PassageParts
    from bgr.cli.passage_systems import parse_systems, systems_of
    from eval.passages.compare import compare_passages
    from eval.passages.score import score
    from eval.report.passages import write_passages

    args.scope = args.scope or ("question" if args.data.is_dir() else "corpus")
    named = parse_systems(args)
    data = load_data(args)
    about = {"file": str(args.data), "corpus_file": str(args.corpus) if args.corpus else None, "limit": args.limit}
    about |= {"scope": args.scope, "price": args.price}
    data = data.first(args.limit)
    parts = PassageParts(args, data.of_contexts() if args.scope == "question" else data)
    parts.check()
    systems = systems_of(named, data, parts)  # models are loaded: what is wrong with one is said before old results go
    open_output(args.out, overwrite=args.overwrite)
    limit = args.ged_seconds
    scores = [score(one.name, of_one, data, ged_seconds=limit) for one, of_one in run_all(args, systems, data)]
    found = compare_passages(
        scores, data, {**about, **parts.about}, samples=args.samples, seed=args.seed, price=parts.price
    )
    write_passages(args.out, found)
    print_comparison(args, found)


def load_data(args: argparse.Namespace) -> MultihopData:
    """A published file, or a split of a dataset folder.

    Raises:
        BgrError: it is damaged, or a folder comes with options for files.
    """
    if not args.data.is_dir():
        from bgr.data.multihop.load import load_multihop

        return load_multihop(args.data, corpus=args.corpus, form=args.form)
    if args.corpus is not None or args.form is not None:
        raise BgrError(f"--data: {args.data} is a folder; --corpus and --form are for published files")
    from bgr.data.multihop.assemble import from_examples
    from bgr.data.reasongraphqa.io.dataset import load_split

    split = getattr(args, "split", "test")
    return from_examples(f"{args.data.name}, {split}", load_split(args.data, split, progress=True))


def open_output(out: Path, *, overwrite: bool) -> None:
    """Make the folder, or go on in one of this command.

    Raises:
        DataError: it holds something else, or cannot be written.
    """
    ours = (out / RESULTS).is_file()
    if out.exists() and not ours and not (out.is_dir() and not any(out.iterdir())) and not overwrite:
        raise DataError(f"{out}: exists already and holds no {RESULTS}; give --overwrite to replace it")
    try:
        if overwrite and out.is_dir():
            shutil.rmtree(out)
        elif overwrite:
            out.unlink(missing_ok=True)
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be written: {error.strerror or error}") from None


def run_all(
    args: argparse.Namespace, systems: Sequence[System], data: MultihopData
) -> list[tuple[System, list[Found]]]:
    """Results of the systems one after the other; those in the output folder are taken from there."""
    from eval.passages.log import ResultLog
    from eval.passages.run import run_system

    options = {"batch_size": args.batch_size, "retry": args.replay is not None, "progress": True}
    with ResultLog(args.out / RESULTS) as log:
        return [(one, run_system(one, data, log, **options)) for one in systems]


def print_comparison(args: argparse.Namespace, found: PassageComparison) -> None:
    """All numbers as JSON, or the table of systems and where the rest is."""
    from eval.passages.compare import corpus_line
    from eval.report.document import without_intervals
    from eval.report.passages import MARKDOWN, PAGE, as_json, systems_table

    if args.json:
        print(json.dumps(as_json(found), ensure_ascii=False))
        return
    print(corpus_line(found.about))
    table = without_intervals(systems_table(found))
    print(table.as_text())
    for note in table.notes:
        print(fill(note.replace("; in brackets the 95 % bootstrap interval over questions", ""), 100))
    print(f"\nwritten to {args.out}; intervals and tests are in {MARKDOWN}, questions in {PAGE}")
