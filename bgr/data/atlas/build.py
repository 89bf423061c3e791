"""Construction of Atlas, the embedded knowledge base: five data packages joined in KQA Pro's schema (``kb.json``)."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.sources.core import all_films, choose_airports, choose_cities, choose_films
from bgr.data.atlas.sources.elements import add_elements, read_elements
from bgr.data.atlas.sources.films import add_film, add_genres, read_films
from bgr.data.atlas.sources.packages import missing_package, open_sqlite
from bgr.data.atlas.sources.places import add_world, read_world
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.errors import DataError

MIN_SIZE = 3_000

# name -> parents, each parent before its children
CONCEPTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("creative work", ()),
    ("film", ("creative work",)),
    ("film genre", ()),
    ("agent", ()),
    ("human", ("agent",)),
    ("film director", ("human",)),
    ("actor", ("human",)),
    ("screenwriter", ("human",)),
    ("scientist", ("human",)),
    ("organization", ("agent",)),
    ("film production company", ("organization",)),
    ("place", ()),
    ("country", ("place",)),
    ("continent", ("place",)),
    ("world region", ("place",)),
    ("city", ("place",)),
    ("capital city", ("city",)),
    ("administrative region", ("place",)),
    ("airport", ("place",)),
    ("time zone", ()),
    ("currency", ()),
    ("language", ()),
    ("chemical element", ()),
)


def build_knowledge_base(
    *, full: bool = False, seed: int = 0, size: int = 20_000, progress: bool = False
) -> dict[str, Any]:
    """Atlas as KQA Pro's ``{concepts, entities}``; the same arguments and package versions give the same result.

    Args:
        full: take all entities of the packages; ``size`` is ignored.
        seed: decides between films that are equally well linked.
        size: number of entities of the dense core, plus up to a hundred languages and countries of films.
        progress: show a bar on standard error.

    Raises:
        DataError: a data package is not installed, or ``size`` is too small for all countries and elements.
    """
    if not full and size < MIN_SIZE:
        raise DataError(f"size {size}: Atlas needs at least {MIN_SIZE} entities")
    kb = KnowledgeBuilder()
    for name, parents in CONCEPTS:
        kb.concept(name, *parents)
    # elements are few and need no selection, so they come before the films, which fill the rest
    with tqdm(total=3, desc="knowledge base", unit="part", disable=not progress) as bar:
        _add_places(kb, None if full else size)
        bar.update()
        with closing(open_sqlite("mendeleev", "elements.db")) as connection:
            add_elements(kb, read_elements(connection))
        bar.update()
        _add_films(kb, None if full else size - len(kb), seed)
        bar.update()
    return kb.to_json()


def counts(kb: dict[str, Any]) -> dict[str, Any]:
    """Numbers of entities and statements, by concept, relation and attribute; a relation counts once for both ends."""
    entities = kb["entities"].values()
    names = {identifier: record["name"] for identifier, record in kb["concepts"].items()}
    relations = Counter(r["relation"] for e in entities for r in e["relations"] if r["direction"] == "forward")
    attributes = Counter(a["key"] for e in entities for a in e["attributes"])
    concepts = Counter(names[concept] for e in entities for concept in e["instanceOf"])
    return {
        "entities": len(kb["entities"]),
        "concepts": len(kb["concepts"]),
        "statements": sum(relations.values()) + sum(attributes.values()),
        "by concept": dict(sorted(concepts.items())),
        "by relation": dict(sorted(relations.items())),
        "by attribute": dict(sorted(attributes.items())),
    }


def _add_places(kb: KnowledgeBuilder, size: int | None) -> None:
    """Add countries, cities and airports; without a size all of them."""
    try:
        world = read_world()
    except ImportError as error:
        raise missing_package(str(error.name)) from None
    cities = list(world.cities) if size is None else choose_cities(world, size)
    airports = list(world.airports) if size is None else choose_airports(world, cities)
    add_world(kb, world, cities, airports)


def _add_films(kb: KnowledgeBuilder, max_entities: int | None, seed: int) -> None:
    """Add films, people and companies; without a limit all of them."""
    with closing(open_sqlite("bokeh-sampledata", "_data", "movies.db")) as connection:
        films = read_films(connection)
    core = all_films(films) if max_entities is None else choose_films(films, max_entities, seed)
    add_genres(kb, core.films)
    for film in core.films:
        add_film(kb, film, core.people, core.companies)
