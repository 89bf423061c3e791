"""`bgr predict`: a file of questions, answered in batches and resumed."""

import json
import os
import time
from threading import Thread

import pytest
from filelock import FileLock

from bgr import predict as module
from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.errors import BgrError, CheckpointError, DataError
from bgr.pipeline import BgrPipeline
from bgr.predict import predict, read_questions
from bgr.retrievers.graph_hop.options import PredictOptions
from bgr.utils.hashing import hash_files
from bgr.utils.options import OptionsError

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden .", "Alpha has 3 people ."]
QUESTION = "In which country was Persona made ?"
LINES = [
    {"id": "a", "question": QUESTION},
    {"id": 7, "question": "  How many people\nhas Alpha ?"},
    {"id": "b", "question": "Qwertz ?", "facts": "not read"},
    {"question": "Who ?"},
    {"id": "c", "question": "which city lies in italy ?"},
    {"id": "a", "question": "Who ?"},
    {"id": "d", "question": "Where lies Paris ?"},
]


@pytest.fixture
def given(pruned_checkpoint, tmp_path):
    """Options with a collection and the questions above, of which two are not valid."""
    collection = Collection.build(
        [{"id": f"p{n}", "text": one} for n, one in enumerate(FACTS)], tmp_path / "films", encoder=None
    )
    (tmp_path / "asked.jsonl").write_text("\n\n".join(map(json.dumps, LINES)))
    return {
        "checkpoint": pruned_checkpoint,
        "collection": collection.folder,
        "questions": tmp_path / "asked.jsonl",
        "out": tmp_path / "new" / "out.jsonl",
    }


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_record_for_each_line(given):
    found = predict(PredictOptions(**given))
    assert (found.records, found.failed) == (7, 2)
    rows = records(given["out"])
    assert [row["id"] for row in rows] == ["a", 7, "b", None, "c", "a", "d"]
    assert rows[3] == {"id": None, "error": "line 7: id is missing, allowed: a text or an integer"}
    assert rows[5] == {"id": "a", "error": "line 11: the id 'a' is that of line 1; ids are unique"}
    answer = BgrPipeline.from_pretrained(given["checkpoint"]).answer(QUESTION, Collection.open(given["collection"]))
    wanted = answer.to_json()
    fields = ["id", "question", "answer", "confidence", "completeness", "edges", "evidence", "limits"]
    assert list(rows[0]) == fields
    assert [edge[:2] for edge in rows[0]["edges"]] == [edge[:2] for edge in wanted["edges"]]
    assert rows[0]["evidence"] == wanted["evidence"]
    assert {one["id"] for one in rows[0]["evidence"]} <= {"p0", "p1", "p2", "p3"}
    assert rows[1]["question"] == "How many people has Alpha ?"
    assert (rows[2]["evidence"], rows[2]["edges"], rows[2]["answer"]) == ([], [], None)
    assert sorted(path.name for path in given["out"].parent.iterdir()) == ["out.jsonl"]


def test_over_the_facts_of_each_question(given):
    lines = [
        {"id": 1, "question": QUESTION, "facts": FACTS},
        {"id": 2, "question": QUESTION},
        {"id": 3, "question": QUESTION, "facts": []},
        {"id": 4, "question": QUESTION, "facts": ["x", 5]},
    ]
    given["questions"].write_text("\n".join(map(json.dumps, lines)))
    predict(PredictOptions(**{**given, "collection": None}))
    first, *others = records(given["out"])
    wanted = BgrPipeline.from_pretrained(given["checkpoint"]).answer(QUESTION, FACTS)
    assert [one["text"] for one in first["evidence"]] == [FACTS[n] for n in wanted.graph.order()]
    assert [one["error"] for one in others] == [
        "line 2: facts is missing, allowed: a list",
        "line 3: 0 facts, allowed: 1 to 10,000",
        "line 4: facts, number 1 is 5, allowed: a text",
    ]


