"""A small knowledge base in Atlas' vocabulary, and questions over it."""

import random

import pytest

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.sampler.sampler import sample_questions
from bgr.data.kb.knowledge_base import KnowledgeBase

COUNT = 240


class Builder:
    """A kb.json in KQA Pro's schema, relations stored at both ends."""

    def __init__(self):
        self.concepts = {}
        self.entities = {}
        for entry in phrasebook().kinds.values():
            self.concept(entry["concept"])
        self.concept("drama film", "film")
        self.concept("actor", "human")

    def concept(self, name, parent=None):
        self.concepts[f"c {name}"] = {"name": name, "subclassOf": [f"c {parent}"] if parent else []}

    def add(self, kind, name, **attributes):
        identifier = f"{kind}:{name}"
        values = [self.attribute(key.replace("_", " "), *value) for key, value in attributes.items()]
        record = {"name": name, "instanceOf": [f"c {kind}"], "attributes": values, "relations": []}
        self.entities[identifier] = record
        return identifier

    @staticmethod
    def attribute(key, value, unit=None, **qualifiers):
        kind = (
            "quantity" if unit else "year" if isinstance(value, int) else "date" if key == "release date" else "string"
        )
        record = {"type": kind, "value": value, **({"unit": unit} if unit else {})}
        return {"key": key, "value": record, "qualifiers": Builder.texts(qualifiers)}

    @staticmethod
    def texts(qualifiers):
        return {
            key.replace("_", " "): [{"type": "year" if isinstance(text, int) else "string", "value": text}]
            for key, text in qualifiers.items()
        }

    def relate(self, head, predicate, tail, **qualifiers):
        for here, there, direction in ((head, tail, "forward"), (tail, head, "backward")):
            relation = {"relation": predicate, "object": there, "direction": direction}
            self.entities[here]["relations"].append({**relation, "qualifiers": self.texts(qualifiers)})


def people_and_films(b, rng, countries):
    people = [b.add("actor" if n % 2 else "human", f"Person {chr(65 + n)}.") for n in range(20)]
    languages = [b.add("language", name) for name in ("Alphan", "Betan", "Gamman")]
    genres = [b.add("film genre", name) for name in ("drama", "comedy")]
    companies = [b.add("film production company", f"Studio {n}") for n in ("North", "South", "East", "West")]
    for n in range(60):
        film = b.add(
            "film" if n % 3 else "drama film",
            f"Tale of {n}",
            release_date=(1950 + n,) if n % 2 else (f"{1950 + n}-0{1 + n % 9}-1{n % 9}",),
            runtime=(70 + n, "minute"),
            audience_rating=(rng.choice(("PG", "R", "G")),),
            IMDb_ID=(f"tt{1000 + n}",),
            box_office=(10**6 * (n + 1), "United States dollar"),
        )
        for reviewer, unit in (("Rotten Tomatoes", "percent"), ("Metacritic", "1")):
            score = b.attribute("review score", 30 + (n * 7) % 60, unit, review_score_by=reviewer)
            b.entities[film]["attributes"].append(score)
        director, writer, *cast = rng.sample(people, 6)
        b.relate(film, "director", director)
        b.relate(film, "screenwriter", writer)
        for person in cast:
            b.relate(film, "cast member", person)
        if n % 2:
            b.relate(film, "cast member", director, object_has_role="director")
        b.relate(film, "genre", rng.choice(genres))
        b.relate(film, "original language", rng.choice(languages))
        b.relate(film, "country of origin", rng.choice(countries))
        b.relate(film, "production company", rng.choice(companies))


def places(b, rng):
    region, continent = b.add("world region", "Northland"), b.add("continent", "Terra")
    countries = []
    for n in range(10):
        money = b.add("currency", f"crown {n}")
        country = b.add("country", f"Land {n}", area=(1000 + 37 * n, "square kilometre"), calling_code=(f"+9{n}",))
        for source, extra in (("GeoNames", 0), ("CountryInfo", 5)):
            number = b.attribute("population", 20_000 + 991 * n + extra, "1", stated_in=source)
            b.entities[country]["attributes"].append(number)
        zone = b.add("time zone", f"Zone/{n}")
        for rank in range(3):
            city = b.add("city", f"Town {n}{rank}", population=(5000 + 77 * n + rank, "1"))
            b.relate(city, "country", country)
            b.relate(city, "time zone", zone)
            port = b.add("airport", f"Port {n}{rank}", elevation=(10 * n + rank, "foot"), IATA_code=(f"X{n}{rank}",))
            b.relate(port, "place served", city)
            b.relate(port, "country", country)
        b.relate(country, "capital", f"city:Town {n}0")
        b.relate(country, "currency", money)
        b.relate(country, "located in region", region)
        b.relate(country, "continent", continent)
        countries.append(country)
    for n in range(9):
        b.relate(countries[n], "shares border with", countries[n + 1])
        b.relate(countries[n + 1], "shares border with", countries[n])
    return countries


def elements(b, rng, countries):
    for n in range(20):
        element = b.add(
            "chemical element",
            f"elementium {n}",
            chemical_symbol=(f"E{n}",),
            atomic_number=(n + 1, "1"),
            density=(0.5 + n / 3, "gram per cubic centimetre"),
            melting_point=(300.5 + 11 * n, "kelvin"),
            element_series=(rng.choice(("halogen", "metalloid")),),
            time_of_discovery=(1800 + n,),
        )
        person = b.add("human", f"Chemist {chr(65 + n)}.")
        b.relate(element, "discoverer", person, point_in_time=1800 + n)
        b.relate(element, "country of discovery", rng.choice(countries), point_in_time=1800 + n)


def world():
    b, rng = Builder(), random.Random(5)
    countries = places(b, rng)
    people_and_films(b, rng, countries)
    elements(b, rng, countries)
    return {"concepts": b.concepts, "entities": b.entities}


@pytest.fixture(scope="session")
def records():
    return world()


@pytest.fixture(scope="session")
def kb(records):
    return KnowledgeBase(records)


@pytest.fixture(scope="session")
def questions(kb):
    return sample_questions(kb, count=COUNT, seed=3, progress=False)
