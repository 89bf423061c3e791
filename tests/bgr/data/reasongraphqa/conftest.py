"""A small world of films, people and countries with questions of every type, and a sentence encoder without weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bgr.data.kb.knowledge_base import KnowledgeBase

DIRECTORS = ["Ada Berg", "Bo Lind", "Cai Moreau"]
ACTORS = ["Dora Funk", "Emil Gray", "Fay Holm", "Gus Ibsen", "Hal Jung"]
COUNTRIES = [("Nordia", "Norhaven", 5_000_000, 250_000), ("Sudia", "Portsud", 61_000_000, 1_400_000)]
CONCEPTS = ["creative work", "film", "drama film", "agent", "human", "place", "country", "city", "chemical element"]
PARENTS = {"film": "creative work", "drama film": "film", "human": "agent", "country": "place", "city": "place"}
FILMS = 24


def value(kind: str, raw: object, unit: str = "1") -> dict:
    return {"type": kind, "value": raw, **({"unit": unit} if kind == "quantity" else {})}


def attribute(key: str, of: dict, **qualifiers: dict) -> dict:
    return {"key": key, "value": of, "qualifiers": {k.replace("_", " "): [v] for k, v in qualifiers.items()}}


class World:
    """A builder of entities that writes every relation at both ends."""

    def __init__(self) -> None:
        self.entities: dict[str, dict] = {}

    def add(self, node: str, name: str, concept: str, *attributes: dict) -> None:
        record = {"name": name, "instanceOf": [concept], "attributes": list(attributes), "relations": []}
        self.entities[node] = record

    def relate(self, head: str, predicate: str, tail: str, **qualifiers: dict) -> None:
        pairs = {key.replace("_", " "): [v] for key, v in qualifiers.items()}
        for node, other, direction in ((head, tail, "forward"), (tail, head, "backward")):
            row = {"relation": predicate, "object": other, "direction": direction, "qualifiers": pairs}
            self.entities[node]["relations"].append(row)


def make_records() -> dict:
    world = World()
    people = {name: f"P{n}" for n, name in enumerate(DIRECTORS + ACTORS)}
    for name, node in people.items():
        world.add(node, name, "human")
    for n, (country, city, people_in, people_at) in enumerate(COUNTRIES):
        figures = value("string", "GeoNames")
        world.add(f"C{n}", country, "country", attribute("population", value("quantity", people_in), stated_in=figures))
        world.add(f"T{n}", city, "city", attribute("population", value("quantity", people_at)))
        world.relate(f"C{n}", "capital", f"T{n}")
    world.relate("C0", "shares border with", "C1")
    world.relate("C1", "shares border with", "C0")
    world.add("E0", "gold", "chemical element", attribute("melting point", value("quantity", 1337.33, "kelvin")))
    world.relate("E0", "discoverer", people["Bo Lind"], point_in_time=value("year", 1898))
    world.relate("E0", "country of discovery", "C0", point_in_time=value("year", 1898))
    for n in range(FILMS):
        film, name = f"F{n}", "Hamlet" if n < 2 else f"The {_ordinal(n)} Winter"
        world.add(
            film,
            name,
            "drama film",
            attribute("release date", value("date", f"{1960 + n}-0{1 + n % 9}-1{n % 9}")),
            attribute("runtime", value("quantity", 80 + n, "minute")),
            attribute("review score", value("quantity", 50 + n, "percent"), review_score_by=value("string", "Tomato")),
            attribute("review score", value("quantity", 40 + n), review_score_by=value("string", "Meter")),
            attribute("IMDb ID", value("string", f"tt{n:04d}")),
        )
        world.relate(film, "director", people[DIRECTORS[n % 3]])
        world.relate(film, "country of origin", f"C{n % 2}")
        for k in range(2):
            role = {"object_has_role": value("string", "director")} if k == 0 and n % 7 == 0 else {}
            world.relate(film, "cast member", people[ACTORS[(n + k) % 5]], **role)
    concepts = {f"Q{n}": {"name": c, "subclassOf": []} for n, c in enumerate(CONCEPTS)}
    ids = {record["name"]: node for node, record in concepts.items()}
    for name, parent in PARENTS.items():
        concepts[ids[name]]["subclassOf"] = [ids[parent]]
    for record in world.entities.values():
        record["instanceOf"] = [ids[name] for name in record["instanceOf"]]
    return {"concepts": concepts, "entities": world.entities}


def _ordinal(n: int) -> str:
    return f"{n}{'th' if 10 <= n % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def program(*steps: tuple) -> list[dict]:
    """Steps (function, inputs…); each depends on the step before, unless its last item is a list of numbers."""
    records = []
    for number, (function, *inputs) in enumerate(steps):
        dependencies = [] if function in ("Find", "FindAll") else [number - 1]
        if inputs and isinstance(inputs[-1], list):
            dependencies = inputs.pop()
        records.append({"function": function, "dependencies": dependencies, "inputs": list(inputs)})
    return records


def question(text: str, answer: str, *steps: tuple) -> dict:
    return {"question": text, "program": program(*steps), "answer": answer, "choices": [answer] * 10}


def make_questions() -> list[dict]:
    """Valid questions of all five types and of several structures."""
    found = [
        question("When was gold found?", "1898", ("Find", "gold"), ("Find", "Bo Lind"),
                 ("QueryRelationQualifier", "discoverer", "point in time", [0, 1])),
        question("Where do more people live, in Nordia or in Sudia?", "Sudia", ("Find", "Nordia"), ("Find", "Sudia"),
                 ("SelectBetween", "population", "greater", [0, 1])),
        question("How many countries adjoin Nordia?", "1", ("Find", "Nordia"),
                 ("Relate", "shares border with", "forward"), ("Count",)),
        question("How many films did Ada Berg make?", str(FILMS // 3), ("Find", "Ada Berg"),
                 ("Relate", "director", "backward"), ("Count",)),
    ]  # fmt: skip
    for n in range(2, FILMS):
        name, country = f"The {_ordinal(n)} Winter", COUNTRIES[n % 2]
        actor, other = ACTORS[n % 5], ACTORS[(n + 1) % 5]
        found += [
            question(f"How long is {name}?", f"{80 + n} minute", ("Find", name), ("QueryAttr", "runtime")),
            question(f"Where does the government of the land of {name} sit?", country[1], ("Find", name),
                     ("Relate", "country of origin", "forward"), ("Relate", "capital", "forward"), ("What",)),
            question(f"Do more than a million people live in the land of {name}?", "yes", ("Find", name),
                     ("Relate", "country of origin", "forward"), ("QueryAttr", "population"),
                     ("VerifyNum", "1000000", ">")),
            question(f"How did the Tomato like the work of {1960 + n} with {actor} and {other}?", f"{50 + n} percent",
                     ("Find", actor), ("Relate", "cast member", "backward"), ("Find", other),
                     ("Relate", "cast member", "backward"), ("And", [1, 3]),
                     ("FilterYear", "release date", str(1960 + n), "="),
                     ("QueryAttrUnderCondition", "review score", "review score by", "Tomato")),
        ]  # fmt: skip
    return found


@pytest.fixture(scope="session")
def records() -> dict:
    return make_records()


@pytest.fixture(scope="session")
def kb(records: dict) -> KnowledgeBase:
    return KnowledgeBase(records)


@pytest.fixture(scope="session")
def good_questions() -> list[dict]:
    return make_questions()


@pytest.fixture
def source(tmp_path: Path, records: dict, good_questions: list[dict]) -> Path:
    """A folder in the form of KQA Pro's download."""
    folder = tmp_path / "kqapro"
    folder.mkdir()
    (folder / "kb.json").write_text(json.dumps(records))
    (folder / "train.json").write_text(json.dumps(good_questions[:70]))
    (folder / "val.json").write_text(json.dumps(good_questions[70:]))
    (folder / "test.json").write_text(json.dumps([{"question": "?", "choices": []}] * 3))
    return folder


@pytest.fixture(scope="session")
def encoder(word_encoder: Any) -> Any:
    return word_encoder


@pytest.fixture
def small_encoder(tmp_path: Path) -> Path:
    """A BERT of one layer with random weights, as a local folder."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path / "encoder"
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *"abcdefghijklmnopqrstuvwxyz",
        *(f"##{c}" for c in "abcdefgh"),
    ]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def small_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 of one layer with random weights and a tokenizer of bytes, as a local folder; its output is random."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    from training.seq2seq.data import train_tokenizer

    folder = tmp_path_factory.mktemp("t5")
    tokenizer = train_tokenizer([], 259)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
