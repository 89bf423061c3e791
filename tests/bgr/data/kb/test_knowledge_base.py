"""Loading in both spellings, the indices, and one-line errors that name file, entity and field."""

import copy
import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Value
from bgr.errors import DataError


@pytest.fixture(scope="module")
def kb(film_records: dict[str, Any]) -> KnowledgeBase:
    return KnowledgeBase(film_records)


def small(**fields: Any) -> dict[str, Any]:
    """A knowledge base of one concept and one entity, with some of the entity's fields replaced."""
    entity = {"name": "Some  thing", "instanceOf": ["C"], "attributes": [], "relations": [], **fields}
    return {"concepts": {"C": {"name": "concept", "subclassOf": []}}, "entities": {"E": entity}}


def test_load_takes_a_file_or_its_folder(tmp_path: Path, film_records: dict[str, Any]) -> None:
    (tmp_path / "kb.json").write_text(json.dumps(film_records))
    for path in (tmp_path, tmp_path / "kb.json", str(tmp_path)):
        assert len(KnowledgeBase.load(path).entities) == len(film_records["entities"])


def test_both_spellings_give_one_base(film_records: dict[str, Any]) -> None:
    other = copy.deepcopy(film_records)
    for record in other["concepts"].values():
        record["instanceOf"] = record.pop("subclassOf")
    for record in other["entities"].values():
        for row in record["relations"]:
            row["predicate"] = row.pop("relation")
        for row in record["attributes"]:
            if row["value"]["type"] == "date":
                row["value"]["value"] = row["value"]["value"].replace("-", "/")
    one, two = KnowledgeBase(film_records), KnowledgeBase(other)
    for node in one.all_ids:
        assert [s.fact() for s in one.attributes(node)] == [s.fact() for s in two.attributes(node)]
        assert [(s.fact(), d) for s, d in one.relations(node)] == [(s.fact(), d) for s, d in two.relations(node)]


def test_input_is_not_changed(random_records: dict[str, Any]) -> None:
    before = copy.deepcopy(random_records)
    KnowledgeBase(random_records)
    assert random_records == before


def test_names_are_normalized_and_may_be_ambiguous(kb: KnowledgeBase) -> None:
    assert kb.ids("Hamlet") == ("F4", "F5")
    assert kb.ids("nobody") == ()
    assert KnowledgeBase(small()).ids("Some thing") == ("E",)


def test_concepts_and_members(random_records: dict[str, Any]) -> None:
    kb = KnowledgeBase(random_records)
    artists = [i for i in kb.entities if "C2" in kb.concepts_of(i)]
    assert kb.is_concept("C2")
    assert not kb.is_concept(artists[0])
    assert kb.all_concepts_of(artists[0])[: len(kb.concepts_of(artists[0]))] == kb.concepts_of(artists[0])
    assert set(kb.members("C1")) == {"C2", *artists}
    # C5 and C6 are each other's sub-concepts: the search ends, and each is among its own members
    assert {"C5", "C6"} <= set(kb.members("C5"))


def test_one_statement_for_both_ends(kb: KnowledgeBase) -> None:
    ((forward, direction),) = [row for row in kb.relations("L1") if row[0].predicate == "capital"]
    ((backward, opposite),) = [row for row in kb.relations("T1") if row[0].predicate == "capital"]
    assert forward is backward
    assert (direction, opposite) == ("forward", "backward")
    assert (forward.head, forward.tail) == ("L1", "T1")
    assert list(kb.between("L1", "T1")) == [forward]
    assert list(kb.relation_rows("capital", "backward")["T1"]) == [forward]


def test_statements_with_other_qualifiers_stay_apart(kb: KnowledgeBase) -> None:
    rows = kb.between("F3", "P2")
    assert [str(s.qualifier("object has role")[0]) for s in rows] == ["knight", "squire"]


def test_only_concepts_get_the_other_end_of_a_one_sided_relation() -> None:
    row = {"relation": "made of", "object": "C", "direction": "forward", "qualifiers": {}}
    kb = KnowledgeBase(small(relations=[row]))
    assert [(s.head, s.tail, d) for s, d in kb.relations("C")] == [("E", "C", "backward")]
    records = small(relations=[{**row, "object": "F"}])
    records["entities"]["F"] = {"name": "other", "instanceOf": ["C"], "attributes": [], "relations": []}
    assert KnowledgeBase(records).relations("F") == []


