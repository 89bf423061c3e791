"""Selection of the dense core: well linked films, people, companies, cities and airports, so that chains are long."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bgr.data.atlas.sources.films import Film
from bgr.data.atlas.sources.places import Airport, City, World

# share of cities among the core's entities
_CITY_SHARE = 0.1
# people with this many films in the source count as links of a film
_MIN_LINKED_FILMS = 3
# more links do not raise a film's rank (casts are long, crews are not)
_MAX_LINKS = 6
# credits that a person needs in the core's films, directing or writing counting double; so nobody has only one film
_MIN_CREDITS = 4
_MIN_COMPANY_FILMS = 2


@dataclass(frozen=True)
class FilmCore:
    """The chosen films and the people and companies that link them."""

    films: tuple[Film, ...]
    people: frozenset[str]
    companies: frozenset[str]

    @property
    def size(self) -> int:
        """Number of entities."""
        return len(self.films) + len(self.people) + len(self.companies)


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


def choose_films(films: Sequence[Film], size: int, seed: int) -> FilmCore:
    """The best linked films, as many as fit into ``size`` entities with the people and companies that link them.

    Films are ranked by their links to people with three or more films and by how many facts about them are known; the
    seed decides between equals. The number of films is found by bisection.
    """
    ranked = _rank(films, seed)
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        if _core(ranked[:middle]).size <= size:
            low = middle
        else:
            high = middle - 1
    return _core(ranked[:low])


def all_films(films: Sequence[Film]) -> FilmCore:
    """All films, people and companies, linked or not."""
    people = frozenset(name for film in films for name in film.people)
    return FilmCore(tuple(films), people, frozenset(name for film in films for name in film.companies))


def _rank(films: Sequence[Film], seed: int) -> list[Film]:
    appearances = Counter(name for film in films for name in film.people)
    generator = random.Random(seed)
    lots = {film.id: generator.random() for film in films}

    def score(film: Film) -> tuple[int, float]:
        links = min(_MAX_LINKS, sum(appearances[name] >= _MIN_LINKED_FILMS for name in film.people))
        known = (film.box_office, film.metacritic, film.rating, film.runtime, film.companies, film.oscars)
        led = 3 * any(appearances[name] >= _MIN_LINKED_FILMS for name in film.directors)
        # without this, three quarters of the films would be American and most countries would have none
        abroad = 3 * any(country != "United States" for country in film.countries)
        return (-links - led - abroad - sum(bool(fact) for fact in known), lots[film.id])

    return sorted(films, key=score)


def _core(films: Sequence[Film]) -> FilmCore:
    credits: Counter[str] = Counter()
    for film in films:
        crew = {*film.directors, *film.writers}
        credits.update({name: 2 if name in crew else 1 for name in film.people})
    companies = Counter(name for film in films for name in film.companies)
    return FilmCore(
        tuple(sorted(films, key=lambda film: int(film.id[1:]))),
        frozenset(name for name, count in credits.items() if count >= _MIN_CREDITS),
        frozenset(name for name, count in companies.items() if count >= _MIN_COMPANY_FILMS),
    )
