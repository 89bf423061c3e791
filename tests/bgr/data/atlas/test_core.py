from bgr.data.atlas.sources.films import Film, all_films, choose_films
from bgr.data.kb.schema import Value


def film(number: int, director: str, *cast: str, companies: tuple[str, ...] = ()) -> Film:
    year = Value("year", 1990)
    return Film(f"F{number}", f"Film {number}", f"tt{number}", year, (director,), (), cast, companies=companies)


FILMS = [
    film(1, "Ann", "Bob", "Cy", companies=("Gaumont",)),
    film(2, "Ann", "Bob", companies=("Gaumont", "Pathé")),
    film(3, "Ann", "Bob", "Di"),
    film(10, "Eve", "Bob"),
    film(11, "Fay", "Gus"),
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
    equals = [film(number, f"Director {number}") for number in range(40)]
    first, again, other = (choose_films(equals, 10, seed) for seed in (1, 1, 2))
    assert first == again
    assert {f.id for f in first.films} != {f.id for f in other.films}


def test_all_films_keeps_everything() -> None:
    core = all_films(FILMS)
    assert len(core.films) == 5
    assert core.people == {"Ann", "Bob", "Cy", "Di", "Eve", "Fay", "Gus"}
    assert core.companies == {"Gaumont", "Pathé"}