@pytest.mark.parametrize(
    "stop", [0, pytest.param(1, marks=pytest.mark.workflow), pytest.param(2, marks=pytest.mark.workflow)]
)
def test_an_interrupted_run_ends_with_the_same_bytes(given, stop, monkeypatch):
    predict(PredictOptions(**given))
    wanted = given["out"].read_bytes()
    given["out"].unlink()
    part = given["out"].with_name("out.jsonl.part")
    answer_all, calls = BgrPipeline.answer_all, []

    def interrupted(self, queries, **options):
        calls.append([query.question for query in queries])
        if len(calls) > stop:
            raise KeyboardInterrupt
        return answer_all(self, queries, **options)

    with monkeypatch.context() as patch:
        patch.setattr(BgrPipeline, "answer_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            predict(PredictOptions(**given))
    assert not given["out"].exists()
    assert part.read_bytes().count(b"\n") == 1 + 2 * stop
    with part.open("ab") as file:  # as if it had been killed while it wrote
        file.write(wanted.splitlines(keepends=True)[2 * stop] + b'{"id": ')
    calls.clear()
    with monkeypatch.context() as patch:
        patch.setattr(BgrPipeline, "answer_all", lambda *a, **b: calls.append(1) or answer_all(*a, **b))
        predict(PredictOptions(**given))
    assert len(calls) == 4 - stop
    assert given["out"].read_bytes() == wanted
    assert not part.exists()


@pytest.mark.workflow
def test_questions_from_a_pipe_are_told_apart(given, tmp_path, monkeypatch):
    """Another pipe with other questions of the same ids does not continue the run; one with the same questions does."""
    predict(PredictOptions(**given))
    wanted, content = given["out"].read_bytes(), given["questions"].read_bytes()
    given["out"].unlink()

    def piped(name, content):
        path = tmp_path / name
        os.mkfifo(path)

        def write():
            path.write_bytes(content)
            time.sleep(0.5)  # until the first reader has closed it; a second one finds it empty
            path.write_bytes(b"")

        Thread(target=write, daemon=True).start()
        return PredictOptions(**given | {"questions": path})

    answer_all, calls = BgrPipeline.answer_all, []

    def interrupted(self, queries, **options):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return answer_all(self, queries, **options)

    with monkeypatch.context() as patch:
        patch.setattr(BgrPipeline, "answer_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            predict(piped("first", content))
    with pytest.raises(DataError, match=r"out\.jsonl\.part: left by a run with other questions"):
        predict(piped("second", content.replace(b"Persona", b"Alpha")))
    with monkeypatch.context() as patch:
        patch.setattr(BgrPipeline, "answer_all", lambda *a, **b: calls.append(1) or answer_all(*a, **b))
        predict(piped("third", content))
    assert len(calls) == 2 + 3  # the first batch is not answered again
    assert given["out"].read_bytes() == wanted


def test_the_hash_of_the_questions_is_that_of_their_file(given):
    path = given["questions"]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    _, found = read_questions(path, own_facts=False)
    assert found == hash_files(path.parent, [path.name])


def test_a_record_of_another_question_is_not_kept():
    asked = module.Asked("a", "Who ?")
    for record, kept in [
        ({"id": "a", "question": "Who ?"}, True),
        ({"id": "a", "error": "line 1: the question is empty"}, True),
        ({"id": "a", "question": "What ?"}, False),
        ({"id": "b", "question": "Who ?"}, False),
    ]:
        assert module._is_record(json.dumps(record).encode() + b"\n", asked) == kept


def test_a_run_that_was_killed_after_its_end_leaves_nothing(given):
    predict(PredictOptions(**given))
    wanted, part = given["out"].read_bytes(), given["out"].with_name("out.jsonl.part")
    for left, stays in ((wanted, False), (b"of another run", True)):
        part.write_bytes(b'{"run": "x"}\n' + left)
        with pytest.raises(DataError, match="exists already"):
            predict(PredictOptions(**given))
        assert part.exists() == stays
    assert given["out"].read_bytes() == wanted


@pytest.mark.parametrize("content", [b"", b"{", b'{"run": "x"}'])
def test_a_part_without_a_record_is_begun_again(given, content):
    given["out"].parent.mkdir()
    given["out"].with_name("out.jsonl.part").write_bytes(content)
    predict(PredictOptions(**given))
    assert len(records(given["out"])) == 7


def test_the_part_of_another_run_is_not_continued(given):
    given["out"].parent.mkdir()
    part = given["out"].with_name("out.jsonl.part")
    part.write_bytes(b'{"run": "x"}\n{"id": "a", "answer": "of another run"}\n')
    with pytest.raises(DataError, match=r"out\.jsonl\.part: left by a run with other questions"):
        predict(PredictOptions(**given))
    assert part.exists()
    predict(PredictOptions(**given, overwrite=True))
    assert "of another run" not in given["out"].read_text()


def test_a_run_with_a_reader_that_was_trained_anew_is_another_run(given, tmp_path):
    weights = tmp_path / "reader" / "model" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    options = PredictOptions(**given, reader=str(tmp_path / "reader"))
    keys = []
    for content in (b"first", b"second", b"first"):
        weights.write_bytes(content)
        keys.append(module._run_key(options, given["checkpoint"], "corpus", "questions"))
    assert keys[0] == keys[2] != keys[1]


def test_a_text_that_is_too_long_is_an_error_of_its_own_line(given):
    long = "x " * 50_001
    lines = [
        {"id": "a", "question": QUESTION, "facts": [FACTS[0], long]},
        {"id": "b", "question": long, "facts": FACTS},
    ]
    lines.append({"id": "c", "question": QUESTION, "facts": FACTS})
    given["questions"].write_text("\n".join(map(json.dumps, lines)))
    assert predict(PredictOptions(**given | {"collection": None})).failed == 2
    rows = records(given["out"])
    assert rows[0]["error"] == "line 1: fact 1 has 100,002 characters, allowed: 100,000 or fewer; divide it"
    assert rows[1]["error"].startswith("line 2: the question has 100,001 characters")
    assert "error" not in rows[2]


def test_a_run_that_answered_nothing_is_in_no_ones_way(given, small_checkpoint):
    part = given["out"].with_name("out.jsonl.part")
    part.parent.mkdir()
    weights = small_checkpoint / "backward" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-5])
    with pytest.raises(CheckpointError, match="backward"):
        predict(PredictOptions(**{**given, "checkpoint": small_checkpoint}))
    assert not part.exists()
    part.write_bytes(b'{"run": "of a run that was killed at its start"}\n')
    assert predict(PredictOptions(**given)).records == 7


