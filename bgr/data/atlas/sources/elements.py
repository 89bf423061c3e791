"""Chemical elements of the package mendeleev: properties and discovery."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from bgr.data.atlas.sources.countries import DISCOVERY_COUNTRIES, country_id
from bgr.data.atlas.sources.packages import split_pair, unique
from bgr.data.atlas.statements import KnowledgeBuilder, quantity, text, year

_QUERY = """
SELECT e.atomic_number, e.symbol, e.name, block, density, group_id, period, atomic_weight, discoverers,
       discovery_year, discovery_location, s.name AS series, p.melting_point, p.boiling_point
FROM elements AS e LEFT JOIN series AS s ON e.series_id = s.id
LEFT JOIN phasetransitions AS p ON p.id = (
    SELECT id FROM phasetransitions WHERE atomic_number = e.atomic_number
    ORDER BY allotrope IS NOT NULL, id LIMIT 1)
ORDER BY e.atomic_number
"""
# discoverers that are institutions or unknown
_NOT_PEOPLE = re.compile(
    r"ancients|Argonne|Los Alamos|\bU\.? of\b|Institute|Laboratory|Centre|Research|RIKEN|\bet al\b"
)
# normalization of names that the source spells in several ways
_SPELLINGS = {
    "A.Ghiorso": "Albert Ghiorso", "A. Ghiorso": "Albert Ghiorso", "Baron Rayleigh": "Lord Rayleigh",
    "C.F. Aver von Welsbach": "Carl Auer von Welsbach", "D.R.Corson": "Dale Corson", "E.M.McMillan": "Edwin McMillan",
    "E.M. McMillan": "Edwin McMillan", "E.Segré": "Emilio Segrè", "Émillo Segrè": "Emilio Segrè",
    "G. Kirchoff": "Gustav Kirchhoff", "Gustov Kirchoff": "Gustav Kirchhoff", "G.T.Seaborg": "Glenn Seaborg",
    "Humphrey Davy": "Humphry Davy", "H. Davy": "Humphry Davy", "J. Berzelius": "Jöns Berzelius",
    "Joseph Priestly": "Joseph Priestley", "L.N.Vauquelin": "Louis Vauquelin", "M. Klaproth": "Martin Klaproth",
    "M.W. Travers": "Morris Travers", "M. W. Travers": "Morris Travers", "P.T.Cleve": "Per Theodor Cleve",
    "R. Bunsen": "Robert Bunsen", "R.A.James": "Ralph James", "S.G.Tompson": "Stanley Thompson",
    "S.Tenant": "Smithson Tennant", "Smithson Tenant": "Smithson Tennant", "William Ramsey": "William Ramsay",
    "Fredrich Wöhler": "Friedrich Wöhler", "Fredrich Stromeyer": "Friedrich Stromeyer",
    "Fredrich Ernst Dorn": "Friedrich Ernst Dorn", "Fredrich Soddy": "Frederick Soddy",
    "Marguerite Derey": "Marguerite Perey", "Charles Hatchet": "Charles Hatchett",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Element:
    """One element. Mass in dalton, density in g/cm³, temperatures in kelvin; ``None`` if unknown."""

    number: int
    symbol: str
    name: str
    block: str
    period: int
    group: int | None
    series: str | None
    mass: float | None
    density: float | None
    melting_point: float | None
    boiling_point: float | None
    discoverers: tuple[str, ...]
    countries: tuple[str, ...]
    year: int | None


def read_elements(connection: sqlite3.Connection) -> list[Element]:
    """All elements by atomic number, with the properties of the allotrope without a name, else of the first."""
    return [element_from_row(dict(row)) for row in connection.execute(_QUERY)]


def element_from_row(row: dict) -> Element:
    """One row of mendeleev's database, cleaned."""
    places = unique(place.strip() for place in (row["discovery_location"] or "").split("/") if place.strip())
    return Element(
        number=row["atomic_number"],
        symbol=row["symbol"],
        name=row["name"].lower(),
        block=row["block"],
        period=row["period"],
        group=row["group_id"],
        series=_singular(row["series"]),
        mass=row["atomic_weight"],
        density=row["density"],
        melting_point=row["melting_point"],
        boiling_point=row["boiling_point"],
        discoverers=tuple(split_discoverers(row["discoverers"])),
        countries=tuple(DISCOVERY_COUNTRIES.get(place, place) for place in places),
        year=row["discovery_year"],
    )


def split_discoverers(field: str | None) -> list[str]:
    """The people in a text such as ``Sir William Ramsey; M. W. Travers``; institutions are left out."""
    names = []
    for part in re.split(r"[,;]", field or ""):
        for name in split_pair(" ".join(part.split())):
            plain = name.removeprefix("Sir ").rstrip(".") if not name.endswith("Jr.") else name
            if plain and not _NOT_PEOPLE.search(plain):
                names.append(_SPELLINGS.get(plain, _spaced_initials(plain)))
    return unique(names)


def add_elements(kb: KnowledgeBuilder, elements: Iterable[Element]) -> None:
    """Add each element with its properties and its discovery."""
    for element in elements:
        identifier = kb.entity(f"E_{element.symbol}", element.name, "chemical element")
        _add_attributes(kb, identifier, element)
        when = {"point in time": [year(element.year)]} if element.year is not None else None
        for name in element.discoverers:
            kb.relation(identifier, "discoverer", kb.entity(scientist_id(name), name, "scientist"), when)
        for country in element.countries:
            place = kb.entity(country_id(country), country, "country")
            kb.relation(identifier, "country of discovery", place, when)


def scientist_id(name: str) -> str:
    """The id of a discoverer, distinct from that of a person in film with the same name."""
    return "D_" + name.replace(" ", "_")


def _add_attributes(kb: KnowledgeBuilder, identifier: str, element: Element) -> None:
    kb.attribute(identifier, "chemical symbol", text(element.symbol))
    kb.attribute(identifier, "block", text(element.block))
    if element.series:
        kb.attribute(identifier, "element series", text(element.series))
    numbers = (
        ("atomic number", element.number, "1"),
        ("period", element.period, "1"),
        ("group", element.group, "1"),
        ("atomic mass", element.mass, "dalton"),
        ("density", element.density, "gram per cubic centimetre"),
        ("melting point", element.melting_point, "kelvin"),
        ("boiling point", element.boiling_point, "kelvin"),
    )
    for key, number, unit in numbers:
        if number is not None:
            kb.attribute(identifier, key, quantity(number, unit))
    if element.year is not None:
        kb.attribute(identifier, "time of discovery", year(element.year))


def _singular(series: str | None) -> str | None:
    """``noble gas`` for ``Noble gases``."""
    return re.sub(r"(?<=gas)es$|(?<!ga)s$", "", series.lower()) if series else None


def _spaced_initials(name: str) -> str:
    """``J. W. Kennedy`` for ``J.W.Kennedy``."""
    return re.sub(r"\.(?=\w)", ". ", name)