def test_attribute_index_and_key_types(kb: KnowledgeBase) -> None:
    assert {i: str(s[0].value) for i, s in kb.attribute_rows("population").items()} == {"T1": "978770", "T2": "2138551"}
    assert kb.attribute_rows("no such key") == {}
    assert (kb.key_type("population"), kb.key_type("release date"), kb.key_type("stated in")) == (
        "quantity",
        "date",
        "string",
    )
    assert kb.key_type("point in time") == "date"
    assert kb.key_type("no such key") is None
    assert "stated in" in kb.qualifier_keys
    assert "stated in" not in kb.keys
    assert set(kb.predicates) >= {"director", "capital"}


def test_the_text_decides_between_date_and_year() -> None:
    rows = [
        {"key": "k", "value": {"type": "date", "value": "1984"}},
        {"key": "k", "value": {"type": "year", "value": "1984/1/2"}},
        {"key": "k", "value": {"type": "year", "value": -500}},
    ]
    found = [s.value for s in KnowledgeBase(small(attributes=rows)).attributes("E")]
    assert found == [Value("year", 1984), Value("date", date(1984, 1, 2)), Value("year", -500)]


def _broken(field: str, row: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: small(**{field: [{"key": "k", "value": {"type": "string", "value": "v"}}, row]})


def _without(field: str) -> Callable[[], dict[str, Any]]:
    records = small()
    del records["entities"]["E"][field]
    return lambda: records


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "not an object": (list, "field 'concepts' must be an object"),
    "no entities": (lambda: {"concepts": {}}, "field 'entities' must be an object"),
    "both kinds": (lambda: {"concepts": small()["entities"], "entities": small()["entities"]}, "'E' is both a concept"),
    "no name": (_without("name"), "entity 'E': field 'name' is missing"),
    "no concepts": (_without("instanceOf"), "entity 'E': field 'instanceOf' (or 'subclassOf') is missing"),
    "concepts as text": (lambda: small(instanceOf="C"), "entity 'E': 'instanceOf' must be a list, is 'C'"),
    "attributes as object": (lambda: small(attributes={"k": 1}), "entity 'E': 'attributes' must be a list, is {"),
    "no key": (_broken("attributes", {}), "entity 'E', attributes[1]: field 'key' is missing"),
    "no value": (
        _broken("attributes", {"key": "k", "value": {"type": "year"}}),
        "attributes[1]: field 'value' is missing",
    ),
    "other type": (
        _broken("attributes", {"key": "k", "value": {"type": "colour", "value": 1}}),
        "attributes[1]: unknown value type 'colour', allowed: string, quantity, date, year",
    ),
    "no date": (
        _broken("attributes", {"key": "k", "value": {"type": "date", "value": "1984-13-01"}}),
        "attributes[1]: not a date: '1984-13-01'",
    ),
    "no year": (
        _broken("attributes", {"key": "k", "value": {"type": "year", "value": "soon"}}),
        "attributes[1]: not a year or a date: 'soon'",
    ),
    "no number": (
        _broken("attributes", {"key": "k", "value": {"type": "quantity", "value": "many"}}),
        "attributes[1]: not a number: 'many'",
    ),
    "infinite": (
        _broken("attributes", {"key": "k", "value": {"type": "quantity", "value": float("inf")}}),
        "attributes[1]: not a finite number: inf",
    ),
    "qualifiers as list": (
        _broken("attributes", {"key": "k", "value": {"type": "string", "value": "v"}, "qualifiers": [1]}),
        "attributes[1]: 'qualifiers' is [1], allowed: an object of lists of values",
    ),
    "not an object as value": (
        _broken("attributes", {"key": "k", "value": {"type": "string", "value": None}}),
        "attributes[1]: value None, allowed: a text or a number",
    ),
    "true as a number": (
        _broken("attributes", {"key": "k", "value": {"type": "quantity", "value": True}}),
        "attributes[1]: value True, allowed: a text or a number",
    ),
    "empty value": (
        _broken("attributes", {"key": "k", "value": {"type": "string", "value": "  "}}),
        "attributes[1]: value '', allowed: a non-empty text",
    ),
    "number as unit": (
        _broken("attributes", {"key": "k", "value": {"type": "quantity", "value": 3, "unit": 1}}),
        "attributes[1]: unit 1, allowed: a non-empty text",
    ),
    "list as value": (
        _broken("attributes", {"key": "k", "value": {"type": "string", "value": ["v"]}}),
        "attributes[1]: 'value' is ['v'], allowed: a text or a number",
    ),
    "text for a value": (
        _broken("attributes", {"key": "k", "value": "v"}),
        "value 'v', allowed: an object {type, value}",
    ),
    "number too large": (
        _broken("attributes", {"key": "k", "value": {"type": "quantity", "value": 10**400}}),
        "attributes[1]: not a finite number: 1000",
    ),
    "year of many digits": (
        _broken("attributes", {"key": "k", "value": {"type": "year", "value": 10**12}}),
        "attributes[1]: not a year or a date: '1000000000000'",
    ),
    "qualifier not a list": (
        _broken("attributes", {"key": "k", "value": {"type": "string", "value": "v"}, "qualifiers": {"q": "v"}}),
        "attributes[1]: qualifier 'q' is 'v', allowed: a list of values",
    ),
    "row not an object": (_broken("attributes", ["k"]), "attributes[1]: ['k'], allowed: an object"),
    "empty key": (
        _broken("attributes", {"key": " ", "value": {}}),
        "attributes[1]: ' ' as a name, allowed: a non-empty",
    ),
    "empty name": (lambda: small(name="\t"), "entity 'E': '\\t' as a name, allowed: a non-empty text"),
    "number as name": (lambda: small(name=5), "entity 'E': 5 as a name, allowed: a non-empty text"),
    "numbers as concepts": (lambda: small(instanceOf=[5]), "entity 'E': 'instanceOf' is [5], allowed: a list of ids"),
    "record not an object": (
        lambda: {**small(), "concepts": {"C": "concept"}},
        "concept 'C': must be an object, is 'concept'",
    ),
    "object not a text": (
        lambda: small(relations=[{"relation": "r", "object": ["C"], "direction": "forward"}]),
        "relations[0]: object ['C'] is neither an entity nor a concept",
    ),
    "no relation name": (
        lambda: small(relations=[{"object": "C", "direction": "forward"}]),
        "entity 'E', relations[0]: field 'relation' (or 'predicate') is missing",
    ),
    "unknown object": (
        lambda: small(relations=[{"relation": "r", "object": "X", "direction": "forward"}]),
        "relations[0]: object 'X' is neither an entity nor a concept",
    ),
    "no direction": (
        lambda: small(relations=[{"relation": "r", "object": "C", "direction": "up"}]),
        "relations[0]: direction 'up', allowed: forward, backward",
    ),
}


