from typing import Any

import pytest

from bgr.data.atlas.sources.elements import add_elements, split_discoverers
from bgr.data.atlas.statements import KnowledgeBuilder

ROW: dict[str, Any] = {
    "atomic_number": 2,
    "symbol": "He",
    "name": "Helium",
    "block": "s",
    "density": 0.000164,
    "group_id": 18,
    "period": 1,
    "atomic_weight": 4.002602,
    "discoverers": "Sir William Ramsey; P.T.Cleve",
    "discovery_year": 1895,
    "discovery_location": "Scotland/USSR",
    "series": "Noble gases",
    "melting_point": None,
    "boiling_point": 4.222,
}


def entities(row: dict[str, Any]) -> dict[str, Any]:
    kb = KnowledgeBuilder()
    for name in ("chemical element", "scientist", "country"):
        kb.concept(name)
    add_elements(kb, [row])
    return kb.to_json()["entities"]


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("Sir William Ramsay; M. W. Travers", ["William Ramsay", "Morris Travers"]),
        ("Pierre and Marie Curie", ["Pierre Curie", "Marie Curie"]),
        ("G.T.Seaborg, J.W.Kennedy", ["Glenn Seaborg", "J. W. Kennedy"]),
        ("A.Ghiorso, K.Street Jr.", ["Albert Ghiorso", "K. Street Jr."]),
        ("A. Ghiorso, et al", ["Albert Ghiorso"]),
        ("Known to the ancients.", []),
        ("Argonne, Los Alamos, U of Calif", []),
        ("Soviet Nuclear Research/ U. of Cal at Berkeley", []),
        ("Heavy Ion Research Laboratory (HIRL)", []),
        (None, []),
    ],
)
def test_discoverers_are_persons(field: str | None, names: list[str]) -> None:
    assert split_discoverers(field) == names


@pytest.mark.parametrize(
    ("series", "singular"),
    [("Noble gases", "noble gas"), ("Halogens", "halogen"), ("Alkali metals", "alkali metal"), (None, None)],
)
def test_series_are_singular(series: str | None, singular: str | None) -> None:
    found = {row["key"]: row["value"]["value"] for row in entities({**ROW, "series": series})["E_He"]["attributes"]}
    assert found.get("element series") == singular


def test_an_element_becomes_statements() -> None:
    found = entities(ROW)
    helium = found["E_He"]
    keys = {a["key"]: a["value"] for a in helium["attributes"]}
    assert "melting point" not in keys
    assert keys["atomic mass"] == {"type": "quantity", "value": 4.0026, "unit": "dalton"}
    assert keys["time of discovery"] == {"type": "year", "value": 1895}
    rows = [(r["relation"], r["object"]) for r in helium["relations"]]
    assert rows == [
        ("discoverer", "D_William_Ramsay"),
        ("discoverer", "D_Per_Theodor_Cleve"),
        ("country of discovery", "C_Scotland"),
        ("country of discovery", "C_Soviet_Union"),
    ]
    when = {"point in time": [{"type": "year", "value": 1895}]}
    assert all(r["qualifiers"] == when for r in helium["relations"])
    assert found["D_William_Ramsay"]["relations"] == [
        {"relation": "discoverer", "object": "E_He", "direction": "backward", "qualifiers": when}
    ]
