"""Construction of Atlas, the embedded knowledge base: eight data packages joined in KQA Pro's schema.

`write_atlas` writes a folder of KQA Pro files: kb.json, train.json, val.json and hand_worded.json, and atlas.json with
counts and hashes.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.sampler.sampler import sample_questions
from bgr.data.atlas.sources.chemicals import add_compounds, choose_compounds, read_compounds
from bgr.data.atlas.sources.elements import ELEMENTS_QUERY, add_elements
from bgr.data.atlas.sources.films import add_film, add_genres, all_films, choose_films, read_films
from bgr.data.atlas.sources.language_files import read_languages
from bgr.data.atlas.sources.languages import add_languages, choose_languages
from bgr.data.atlas.sources.packages import open_sqlite, package_versions
from bgr.data.atlas.sources.places import add_world, choose_airports, choose_cities, read_world
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.data.options import AtlasOptions
from bgr.errors import DataError, ProgramError
from bgr.utils.atomic_io import output_folder, read_json
from bgr.utils.hashing import hash_file

HAND_WORDED = "hand_worded.json"
"""Questions worded by a reader of the program and not by the templates: they show how well a model that was trained on
the templates' words understands other words."""

HAND_WORDED_FULL = "hand_worded_full.json"
"""A second sheet, of questions of `bgr atlas --full --questions 106000`, which no released weights were trained on."""

MIN_SIZE = 3_000
_FILES = ("kb.json", "train.json", "val.json", HAND_WORDED)

# name and parent, each parent before its children
CONCEPTS: tuple[tuple[str, ...], ...] = (
    ("creative work",), ("film", "creative work"), ("film genre",), ("agent",), ("human", "agent"),
    ("film director", "human"), ("actor", "human"), ("screenwriter", "human"), ("scientist", "human"),
    ("organization", "agent"), ("film production company", "organization"), ("place",), ("country", "place"),
    ("continent", "place"), ("world region", "place"), ("city", "place"), ("capital city", "city"),
    ("administrative region", "place"), ("airport", "place"), ("time zone",), ("currency",), ("language",),
    ("chemical element",), ("chemical compound",), ("chemical family",), ("macrolanguage", "language"),
    ("sign language", "language"), ("constructed language", "language"), ("language family",), ("writing system",),
)  # fmt: skip


def build_knowledge_base(
    *, full: bool = False, seed: int = 0, size: int = 20_000, progress: bool = False
) -> dict[str, Any]:
    """Atlas as KQA Pro's ``{concepts, entities}``; the same arguments and package versions give the same result.

    Args:
        full: take all entities of the packages; ``size`` is ignored.
        seed: decides between films that are equally well linked.
        size: number of entities of the dense core, plus up to 150 languages, countries, scripts and families.
        progress: show a bar on standard error.

    Raises:
        DataError: a data package is not installed, or ``size`` is too small for all countries and elements.
    """
    if not full and size < MIN_SIZE:
        raise DataError(f"size {size}: Atlas needs at least {MIN_SIZE} entities")
    kb = KnowledgeBuilder()
    for names in CONCEPTS:
        kb.concept(*names)
    # compounds contain elements, so these come first; the films fill the rest
    with tqdm(total=5, desc="knowledge base", unit="part", disable=not progress) as bar:
        world = read_world()
        cities = world.cities if full else choose_cities(world, size)
        add_world(kb, world, cities, world.airports if full else choose_airports(world, cities))
        bar.update()
        with closing(open_sqlite("mendeleev", "elements.db")) as connection:
            add_elements(kb, connection.execute(ELEMENTS_QUERY))
        bar.update()
        compounds = read_compounds()
        add_compounds(kb, compounds if full else choose_compounds(compounds, size))
        bar.update()
        with closing(open_sqlite("bokeh-sampledata", "_data", "movies.db")) as connection:
            films = read_films(connection)
        language_data = read_languages()
        languages = choose_languages(language_data, None if full else size)
        # languages of films are described too, so that languages come last; the films leave room for them
        core = all_films(films) if full else choose_films(films, size - len(kb) - len(languages), seed)
        add_genres(kb, core.films)
        for film in core.films:
            add_film(kb, film, core.people, core.companies)
        bar.update()
        add_languages(kb, language_data, languages, world.countries)
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