@pytest.mark.parametrize("case", sorted(BAD))
def test_errors_name_file_entity_and_field(case: str, tmp_path: Path) -> None:
    make, message = BAD[case]
    path = tmp_path / "kb.json"
    path.write_text(json.dumps(make()))
    with pytest.raises(DataError, match=re.escape(message)) as error:
        KnowledgeBase.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_missing_and_truncated_files(tmp_path: Path, film_records: dict[str, Any]) -> None:
    path = tmp_path / "kb.json"
    with pytest.raises(DataError, match=re.escape(f"{path}: no such file")):
        KnowledgeBase.load(path)
    path.write_text(json.dumps(film_records)[:1000])
    with pytest.raises(DataError, match=re.escape(f"{path}: not valid JSON at line 1")):
        KnowledgeBase.load(path)


def test_an_empty_base_answers(program: Any) -> None:
    kb = KnowledgeBase({"concepts": {}, "entities": {}})
    assert Executor(kb).answer(program("FindAll", "Count")) == "0"


def test_equal_numbers_of_other_types_are_kept_apart() -> None:
    rows = [{"key": "k", "value": {"type": "quantity", "value": value}} for value in (1.0, 1)]
    found = [s.value for s in KnowledgeBase(small(attributes=rows)).attributes("E")]
    assert [type(value.value) for value in found if value] == [float, int]
    with pytest.raises(DataError, match=r"attributes\[1\]: value True"):
        KnowledgeBase(small(attributes=[rows[1], {"key": "k", "value": {"type": "quantity", "value": True}}]))


def test_a_hierarchy_without_end() -> None:
    records = small()
    records["concepts"] |= {f"C{n}": {"name": f"c{n}", "subclassOf": [f"C{n + 1}"]} for n in range(300)}
    records["concepts"]["C"]["subclassOf"] = ["C250"]
    with pytest.raises(DataError, match=r"^kb\.json: 'C0' has more than 100 levels of concepts above it"):
        KnowledgeBase(records)
