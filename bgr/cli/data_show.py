"""Show one sample of a dataset: question, answer, program, candidate facts with the gold ones marked, evidence graph.

bgr data show dataset --number 12
bgr data show dataset --id train-000003 --draw graph.png
bgr data show dataset --split train --random --seed 7 --json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from bgr.cli.drawing_option import check_drawing
from bgr.data.example import Example
from bgr.errors import DataError

DEFAULT_SPLIT = "test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a dataset")
    parser.add_argument(
        "--split",
        choices=("train", "dev", "test"),
        help=f"where to look (default: {DEFAULT_SPLIT}; with --id everywhere)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--id", help="the sample's id")
    which.add_argument("--number", type=int, metavar="N", help="the place in the split, from 0 (default: 0)")
    which.add_argument("--random", action="store_true", help="any sample of the split")
    parser.add_argument("--seed", type=int, default=0, help="draws it with --random (default: 0)")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw the graph to a .png or .html file")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")
    parser.add_argument("--overwrite", action="store_true", help="replace the drawing if it exists")


def run(args: argparse.Namespace) -> None:
    """Find the sample, print it, draw it."""
    if args.draw is not None:
        check_drawing(args.draw, overwrite=args.overwrite)
    split, number, example = find(args)
    if args.json:
        found = {"split": split, "number": number, **example.to_json(), "gold": list(example.graph.nodes)}
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        print(sample_text(example, f"{split}, number {number}"))
    if args.draw is not None:
        from bgr.graph.draw import draw

        draw(example.graph, example.facts, example.question, args.draw)


def find(args: argparse.Namespace) -> tuple[str, int, Example]:
    """The sample asked for, with its split and its place there.

    Raises:
        DataError: no such sample; the message says how many there are.
    """
    from bgr.data.reasongraphqa.io.dataset import parse_sample, sample_lines

    if args.id is not None:
        return _find_id(args.folder, args.split, args.id)
    split = args.split or DEFAULT_SPLIT
    # one line in memory at a time: a split can be half a gigabyte
    count = sum(1 for _ in sample_lines(args.folder, split))
    if not count:
        raise DataError(f"{args.folder}: no samples in {split}")
    number = Random(args.seed).randrange(count) if args.random else args.number or 0
    if not 0 <= number < count:
        raise DataError(f"{args.folder}: no number {number} in {split}, allowed: 0 to {count - 1}")
    where, line = next(islice(sample_lines(args.folder, split), number, None))
    return split, number, parse_sample(line, where)


def _find_id(folder: Path, split: str | None, id: str) -> tuple[str, int, Example]:
    from bgr.data.reasongraphqa.build.splits import SPLITS
    from bgr.data.reasongraphqa.io.dataset import parse_sample, sample_lines

    # only lines that hold the id as a JSON string are parsed, however the file spells letters beyond ASCII
    spellings = (json.dumps(id), json.dumps(id, ensure_ascii=False))
    count, first = 0, None
    for name in SPLITS if split is None else (split,):
        for number, (where, line) in enumerate(sample_lines(folder, name)):
            count, first = count + 1, first or (line, where)
            if any(spelling in line for spelling in spellings):
                example = parse_sample(line, where)
                if example.id == id:
                    return name, number, example
    place = f"{folder}{f', {split}' if split else ''}"
    hint = f", for example {parse_sample(*first).id!r}" if first else ""
    raise DataError(f"{place}: no sample {id!r} among {count:,}{hint}")


def sample_text(example: Example, place: str) -> str:
    """All of a sample for the terminal; `place` says where it stands."""
    from bgr.graph.draw import tree_text
    from bgr.utils.text_layout import clean

    graph, facts = example.graph, example.facts
    shape = f"{_count(graph.chains, 'chain')}, {_count(graph.hops, 'hop')}, {_count(len(graph.nodes), 'gold fact')}"
    head = {
        "question": example.question,
        "answer": example.answer,
        "type": example.type,
        "structure": f"{example.structure} ({shape})",
        "sample": f"{example.id} ({place})",
    }
    gold = set(graph.nodes)
    width = len(str(len(facts) - 1))
    candidates = [f"{'*' if n in gold else ' '} [{n:{width}}] {clean(fact)}" for n, fact in enumerate(facts)]
    parts = [
        [f"{name:9}  {clean(value)}" for name, value in head.items()],
        ["program", *program_lines(example.program)],
        [f"facts ({len(facts)} candidates, * is gold)", *candidates],
        ["evidence graph", tree_text(graph, facts, example.question)],
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def program_lines(program: Sequence[Mapping[str, Any]]) -> list[str]:
    """One step a line: number, function, its texts in brackets, and the steps that it takes up."""
    from bgr.utils.text_layout import clean

    lines = []
    for number, step in enumerate(program):
        call = f"{step['function']}({', '.join(step['inputs'])})" if step["inputs"] else step["function"]
        taken = f"  <- {', '.join(map(str, step['dependencies']))}" if step["dependencies"] else ""
        lines.append(f"{number:3}  {clean(call)}{taken}")
    return lines or ["  none"]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
