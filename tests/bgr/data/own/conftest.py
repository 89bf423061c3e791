"""Small own data about three films, written as JSON lines."""

import json

import pytest

FACTS = [
    "Persona was made by Ingmar Bergman.",
    "Ingmar Bergman was born in Uppsala.",
    "Uppsala lies in Sweden.",
    "Vertigo was made by Alfred Hitchcock.",
    "Alfred Hitchcock was born in London.",
    "London lies in England.",
    "Solaris was made by Andrei Tarkovsky.",
    "Andrei Tarkovsky was born in Zavrazhye.",
]
BORN = "Where was the maker of Persona born?"


@pytest.fixture
def write(tmp_path):
    """``write(records, "a.jsonl")``: a file of JSON lines; texts are written as they are."""

    def make(records, name="own.jsonl"):
        path = tmp_path / name
        lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return make


@pytest.fixture
def line():
    """``line(answer="Uppsala")``: a record about Persona with further fields, ``None`` takes one away."""

    def make(**fields):
        record = {"question": BORN, "facts": FACTS, **fields}
        return {name: value for name, value in record.items() if value is not None}

    return make


def places(count, level):
    """Questions in the same words about made-up towns, each with four facts, at one level."""
    records = []
    for n in range(count):
        facts = [f"Film{n} was made by Person{n}.", f"Person{n} was born in Town{n}.", f"Town{n} is old.", "It rains."]
        known = {"graph": {"edges": [[0, 1]]}, "evidence": [0, 1]}
        records.append(
            {
                "question": f"Where was the maker of Film{n} born?",
                "facts": facts,
                "answer": f"Town{n}",
                **({level: known[level]} if level in known else {}),
            }
        )
    return records
