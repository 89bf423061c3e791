"""Leakage: programs equal up to the order of branches, gold triples of sentences, the report and its command."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from random import Random

import pytest

from bgr.cli import main
from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.leakage import (
    CHECKS,
    Trace,
    compare_splits,
    dataset_leakage,
    leakage_text,
    program_form,
)
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.errors import DataError, ProgramError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

BERG = [("Find", [], "Ada Berg"), ("Relate", [0], "director", "backward")]
FUNK = [("Find", [], "Dora Funk"), ("Relate", [2], "cast member", "backward")]


def steps(*calls):
    return [{"function": f, "dependencies": list(d), "inputs": list(inputs)} for f, d, *inputs in calls]


def both(function="And", first=1, second=3):
    return steps(*BERG, *FUNK, (function, [first, second]), ("Count", [4]))


def test_order_of_branches_does_not_matter():
    form = program_form(both())
    assert form == program_form(both(first=3, second=1))
    later = steps(
        ("Find", [], "Dora Funk"), ("Find", [], " Ada  Berg"), ("Relate", [0], "cast member", "backward"),
        ("Relate", [1], "director", "backward"), ("And", [2, 3]), ("Count", [4]),
    )  # fmt: skip
    assert form == program_form(later)
    unused = [("Find", [], "Ada Berg"), ("Relate", [0], "director", "backward"), ("What", [1])]
    assert program_form(steps(*unused)) == program_form(steps(*unused[:2], ("Find", [], "gold"), unused[2]))


def test_everything_else_of_a_program_matters():
    films = [*BERG, ("FilterYear", [1], "release date", "1970", "=")]
    forms = [
        program_form(program)
        for program in (
            both(),
            both("Or"),
            both(first=1, second=1),
            steps(*BERG, *FUNK, ("And", [1, 3]), ("What", [4])),
            steps(*films, ("Count", [2])),
            steps(*BERG, ("FilterYear", [1], "release date", "1971", "="), ("Count", [2])),
            steps(("Find", [], "Bo Lind"), BERG[1], films[2], ("Count", [2])),
            steps(("Find", [], "a"), ("Find", [], "b"), ("QueryRelation", [0, 1])),
            steps(("Find", [], "a"), ("Find", [], "b"), ("QueryRelation", [1, 0])),
        )
    ]
    assert len(set(forms)) == len(forms)


def test_shared_steps_cost_nothing():
    # as a tree this program has 2 ** 95 steps
    calls = [("Find", [], "Ada Berg"), *(("Or", [n, n]) for n in range(95)), ("Count", [95])]
    assert len(program_form(steps(*calls))) == 64


def test_a_malformed_program_is_named():
    with pytest.raises(ProgramError, match="sample 'x', step 1"):
        program_form(steps(("Find", [], "a"), ("Count", [7])), "sample 'x'")


def slow_shared(earlier, later, check):
    """Comparison of all pairs, one by one."""
    found = []
    for trace in later:
        value = getattr(trace, check)
        first = [other.id for other in earlier if value is not None and getattr(other, check) == value]
        found += [(trace.id, first[0])] if first else []
    return found


def test_counts_are_those_of_comparing_all_pairs():
    rng = Random(1)
    splits = {
        name: [
            Trace(f"{name}-{n}", f"q{rng.randrange(40)}", rng.choice((None, *range(9))), rng.choice((None, *range(60))))
            for n in range(30)
        ]
        for name in ("train", "dev", "test")
    }
    report = compare_splits(splits, tuple(CHECKS))
    assert list(report.shared) == [("train", "dev"), ("train", "test"), ("dev", "test")]
    for (a, b), found in report.shared.items():
        for check, shared in found.items():
            slow = slow_shared(splits[a], splits[b], check)
            assert (shared.count, shared.examples) == (len(slow), tuple(slow[:3]))
            assert shared.of == sum(getattr(trace, check) is not None for trace in splits[b])
            assert shared.share == len(slow) / shared.of


def example(name, text, gold, program=None, facts=None):
    """A sample whose gold sentences all have an edge from the question."""
    sentences = (*gold, *(facts or ("Nobody knows.",)))
    graph = EvidenceGraph([(ROOT, n) for n in range(len(gold))])
    return Example(name, text, sentences, graph, "1", tuple(program or ()), "count")


NUMBERS = itertools.count()


def unit(sentence, *triples, **more):
    facts = [
        {"head": h, "name": h, "predicate": p, **({"value": t} if isinstance(t, dict) else {"tail": t, "tail_name": t})}
        for h, p, t in triples
    ]
    return {"id": f"F{next(NUMBERS)}", "sentence": sentence, "gold": True, "facts": facts, **more}


@pytest.fixture
def folder(tmp_path):
    """Two films called Hamlet share the sentence about their director."""
    year = {"type": "year", "value": 1970}
    units = [
        unit("Ada Berg made Hamlet.", ("F1", "director", "P1")),
        unit("Ada Berg made Hamlet.", ("F2", "director", "P1")),
        unit("The Winter dates from 1970.", ("F3", "release date", year)),
        unit("In 1970 The Winter came out.", ("F3", "release date", year), ("F3", "director", "P1")),
        unit("In 1970 The Winter came out.", ("F9", "other", "P1"), gold=False),
        unit("The Winter is The Winter.", ("F3", "name", "x")),
    ]
    splits = {
        "train": [
            example("a", "How many  films?", ["Ada Berg made Hamlet.", "The Winter dates from 1970."], both()),
            example("b", "When?", ["The Winter dates from 1970."]),
        ],
        "dev": [
            example("c", "how many films? ", ["In 1970 The Winter came out."], both(first=3, second=1)),
            example("d", "Who?", ["The Winter is The Winter."], both("Or")),
        ],
        "test": [example("e", "Which?", ["The Winter dates from 1970.", "Ada Berg made Hamlet."], both("Or"))],
    }
    write_dataset(tmp_path / "data", splits, units, {})
    return tmp_path / "data"


def found(report, earlier, later):
    return {check: (s.count, s.of, s.examples) for check, s in report.shared[earlier, later].items()}


def test_report_of_a_folder(folder):
    report = dataset_leakage(folder)
    assert report.samples == {"train": 2, "dev": 2, "test": 1}
    assert found(report, "train", "dev") == {
        "question": (1, 2, (("c", "a"),)),
        "triples": (1, 2, (("c", "b"),)),
        "program": (1, 2, (("c", "a"),)),
    }
    assert found(report, "train", "test") == {
        "question": (0, 1, ()),
        "triples": (1, 1, (("e", "a"),)),
        "program": (0, 1, ()),
    }
    assert found(report, "dev", "test")["program"] == (1, 1, (("e", "d"),))
    assert report.notes == (
        "samples without a program, which are not compared by program: 1",
        "gold sentences with several triples (equal names), compared by all of them: 1",
    )


def test_samples_without_gold_facts_are_not_alike(tmp_path):
    splits = {name: [example(name, name, [])] for name in ("train", "dev", "test")}
    write_dataset(tmp_path / "data", splits, [unit("Nobody knows.", ("F1", "director", "P1"))], {})
    report = dataset_leakage(tmp_path / "data")
    assert found(report, "train", "test") == {"question": (0, 1, ()), "triples": (0, 0, ()), "program": (0, 0, ())}
    assert report.shared["train", "test"]["triples"].share == 0


def test_command_prints_table_and_json(folder, capsys):
    assert main(["data", "leakage", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "dev with train" in text
    assert "1 of 2 (50.0%)" in text
    assert "test with dev, program and entities: e = d" in text
    assert main(["data", "leakage", str(folder), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == dataset_leakage(folder).to_json()
    assert record["pairs"][0]["triples"] == {
        "count": 1,
        "of": 2,
        "share": 0.5,
        "examples": [{"later": "c", "earlier": "b"}],
    }


def test_a_converted_released_dataset_lacks_triples(folder, tmp_path, capsys):
    for split in ("train", "dev", "test"):
        # the released form requires a program for each question
        path = folder / f"{split}.jsonl"
        path.write_text(path.read_text().replace('"program": []', f'"program": {json.dumps(both())}'))
    (folder / "dataset.json").write_text("{}")  # without the hash of the files before the change
    assert main(["data", "convert", str(folder), str(tmp_path / "released"), "--to", "released"]) == 0
    assert main(["data", "convert", str(tmp_path / "released"), str(tmp_path / "back"), "--to", "bgr"]) == 0
    capsys.readouterr()
    report = dataset_leakage(tmp_path / "back")
    assert set(report.shared["train", "dev"]) == {"question", "program"}
    assert report.to_json()["pairs"][0]["triples"] is None
    assert [note for note in report.notes if "has no triples" in note]
    assert "not compared" in leakage_text(report)


def change(name, line, **fields):
    def damage(folder):
        lines = (folder / name).read_text().splitlines()
        record = {**json.loads(lines[line]), **fields}
        lines[line] = json.dumps({key: value for key, value in record.items() if value is not None})
        (folder / name).write_text("\n".join(lines) + "\n")

    return damage


BAD = {
    "no facts": (lambda f: (f / "facts.jsonl").unlink(), "facts.jsonl: no such file"),
    "no split": (lambda f: (f / "dev.jsonl").unlink(), "dev.jsonl: no such file"),
    "cut facts": (lambda f: (f / "facts.jsonl").write_text('{"sente'), "facts.jsonl: line 1: not valid JSON"),
    "list": (lambda f: (f / "facts.jsonl").write_text("[]\n"), "line 1: is [], allowed: an object"),
    "bytes": (lambda f: (f / "facts.jsonl").write_bytes(b"\xff\n"), "facts.jsonl: cannot be read"),
    "some bare": (change("facts.jsonl", 3, facts=None), "line 4: field 'facts' is empty, but not in line 1"),
    "empty facts": (change("facts.jsonl", 3, facts=[]), "line 4: field 'facts' is empty, but not in line 1"),
    "no head": (change("facts.jsonl", 3, facts=[{"predicate": "p", "tail": "t"}]), "line 4: fact 0: head is missing"),
    "lost sentence": (
        change("facts.jsonl", 5, sentence="Something else."),
        "dev.jsonl: sample 'd': gold sentence 'The Winter is The Winter.' is not in facts.jsonl",
    ),
    "empty file": (lambda f: (f / "facts.jsonl").write_text(""), "facts.jsonl: has no facts"),
    "program": (change("dev.jsonl", 0, program=steps(("Seek", []))), "dev.jsonl: sample 'c', step 0 (Seek)"),
    "no question": (change("dev.jsonl", 0, question=None), "dev.jsonl: line 1: sample 'c'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_folders_give_one_line(folder, name):
    damage, message = BAD[name]
    damage(folder)
    with pytest.raises((DataError, ProgramError)) as caught:
        dataset_leakage(folder)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_built_dataset(tmp_path, kb, source, encoder):
    """Every question a second time with other words: a copy in another split shares only program and gold triples."""
    questions = read_questions(source).questions
    copies = [replace(q, id=f"{q.id}-copy", text=f"Say, {q.text}") for q in questions]
    built = build(kb, [*questions, *copies], encoder, Settings(joined_probability=0.5))
    write_dataset(tmp_path / "d", built.splits, [unit.to_json(kb) for unit in built.database.units], {})
    report = dataset_leakage(tmp_path / "d")
    for (earlier, later), shared in report.shared.items():
        first = {e.id.removesuffix("-copy") for e in load_split(tmp_path / "d", earlier)}
        torn = [e.id for e in load_split(tmp_path / "d", later) if e.id.removesuffix("-copy") in first]
        assert {check: found.count for check, found in shared.items()} == {
            "question": 0,
            "triples": len(torn),
            "program": len(torn),
        }
        assert shared["program"].examples == tuple((id, twin(id)) for id in torn[:3])
    assert report.shared["train", "test"]["program"].count > 3


def twin(id: str) -> str:
    return id.removesuffix("-copy") if id.endswith("-copy") else f"{id}-copy"
