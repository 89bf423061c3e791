"""Requests, replies and files of paraphrases, with a scripted model."""

from __future__ import annotations

import json
import re

import pytest

from bgr.data.kb.program import ANSWER, FUNCTIONS, VALUES
from bgr.data.reasongraphqa.construction.questions import Question, read_questions
from bgr.data.reasongraphqa.paraphrase.paraphrase import Source, ask, choose, read_sources, write_records
from bgr.data.reasongraphqa.paraphrase.prompt import examples, request
from bgr.errors import DataError, ProgramError

ENDS = (ANSWER, VALUES)
STEPS = [
    {"function": "Find", "dependencies": [], "inputs": ["Ada Berg"]},
    {"function": "Relate", "dependencies": [0], "inputs": ["director", "backward"]},
    {"function": "Count", "dependencies": [1], "inputs": []},
]


def record(number=0, **more):
    text = "How many films did Ada Berg make" + " in all" * number + "?"
    return {"question": text, "program": STEPS, "answer": "8", "choices": ["8", "9"], **more}


def sources(count):
    records = [record(n) for n in range(count)]
    return [Source(Question.from_json(one, f"q{n}", f"item {n}"), one) for n, one in enumerate(records)]


def test_the_request_has_the_meaning_and_the_question():
    [one] = sources(1)
    asked = request(one.question, 3, seed=5)
    text = asked.messages[0].content
    assert "Write 3 other questions" in text
    assert "1. Find Ada Berg.\n2. Take all that have (1) as director.\n3. Answer: how many there are in (2).\n" in text
    assert text.endswith("Question: How many films did Ada Berg make?\nAnswer:")
    assert "{{" not in text
    assert (asked.seed, asked.schema["properties"]["questions"]["minItems"]) == (5, 3)


def verify():
    names = ("function", "dependencies", "inputs")
    steps = ("Find", [], ["Ada Berg"]), ("QueryAttr", [0], ["height"]), ("VerifyNum", [1], ["2 metre", ">"])
    program = [dict(zip(names, step, strict=True)) for step in steps]
    return Question.from_json(record(program=program, answer="no", choices=["no"]), "q", "item 0")


def test_the_request_has_examples_of_the_same_kind():
    ends = {"Answer: how many there are in": sources(1)[0].question, "Answer yes or no": verify()}
    for end, one in ends.items():
        shown, _, _ = request(one, 2, seed=0).messages[0].content.rpartition("Steps:")
        assert {other: shown.count(other) for other in ends} == {other: 2 * (other == end) for other in ends}
        assert shown.count("Steps:") == 4


@pytest.mark.parametrize("function", [name for name, signature in FUNCTIONS.items() if signature.gives in ENDS])
def test_every_example_has_two_wordings_with_its_names(function):
    assert len(examples(function)) >= 3
    for example in examples(function):
        asked, _, reply = example.rpartition("Question: ")[2].partition("\nAnswer: ")
        wordings = json.loads(reply)["questions"]
        assert len({asked, *wordings}) == 3
        # the names of the steps; a name of one word may be the first of a sentence
        for name in re.findall(r"[A-Z]\w+ [A-Z]\w+", example.partition("Question:")[0].replace("Answer: ", "")):
            if name in asked:
                assert all(name in wording for wording in wordings)


def test_accepted_rejected_and_failed(script):
    good, other = "What is the number of films by Ada Berg?", " Count the movies  that Ada Berg made. "
    model = script(
        [[good, other], "no connection", [good, good], ["How many films did she make in all those years?", "What?"]]
    )
    found = ask(sources(4), model, model="m", batch=3)
    assert [len(batch) for batch in model.batches] == [3, 1]
    assert [(one["id"], one["paraphrase_of"], one["question"]) for one in found.records] == [
        ("q0-p1", "q0", good),
        ("q0-p2", "q0", "Count the movies that Ada Berg made."),
        ("q2-p1", "q2", good),
    ]
    assert all((one["program"], one["answer"], one["choices"]) == (STEPS, "8", ["8", "9"]) for one in found.records)
    assert [(one.id, one.text, one.reason) for one in found.rejected] == [
        ("q2", good, "a copy"),
        ("q3", "How many films did she make in all those years?", "a name is lost"),
        ("q3", "What?", "too short or too long"),
    ]
    assert found.failures == {"q1": "no connection"}
    assert found.reasons == {"a copy": 1, "a name is lost": 1, "too short or too long": 1}
    assert found.rejected_share == 0.5
    assert (found.usage.calls, found.usage.failed) == (3, 1)
    said = found.text()
    for part in (
        "3 paraphrases of 2 of 4",
        "rejected: 3 wordings (50%)",
        "  1: a copy",
        "1 questions; the first, q1: no",
    ):
        assert part in said
    told = found.to_json()
    assert told["rejected_texts"][0] == {"id": "q2", "text": good, "reason": "a copy"}
    assert (told["accepted"], told["rejected"], told["questions"]) == (3, 3, 4)


