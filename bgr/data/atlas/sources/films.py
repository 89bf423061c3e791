"""Films of the package bokeh-sampledata (Wikidata, CC0): reading, cleaning, and conversion to statements."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Container, Iterable
from dataclasses import dataclass

from bgr.data.atlas.sources.countries import FILM_COUNTRIES, FILM_LANGUAGES, NOT_LANGUAGES, country_id, language_id
from bgr.data.atlas.sources.packages import split_companies, split_list, split_people, unique
from bgr.data.atlas.statements import KnowledgeBuilder, day, quantity, text, year
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
        if known is None or _release_year(film) < _release_year(known):
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
    return year(date.year) if (date.month, date.day) == (1, 1) else day(date)


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
        kb.relation(film.id, "original language", kb.entity(language_id(language), language, "language"))
    for country in film.countries:
        kb.relation(film.id, "country of origin", kb.entity(country_id(country), country, "country"))
    for company in film.companies:
        if company in companies:
            kb.entity(company_id(company), company, "film production company")
            kb.relation(film.id, "production company", company_id(company))


def genre_name(genre: str) -> str:
    """A genre as it is written in a sentence: ``science fiction``, ``drama``."""
    return _GENRES.get(genre, genre.lower())


def genre_concept(genre: str) -> str:
    """The concept of the films of a genre: ``drama film``."""
    return _CONCEPTS.get(genre, f"{genre_name(genre)} film")


def person_id(name: str) -> str:
    """The id of a person in film; the source has only names, so equal names are one person."""
    return "P_" + name.replace(" ", "_")


def company_id(name: str) -> str:
    """The id of a production company."""
    return "O_" + name.replace(" ", "_")


def _add_attributes(kb: KnowledgeBuilder, film: Film) -> None:
    tomatoes = {"review score by": [text("Rotten Tomatoes")]}
    kb.attribute(film.id, "release date", film.release)
    kb.attribute(film.id, "IMDb ID", text(film.imdb_id))
    if film.runtime is not None:
        kb.attribute(film.id, "runtime", quantity(film.runtime, "minute"))
    if film.box_office is not None:
        kb.attribute(film.id, "box office", quantity(film.box_office, "United States dollar"))
    if film.rating is not None:
        kb.attribute(film.id, "audience rating", text(film.rating))
    if film.tomatometer is not None:
        kb.attribute(film.id, "review score", quantity(film.tomatometer, "percent"), tomatoes)
    if film.reviews is not None:
        kb.attribute(film.id, "number of reviews", quantity(film.reviews), tomatoes)
    if film.metacritic is not None:
        # Metacritic's points out of 100 are not a percentage of reviews
        kb.attribute(film.id, "review score", quantity(film.metacritic), {"review score by": [text("Metacritic")]})
    if film.oscars > 0:
        kb.attribute(film.id, "number of Academy Awards", quantity(film.oscars))


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
            qualifiers = {"object has role": [text(role) for role in other_roles]} if other_roles else None
            kb.entity(person_id(name), name, concept)
            kb.relation(film.id, predicate, person_id(name), qualifiers)


def _renamed(names: Iterable[str], table: dict[str, str]) -> tuple[str, ...]:
    return tuple(unique(table.get(name, name) for name in names))


def _whole_dollars(amount: float | None) -> int | None:
    """The amount as an integer; ``None`` for the source's few invalid amounts (7.386)."""
    return int(amount) if amount and float(amount).is_integer() else None


def _release_year(film: Film) -> int:
    value = film.release.value
    return value.year if isinstance(value, datetime.date) else int(value)
