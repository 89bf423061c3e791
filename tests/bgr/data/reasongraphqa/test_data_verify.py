"""`bgr data verify`: a valid dataset passes; a problem is reported in one line that names the sample."""

from __future__ import annotations

import json
import shutil

import pytest

from bgr.cli import main
from bgr.cli.data import command
from bgr.cli.parser import execute
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.io.dataset import dataset_hash, write_dataset
from bgr.errors import DataError


@pytest.fixture(scope="module")
def good(tmp_path_factory, kb, good_questions, encoder):
    questions = [Question.from_json(q, f"q{n}", "f") for n, q in enumerate(good_questions)]
    built = build(kb, questions, encoder, Settings(limit=40))
    folder = tmp_path_factory.mktemp("verify") / "data"
    write_dataset(folder, built.splits, [unit.to_json(kb) for unit in built.database.units], {"name": "ReasonGraphQA"})
    return folder


@pytest.fixture
def data(good, tmp_path):
    return shutil.copytree(good, tmp_path / "data")


def verify(folder, *more):
    execute("bgr data", command(), ["verify", str(folder), *more])


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def seal(folder):
    """Update the hash, so that the dataset seems to have been built in this way."""
    sheet = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps({**sheet, "sha256": dataset_hash(folder)}))


def change(folder, split="train", **fields):
    """Replace fields of the first sample of a split; returns its id."""
    records = read(folder / f"{split}.jsonl")
    records[0] |= fields
    write(folder / f"{split}.jsonl", records)
    seal(folder)
    return records[0]["id"]


def first(folder, split="train"):
    return read(folder / f"{split}.jsonl")[0]


def refused(folder):
    with pytest.raises(DataError) as caught:
        verify(folder)
    return str(caught.value)


def test_a_good_dataset(data, capsys):
    verify(data)
    text = capsys.readouterr().out
    assert "32 train, 4 dev, 4 test" in text
    assert "none entails a gold fact" in text
    verify(data, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"train": 32, "dev": 4, "test": 4}
    assert found["entailment"]["entailing"]["total"] == 0
    assert found["entailment"]["distractors"] > 40 * 10
    assert found["sha256"] == json.loads((data / "dataset.json").read_text())["sha256"]


def test_a_planted_entailment(data, capsys):
    """A second sentence for a sample's gold fact, with other words and another joined fact."""
    record = first(data)
    facts = read(data / "facts.jsonl")
    gold = next(
        fact for fact in facts if fact["sentence"] == record["facts"][max(max(edge) for edge in record["edges"])]
    )
    other = next(fact for fact in facts if fact["facts"][0]["head"] != gold["facts"][0]["head"])
    planted = {**other, "id": "F999999", "sentence": "Planted.", "facts": [*other["facts"], gold["facts"][0]]}
    write(data / "facts.jsonl", [*facts, planted])
    name = change(data, facts=[*record["facts"], "Planted."])
    message = refused(data)
    assert f"sample {name!r}: 'Planted.' beside the gold fact {gold['sentence']!r}" in message
    assert f"1 of {message.split(' of ')[1].split()[0]} distractors entail a gold fact (1 same" in message
    assert "\n" not in message
    capsys.readouterr()
    with pytest.raises(DataError):
        verify(data, "--json")
    found = json.loads(capsys.readouterr().out)["entailment"]
    assert found["entailing"]["total"] == 1
    assert [example["sample"] for example in found["examples"]] == [name]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edges": [[-1, 0], [0, 1], [1, 0]]}, "cycle"),
        ({"edges": [[-1, 99]]}, "99"),
        ({"edges": []}, "answerable is True, but its graph has 0 facts"),
        ({"answerable": False}, "answerable is False, but its graph has"),
        ({"answerable": "yes"}, "answerable is 'yes'"),
        ({"type": "riddle"}, "riddle"),
        ({"question": ""}, "question is empty"),
        ({"answer": "  "}, "answer is empty"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_an_invalid_sample_is_named(data, fields, message):
    name = change(data, **fields)
    said = refused(data)
    assert repr(name) in said
    assert message in said


def test_candidates(data):
    record = first(data)
    name = change(data, facts=[*record["facts"], record["facts"][1]])
    assert refused(data).startswith(f"sample {name!r}: candidates 1 and {len(record['facts'])} are equal")
    change(data, facts=[*record["facts"], "Nobody wrote this."])
    assert f"{name!r}: candidate {len(record['facts'])} is not in the textual database" in refused(data)


def test_ids_are_unique_across_splits(data):
    name = change(data, "test", id=first(data)["id"])
    assert refused(data).startswith(f"sample {name!r}: the id is repeated")


def test_the_hash(data):
    (data / "dev.jsonl").write_text((data / "dev.jsonl").read_text().replace('"answer": ', '"answer":  '))
    assert "dataset.json: sha256 is" in refused(data)
    seal(data)
    verify(data)
    (data / "dataset.json").write_text("{}")
    assert "sha256 is None" in refused(data)


def test_a_missing_file(data):
    (data / "facts.jsonl").unlink()
    assert "facts.jsonl: no such file" in refused(data)


@pytest.mark.workflow
def test_mixtures_at_the_command_line(tmp_path, source, small_encoder, capsys):
    def build(name, *more):
        out = tmp_path / name
        common = ["data", "build", "--kqapro", str(source), "--out", str(out), "--similarity", str(small_encoder)]
        return main([*common, "--recipe", "paper", *more])

    for name, more in {"thirds": [], "same": ["--mixture", *["0.3333333"] * 3], "hard": ["--hard"]}.items():
        assert build(name, *more) == 0
        verify(tmp_path / name)
    sheets = {name: json.loads((tmp_path / name / "dataset.json").read_text()) for name in ("thirds", "same", "hard")}
    assert sheets["thirds"]["sha256"] == sheets["same"]["sha256"] != sheets["hard"]["sha256"]
    mixture = sheets["hard"]["settings"]["mixture"]
    assert mixture == {"similar": 0.45, "same_head": 0.45, "random": 0.1, "rival": 0.0, "other": 0.0}
    assert sheets["hard"]["distractors"]["random"] < sheets["thirds"]["distractors"]["random"]
    capsys.readouterr()
    assert build("wrong", "--mixture", "0.5", "0.5", "0.5") == 1
    assert "mixture 0.5 0.5 0.5, allowed: shares of 0 or more that add up to 1" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        build("both", "--hard", "--mixture", "0.4", "0.4", "0.2")
    assert caught.value.code == 2
