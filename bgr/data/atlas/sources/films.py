"""Films of the package bokeh-sampledata (Wikidata, CC0): reading, selection of the core, and statements."""

from __future__ import annotations

import random
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from bgr.data.atlas.sources.countries import FILM_COUNTRIES, FILM_LANGUAGES, NOT_LANGUAGES
from bgr.data.atlas.sources.packages import split_companies, split_list, split_people, unique
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.data.kb.comparison import year_of
from bgr.data.kb.schema import Value, parse_date

_QUERY = """
SELECT o.ID, imdbID, Title, Released, o.Rating, Runtime, Genre, Director, Writer, "Cast", Language, Country,
       Oscars, Metacritic, Meter, Reviews, BoxOffice, Production
FROM omdb AS o JOIN tomatoes AS t ON o.ID = t.ID ORDER BY o.ID
"""
_GENRES = {"Sci-Fi": "science fiction"}
_CONCEPTS = {"Documentary": "documentary film", "Animation": "animated film", "Western": "western film",
             "Biography": "biographical film", "History": "historical film"}  # fmt: skip
# minutes; values outside are mistakes of the source (one feature film has a runtime of 1 minute)
_MIN_RUNTIME, _MAX_RUNTIME = 5, 1000
# people with this many films in the source count as links of a film
_MIN_LINKED_FILMS = 3
# more links do not raise a film's rank (casts are long, crews are not)
_MAX_LINKS = 6
# credits that a person needs in the core's films, directing or writing counting double; so nobody has only one film
_MIN_CREDITS = 4
_MIN_COMPANY_FILMS = 2


@dataclass(frozen=True, slots=True)
class Film:
    """One film; unknown fields are ``None`` or empty. Scores are out of 100, box office in dollars."""

    id: str
    title: str
    imdb_id: str
    release: Value
    directors: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()
    cast: tuple[str, ...] = ()
    genres: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    companies: tuple[str, ...] = ()
    rating: str | None = None
    runtime: int | None = None
    tomatometer: int | None = None
    reviews: int | None = None
    metacritic: int | None = None
    box_office: int | None = None
    oscars: int = 0

    @property
    def people(self) -> list[str]:
        """All distinct people in the credits."""
        return unique([*self.directors, *self.writers, *self.cast])


def read_films(connection: sqlite3.Connection) -> list[Film]:
    """All films by id; of two entries with the same IMDb id (a film and a later cut) the older is kept."""
    films: dict[str, Film] = {}
    for row in connection.execute(_QUERY):
        film = film_from_row(dict(row))
        known = films.get(film.imdb_id)
        if known is None or year_of(film.release) < year_of(known.release):
            films[film.imdb_id] = film
    return list(films.values())


def film_from_row(row: dict) -> Film:
    """A cleaned row of the joined tables ``omdb`` and ``tomatoes``."""
    runtime = row["Runtime"]
    return Film(
        id=f"F{row['ID']}",
        title=" ".join(row["Title"].split()),
        imdb_id=row["imdbID"],
        release=release_value(row["Released"]),
        directors=tuple(split_people(row["Director"])),
        writers=tuple(split_people(row["Writer"])),
        cast=tuple(split_people(row["Cast"])),
        genres=tuple(split_list(row["Genre"])),
        languages=_renamed((n for n in split_list(row["Language"]) if n not in NOT_LANGUAGES), FILM_LANGUAGES),
        countries=_renamed(split_list(row["Country"]), FILM_COUNTRIES),
        companies=tuple(split_companies(row["Production"])),
        rating=row["Rating"] or None,
        runtime=int(runtime) if runtime and _MIN_RUNTIME <= runtime <= _MAX_RUNTIME else None,
        tomatometer=row["Meter"],
        reviews=row["Reviews"],
        metacritic=row["Metacritic"],
        box_office=_whole_dollars(row["BoxOffice"]),
        oscars=row["Oscars"] or 0,
    )


