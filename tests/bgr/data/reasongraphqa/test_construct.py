"""The whole construction, and the dataset on disk."""

from __future__ import annotations

import json
import re

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.construction.recipe import HARD, Mixture
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_metadata, load_split, write_dataset
from bgr.errors import DataError, ProgramError

NAMES = ("train.jsonl", "dev.jsonl", "test.jsonl", "facts.jsonl", "dataset.json")


def built(kb, source, encoder, **settings):
    return build(kb, read_questions(source).questions, encoder, Settings(**settings))


def written(kb, folder, result):
    facts = [unit.to_json(kb) for unit in result.database.units]
    return write_dataset(folder, result.splits, facts, {"dropped": result.drop_report()})


def test_build_keeps_the_graph_of_each_program(kb, source, encoder):
    result = built(kb, source, encoder)
    examples = [example for split in result.splits.values() for example in split]
    assert len(examples) == 92
    assert result.dropped == ()
    by_sentence = {unit.sentence: unit for unit in result.database.units}
    for example in examples:
        execution = Executor(kb).run(Program.from_json(list(example.program)))
        place = {}
        for node in example.graph.nodes:
            fact = by_sentence[example.facts[node]].facts[0]
            [place[node]] = [
                n
                for n, f in enumerate(execution.facts)
                if (f.head, f.predicate, f.value, f.tail) == (fact.head, fact.predicate, fact.value, fact.tail)
            ]
        assert example.graph.relabel(place).edges == frozenset(execution.edges)


def test_candidates_vary_within_their_bounds(kb, source, encoder):
    examples = built(kb, source, encoder, candidates_min=12, candidates=16).splits["train"]
    counts = {len(example.facts) for example in examples}
    assert counts <= set(range(12, 17))
    assert len(counts) > 2
    fixed = built(kb, source, encoder, candidates_min=14, candidates=14).splits["train"]
    assert {len(example.facts) for example in fixed} == {14}
    first = [example.graph.nodes[0] for example in fixed]
    assert max(first) > 5  # gold facts do not all come first


def test_a_fact_has_one_sentence_in_all_questions(kb, source, encoder):
    result = built(kb, source, encoder)
    sentences = [unit.sentence for unit in result.database.units if unit.gold]
    shared = [e for split in result.splits.values() for e in split if sum(s in e.facts for s in sentences)]
    assert len(shared) == 92
    capital = next(
        u.sentence for u in result.database.units if (u.facts[0].head, u.facts[0].predicate) == ("C0", "capital")
    )
    assert sum(capital in e.facts for e in shared) >= 11


def test_same_seed_same_bytes(tmp_path, kb, source, encoder):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        written(kb, tmp_path / name, built(kb, source, encoder, seed=seed))
    for name in NAMES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert dataset_hash(tmp_path / "a") == dataset_hash(tmp_path / "b") == load_metadata(tmp_path / "a")["sha256"]
    assert dataset_hash(tmp_path / "a") != dataset_hash(tmp_path / "c")


def test_json_lines_and_arrow_have_equal_content(tmp_path, kb, source, encoder):
    from datasets import load_from_disk

    result = built(kb, source, encoder)
    written(kb, tmp_path / "data", result)
    arrow = load_from_disk(str(tmp_path / "data" / "arrow"))
    for split, examples in result.splits.items():
        assert load_split(tmp_path / "data", split) == examples
        assert [dict(row) for row in arrow[split]] == [example.to_json() for example in examples]
    facts = [json.loads(line) for line in (tmp_path / "data" / "facts.jsonl").read_text().splitlines()]
    assert [fact["id"] for fact in facts] == [unit.id for unit in result.database.units]


def test_limit_takes_a_part_by_seed(kb, source, encoder):
    parts = []
    for seed in (1, 1, 2):
        splits = built(kb, source, encoder, limit=20, seed=seed).splits
        parts.append(sorted(example.id for examples in splits.values() for example in examples))
    assert parts[0] == parts[1] != parts[2]
    assert len(parts[0]) == len(set(parts[0])) == 20


def test_drops_are_counted_with_examples(kb, source, encoder):
    records = json.loads((source / "train.json").read_text())
    for record in records[4:12]:
        record["answer"] = "something else"
    (source / "train.json").write_text(json.dumps(records))
    result = built(kb, source, encoder)
    report = result.drop_report()
    assert report["another answer"]["count"] == 8
    assert len(report["another answer"]["examples"]) == 3
    assert "something else" in report["another answer"]["examples"][0]
    assert sum(map(len, result.splits.values())) == 84
    assert result.tried == 92