def test_a_deleted_text_is_in_no_prediction(given, monkeypatch):
    """A run that named it is not continued; a collection that is open keeps its state."""
    collection = Collection.open(given["collection"])
    answer_all, calls = BgrPipeline.answer_all, []

    def interrupted(self, queries, **options):
        calls.append(1)
        if len(calls) > 1:
            Collection.open(given["collection"], encoder=None).delete(["p2"])
            raise KeyboardInterrupt
        return answer_all(self, queries, **options)

    with monkeypatch.context() as patch:
        patch.setattr(BgrPipeline, "answer_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            predict(PredictOptions(**given))
    assert '"p2"' in given["out"].with_name("out.jsonl.part").read_text()
    with pytest.raises(DataError, match=r"out\.jsonl\.part: left by a run with other .* collection; repeat that run"):
        predict(PredictOptions(**given))
    predict(PredictOptions(**given, overwrite=True))
    assert '"p2"' not in given["out"].read_text()
    assert "p2" in {
        one.id for one in BgrPipeline.from_pretrained(given["checkpoint"]).answer(QUESTION, collection).documents
    }


def test_a_collection_of_another_encoder_is_refused(given, random_checkpoint, word_encoder, tmp_path):
    """Only by a checkpoint without a pruner, which searches by vectors."""
    Collection.build(FACTS, tmp_path / "words", encoder=word_encoder, key="words")
    given |= {"collection": tmp_path / "words"}
    with pytest.raises(DataError, match="words: built with encoder 'words', not with ") as error:
        predict(PredictOptions(**given | {"checkpoint": random_checkpoint}))
    assert "\n" not in str(error.value)
    predict(PredictOptions(**given, overwrite=True))
    assert len(records(given["out"])) == 7


def test_an_existing_file_stays_unless_it_is_overwritten(given):
    given["out"].parent.mkdir()
    given["out"].write_text("mine")
    with pytest.raises(DataError, match=r"out\.jsonl: exists already; give --overwrite"):
        predict(PredictOptions(**given))
    assert given["out"].read_text() == "mine"
    predict(PredictOptions(**given, overwrite=True))
    assert len(records(given["out"])) == 7


def test_only_one_process_writes(given):
    given["out"].parent.mkdir()
    with FileLock(given["out"].parent / ".out.jsonl.lock"), pytest.raises(BgrError, match="another process is writing"):
        predict(PredictOptions(**given))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 1: not valid JSON at column 2: Expecting property name enclosed in double quotes"),
        (b"\xff", "line 1: not UTF-8 text"),
        (b"[]", "line 1: is [], allowed: an object"),
        (b"{}", "line 1: id is missing, allowed: a text or an integer"),
        (b'{"id": true, "question": "a"}', "line 1: id is True, allowed: a text or an integer"),
        (b'{"id": "a"}', "line 1: question is missing, allowed: a text"),
        (b'{"id": "a", "question": " "}', "line 1: the question is empty"),
        (b'{"id": "a", "question": "\\ud800"}', "line 1: question is '\\ud800', allowed: a text"),
    ],
)
def test_lines_that_are_not_valid(tmp_path, line, said):
    (tmp_path / "asked.jsonl").write_bytes(line)
    [found], _ = read_questions(tmp_path / "asked.jsonl", own_facts=False)
    assert found.error == said


