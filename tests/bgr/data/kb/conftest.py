"""A random knowledge base that uses everything in KQA Pro's form, and the films of the two worked examples."""

import random
from typing import Any

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program

CONCEPTS = {
    "C0": ("thing", []),
    "C1": ("person", ["C0"]),
    "C2": ("artist", ["C1"]),
    "C3": ("place", ["C0"]),
    "C4": ("city", ["C3", "C4", "missing"]),
    "C5": ("work", ["C0", "C6"]),
    "C6": ("book", ["C5"]),
    "C7": ("Alpha", ["C0"]),
}
WORDS = ("Alpha", "Beta", "Gamma Ray", "Delta", "Epsilon", "Zeta", "Eta  Carinae", "Theta")


def _value(rng: random.Random, key: str) -> dict[str, Any]:
    if key in ("height", "score"):
        number = rng.choice((rng.randint(-5, 12), rng.choice((0.5, 2.5, -3.5, 7.25))))
        return {"type": "quantity", "value": number, "unit": rng.choice(("1", "metre", "square foot"))}
    if key in ("born", "point in time"):
        year = rng.randint(1955, 1964)
        if rng.random() < 0.4:
            return {"type": "year", "value": rng.choice((year, str(year), -500))}
        date = f"{year}-{rng.randint(1, 3):02d}-{rng.randint(1, 4):02d}"
        return {"type": "date", "value": date.replace("-", rng.choice("-/"))}
    return {"type": "string", "value": rng.choice(("red", "green", "dark  blue"))}


def _qualifiers(rng: random.Random) -> dict[str, Any]:
    keys = rng.sample(("point in time", "according to", "score"), rng.choice((0, 0, 1, 2)))
    return {key: [_value(rng, key) for _ in range(rng.choice((1, 1, 2)))] for key in keys}


def _random_records(seed: int, size: int) -> dict[str, Any]:
    """Both spellings, ambiguous names, concept objects, mixed types and units, repeated and one-sided relations."""
    rng = random.Random(seed)
    spelling = ("relation", "predicate")
    entities: dict[str, Any] = {}
    for n in range(size):
        name = rng.choice(WORDS) if n % 3 == 0 else f"{rng.choice(WORDS)} {n}"
        entities[f"E{n}"] = {"name": name, "instanceOf": rng.sample(("C2", "C4", "C6", "C7"), rng.choice((1, 1, 2)))}
        entities[f"E{n}"]["attributes"] = [
            {"key": key, "value": _value(rng, key), "qualifiers": _qualifiers(rng)}
            for key in rng.choices(("height", "born", "colour", "score"), k=rng.randint(0, 6))
        ]
        entities[f"E{n}"]["relations"] = []
    for _ in range(3 * size):
        head = rng.choice(sorted(entities))
        tail = rng.choice([*sorted(entities), *sorted(CONCEPTS)])
        row = {rng.choice(spelling): rng.choice(("knows", "lives in", "made")), "qualifiers": _qualifiers(rng)}
        for _ in range(rng.choice((1, 1, 1, 2))):
            if rng.random() < 0.9:
                entities[head]["relations"].append({**row, "object": tail, "direction": "forward"})
            if tail in entities and rng.random() < 0.9:
                entities[tail]["relations"].append({**row, "object": head, "direction": "backward"})
    concepts = {
        i: {"name": name, rng.choice(("instanceOf", "subclassOf")): above} for i, (name, above) in CONCEPTS.items()
    }
    return {"concepts": concepts, "entities": entities}


@pytest.fixture(scope="session")
def random_records() -> dict[str, Any]:
    return _random_records(seed=7, size=120)


QUANTITY = {"runtime": "minute", "population": "1", "score": "percent"}


def _attribute(key: str, value: Any, **qualifiers: str) -> dict[str, Any]:
    if key in QUANTITY:
        record = {"type": "quantity", "value": value, "unit": QUANTITY[key]}
    else:
        record = {"type": "date" if key == "release date" else "string", "value": value}
    named = {k.replace("_", " "): [{"type": "string", "value": v}] for k, v in qualifiers.items()}
    return {"key": key, "value": record, "qualifiers": named}


