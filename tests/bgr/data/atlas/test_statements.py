import pytest

from bgr.data.atlas.statements import KnowledgeBuilder, to_value
from bgr.errors import DataError


@pytest.fixture
def kb() -> KnowledgeBuilder:
    builder = KnowledgeBuilder()
    builder.concept("thing")
    builder.concept("small thing", "thing")
    builder.entity("a", "First  one", "thing")
    builder.entity("b", "Second", "small thing")
    return builder


def test_a_relation_is_stored_at_both_ends_with_its_qualifiers(kb: KnowledgeBuilder) -> None:
    kb.relation("a", "likes", "b", {"how": ["much"]})
    kb.relation("a", "likes", "b")
    entities = kb.to_json()["entities"]
    how = {"how": [{"type": "string", "value": "much"}]}
    assert entities["a"]["relations"] == [
        {"relation": "likes", "object": "b", "direction": "forward", "qualifiers": how}
    ]
    assert entities["b"]["relations"] == [
        {"relation": "likes", "object": "a", "direction": "backward", "qualifiers": how}
    ]


def test_repeated_statements_are_kept_once_unless_their_qualifiers_differ(kb: KnowledgeBuilder) -> None:
    for source in ("x", "y", "y"):
        kb.attribute("a", "size", 3, qualifiers={"stated in": [source]})
    assert len(kb.to_json()["entities"]["a"]["attributes"]) == 2


def test_names_are_trimmed_and_concepts_added(kb: KnowledgeBuilder) -> None:
    kb.entity("a", "First one", "small thing", "thing")
    record = kb.to_json()["entities"]["a"]
    assert record["name"] == "First one"
    assert record["instanceOf"] == ["c_thing", "c_small_thing"]
    assert kb.to_json()["concepts"]["c_small_thing"] == {"name": "small thing", "subclassOf": ["c_thing"]}


@pytest.mark.parametrize(("name", "concept"), [("  ", "thing"), ("C", "unheard of")])
def test_a_nameless_entity_or_an_unknown_concept_is_an_error(kb: KnowledgeBuilder, name: str, concept: str) -> None:
    with pytest.raises(DataError, match="entity c"):
        kb.entity("c", name, concept)


def test_quantities_are_integers_if_possible() -> None:
    assert to_value(95.0, "minute").to_json() == {"type": "quantity", "value": 95, "unit": "minute"}
    assert to_value(83.80999999999997, "kelvin").value == 83.81
    assert to_value(66_987_244).value == 66_987_244
