import pytest

from bgr.data.atlas.sources.packages import fold, split_companies, split_list, split_pair, split_people


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("Ed Begley, Jr., Ed Harris", ["Ed Begley Jr.", "Ed Harris"]),
        ("Robert Downey Jr., Sr.", ["Robert Downey Jr. Sr."]),
        ("Joaquin Garay, III", ["Joaquin Garay III"]),
        ("Jr., Ed Harris", ["Ed Harris"]),
        ("Tim Bentinck, 12th Earl of Portland, Tim Roth", ["Tim Bentinck", "Tim Roth"]),
        ("Diana, Princess of Wales", ["Diana"]),
        ("Prince Hughes, Earl Boen, Count Basie", ["Prince Hughes", "Earl Boen", "Count Basie"]),
        ("The Beatles, Siegfried & Roy, Huey Lewis and the News, Cher", ["Cher"]),
        ("Scott Alexander and Larry Karaszewski", ["Scott Alexander", "Larry Karaszewski"]),
        ("Roberto  Farías Morales, N/A,  ", ["Roberto Farías Morales"]),
        ("Woody Allen, Woody Allen", ["Woody Allen"]),
        ("", []),
        (None, []),
    ],
)
def test_split_people(field: str | None, names: list[str]) -> None:
    assert split_people(field) == names


def test_split_companies_keeps_the_legal_form() -> None:
    assert split_companies("Tokyopop, Inc., Gaumont") == ["Tokyopop, Inc.", "Gaumont"]
    assert split_companies("Sacher Film, CO Production") == ["Sacher Film", "CO Production"]


def test_split_list_keeps_order_and_drops_repeats() -> None:
    assert split_list(" Drama , Comedy,N/A, Drama") == ["Drama", "Comedy"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Pierre and Marie Curie", ["Pierre Curie", "Marie Curie"]),
        ("Fausto and Juan José de Elhuyar", ["Fausto de Elhuyar", "Juan José de Elhuyar"]),
        ("Paolo and Vittorio Taviani", ["Paolo Taviani", "Vittorio Taviani"]),
        ("Sly and Robbie", ["Sly and Robbie"]),
        ("Anderson Cooper", ["Anderson Cooper"]),
    ],
)
def test_part_pair(name: str, parts: list[str]) -> None:
    assert split_pair(name) == parts


def test_fold_makes_spellings_of_a_place_equal() -> None:
    assert fold("St. John's") == fold("Saint John’s")
    assert fold("Brasília") == fold("Brasilia")
    assert fold("Port-Vila") == fold("Port Vila")
    assert fold("Stade") != fold("Saintade")