@pytest.fixture(scope="session")
def film_records() -> dict[str, Any]:
    """The knowledge base of the worked examples: Bergman's films, two capitals, and facts that slicing must remove."""
    names = {"film": {}, "person": {}, "country": {}, "city": {}, "element": {}}
    names["film"] = {"F1": "Persona", "F2": "Winter Light", "F3": "The Seventh Seal", "F4": "Hamlet", "F5": "Hamlet"}
    names["person"] = {"P1": "Ingmar Bergman", "P2": "Max von Sydow", "P3": "Marie Curie"}
    names["country"] = {"L1": "Sweden", "L2": "France"}
    names["city"] = {"T1": "Stockholm", "T2": "Paris"}
    names["element"] = {"M1": "Radium"}
    entities: dict[str, Any] = {
        i: {"name": name, "instanceOf": [kind], "attributes": [], "relations": []}
        for kind, group in names.items()
        for i, name in group.items()
    }
    attributes = [
        ("F1", _attribute("release date", "1966-10-18")),
        ("F1", _attribute("runtime", 83)),
        ("F2", _attribute("release date", "1963-02-11")),
        ("F2", _attribute("runtime", 81)),
        ("F3", _attribute("release date", "1957-02-16")),
        ("F3", _attribute("runtime", 96)),
        ("F3", _attribute("score", 93, review_score_by="Tomatoes")),
        ("F3", _attribute("score", 88, review_score_by="Critic")),
        ("F4", _attribute("runtime", 242)),
        ("F5", _attribute("runtime", 112)),
        ("T1", _attribute("population", 978770, stated_in="GeoNames")),
        ("T2", _attribute("population", 2138551, stated_in="GeoNames")),
        ("M1", _attribute("symbol", "Ra")),
    ]
    for i, row in attributes:
        entities[i]["attributes"].append(row)
    role = {"object has role": [{"type": "string", "value": "knight"}]}
    squire = {"object has role": [{"type": "string", "value": "squire"}]}
    when = {"point in time": [{"type": "year", "value": 1898}]}
    relations = [
        *[(film, "director", "P1", {}) for film in ("F1", "F2", "F3")],
        ("F2", "cast member", "P2", {}),
        ("F3", "cast member", "P2", role),
        ("F3", "cast member", "P2", squire),
        *[(film, "country of origin", "L1", {}) for film in ("F1", "F2", "F3")],
        ("L1", "capital", "T1", {}),
        ("L2", "capital", "T2", {}),
        ("M1", "country of discovery", "L2", when),
        ("M1", "discoverer", "P3", when),
    ]
    for head, predicate, tail, qualifiers in relations:
        row = {"relation": predicate, "qualifiers": qualifiers}
        entities[head]["relations"].append({**row, "object": tail, "direction": "forward"})
        entities[tail]["relations"].append({**row, "object": head, "direction": "backward"})
    concepts = {kind: {"name": kind, "subclassOf": []} for kind in names}
    return {"concepts": concepts, "entities": entities}


@pytest.fixture(scope="session")
def films(film_records: dict[str, Any]) -> Executor:
    return Executor(KnowledgeBase(film_records))


@pytest.fixture(scope="session")
def program() -> Any:
    """Parses ``"Function(input, …) @dependency …"``; without ``@`` a step depends on the one before."""

    def write(*lines: str) -> Program:
        records = []
        for index, line in enumerate(lines):
            call, _, on = line.partition(" @")
            function, _, inside = call.partition("(")
            inputs = [text.strip() for text in inside.rstrip(")").split(",")] if inside.rstrip(")") else []
            first = function in ("Find", "FindAll")
            dependencies = [int(d) for d in on.split()] if on else ([] if first else [index - 1])
            records.append({"function": function, "dependencies": dependencies, "inputs": inputs})
        return Program.from_json(records)

    return write
