"""Passages: recall, answers, calls, tokens and time on multi-hop questions. --data is a published file of MuSiQue,
HotpotQA, 2WikiMultihopQA (also as HippoRAG samples them) or MultiHop-RAG; its form is told from its content. Without
--corpus the passages of all its questions are searched. A dataset of `bgr data build` serves too, if systems of this
kind are named: the facts of the test split are the passages.

A system is bm25, dense, hybrid (both, by reciprocal rank fusion); each of them with +naive or +naive-plain (NaiveGE
with and without diverse beams; needs --openie), +sync (SyncGE) or +gear (both need --openie and --llm); gear is
hybrid+gear. With --reader SPEC all of them answer, too.

Results are kept question by question in DIR/results.jsonl as they come: the same command goes on where it was
interrupted, one with more systems runs only these, and --overwrite begins anew. With --replay, questions in which a
step failed are run again: what the model has answered comes from the cache. Writes passages.md, passages.json,
systems.csv, pairs.csv, groups.csv, rounds.csv and recall.png.

  bgr compare --data musique.json --corpus musique_corpus.json --openie openie.json \\
      --systems bm25 bm25+naive dense dense+naive hybrid hybrid+naive --out work/passages
  bgr compare --data musique.json --openie openie.json --systems hybrid hybrid+sync gear --llm smollm2 \\
      --replay work/replies.db --limit 20 --out work/gear
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.errors import BgrError, DataError
from bgr.json_text import shown

if TYPE_CHECKING:
    from bgr.commands.passage_parts import PassageParts
    from bgr.multihop.data import MultihopData
    from eval.passages.compare import PassageComparison
    from eval.passages.score import SystemScores

RESULTS = "results.jsonl"

OPTIONS = ("form", "corpus", "openie", "encoder", "llm", "replay", "replay_only")
"""What is for passages alone."""


def add_options(parser: argparse._ArgumentGroup) -> None:
    """What is for passages alone."""
    parser.add_argument("--form", metavar="NAME", help="of the data: musique, hotpotqa, 2wikimultihopqa, multihop-rag")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="passages to search; default: those of the data")
    parser.add_argument("--openie", type=Path, metavar="FILE", help="triples of the passages, in HippoRAG's form")
    parser.add_argument("--encoder", type=Path, metavar="DIR", help="for dense search; default: the packaged MiniLM")
    parser.add_argument(
        "--llm", metavar="SPEC", help="language model: smollm2, a .gguf file, a folder, http://host/v1#model"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="keep the language model's replies here")
    parser.add_argument("--replay-only", action="store_true", help="refuse calls that --replay cannot answer")


def asked_for(args: argparse.Namespace) -> bool:
    """Whether these arguments are about passages and not about graphs.

    Raises:
        BgrError: they are about both, or there is no data.
    """
    from bgr.commands.passage_systems import SYSTEMS

    if not args.data.exists():
        raise DataError(f"{args.data}: no such file or folder")
    others = [name for name in args.systems if name not in SYSTEMS]
    passages = args.data.is_file() or bool(set(args.systems) & (SYSTEMS.keys() - {"bm25"}))
    only = [f"--{name.replace('_', '-')}" for name in OPTIONS if getattr(args, name)]
    if passages and args.data.is_dir() and others:
        raise BgrError(f"--systems: {shown(others[0])} finds graphs, the others passages; compare them apart")
    of_graphs = [f"--{name}" for name in ("main", "sweep") if getattr(args, name) is not None]
    if passages and (of_graphs or args.split != "test"):
        raise BgrError(f"{(of_graphs or ['--split'])[0]} is for graphs, and these systems find passages")
    if only and not passages:
        raise BgrError(f"{only[0]} is for passages, allowed there: --systems {' '.join(SYSTEMS)}")
    return passages


def run(args: argparse.Namespace) -> None:
    """Load, run what is not done, score, compare, write, print.

    Raises:
        BgrError: what is given is damaged, or does not belong together.
    """
    from bgr.commands.passage_parts import PassageParts
    from bgr.commands.passage_systems import check_systems
    from eval.passages.compare import compare_passages
    from eval.passages.files import as_json, write_passages

    check_systems(args)
    data = load_data(args)
    about = {"file": str(args.data), "corpus_file": str(args.corpus) if args.corpus else None, "limit": args.limit}
    data = data.first(args.limit)
    open_output(args.out, overwrite=args.overwrite)
    parts = PassageParts(args, data)
    scores = _run_all(args, data, parts)
    found = compare_passages(scores, data, {**about, **parts.about}, samples=args.samples, seed=args.seed)
    write_passages(args.out, found)
    if args.json:
        print(json.dumps(as_json(found), ensure_ascii=False))
    else:
        _print(found, args.out)


def load_data(args: argparse.Namespace) -> MultihopData:
    """A published file, or the test split of a dataset folder.

    Raises:
        BgrError: it is damaged, or a folder comes with options for files.
    """
    if not args.data.is_dir():
        from bgr.multihop.load import load_multihop

        return load_multihop(args.data, corpus=args.corpus, form=args.form)
    if args.corpus is not None or args.form is not None:
        raise BgrError(f"--data: {args.data} is a folder; --corpus and --form are for published files")
    from bgr.multihop.examples import from_examples
    from bgr.reasongraphqa.dataset import load_split

    return from_examples(args.data.name, load_split(args.data, "test", progress=True))


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


def _run_all(args: argparse.Namespace, data: MultihopData, parts: PassageParts) -> list[SystemScores]:
    from bgr.commands.passage_systems import named_systems
    from eval.passages.log import ResultLog
    from eval.passages.run import run_system
    from eval.passages.score import score

    options = {"batch_size": args.batch_size, "retry": args.replay is not None, "progress": True}
    with ResultLog(args.out / RESULTS) as log:
        return [
            score(one.name, run_system(one, data, log, **options), data) for one in named_systems(args.systems, parts)
        ]


def _print(found: PassageComparison, out: Path) -> None:
    from eval.passages.tables import NOTE, systems_table
    from eval.passages.text import PLOT, corpus_line
    from eval.tables import text_table

    print(corpus_line(found.about))
    print(text_table(*systems_table(found, intervals=False)))
    print(NOTE.replace("; in brackets the 95 % bootstrap interval over questions", ""))
    print(f"\nwritten to {out}; intervals and tests are in passages.md, the plot is {PLOT}")
