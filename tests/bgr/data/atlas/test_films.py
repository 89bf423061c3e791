import datetime
import sqlite3
from typing import Any

import pytest

from bgr.data.atlas.build import CONCEPTS
from bgr.data.atlas.sources.films import (
    Film,
    add_film,
    add_genres,
    all_films,
    choose_films,
    film_from_row,
    read_films,
    release_value,
)
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.data.kb.schema import Value

ROW: dict[str, Any] = {
    "ID": 7,
    "imdbID": "tt7",
    "Title": "The  Hole ",
    "Released": "1998-03-14",
    "Rating": None,
    "Runtime": 95.0,
    "Genre": "Drama, Sci-Fi",
    "Director": "Ann Lee",
    "Writer": None,
    "Cast": "Ann Lee, Bob Ray, Jr., Cy Coe",
    "Language": "Mandarin, Standard Chinese, multiple languages",
    "Country": "People's Republic of China, West Germany",
    "Oscars": 2,
    "Metacritic": 61,
    "Meter": 88,
    "Reviews": 12,
    "BoxOffice": 7.386,
    "Production": "Gaumont",
}


@pytest.fixture
def kb() -> KnowledgeBuilder:
    builder = KnowledgeBuilder()
    for names in CONCEPTS:
        builder.concept(*names)
    return builder


def test_a_row_is_cleaned() -> None:
    film = film_from_row(ROW)
    assert film.title == "The Hole"
    assert film.cast == ("Ann Lee", "Bob Ray Jr.", "Cy Coe")
    assert film.languages == ("Mandarin Chinese",)
    assert film.countries == ("China", "West Germany")
    assert film.box_office is None, "a fraction of a dollar is a broken amount"
    assert film.people == ["Ann Lee", "Bob Ray Jr.", "Cy Coe"]


@pytest.mark.parametrize(("runtime", "expected"), [(1.0, None), (None, None), (776.0, 776), (5.0, 5)])
def test_impossible_runtimes_are_left_out(runtime: float | None, expected: int | None) -> None:
    assert film_from_row({**ROW, "Runtime": runtime}).runtime == expected


def test_first_of_january_means_the_year() -> None:
    assert release_value("1968-01-01") == Value("year", 1968)
    assert release_value("1968-01-02") == Value("date", datetime.date(1968, 1, 2))


def test_of_two_entries_with_one_imdb_id_the_older_is_kept() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    omdb = [key for key in ROW if key not in ("Meter", "Reviews", "BoxOffice", "Production")]
    connection.execute("CREATE TABLE omdb (" + ", ".join(f'"{key}"' for key in omdb) + ")")
    connection.execute("CREATE TABLE tomatoes (ID, Rating, Meter, Reviews, BoxOffice, Production)")
    for identifier, released in ((8, "2001-05-02"), (9, "1979-05-19")):
        row = {**ROW, "ID": identifier, "Released": released}
        connection.execute(f"INSERT INTO omdb VALUES ({','.join('?' * len(omdb))})", [row[key] for key in omdb])
        connection.execute("INSERT INTO tomatoes VALUES (?, 6.1, 88, 12, 100.0, 'Gaumont')", [identifier])
    films = read_films(connection)
    assert [film.id for film in films] == ["F9"]
    assert films[0].box_office == 100


def test_a_film_becomes_statements(kb: KnowledgeBuilder) -> None:
    film = film_from_row(ROW)
    add_genres(kb, [film])
    add_film(kb, film, {"Ann Lee", "Bob Ray Jr."}, set())
    data = kb.to_json()
    entity = data["entities"]["F7"]
    assert entity["instanceOf"] == ["c_drama_film", "c_science_fiction_film"]
    assert data["concepts"]["c_science_fiction_film"]["subclassOf"] == ["c_film"]
    scores = [a for a in entity["attributes"] if a["key"] == "review score"]
    assert [
        (a["value"]["value"], a["value"]["unit"], a["qualifiers"]["review score by"][0]["value"]) for a in scores
    ] == [(88, "percent", "Rotten Tomatoes"), (61, "1", "Metacritic")]
    cast = [(r["object"], r["qualifiers"]) for r in entity["relations"] if r["relation"] == "cast member"]
    role = {"object has role": [{"type": "string", "value": "director"}]}
    assert cast == [("P_Ann_Lee", role), ("P_Bob_Ray_Jr.", {})]
    assert data["entities"]["P_Ann_Lee"]["instanceOf"] == ["c_film_director", "c_actor"]
    assert "P_Cy_Coe" not in data["entities"], "people outside the core are left out"
    assert "O_Gaumont" not in data["entities"]


def test_unknown_fields_give_no_statements(kb: KnowledgeBuilder) -> None:
    add_film(kb, Film("F1", "Bare", "tt1", Value("year", 1950)), set(), set())
    entity = kb.to_json()["entities"]["F1"]
    assert [a["key"] for a in entity["attributes"]] == ["release date", "IMDb ID"]
    assert entity["instanceOf"] == ["c_film"]
    assert entity["relations"] == []


def make_film(number: int, director: str, *cast: str, companies: tuple[str, ...] = ()) -> Film:
    year = Value("year", 1990)
    return Film(f"F{number}", f"Film {number}", f"tt{number}", year, (director,), (), cast, companies=companies)


FILMS = [
    make_film(1, "Ann", "Bob", "Cy", companies=("Gaumont",)),
    make_film(2, "Ann", "Bob", companies=("Gaumont", "Pathé")),
    make_film(3, "Ann", "Bob", "Di"),
    make_film(10, "Eve", "Bob"),
    make_film(11, "Fay", "Gus"),
]


def test_nobody_in_the_core_has_only_one_film() -> None:
    core = choose_films(FILMS, 100, seed=0)
    assert len(core.films) == len(FILMS)
    assert core.people == {"Ann", "Bob"}
    assert core.companies == {"Gaumont"}


def test_the_best_linked_films_are_chosen_within_the_size() -> None:
    core = choose_films(FILMS, 5, seed=0)
    assert core.size <= 5
    assert [chosen.id for chosen in core.films] == ["F1", "F2", "F3"]


def test_the_seed_decides_only_between_equals() -> None:
    equals = [make_film(number, f"Director {number}") for number in range(40)]
    first, again, other = (choose_films(equals, 10, seed) for seed in (1, 1, 2))
    assert first == again
    assert {f.id for f in first.films} != {f.id for f in other.films}


def test_all_films_keeps_everything() -> None:
    core = all_films(FILMS)
    assert len(core.films) == 5
    assert core.people == {"Ann", "Bob", "Cy", "Di", "Eve", "Fay", "Gus"}
    assert core.companies == {"Gaumont", "Pathé"}