def test_what_is_wrong_is_told_before_anything_is_loaded(given, tmp_path, monkeypatch):
    monkeypatch.setattr(BgrPipeline, "from_pretrained", None)
    (tmp_path / "none.jsonl").write_text("\n")
    (tmp_path / "folder").mkdir()
    Collection.build([], tmp_path / "empty", encoder=None)
    for wrong, error, said in [
        ({"checkpoint": tmp_path}, CheckpointError, r"bgr\.json: no such file"),
        ({"collection": tmp_path}, DataError, "no collection is there"),
        ({"collection": tmp_path / "empty"}, DataError, "empty: the collection has no texts; add some first"),
        ({"questions": tmp_path / "x.jsonl"}, DataError, r"x\.jsonl: no such file"),
        ({"questions": tmp_path / "folder"}, DataError, "folder: cannot be read"),
        ({"questions": tmp_path / "none.jsonl"}, DataError, r"none\.jsonl: no questions"),
        ({"out": tmp_path / "folder", "overwrite": True}, DataError, "folder: is a folder"),
        ({"out": tmp_path / "none.jsonl" / "out.jsonl"}, DataError, "cannot be written"),
    ]:
        with pytest.raises(error, match=said) as raised:
            predict(PredictOptions(**{**given, **wrong}))
        assert "\n" not in str(raised.value)
    with pytest.raises(OptionsError, match="--out names the file of the questions"):
        PredictOptions(**{**given, "out": given["questions"]})


def test_the_command(given, capsys):
    words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    assert main(["predict", *words]) == 0
    assert capsys.readouterr().out == f"{given['out']}: 7 records, 2 with an error\n"
    assert main(["predict", *words]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["predict", *words, "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"records": 7, "failed": 2}
