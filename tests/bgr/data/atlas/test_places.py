import pytest

from bgr.data.atlas.build import CONCEPTS
from bgr.data.atlas.sources.countries import Country, join_countries
from bgr.data.atlas.sources.places import (
    Airport,
    City,
    Gazetteer,
    State,
    World,
    add_world,
    airport_from_record,
    city_from_record,
    distance_km,
)
from bgr.data.atlas.statements import KnowledgeBuilder


def city(identifier: str, name: str, population: int, country: str = "FR", **more: object) -> City:
    fields = {"time_zone": "Europe/Paris", "state": None, "latitude": 48.0, "longitude": 2.0} | more
    return City(identifier, name, country, population, **fields)  # type: ignore[arg-type]


def geonames(iso3: str, **more: object) -> dict:
    fields: dict = {"iso3": iso3, "name": iso3, "continentcode": "EU", "capital": "", "areakm2": 10, "population": 5}
    return fields | {"tld": ".x", "currencycode": "EUR", "currencyname": "Euro", "phone": "1", "neighbours": ""} | more


def test_the_capital_is_the_largest_city_of_that_name_in_the_country() -> None:
    cities = [city("T1", "San José", 31), city("T2", "San José", 335), city("T3", "San Jose", 999, country="US")]
    found = Gazetteer(cities).largest("FR", "San Jose")
    assert found is not None
    assert found.id == "T2"


def test_other_names_are_used_only_if_no_city_has_the_name() -> None:
    cities = [city("T1", "Laayoune", 196, other_names=("El-Aaiun", "Paris")), city("T2", "Paris", 5)]
    gazetteer = Gazetteer(cities)
    assert [c.id for c in gazetteer.named("FR", "El-Aaiun")] == ["T1"]
    assert [c.id for c in gazetteer.named("FR", "Paris")] == ["T2"]
    assert gazetteer.largest("FR", "Nowhere") is None


def test_an_airport_serves_the_nearest_city_of_the_name_and_none_far_away() -> None:
    near, far = city("T1", "Metz", 5, latitude=49.1, longitude=6.2), city("T2", "Metz", 500, latitude=43.0)
    gazetteer = Gazetteer([far, near])
    found = gazetteer.nearest("FR", "Metz", 48.98, 6.25)
    assert found is not None
    assert found.id == "T1"
    assert gazetteer.nearest("FR", "Metz", 0.0, 0.0) is None
    assert distance_km(49.1, 6.2, 49.1, 6.2) == 0
    assert distance_km(0, 0, 0, 90) == pytest.approx(10007.5, abs=1)


def test_an_airport_record_is_cleaned() -> None:
    record = {"icao": "07FA", "iata": "ETZ", "name": "Metz-Nancy  Airport", "city": "Metz / Nancy, Lorraine"}
    airport = airport_from_record(record | {"country": "FR", "elevation": 6.4, "lat": 48.98, "lon": 6.25})
    assert airport.towns == ("Metz", "Nancy")
    assert airport.icao is None, "a local code of letters and digits is no ICAO code"
    assert airport.elevation == 6
    assert airport.name == "Metz-Nancy Airport"


def test_only_american_cities_have_a_state() -> None:
    record = {"geonameid": 1, "name": "Saint John’s", "population": 3, "timezone": "Z", "admin1code": "CA"}
    record |= {"latitude": 0.0, "longitude": 0.0, "alternatenames": []}
    assert city_from_record(record | {"countrycode": "US"}).state == "CA"
    other = city_from_record(record | {"countrycode": "AG"})
    assert other.state is None
    assert other.name == "Saint John's"


def test_countries_of_both_packages_are_joined() -> None:
    first = {
        "CZ": geonames("CZE", name="Czechia", capital=" Prague", phone="+1-809 and 1-829", neighbours="DE,ZZ,XK"),
        "DE": geonames("DEU", name="Germany", neighbours="CZ,US"),
        "US": geonames("USA", neighbours="DE", currencycode="USD", currencyname="Dollar"),
        "AU": geonames("AUS", currencycode="AUD", currencyname="Dollar"),
        "XK": geonames("XKX", name="Kosovo"),
        "BV": geonames("BVT", population=0),
    }
    czech = {"name": "Czech Republic", "ISO": {"alpha2": "CZ"}, "borders": ["DEU"], "population": 9, "area": 11}
    second = {
        "czech republic": czech
        | {"languages": ["cs", "??"], "demonym": "Czech,Moravian", "subregion": "Eastern Europe"},
        "germany": {"name": "Germany", "ISO": {"alpha2": "DE"}, "borders": ["CZE"]},
        "usa": {"name": "USA", "ISO": {"alpha2": "US"}, "borders": [], "demonym": "American"},
        "australia": {"name": "Australia", "ISO": {"alpha2": "AU"}, "borders": [], "demonym": "Australian"},
        "scotland": {"name": "Scotland", "ISO": {"alpha2": ""}, "capital": "Edinburgh", "population": 7},
    }
    countries = {country.name: country for country in join_countries(first, second)}
    assert "BVT" not in countries, "nobody lives there"
    czech_republic = countries["Czech Republic"]
    assert czech_republic.capital == "Prague"
    assert czech_republic.populations == (("GeoNames", 5), ("CountryInfo", 9))
    assert czech_republic.area == 10
    assert czech_republic.languages == ("Czech",)
    assert czech_republic.demonyms == ("Czech", "Moravian")
    assert czech_republic.calling_codes == ("+1-809", "+1-829")
    assert czech_republic.borders == ("DE", "XK"), "Kosovo is unknown to countryinfo, so GeoNames decides"
    assert countries["Kosovo"].borders == ("CZ",)
    assert countries["USA"].borders == (), "GeoNames alone says so"
    assert countries["AUS"].currency == "Australian dollar"
    assert countries["USA"].currency == "United States dollar"
    assert countries["Scotland"].place == "GB"


def test_the_world_is_linked() -> None:
    france = Country("France", "FR", "FR", "Paris", "EU", "Western Europe", ("French",), "euro", ("US",))
    america = Country("United States", "US", "US", borders=("FR",))
    paris = city("T1", "Paris", 9)
    miami = city("T2", "Miami", 3, country="US", state="FL")
    roissy = Airport("A_CDG", "Roissy", "CDG", "LFPG", "FR", ("Paris",), 392, 48.1, 2.1)
    world = World({"EU": "Europe"}, [france, america], [State("FL", "Florida", "12")], [paris, miami], [roissy])
    kb = KnowledgeBuilder()
    for names in CONCEPTS:
        kb.concept(*names)
    add_world(kb, world, world.cities, world.airports)
    entities = kb.to_json()["entities"]

    def objects(entity: str, direction: str = "forward") -> list[tuple[str, str]]:
        rows = entities[entity]["relations"]
        return [(row["relation"], row["object"]) for row in rows if row["direction"] == direction]

    assert ("capital", "T1") in objects("C_France")
    assert ("capital", "C_France") in objects("T1", "backward")
    assert ("place served", "T1") in objects("A_CDG")
    assert ("shares border with", "C_United_States") in objects("C_France")
    assert ("shares border with", "C_France") in objects("C_United_States")
    assert objects("T2") == [
        ("country", "C_United_States"),
        ("located in administrative region", "S_FL"),
        ("time zone", "Z_Europe/Paris"),
    ]
    assert entities["T1"]["instanceOf"] == ["c_city", "c_capital_city"]
    assert [row for row in objects("C_United_States") if row[0] == "capital"] == []