def test_a_paraphrase_has_no_phrasings_of_atlas(script):
    """They are the templates of the original's words."""
    one = record(phrasings=["ask: a"])
    source = Source(Question.from_json(one, "q0", "item 0"), one)
    found = ask([source], script([["What is the number of films by Ada Berg?", "?"]]), model="m")
    assert set(found.records[0]) == set(one) - {"phrasings"} | {"id", "paraphrase_of"}


def test_more_samples_keep_those_of_fewer():
    some = sources(30)
    few, many = choose(some, 7, seed=1), choose(some, 20, seed=1)
    assert len(few) == 7
    assert {one.question.id for one in few} < {one.question.id for one in many}
    assert few == sorted(few, key=some.index)
    assert few != choose(some, 7, seed=2)
    assert choose(some, None, seed=1) == choose(some, 99, seed=1) == some


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.json").write_text(json.dumps([record(), record(1)]))
    (tmp_path / "val.json").write_text(json.dumps([record(2)]))
    return tmp_path


def test_written_paraphrases_are_read_with_the_questions(folder, script):
    found = read_sources(folder)
    assert [one.question.id for one in found] == ["train-000000", "train-000001", "val-000000"]
    records = ask(found, script([["What is the number of films by Ada Berg?", "?"]] * 3), model="m").records
    write_records(folder / "paraphrases.json", records)
    assert (folder / "paraphrases.json").read_text().count("\n") == 5
    read = read_questions(folder).questions
    assert [(one.id, one.paraphrase_of, one.group) for one in read[2:5]] == [
        ("val-000000", None, "val-000000"),
        ("train-000000-p1", "train-000000", "train-000000"),
        ("train-000001-p1", "train-000001", "train-000001"),
    ]
    assert [one.question.id for one in read_sources(folder)] == [one.question.id for one in found]
    write_records(folder / "none.json", [])
    assert json.loads((folder / "none.json").read_text()) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"paraphrase_of": "train-000009"}, "'train-000009' is no question before it"),
        ({"answer": "9"}, "has another program or answer than its original, .*train.json: item 0"),
        ({"program": STEPS[:2] + [{**STEPS[2], "function": "What"}]}, "has another program or answer"),
        ({"id": "val-000000"}, "id 'val-000000' is that of .*val.json: item 0"),
        ({"id": ""}, "id is '', allowed: a non-empty text"),
        ({"id": None}, "id is None"),
        ({"paraphrase_of": 3}, "paraphrase_of is 3"),
    ],
)
def test_paraphrases_of_other_files_are_refused(folder, change, problem):
    good = record(id="p", paraphrase_of="train-000000")
    (folder / "paraphrases.json").write_text(json.dumps([{**good, **change}]))
    with pytest.raises(DataError, match=problem):
        read_questions(folder)
    read = read_questions(folder, skip_bad=True)
    assert len(read.questions) == 3
    [bad] = read.malformed
    assert bad.where.endswith("paraphrases.json: item 0")


def test_a_paraphrase_of_a_paraphrase_is_refused(folder):
    first = record(id="p", paraphrase_of="train-000000")
    second = record(id="pp", paraphrase_of="p")
    (folder / "paraphrases.json").write_text(json.dumps([first, second]))
    with pytest.raises(DataError, match="item 1: paraphrase_of 'p' is a paraphrase itself"):
        read_questions(folder)


def test_bad_sources(tmp_path):
    file = tmp_path / "questions.json"
    with pytest.raises(DataError, match=r"questions.json: no such file or folder"):
        read_sources(file)
    with pytest.raises(DataError, match=r"has no questions, expected train.json or val.json"):
        read_sources(tmp_path)
    file.write_text("[]")
    with pytest.raises(DataError, match=r"questions.json: has no questions"):
        read_sources(file)
    file.write_text(json.dumps([record(), {"question": "?"}]))
    with pytest.raises(DataError, match="item 1: field 'program' is missing"):
        read_sources(file)
    file.write_text(json.dumps([{**record(), "program": STEPS[:2]}]))
    with pytest.raises(ProgramError, match="must end in an answer"):
        read_sources(file)
    file.write_text(json.dumps([record(), record(3, id="p", paraphrase_of="questions-000000")]))
    assert [one.question.id for one in read_sources(file)] == ["questions-000000"]
