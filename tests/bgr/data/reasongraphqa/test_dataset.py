"""The dataset on disk: Arrow, card and JSON lines have the same samples, and errors name damaged lines."""

from __future__ import annotations

import json
import random

import datasets
import pytest
import yaml

from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.verify import check_arrow
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.card import FEATURES, card_text
from bgr.data.reasongraphqa.io.dataset import (
    HASHED_FILES,
    dataset_hash,
    load_metadata,
    load_split,
    sample_features,
    write_dataset,
)
from bgr.data.reasongraphqa.io.statistics import dataset_statistics, statistics_text
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

STEPS = (
    {"function": "Find", "dependencies": [], "inputs": ["Ada"]},
    {"function": "Relate", "dependencies": [0], "inputs": ["director", "backward"]},
    {"function": "Count", "dependencies": [1], "inputs": []},
)
SHEET = {
    "name": "ReasonGraphQA",
    "source": "KQA Pro",
    "licence": "CC BY-SA 4.0",
    "settings": {"seed": 3, "candidates_min": 2, "limit": None},
    "distractors": {"similar": 1200},
    "tried": 31,
    "dropped": {"the answer | differs": {"count": 1, "examples": ["<b>Who</b>\nmade `it`?"]}},
}


def examples(split: str, count: int) -> list[Example]:
    """One to four facts in every kind of graph, with texts that are difficult for file formats."""
    rng = random.Random(split)
    texts = ['"quoted"', "line\nbreak\r\n", "tab\t\\", "näïve 映画 \u2028", "", "it's", "it's"]
    made = []
    for number in range(count):
        facts = tuple(rng.choice(texts) + str(n % 5) for n in range(rng.randint(4, 9)))
        nodes = rng.sample(range(len(facts)), rng.randint(1, 4))
        edges = [(rng.choice([ROOT, *nodes[:place]]), node) for place, node in enumerate(nodes)]
        program = STEPS if number % 2 else ()
        made.append(Example(f"{split}-{number}", f"Q{number}?\n", facts, EvidenceGraph(edges), '"', program, "count"))
    return made


@pytest.fixture
def folder(tmp_path):
    splits = {"train": examples("train", 20), "dev": examples("dev", 6), "test": examples("test", 4)}
    write_dataset(tmp_path / "data", splits, [{"id": "F0", "sentence": "a"}], SHEET)
    return tmp_path / "data"


def test_arrow_and_lines_have_equal_content(folder):
    arrow = datasets.load_from_disk(str(folder / "arrow"))
    assert list(arrow) == list(SPLITS)
    for split in SPLITS:
        assert arrow[split].features == sample_features()
        loaded = load_split(folder, split)
        assert loaded == [Example.from_json(row) for row in arrow[split]]
        assert loaded == examples(split, len(loaded))
        assert list(arrow[split]) == [example.to_json() for example in loaded]


def test_every_field_is_typed_even_where_nothing_is_in_it(tmp_path):
    """Types cannot be inferred from a dataset without programs, nor any fields from an empty split."""
    bare = Example("a", "Q?", ("f",), EvidenceGraph([(ROOT, 0)]), "x", (), "query")
    write_dataset(tmp_path / "data", {"train": [bare], "dev": [], "test": []}, [], {})
    arrow = datasets.load_from_disk(str(tmp_path / "data" / "arrow"))
    assert {split: table.features for split, table in arrow.items()} == dict.fromkeys(SPLITS, sample_features())
    assert arrow["dev"].num_rows == 0
    assert arrow["train"].features["program"].feature["inputs"].feature.dtype == "string"


def without_answer(name: str, missing: str | None) -> Example:
    return Example(name, "Q?", ("f", "g"), EvidenceGraph(), "", (), "query", missing)


def test_questions_without_an_answer_tell_what_is_missing(tmp_path):
    """Every form has the field, null where there is an answer; lines of questions with an answer do not have it."""
    train = [examples("train", 1)[0], without_answer("a", "one"), without_answer("b", "all"), without_answer("c", None)]
    splits = {"train": train, "dev": examples("dev", 1), "test": examples("test", 1)}
    write_dataset(tmp_path / "data", splits, [], {})
    assert load_split(tmp_path / "data", "train", unanswerable=True) == train
    assert load_split(tmp_path / "data", "train") == train[:1]
    with (tmp_path / "data" / "train.jsonl").open(encoding="utf-8", newline="\n") as file:
        lines = [json.loads(line) for line in file]
    assert [line.get("missing", "not there") for line in lines] == ["not there", "one", "all", "not there"]
    arrow = datasets.load_from_disk(str(tmp_path / "data" / "arrow"))
    hub = datasets.load_dataset(str(tmp_path / "data"), cache_dir=str(tmp_path / "cache"))
    for tables in (arrow, hub):
        assert tables["train"].features == tables["dev"].features == sample_features(missing=True)
        assert tables["train"]["missing"] == [None, "one", "all", None]
        assert [Example.from_json(row) for row in tables["train"]] == train
    check_arrow(tmp_path / "data")
    card = (tmp_path / "data" / "README.md").read_text()
    assert front_matter(card)["dataset_info"]["features"] == [*FEATURES, {"name": "missing", "dtype": "string"}]
    assert "\n| `missing` | string |" in card
    assert "one missing" in card


def test_an_older_dataset_does_not_have_the_field(tmp_path):
    train = [examples("train", 1)[0], without_answer("a", None)]
    write_dataset(tmp_path / "data", {"train": train, "dev": [], "test": []}, [], {})
    assert load_split(tmp_path / "data", "train", unanswerable=True) == train
    assert "missing" not in (tmp_path / "data" / "train.jsonl").read_text()
    assert datasets.load_from_disk(str(tmp_path / "data" / "arrow"))["train"].features == sample_features()
    assert "missing" not in dataset_statistics({"train": train})
    assert "`missing`" not in (tmp_path / "data" / "README.md").read_text()
    check_arrow(tmp_path / "data")