@dataclass(frozen=True)
class AtlasFiles:
    """The folder written by `write_atlas`, with the numbers of its entities and questions."""

    folder: Path
    entities: int
    train: int
    val: int


def write_atlas(options: AtlasOptions) -> AtlasFiles:
    """Build the knowledge base, sample the questions and write the folder.

    Raises:
        DataError: a data package is missing, a number is out of range, or the folder exists.
    """
    if options.questions < 10:
        raise DataError(f"--questions {options.questions}, allowed: 10 or more, so that both files have questions")
    versions = package_versions()
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        content = build_knowledge_base(full=options.full, seed=options.seed, size=options.size, progress=True)
        write_json(folder / "kb.json", content)
        base = counts(content)
        del content  # it is large, and the sampler uses an indexed knowledge base
        kb = KnowledgeBase.load(folder / "kb.json", progress=True)
        questions = sample_questions(kb, count=options.questions, seed=options.seed, even=options.even, progress=True)
        train, val = split(questions, options.seed)
        write_json(folder / "train.json", train)
        write_json(folder / "val.json", val)
        by_hand = hand_worded(kb)
        write_json(folder / HAND_WORDED, by_hand)
        about: dict[str, Any] = {
            "seed": options.seed,
            **({"even": True} if options.even else {}),
            "size": None if options.full else options.size,
            "questions": {"train": len(train), "val": len(val), "hand_worded": len(by_hand)},
            "knowledge base": base,
            "packages": versions,
            "sha256": {name: hash_file(folder / name) for name in _FILES},
        }
        (folder / "atlas.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return AtlasFiles(options.out, base["entities"], len(train), len(val))


def split(questions: list[dict[str, Any]], seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Split shuffled questions into nine tenths and one tenth."""
    shuffled = list(questions)
    random.Random(seed).shuffle(shuffled)
    held_out = max(1, len(shuffled) // 10)
    return shuffled[held_out:], shuffled[:held_out]


def write_json(path: Path, content: Any) -> None:
    """Write one line of compact JSON, not escaped to ASCII, in pieces, so that the whole text is never in memory."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_pieces(content, 2))


def _pieces(content: Any, levels: int) -> Iterator[str]:
    """The pieces of a JSON text, one for each entry at this many levels of nesting."""
    if not levels or not isinstance(content, dict | list):
        yield json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return
    entries = content.items() if isinstance(content, dict) else ((None, entry) for entry in content)
    opening, closing = "{}" if isinstance(content, dict) else "[]"
    for number, (key, entry) in enumerate(entries):
        yield ("," if number else opening) + ("" if key is None else json.dumps(key, ensure_ascii=False) + ":")
        yield from _pieces(entry, levels - 1)
    yield closing if content else opening + closing


def hand_worded(kb: KnowledgeBase) -> list[dict[str, Any]]:
    """The questions that have their answer in this knowledge base, in KQA Pro's form.

    Those of the first sheet have it in the core of the default size, those of the second one in the whole Atlas; a base
    of another size may lack an entity, or have more facts.
    """
    executor = Executor(kb)
    records = [
        record for sheet in (HAND_WORDED, HAND_WORDED_FULL) for record in read_json(Path(__file__).with_name(sheet))
    ]
    return [record for record in records if _answer(executor, record) in (record["answer"], [record["answer"]])]


def _answer(executor: Executor, record: dict[str, Any]) -> str | list[str] | None:
    program = Program.from_json(record["program"])
    try:
        return executor.answer(program)
    except ProgramError:
        return None
