"""A damaged checkpoint folder: `bgr ask` reports it in one line, or answers from an intact model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from .campaign import MANY_OR_ALL, Case, run, sample
from .cases import byte_cases, edited, read, structure_cases, value_cases
from .harm import BYTES, places

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden .", "Alpha has 3 people ."]
QUESTION = "In which country was Persona made ?"
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size") + (
    "max_position_embeddings",
    "type_vocab_size",
)
QUICK = 8


def checkpoint_cases(folder: Path) -> list[Case]:
    config, settings, words = "forward/config.json", "bgr.json", "tokenizer.json"
    fields = {name: [way for way in places(read(folder / name)) if way] for name in (config, settings)}
    weights = "backward/model.safetensors"
    return [
        *byte_cases(config),
        *byte_cases(settings),
        *byte_cases(words),
        *(Case(f"{weights}: {how}", _harm(weights, how)) for how in ("truncated", "empty", "binary", "zeros", "gzip")),
        *(Case(f"{weights}: head flipped {n}", _flip(weights, n)) for n in range(0, 60, 4)),
        *value_cases(folder / config, config, fields[config], 90, lambda way: None),
        *structure_cases(folder / config, config, fields[config], 20, lambda way: None),
        *value_cases(folder / settings, settings, fields[settings], 30, lambda way: None),
        *_sizes(config),
        *(
            Case(f"{name}: missing", lambda folder, name=name: (folder / name).unlink())
            for name in (config, settings, words, weights)
        ),
    ]


def _sizes(config: str) -> Iterator[Case]:
    for name in SIZES:
        for size in (-1, 0, 1, 17, 10**9, 10**18, 2.5, "16"):
            yield edited(config, f"{name} {size}", lambda record, n=name, s=size: record["encoder"].update({n: s}))


def _harm(name: str, how: str) -> Any:
    def harm(folder: Path) -> None:
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(BYTES[how](raw, Random(how)))

    return harm


def _flip(name: str, number: int) -> Any:
    """Change one byte of the header, which has the positions of the tensors."""

    def harm(folder: Path) -> None:
        raw = bytearray((folder / name).read_bytes())
        raw[number] ^= 0x41
        (folder / name).write_bytes(bytes(raw))

    return harm


def failures(cases: list[Case], checkpoint: Path, home: Path) -> list[str]:
    found = []
    facts = home / "facts.txt"
    facts.write_text("\n".join(FACTS))
    for case in cases:
        harmed = shutil.copytree(checkpoint, home / "harmed")
        case.harm(harmed)
        outcome = run(["ask", "--checkpoint", harmed, "--facts", facts, "--json", QUESTION], home)
        answered = outcome.code or json.loads(outcome.out)["question"] == QUESTION
        found += [f"{case.name}: {outcome.problem or 'no answer'}"] if outcome.problem or not answered else []
        shutil.rmtree(harmed)
    return found


def test_some(small_checkpoint: Path, tmp_path: Path) -> None:
    assert failures(sample(checkpoint_cases(small_checkpoint), QUICK, "some"), small_checkpoint, tmp_path) == []


@MANY_OR_ALL
def test_more(small_checkpoint: Path, tmp_path: Path, count: int) -> None:
    everything = checkpoint_cases(small_checkpoint)
    assert len(everything) > 200
    assert failures(sample(everything, count, "more"), small_checkpoint, tmp_path) == []
