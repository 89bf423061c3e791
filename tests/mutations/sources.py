"""Cases for the source folder: damage to kb.json and to the files of questions that stays within KQA Pro's form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .campaign import Case
from .cases import byte_cases, edited, read, structure_cases, value_cases
from .harm import Way, places
from .programs import QUESTION, program_cases
from .world import VICTIM

NAMES = ("", " ", "\x00", "{head}", "{value}", "a,, b", "x.", "?", '"', "The\u202e", "é" * 500, "🎬", "a(n) b(s)")
"""Wrong values of a name."""


def knowledge_base_cases(source: Path) -> list[Case]:
    """kb.json: damage to its bytes, to values and structure of one entity and one concept, and plausible errors."""
    file = source / "kb.json"
    content = read(file)
    ways = [
        (),
        ("concepts",),
        ("entities",),
        *(("entities", VICTIM, *way) for way in places(content["entities"][VICTIM])),
        *(("concepts", "K6", *way) for way in places(content["concepts"]["K6"])),
    ]
    return [
        *byte_cases("kb.json"),
        *value_cases(file, "kb.json", ways, 260, _entity_of),
        *structure_cases(file, "kb.json", ways, 90, _entity_of),
        *_told_knowledge(),
    ]


def question_cases(source: Path) -> list[Case]:
    """train.json: damage to its bytes, to values and structure of one question, and invalid programs."""
    file = source / "train.json"
    content = read(file)
    item = content[QUESTION]["question"]
    ways: list[Way] = [(), *((QUESTION, *way) for way in places(content[QUESTION], most=2))]
    return [
        *byte_cases("train.json"),
        *byte_cases("val.json"),
        *byte_cases("test.json"),
        *value_cases(file, "train.json", ways, 180, lambda way: item if len(way) > 1 else None),
        *structure_cases(file, "train.json", ways, 90, lambda way: item if len(way) > 1 else None),
        *program_cases(item),
    ]


def _entity_of(way: Way) -> str | None:
    return str(way[1]) if len(way) > 2 and way[0] == "entities" else None


def _told_knowledge() -> Iterator[Case]:
    def case(title: str, change: Any) -> Case:
        return edited("kb.json", title, lambda base: change(base["entities"][VICTIM], base), VICTIM)

    def everywhere(title: str, change: Any) -> Case:
        return edited("kb.json", title, lambda base: change(base))

    def put(way: Way, value: Any) -> Any:
        def change(entity: Any, _: Any) -> None:
            for key in way[:-1]:
                entity = entity[key]
            entity[way[-1]] = value

        return change

    yield case("object that does not exist", put(("relations", 0, "object"), "Q999"))
    yield case("object is itself", put(("relations", 0, "object"), VICTIM))
    yield case("no such direction", put(("relations", 0, "direction"), "sideways"))
    yield case("direction the other way round", put(("relations", 0, "direction"), "backward"))
    yield case("concept that does not exist", put(("instanceOf",), ["K999"]))
    yield case("instance of an entity", put(("instanceOf",), ["P0"]))
    yield case("instance of itself", put(("instanceOf",), [VICTIM]))
    yield case("instance of all", put(("instanceOf",), [f"K{n}" for n in range(9)] * 3))
    for text in ("1984-02-30", "1984-13-01", "0000-01-01", "10000-01-01", "1984-1", "1984-01-01T00:00:00Z", "1984-0-0"):
        yield case(f"date {text}", put(("attributes", 0, "value"), {"type": "date", "value": text}))
    for year in (0, -4000, 10**11, 10**13, 10**400, 1984.5, "MCMLXXXIV", "1984 BC", "", "-", "--5", "19 84", True):
        title = f"year {str(year)[:20]}"
        yield case(title, put(("attributes", 0, "value"), {"type": "year", "value": year}))
    for unit in (1, None, "", [], {"name": "minute"}, True, "min\nute", "m" * 10_000):
        title = f"unit {str(unit)[:20]!r}"
        yield case(title, put(("attributes", 1, "value"), {"type": "quantity", "value": 83, "unit": unit}))
    for number in ("83", "eighty", "1e999", "0x53", 10**308, 10**299, 1e-300, -0.0, "٣", "1_000", "", "83 minute"):
        title = f"quantity {str(number)[:20]!r}"
        yield case(title, put(("attributes", 1, "value"), {"type": "quantity", "value": number, "unit": "minute"}))
    for kind in ("text", "Quantity", "", None, 3):
        yield case(f"type {kind!r}", put(("attributes", 1, "value"), {"type": kind, "value": 83}))
    yield case("qualifiers as a list", put(("attributes", 3, "qualifiers"), [_text("x")]))
    yield case(
        "qualifier without a list", put(("attributes", 3, "qualifiers"), {"by": {"type": "string", "value": "x"}})
    )
    yield case("qualifier of a text", put(("attributes", 3, "qualifiers"), {"review score by": "Tomato"}))
    yield case("qualifier of an empty list", put(("attributes", 3, "qualifiers"), {"review score by": []}))
    yield case("qualifier twice", put(("attributes", 3, "qualifiers"), {"by": [_text("x")] * 3}))
    yield case("qualifier without a name", put(("attributes", 3, "qualifiers"), {"": [{"type": "year", "value": 1}]}))
    yield case("facts twice", lambda entity, _: entity.update(attributes=entity["attributes"] * 2))
    yield case("facts fifty times", lambda entity, _: entity.update(attributes=entity["attributes"] * 50))
    yield case("relations twice", lambda entity, _: entity.update(relations=entity["relations"] * 2))
    yield case("no facts", lambda entity, _: entity.update(attributes=[], relations=[]))
    yield case("no attributes", lambda entity, _: entity.pop("attributes") and None)
    yield case("no relations", lambda entity, _: entity.pop("relations") and None)
    for name in NAMES:
        yield case(f"name {name[:12]!r}", put(("name",), name))
        yield case(f"code {name[:12]!r}", put(("attributes", 4, "value", "value"), name))
        yield case(f"role {name[:12]!r}", put(("relations", 1, "qualifiers"), {"character role": [_text(name)]}))
        yield case(f"key {name[:12]!r}", put(("attributes", 4, "key"), name))
        yield case(f"relation {name[:12]!r}", lambda entity, _, name=name: _rename(entity["relations"][1], name))
    yield everywhere("a hierarchy that is a cycle", lambda base: base["concepts"]["K0"].update(instanceOf=["K6"]))
    yield everywhere("a concept below itself", lambda base: base["concepts"]["K6"].update(instanceOf=["K6"]))
    yield everywhere("an id of both kinds", lambda base: base["concepts"].update(F5=base["concepts"]["K6"]))
    yield everywhere("a name that two have", lambda base: base["entities"]["F5"].update(name="The 4th Winter"))
    yield everywhere(
        "all of one name", lambda base: [e.update(name="Same") for e in base["entities"].values()] and None
    )
    yield everywhere("no entity", lambda base: base.update(entities={}))
    yield everywhere("no concept", lambda base: base.update(concepts={}))
    yield everywhere("sections swapped", lambda base: {"concepts": base["entities"], "entities": base["concepts"]})
    yield everywhere("entities as a list", lambda base: {**base, "entities": list(base["entities"].values())})
    yield everywhere("a very long chain of concepts", _long_chain)
    yield Case("kb.json: missing", lambda folder: (folder / "kb.json").unlink())
    yield Case("kb.json: a folder", _folder)


def _same_name(base: dict[str, Any]) -> None:
    for entity in base["entities"].values():
        entity["name"] = "Same"


def _folder(folder: Path) -> None:
    (folder / "kb.json").unlink()
    (folder / "kb.json").mkdir()


def _text(value: str) -> dict[str, str]:
    return {"type": "string", "value": value}


def _rename(row: dict[str, Any], name: str) -> None:
    spelling = "relation" if "relation" in row else "predicate"
    row[spelling] = name


def _long_chain(base: dict[str, Any]) -> None:
    base["concepts"] |= {f"X{n}": {"name": f"x{n}", "subclassOf": [f"X{n + 1}"]} for n in range(3000)}
    base["concepts"]["K0"]["instanceOf"] = ["X0"]
