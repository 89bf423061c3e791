"""Cases for a dataset folder written by `bgr data build`, and for files in the authors' released form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from .campaign import Case
from .cases import byte_cases, edited, read, structure_cases, value_cases
from .harm import BYTES, Way, places

LINE = 3
"""Index of the damaged sample."""
DERIVED = ("arrow/dataset_dict.json", "arrow/train/state.json", "arrow/train/dataset_info.json")


def dataset_cases(data: Path) -> list[Case]:
    """Damage to samples, facts, metadata and the Arrow form."""
    lines, facts = data / "train.jsonl", data / "facts.jsonl"
    sample, fact = read(lines)[LINE], read(facts)[LINE]
    item = sample["question"]
    ways: list[Way] = [(LINE, *way) for way in places(sample, most=3)]
    of_facts: list[Way] = [(LINE, *way) for way in places(fact)]
    sheet: list[Way] = [way for way in places(read(data / "dataset.json")) if len(way) < 3]
    arrow = next((data / "arrow" / "train").glob("*.arrow")).relative_to(data)
    return [
        *byte_cases("train.jsonl"),
        *byte_cases("facts.jsonl"),
        *byte_cases("dataset.json"),
        *(case for name in DERIVED for case in byte_cases(name)),
        *(Case(f"{arrow}: {how}", _harm_binary(str(arrow), how)) for how in BYTES if how not in _TEXTUAL),
        *(Case(f"{arrow}: flipped {n}", _flip_far(str(arrow), n)) for n in range(25)),
        *value_cases(lines, "train.jsonl", ways, 170, lambda way: item),
        *structure_cases(lines, "train.jsonl", ways, 60, lambda way: item),
        *value_cases(facts, "facts.jsonl", of_facts, 120, lambda way: None),
        *structure_cases(facts, "facts.jsonl", of_facts, 40, lambda way: None),
        *value_cases(data / "dataset.json", "dataset.json", sheet, 40, lambda way: None),
        *_told_samples(item),
        *(Case(f"{name}: missing", _remove(name)) for name in ("dev.jsonl", "facts.jsonl", "dataset.json", *DERIVED)),
    ]


def released_cases(released: Path) -> list[Case]:
    """The released form: damage to values and structure of one question, and invalid graphs."""
    file = released / "train.json"
    record = read(file)[LINE]
    item = record["question"]
    ways: list[Way] = [(), *((LINE, *way) for way in places(record, most=3))]
    return [
        *byte_cases("train.json"),
        *value_cases(file, "train.json", ways, 120, lambda way: item if len(way) > 1 else None),
        *structure_cases(file, "train.json", ways, 50, lambda way: item if len(way) > 1 else None),
        *_told_released(item),
    ]


_TEXTUAL = ("Latin-1", "surrogates in UTF-8", "UTF-16", "single quotes", "truncated by one")
"""Kinds of damage that apply only to text."""


def _harm_binary(name: str, how: str) -> Any:
    def harm(folder: Path) -> None:
        path = folder / name
        path.write_bytes(BYTES[how](path.read_bytes(), Random(f"{name}|{how}")))

    return harm


def _flip_far(name: str, number: int) -> Any:
    """One byte changed, spread evenly over the file."""

    def harm(folder: Path) -> None:
        raw = bytearray((folder / name).read_bytes())
        raw[len(raw) * number // 25 + 7] ^= 0x55
        (folder / name).write_bytes(bytes(raw))

    return harm


def _remove(name: str) -> Any:
    return lambda folder: (folder / name).unlink()


def _told_samples(item: str) -> Iterator[Case]:
    def case(title: str, **fields: Any) -> Case:
        return edited("train.jsonl", title, lambda samples: samples[LINE].update(fields), item)

    def changed(title: str, change: Any) -> Case:
        return edited("train.jsonl", title, lambda samples: change(samples[LINE], samples), item)

    graphs = {
        "no edge": [],
        "a cycle": [[-1, 0], [0, 1], [1, 0]],
        "a cycle that nothing leads to": [[-1, 0], [1, 2], [2, 1]],
        "an edge to itself": [[-1, 0], [0, 0]],
        "an edge to the question": [[-1, 0], [0, -1]],
        "the question to itself": [[-1, -1]],
        "a fact that does not exist": [[-1, 99]],
        "a fact before the first": [[-1, 0], [0, -2]],
        "a fact far away": [[-1, 10**30]],
        "a fact that nothing leads to": [[-1, 0], [2, 3]],
        "a triple": [[-1, 0, 1]],
        "a text for a number": [[-1, "0"]],
        "a fraction": [[-1, 0.5]],
        "no list": {"-1": 0},
        "all to all": [[a, b] for a in range(-1, 25) for b in range(25) if a < b],
        "twice": [[-1, 0], [-1, 0]],
        "a long chain": [[n - 1, n] for n in range(5000)],
    }
    for title, edges in graphs.items():
        yield case(f"graph: {title}", edges=edges)
    yield case("a type of its own", type="riddle")
    yield case("another type", type="count")
    yield case("another structure", structure="MC-MH")
    yield case("no candidates", facts=[])
    yield case("an empty candidate", facts=["", " "] * 12)
    yield case("10,000 candidates", facts=[f"Sentence {n}." for n in range(10_000)])
    yield case("an empty question", question=" ")
    yield case("an empty answer", answer="")
    yield case("no program", program=[])
    yield case("an unknown function", program=[{"function": "Seek", "dependencies": [], "inputs": []}])
    yield case(
        "a program of 10,000 steps", program=[{"function": "FindAll", "dependencies": [], "inputs": []}] * 10_000
    )
    yield changed("a candidate twice", lambda sample, _: sample["facts"].append(sample["facts"][0]))
    yield changed("candidates in another order", lambda sample, _: sample["facts"].reverse())
    yield changed("another's candidates", lambda sample, samples: sample.update(facts=samples[LINE + 1]["facts"]))
    yield changed("another's id", lambda sample, samples: sample.update(id=samples[LINE + 1]["id"]))
    yield changed("a sample twice", lambda sample, samples: samples.append(dict(sample)))
    yield changed("a sample left out", lambda sample, samples: samples.remove(sample))
    yield edited("train.jsonl", "no samples", lambda samples: [])
    yield edited("facts.jsonl", "no facts", lambda facts: [])
    yield edited("facts.jsonl", "facts twice", lambda facts: facts + facts)
    yield edited("facts.jsonl", "facts without triples", lambda facts: [fact.pop("facts") for fact in facts] and None)
    yield edited("facts.jsonl", "nothing gold", lambda facts: [fact.update(gold=False) for fact in facts] and None)
    yield edited("dataset.json", "another hash", lambda sheet: sheet.update(sha256="0" * 64))
    yield edited("dataset.json", "no hash", lambda sheet: sheet.pop("sha256") and None)
    yield edited("dataset.json", "a list", lambda sheet: [sheet])


def _told_released(item: str) -> Iterator[Case]:
    def case(title: str, change: Any) -> Case:
        return edited("train.json", title, lambda records: change(records[LINE]), item)

    def nodes(title: str, *rows: tuple[int, list[int], list[int]]) -> Case:
        """Nodes as indices of facts, with their predecessors and successors."""

        def change(record: Any) -> None:
            fact = record["fact"]
            record["order_true_fact"] = [
                {"facts": fact[n], "relation": {"before": [fact[b] for b in before], "after": [fact[a] for a in after]}}
                for n, before, after in rows
            ]

        return case(f"order_true_fact: {title}", change)

    yield nodes("no node")
    yield nodes("a cycle", (0, [1], [1]), (1, [0], [0]))
    yield nodes("a cycle below the question", (0, [], [1]), (1, [0, 2], [2]), (2, [1], [1]))
    yield nodes("itself", (0, [0], [0]))
    yield nodes("after itself", (0, [], [0]))
    yield nodes("a node twice", (0, [], [1]), (0, [], [1]), (1, [0], []))
    yield nodes("told at one end", (0, [], [1]))
    yield nodes("told at the other end", (1, [0], []))
    yield nodes("nodes that contradict", (0, [], [1]), (1, [], [0]))
    for field in ("facts", "before", "after"):
        yield case(f"a sentence in {field} that is no fact", lambda record, field=field: _stranger(record, field))
    yield case("facts twice", lambda record: record.update(fact=record["fact"] * 2))
    yield case("no facts", lambda record: record.update(fact=[]))
    yield case("an empty fact", lambda record: record["fact"].append(""))
    yield case("no program", lambda record: record.update(program=[]))
    yield case("a program that ends in entities", lambda record: record.update(program=record["program"][:1]))
    yield case("an empty answer", lambda record: record.update(answer=" "))
    yield case("an empty question", lambda record: record.update(question=""))
    yield case("a number as answer", lambda record: record.update(answer=1984))
    yield edited("train.json", "no questions", lambda records: [])
    yield edited("train.json", "an object", lambda records: {"data": records})
    yield edited("train.json", "KQA Pro's own", lambda records: [record.pop("fact") for record in records] and None)
    yield Case("valid.json: missing", _remove("valid.json"))


def _stranger(record: dict[str, Any], field: str) -> None:
    node = record["order_true_fact"][0]
    if field == "facts":
        node["facts"] = "Nobody wrote this."
    else:
        node["relation"][field] = ["Nobody wrote this."]


def sealed(folder: Path) -> None:
    """Update the hash and counts, so that the dataset seems to have been built as it is, if the folder is readable."""
    from bgr.data.reasongraphqa.io.dataset import dataset_hash
    from bgr.errors import BgrError

    try:
        sheet = read(folder / "dataset.json")
        sheet["sha256"] = dataset_hash(folder)
        (folder / "dataset.json").write_text(json.dumps(sheet), encoding="utf-8")
    except (BgrError, OSError, ValueError, TypeError, RecursionError):
        return