def release_value(released: str) -> Value:
    """A date, or a year for January 1, by which the source says that only the year is known."""
    date = parse_date(released)
    return Value("year", date.year) if (date.month, date.day) == (1, 1) else Value("date", date)


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


def choose_films(films: Sequence[Film], size: int, seed: int) -> FilmCore:
    """The best linked films, as many as fit into ``size`` entities with the people and companies that link them.

    Films are ranked by their links to people with three or more films and by how many facts about them are known; the
    seed decides between equals.
    """
    ranked = _rank(films, seed)
    count = bisect_right(range(1, len(ranked) + 1), size, key=lambda number: _core(ranked[:number]).size)
    return _core(ranked[:count])


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


def add_genres(kb: KnowledgeBuilder, films: Iterable[Film]) -> None:
    """Add each genre as an entity and as a concept below ``film``."""
    for genre in sorted({genre for film in films for genre in film.genres}):
        kb.concept(genre_concept(genre), "film")
        kb.entity(f"G_{genre}", genre_name(genre), "film genre")


def add_film(kb: KnowledgeBuilder, film: Film, people: Container[str], companies: Container[str]) -> None:
    """Add a film with all its statements; people and companies outside the given sets are left out."""
    concepts = [genre_concept(genre) for genre in film.genres] or ["film"]
    kb.entity(film.id, film.title, *concepts)
    _add_attributes(kb, film)
    _add_people(kb, film, people)
    for genre in film.genres:
        kb.relation(film.id, "genre", f"G_{genre}")
    for language in film.languages:
        kb.relation(film.id, "original language", kb.named("L", language, "language"))
    for country in film.countries:
        kb.relation(film.id, "country of origin", kb.named("C", country, "country"))
    for company in film.companies:
        if company in companies:
            kb.relation(film.id, "production company", kb.named("O", company, "film production company"))


def genre_name(genre: str) -> str:
    """A genre as it is written in a sentence: ``science fiction``, ``drama``."""
    return _GENRES.get(genre, genre.lower())


def genre_concept(genre: str) -> str:
    """The concept of the films of a genre: ``drama film``."""
    return _CONCEPTS.get(genre, f"{genre_name(genre)} film")


def _add_attributes(kb: KnowledgeBuilder, film: Film) -> None:
    tomatoes, metacritic = ({"review score by": [name]} for name in ("Rotten Tomatoes", "Metacritic"))
    kb.attribute(film.id, "release date", film.release)
    kb.attribute(film.id, "IMDb ID", film.imdb_id)
    kb.attribute(film.id, "runtime", film.runtime, "minute")
    kb.attribute(film.id, "box office", film.box_office, "United States dollar")
    kb.attribute(film.id, "audience rating", film.rating)
    kb.attribute(film.id, "review score", film.tomatometer, "percent", tomatoes)
    kb.attribute(film.id, "number of reviews", film.reviews, qualifiers=tomatoes)
    # Metacritic's points out of 100 are not a percentage of reviews
    kb.attribute(film.id, "review score", film.metacritic, qualifiers=metacritic)
    kb.attribute(film.id, "number of Academy Awards", film.oscars or None)


def _add_people(kb: KnowledgeBuilder, film: Film, people: Container[str]) -> None:
    credits = (
        ("director", "film director", film.directors),
        ("screenwriter", "screenwriter", film.writers),
        ("cast member", "actor", film.cast),
    )
    for predicate, concept, names in credits:
        for name in names:
            if name not in people:
                continue
            other_roles = [role for role, _, others in credits[:2] if predicate == "cast member" and name in others]
            qualifiers = {"object has role": other_roles} if other_roles else None
            kb.relation(film.id, predicate, kb.named("P", name, concept), qualifiers)


def _renamed(names: Iterable[str], table: dict[str, str]) -> tuple[str, ...]:
    return tuple(unique(table.get(name, name) for name in names))


def _whole_dollars(amount: float | None) -> int | None:
    """The amount as an integer; ``None`` for the source's few invalid amounts (7.386)."""
    return int(amount) if amount and float(amount).is_integer() else None
