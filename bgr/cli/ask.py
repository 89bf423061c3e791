"""Answer one question from a file of facts, one sentence a line, and show the evidence graph."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.cli.drawing_option import check_drawing
from bgr.cli.machine_options import add_machine
from bgr.errors import DataError

if TYPE_CHECKING:
    from bgr.pipeline import Answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", help="the question, in quotes")
    parser.add_argument("--checkpoint", required=True, type=Path, help="folder of `bgr export` or of a training run")
    parser.add_argument("--facts", required=True, type=Path, help="text file, one fact a line; empty lines are skipped")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw the graph to a .png or .html file")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_machine(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace the drawing if it exists")


def run(args: argparse.Namespace) -> None:
    """Check all inputs, load the checkpoint, answer, print, draw."""
    facts = read_facts(args.facts)
    if args.draw is not None:
        check_drawing(args.draw, overwrite=args.overwrite)
    from bgr.graph.draw import draw, tree_text
    from bgr.pipeline import MOST_FACTS, BgrPipeline

    if len(facts) > MOST_FACTS:
        raise DataError(f"{args.facts}: {len(facts):,} facts, allowed: {MOST_FACTS:,}")
    found = BgrPipeline.from_pretrained(args.checkpoint, device=args.device, precision=args.precision).answer(
        args.question, facts
    )
    if args.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        print(tree_text(found.graph, facts, args.question))
        print(f"confidence {found.confidence:.2f} (agreement of both directions)")
        print(f"answer     {_answer(found)}")
        if found.limits:
            print(f"limits     {', '.join(found.limits)}")
    if args.draw is not None:
        draw(found.graph, facts, args.question, args.draw)


def _answer(found: Answer) -> str:
    if found.answer_confidence is None:
        return "not given: this checkpoint holds no reader"
    if found.answer is None:
        return "not answerable from these facts"
    return f"{found.answer} (the reader's confidence {found.answer_confidence:.2f})"


def read_facts(path: Path) -> list[str]:
    """The sentences of a text file.

    Raises:
        DataError: the file is missing, not UTF-8 text, or holds no sentence.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    facts = [" ".join(line.split()) for line in lines if line.strip()]
    if not facts:
        raise DataError(f"{path}: no facts in the file; one sentence a line is expected")
    return facts
