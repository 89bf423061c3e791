"""Chemical elements of the package mendeleev: properties and discovery."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bgr.data.atlas.sources.countries import DISCOVERY_COUNTRIES
from bgr.data.atlas.sources.packages import split_pair, unique
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.data.kb.schema import Value

ELEMENTS_QUERY = """
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


# attribute, column of the query, unit; an element's values are those of the allotrope without a name, else of the first
_NUMBERS = (
    ("atomic number", "atomic_number", "1"), ("period", "period", "1"), ("group", "group_id", "1"),
    ("atomic mass", "atomic_weight", "dalton"), ("density", "density", "gram per cubic centimetre"),
    ("melting point", "melting_point", "kelvin"), ("boiling point", "boiling_point", "kelvin"),
)  # fmt: skip


def add_elements(kb: KnowledgeBuilder, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add each element, a row of `ELEMENTS_QUERY`, with its properties and its discovery."""
    for row in rows:
        element = kb.entity(f"E_{row['symbol']}", row["name"].lower(), "chemical element")
        found = Value("year", row["discovery_year"]) if row["discovery_year"] is not None else None
        kb.attribute(element, "chemical symbol", row["symbol"])
        kb.attribute(element, "block", row["block"])
        kb.attribute(element, "element series", _singular(row["series"]))
        for key, column, unit in _NUMBERS:
            kb.attribute(element, key, row[column], unit)
        kb.attribute(element, "time of discovery", found)
        when = {"point in time": [found]} if found else None
        for name in split_discoverers(row["discoverers"]):
            kb.relation(element, "discoverer", kb.named("D", name, "scientist"), when)
        for place in unique(map(str.strip, (row["discovery_location"] or "").split("/"))):
            if place:
                country = kb.named("C", DISCOVERY_COUNTRIES.get(place, place), "country")
                kb.relation(element, "country of discovery", country, when)


def split_discoverers(field: str | None) -> list[str]:
    """The people in a text such as ``Sir William Ramsey; M. W. Travers``; institutions are left out."""
    names = []
    for part in re.split(r"[,;]", field or ""):
        for name in split_pair(" ".join(part.split())):
            plain = name.removeprefix("Sir ").rstrip(".") if not name.endswith("Jr.") else name
            if plain and not _NOT_PEOPLE.search(plain):
                names.append(_SPELLINGS.get(plain, _spaced_initials(plain)))
    return unique(names)


def _singular(series: str | None) -> str | None:
    """``noble gas`` for ``Noble gases``."""
    return re.sub(r"(?<=gas)es$|(?<!ga)s$", "", series.lower()) if series else None


def _spaced_initials(name: str) -> str:
    """``J. W. Kennedy`` for ``J.W.Kennedy``."""
    return re.sub(r"\.(?=\w)", ". ", name)