def test_a_bad_program_stops_the_build_or_is_counted(kb, source, encoder):
    records = json.loads((source / "val.json").read_text())
    records[3]["program"][0]["inputs"] = ["Nowhere"]
    records[5]["program"][0]["function"] = "Seek"
    (source / "val.json").write_text(json.dumps(records))
    with pytest.raises(ProgramError, match=r"val.json: item 5, step 0 .*Seek"):
        read_questions(source)
    found = read_questions(source, skip_bad=True)
    assert len(found.malformed) == 1
    with pytest.raises(ProgramError, match=r"val.json: item 3, step 0 .*Nowhere"):
        build(kb, found.questions, encoder, Settings())
    result = build(kb, found.questions, encoder, Settings(skip_bad=True), malformed=found.malformed)
    assert result.drop_report()["malformed record"]["count"] == 2
    assert result.tried == 92


def test_nothing_left_is_an_error(kb, source, encoder):
    questions = [q for q in read_questions(source).questions if q.answer == "1"]
    bad = [type(q)(q.id, q.where, q.text, "7", q.program) for q in questions]
    with pytest.raises(DataError, match=r"none of 1 questions is usable.*another answer"):
        build(kb, bad, encoder, Settings())


def test_the_mixture_is_a_setting(kb, source, encoder):
    thirds, hard = (built(kb, source, encoder, **more).distractors for more in ({}, {"mixture": HARD}))
    assert sum(thirds.values()) == sum(hard.values())
    assert hard["random"] < 0.6 * thirds["random"]
    assert hard["same head"] > thirds["same head"]
    assert built(kb, source, encoder, mixture=Mixture(1 / 3, 1 / 3, 1 / 3)).splits == built(kb, source, encoder).splits


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"candidates_min": 9, "candidates": 8}, "9 to 8"),
        ({"joined_probability": 1.5}, "1.5"),
        ({"limit": 0}, "limit 0"),
        ({"split": "thirds"}, "thirds.*random, structure, entity"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(DataError, match=message):
        Settings(**settings)


def test_read_questions(source):
    found = read_questions(source)
    assert len(found.questions) == 92
    assert found.questions[0].id == "train-000000"
    assert found.questions[-1].id == "val-000021"
    assert found.without_program == 3
    (source / "train.json").write_text("{}")
    with pytest.raises(DataError, match=r"train.json: must hold a list"):
        read_questions(source)
    for name in ("train.json", "val.json"):
        (source / name).write_text("[]")
    with pytest.raises(DataError, match=r"kqapro: has no questions"):
        read_questions(source)
    for name in ("train.json", "val.json"):
        (source / name).unlink()
    with pytest.raises(DataError, match=r"expected train.json or val.json"):
        read_questions(source)


def test_load_split_names_the_problem(tmp_path, kb, source, encoder):
    with pytest.raises(DataError, match=r"test.jsonl: no such file"):
        load_split(tmp_path, "test")
    with pytest.raises(DataError, match=r"'val', known: train, dev, test"):
        load_split(tmp_path, "val")
    with pytest.raises(DataError, match=r"lacks train.jsonl"):
        dataset_hash(tmp_path)
    folder = tmp_path / "data"
    written(kb, folder, built(kb, source, encoder, limit=20))
    lines = (folder / "dev.jsonl").read_text().splitlines(keepends=True)
    (folder / "dev.jsonl").write_text(lines[0] + lines[1][:40])
    with pytest.raises(DataError, match=r"dev.jsonl: line 2: not valid JSON"):
        load_split(folder, "dev")
    (folder / "dev.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(DataError, match=r"dev.jsonl: line 1: .*'question' is missing"):
        load_split(folder, "dev")


def test_an_existing_folder_is_kept(tmp_path, kb, source, encoder):
    result = built(kb, source, encoder, limit=20)
    written(kb, tmp_path / "data", result)
    before = dataset_hash(tmp_path / "data")
    with pytest.raises(DataError, match="--overwrite"):
        written(kb, tmp_path / "data", built(kb, source, encoder, limit=20, seed=9))
    assert dataset_hash(tmp_path / "data") == before


def test_parts_of_other_questions_than_those_of_atlas(kb, source, encoder):
    """As far as Atlas has words for their programs."""
    parts = [e for e in built(kb, source, encoder, parts=1).splits["train"] if "-part" in e.id]
    assert 0 < len(parts) < 70
    functions = {part.program[-1]["function"] for part in parts}
    assert {"What", "SelectBetween"} <= functions <= {"What", "Count", "SelectBetween"}
    # the films of this knowledge base have such names
    assert all(re.search(r"film|movie|The \d+(st|nd|rd|th) Winter", part.question) for part in parts)
