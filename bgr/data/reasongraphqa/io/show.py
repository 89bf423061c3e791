"""One sample of a dataset: found by id, by number or at random, and shown as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from bgr.data.example import Example
from bgr.data.options import ShowOptions
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import numbered_lines, parse_sample, split_file
from bgr.errors import DataError
from bgr.graph.draw import check_drawing, draw, tree_text
from bgr.utils.text_layout import clean


@dataclass(frozen=True)
class Sample:
    """An example with its split and its index there."""

    split: str
    number: int
    example: Example

    def to_json(self) -> dict[str, Any]:
        gold = list(self.example.graph.nodes)
        return {"split": self.split, "number": self.number, **self.example.to_json(), "gold": gold}

    def text(self) -> str:
        """Question, answer, program, candidate facts with the gold ones marked, and the evidence graph."""
        example, graph, facts = self.example, self.example.graph, self.example.facts
        shape = f"{_count(graph.chains, 'chain')}, {_count(graph.hops, 'hop')}, {_count(len(graph.nodes), 'gold fact')}"
        head = {
            "question": example.question,
            "answer": example.answer,
            "type": example.type,
            "structure": f"{example.structure} ({shape})",
            "sample": f"{example.id} ({self.split}, number {self.number})",
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
    """A line for each step: number, function, its inputs in parentheses, and the steps that it depends on."""
    lines = []
    for number, step in enumerate(program):
        call = f"{step['function']}({', '.join(step['inputs'])})" if step["inputs"] else step["function"]
        arrow = f"  <- {', '.join(map(str, step['dependencies']))}" if step["dependencies"] else ""
        lines.append(f"{number:3}  {clean(call)}{arrow}")
    return lines or ["  none"]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def show_sample(options: ShowOptions) -> Sample:
    """Find the sample that the options choose, and draw its graph if they name a file.

    Raises:
        DataError: there is no such sample (the message says how many there are), or the drawing cannot be written.
    """
    if options.draw is not None:
        check_drawing(options.draw, overwrite=options.overwrite)
    sample = _find_number(options) if options.id is None else _find_id(options.folder, options.split, options.id)
    if options.draw is not None:
        draw(sample.example.graph, sample.example.facts, sample.example.question, options.draw)
    return sample


def _find_number(options: ShowOptions) -> Sample:
    split = options.split or "test"
    path = split_file(options.folder, split)
    # one line in memory at a time: a split can be half a gigabyte
    count = sum(1 for _ in numbered_lines(path))
    if not count:
        raise DataError(f"{options.folder}: no samples in {split}")
    number = Random(options.seed).randrange(count) if options.random else options.number or 0
    if not 0 <= number < count:
        raise DataError(f"{options.folder}: no number {number} in {split}, allowed: 0 to {count - 1}")
    _, line = next(islice(numbered_lines(path), number, None))
    return Sample(split, number, parse_sample(line, f"{path}: line {number + 1}"))


def _find_id(folder: Path, split: str | None, id: str) -> Sample:
    # only lines with the id as a JSON string are parsed, with or without escapes of letters beyond ASCII
    spellings = (json.dumps(id), json.dumps(id, ensure_ascii=False))
    count, first = 0, None
    for name in SPLITS if split is None else (split,):
        path = split_file(folder, name)
        for number, line in numbered_lines(path):
            where = f"{path}: line {number}"
            count, first = count + 1, first or (line, where)
            if any(spelling in line for spelling in spellings):
                example = parse_sample(line, where)
                if example.id == id:
                    return Sample(name, number - 1, example)
    where = f"{folder}{f', {split}' if split else ''}"
    hint = f", for example {parse_sample(*first).id!r}" if first else ""
    raise DataError(f"{where}: no sample {id!r} among {count:,}{hint}")