@pytest.mark.parametrize(
    ("edges", "missing", "said"),
    [
        ([], "two", "missing is 'two' with 0 gold facts, allowed: one, all, without gold facts"),
        ([], ["one"], r"missing is \['one'\]"),
        ([(ROOT, 0)], "one", "missing is 'one' with 1 gold facts"),
    ],
)
def test_a_contradiction_about_missing_facts(edges, missing, said):
    record = without_answer("a", None).to_json() | {"edges": edges, "answerable": bool(edges), "missing": missing}
    record["structure"] = EvidenceGraph(edges).structure
    with pytest.raises(DataError, match=said):
        Example.from_json(record)


def test_the_card_is_readable_for_the_hub(folder, tmp_path):
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert set(loaded) == set(SPLITS)
    for split in SPLITS:
        assert loaded[split].features == sample_features()
        assert [Example.from_json(row) for row in loaded[split]] == load_split(folder, split)


def front_matter(card: str) -> dict:
    _, front, _ = card.split("---\n", 2)
    return yaml.safe_load(front)


def test_card(folder):
    card = (folder / "README.md").read_text(encoding="utf-8")
    front = front_matter(card)
    assert front["license"] == "cc-by-sa-4.0"
    assert front["language"] == ["en"]
    assert front["size_categories"] == ["n<1K"]
    assert front["task_categories"] == ["question-answering", "text-retrieval"]
    assert front["dataset_info"]["features"] == FEATURES
    assert [part["path"] for part in front["configs"][0]["data_files"]] == HASHED_FILES[:3]
    splits = {split: load_split(folder, split) for split in SPLITS}
    assert statistics_text(dataset_statistics(splits)) in card
    for line in (
        "| settings, candidates min | 2 |",
        "| settings, limit | none |",
        "| distractors, similar | 1,200 |",
        "| licence | CC BY-SA 4.0 |",
        "1 of 31 questions were left out.",
        r"| the answer \| differs | 1 | \<b\>Who\</b\> made \`it\`? |",
        f"`{load_metadata(folder)['sha256']}`",
    ):
        assert line in card
    assert all(f"| `{field['name']}` |" in card for field in FEATURES)


@pytest.mark.parametrize(
    ("sheet", "licence"), [({}, "unknown"), ({"source": "Atlas"}, "other"), ({"source": "released"}, "unknown")]
)
def test_card_of_a_sheet_that_says_little(sheet, licence):
    front = front_matter(card_text(sheet, dataset_statistics({"train": examples("train", 3), "dev": [], "test": []})))
    assert front["license"] == licence
    assert ("license_name" in front) == (licence == "other")


@pytest.mark.parametrize(
    ("count", "size"),
    [(999, "n<1K"), (1000, "1K<n<10K"), (14678, "10K<n<100K"), (106_000, "100K<n<1M"), (10**6, "n>1M")],
)
def test_size_of_the_card(count, size):
    statistics = dataset_statistics({"train": [], "dev": [], "test": []})
    statistics["questions"]["total"] = count
    assert front_matter(card_text({}, statistics))["size_categories"] == [size]


def test_card_and_arrow_are_no_part_of_the_hash(folder, tmp_path):
    before = load_metadata(folder)["sha256"]
    (folder / "README.md").write_text("mine")
    assert dataset_hash(folder) == before
    splits = {split: load_split(folder, split) for split in SPLITS}
    other = write_dataset(tmp_path / "other", splits, [{"id": "F0", "sentence": "a"}], {"source": "Atlas"})
    assert other["sha256"] == before


def test_two_writings_are_one(folder, tmp_path):
    write_dataset(
        tmp_path / "again", {s: load_split(folder, s) for s in SPLITS}, [{"id": "F0", "sentence": "a"}], SHEET
    )
    for name in (*HASHED_FILES, "dataset.json", "README.md"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


DAMAGE = {
    "question": (5, "question is 5, allowed: a text"),
    "facts": ("abcdef", "facts is 'abcdef', allowed: a list of texts"),
    "edges": ([[-1, 1.5]], "allowed: a list of pairs of integers"),
    "answer": (["x"], "answer is"),
    "program": ([{"function": "Find", "inputs": ["a"]}], "allowed: a list of steps {function, dependencies, inputs}"),
    "type": ("riddle", "unknown type 'riddle'"),
    "structure": ("MC-SH", "structure is 'MC-SH', but its graph is SC-SH"),
    "id": ("bad\ud800", "allowed: a text"),
}


@pytest.mark.parametrize("field", DAMAGE)
def test_a_damaged_line_is_named(folder, field):
    value, said = DAMAGE[field]
    good = Example("x", "Q?", ("a", "b"), EvidenceGraph([(ROOT, 0)]), "x", STEPS, "count").to_json()
    lines = [json.dumps({**good, "id": "w"}), json.dumps({**good, field: value})]
    (folder / "test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2") as error:
        load_split(folder, "test")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [("[1]", "one object"), ("{", "not valid JSON"), ("", "not valid JSON"), ("1" * 5000, "not valid JSON")],
)
def test_a_line_that_is_no_object(folder, line, said):
    path = folder / "dev.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"dev.jsonl: line 7: .*{said}"):
        load_split(folder, "dev")


def test_repeated_ids_are_refused(folder):
    path = folder / "dev.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.split("\n")[1] + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 7: id 'dev-1' is also in .*line 2, allowed: unique ids"):
        load_split(folder, "dev")
