"""Atlas, built from the installed data packages."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bgr.data.atlas.build
from bgr.cli import main
from bgr.data.atlas.build import HAND_WORDED, HAND_WORDED_FULL, build_knowledge_base, counts, hand_worded, write_json
from bgr.data.atlas.phrasing.nouns import WITH_KINDS
from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sources import packages
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Value
from bgr.data.reasongraphqa.verbalize.templates import load_templates
from bgr.errors import DataError
from bgr.utils.atomic_io import read_json

SMALL = 3_000
SHEET = Path(bgr.data.atlas.build.__file__).with_name(HAND_WORDED)
FAMOUS = {
    ("C_France", "capital", "T2988507"),
    ("A_CDG", "place served", "T2988507"),
    ("C_United_States", "capital", "T4140963"),
    ("C_United_States", "shares border with", "C_Mexico"),
    ("E_Ra", "discoverer", "D_Marie_Curie"),
    ("X_64-17-5", "contains element", "E_C"),
    ("X_64-17-5", "chemical family", "Y_alcohol"),
    ("C_Japan", "currency", "K_yen"),
    ("C_Brazil", "official language", "L_Portuguese"),
}


@pytest.fixture(scope="module")
def kb() -> dict[str, Any]:
    return build_knowledge_base(size=SMALL)


def test_every_relation_has_its_inverse_and_every_object_exists(kb: dict[str, Any]) -> None:
    entities = kb["entities"]
    ends: dict[str, set[str]] = {"forward": set(), "backward": set()}
    for identifier, record in entities.items():
        for row in record["relations"]:
            assert row["object"] in entities
            head, tail = (identifier, row["object"])[:: 1 if row["direction"] == "forward" else -1]
            ends[row["direction"]].add(json.dumps([head, row["relation"], tail, row["qualifiers"]]))
    assert ends["forward"] == ends["backward"]
    assert len(ends["forward"]) > 10_000


def test_every_value_parses_and_every_concept_exists(kb: dict[str, Any]) -> None:
    for identifier, record in kb["entities"].items():
        assert record["name"] == " ".join(record["name"].split()) != ""
        assert record["instanceOf"], identifier
        assert all(concept in kb["concepts"] for concept in record["instanceOf"])
        for row in record["attributes"]:
            assert str(Value.from_json(row["value"]))
        for row in record["attributes"] + record["relations"]:
            for values in row["qualifiers"].values():
                assert values
                assert all(str(Value.from_json(value)) for value in values)


def test_famous_facts_are_there(kb: dict[str, Any]) -> None:
    stated = {
        (identifier, row["relation"], row["object"])
        for identifier, record in kb["entities"].items()
        for row in record["relations"]
        if row["direction"] == "forward"
    }
    assert stated >= FAMOUS
    assert ("C_United_States", "shares border with", "C_Cuba") not in stated


def test_the_core_has_the_size_asked_for_and_everybody_in_it_links_films(kb: dict[str, Any]) -> None:
    assert SMALL <= len(kb["entities"]) <= SMALL + 150
    for identifier, record in kb["entities"].items():
        if identifier.startswith(("P_", "O_")):
            assert len({row["object"] for row in record["relations"]}) >= 2, identifier
    found = counts(kb)["by concept"]
    assert found["chemical element"] == 118
    assert found["chemical compound"] == round(SMALL * 0.05) + round(SMALL * 0.025)
    assert found["country"] > 240
    assert found["capital city"] > 230


def test_every_attribute_and_relation_can_be_asked_for_and_stated(kb: dict[str, Any]) -> None:
    book, sentences, found = phrasebook(), load_templates().predicates, counts(kb)
    assert not set(found["by attribute"]) - set(book.attributes)
    assert not set(found["by relation"]) - set(book.relations)
    assert not {*found["by attribute"], *found["by relation"]} - set(sentences)


def test_a_phrase_after_a_name_fits_one_noun_only(kb: dict[str, Any]) -> None:
    index = AtlasIndex(KnowledgeBase(kb), phrasebook())
    inside, outside = (
        {key for entity, kind in index.kind.items() if (kind in WITH_KINDS) is chosen for key in index.values(entity)}
        for chosen in (True, False)
    )
    assert inside
    assert not inside & outside


def test_a_core_too_small_for_the_world_is_refused() -> None:
    with pytest.raises(DataError, match="size 10: Atlas needs at least"):
        build_knowledge_base(size=10)


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(packages.PACKAGES, "no-such-data", ("no_such_data", "MIT"))
    assert main(["atlas", "--out", str(tmp_path / "atlas")]) == 1
    assert "no-such-data is not installed: install bgr[atlas]" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match=r"install bgr\[atlas\]"):
        packages.open_sqlite("no-such-data", "x.db")


def test_the_command_refuses_a_folder_that_exists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    assert main(["atlas", "--out", str(tmp_path)]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]
    assert main(["atlas", "--out", str(tmp_path / "new"), "--questions", "3"]) == 1


CONTENTS = [
    {},
    [],
    "x",
    {"a": {"é": [1, {"x": None}]}, "b": {}, "c": []},
    [{"question": 'a "b"', "program": []}, {}, 3, [1, [2, 3]]],
    {"concepts": {}, "entities": {"Q1": {"name": "ü", "score": 1.5}, "Q2": True}},
]


@pytest.mark.parametrize("content", CONTENTS, ids=str)
def test_json_written_in_pieces_equals_json_written_at_once(tmp_path: Path, content: Any) -> None:
    write_json(tmp_path / "a.json", content)
    whole = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == whole


@pytest.mark.slow
def test_two_processes_with_other_hash_seeds_build_the_same_bytes() -> None:
    code = (
        "import hashlib, json; from bgr.data.atlas.build import build_knowledge_base;"
        "print(hashlib.sha256(json.dumps(build_knowledge_base(size=5000, seed=3)).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@pytest.mark.slow
def test_the_command_writes_the_folder_and_its_hashes(tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    assert main(["atlas", "--out", str(out), "--questions", "200", "--size", "5000"]) == 0
    about = json.loads((out / "atlas.json").read_text())
    for name, digest in about["sha256"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    train, val = (json.loads((out / name).read_text()) for name in ("train.json", "val.json"))
    assert (len(train), len(val)) == (180, 20)
    assert {"question", "program", "answer"} <= set(train[0])
    assert set(about["packages"]) == set(packages.PACKAGES)


@pytest.mark.slow
def test_the_default_core_and_the_full_base() -> None:
    content = build_knowledge_base()
    default = counts(content)
    assert 15_000 <= default["entities"] <= 25_000
    assert default["by concept"]["film director"] > 1_000
    first, second = (read_json(SHEET.with_name(name)) for name in (HAND_WORDED, HAND_WORDED_FULL))
    assert [one for one in hand_worded(KnowledgeBase(content)) if one in first] == first
    whole = build_knowledge_base(full=True)
    assert [one for one in hand_worded(KnowledgeBase(whole)) if one in second] == second
    full = counts(whole)
    assert full["entities"] > 100_000
    assert full["by relation"]["cast member"] > 150_000
    assert full["by concept"]["chemical compound"] > 5_000
