"""Questions over a collection, from Python and with `bgr ask`."""

import io
import json
import shutil

import pytest

from bgr.ask import Asking
from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.collection.corpus import Passage
from bgr.errors import DataError
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.options import AskOptions
from bgr.utils.options import OptionsError

DOCUMENTS = [
    {"id": "p1", "title": "Persona", "text": "Persona was made in Sweden ."},
    {"id": "p2", "title": "", "text": "Rome lies in Italy ."},
    {"id": "p3", "title": "Paris", "text": "Paris lies in France ."},
    {"id": "p4", "title": "Alpha", "text": "Alpha has 3 people ."},
    {"id": "p5", "title": "Sweden", "text": "Sweden is a country with a capital ."},
]
QUESTION = "In which country was Persona made ?"
NOTHING = "Qwertz ?"


@pytest.fixture
def films(tmp_path):
    return Collection.build(DOCUMENTS, tmp_path / "films", encoder=None)


@pytest.fixture(scope="module")
def pipeline(pruned_checkpoint):
    return BgrPipeline.from_pretrained(pruned_checkpoint)


@pytest.fixture
def ask(pruned_checkpoint, films):
    """``ask(*words)``: the words of the command with a checkpoint and a collection."""
    given = ["--checkpoint", str(pruned_checkpoint), "--collection", str(films.folder)]
    return lambda *words: ["ask", *given, *map(str, words)]


def test_the_candidates_are_documents_of_the_collection(pipeline, films):
    answer = pipeline.answer(QUESTION, films)
    [hits] = pipeline.search_over(films).search([QUESTION], 200)
    assert answer.documents == tuple(films.corpus[index] for index in hits.indices)
    assert answer.facts == tuple(document.whole for document in answer.documents)
    assert answer.graph == pipeline.answer(QUESTION, answer.facts).graph
    for one, number in zip(answer.to_json()["evidence"], answer.graph.order(), strict=True):
        document = answer.documents[number]
        assert one == {"fact": number, "id": document.id, "title": document.title, "text": document.whole}
    assert len(pipeline.answer(QUESTION, films, pool=1).facts) == 1


def test_results_number_the_collection(pipeline, films):
    [found, nothing] = pipeline.over(films).retrieve([Query(QUESTION), Query(NOTHING)])
    answer = pipeline.answer(QUESTION, films)
    assert set(found.graph.nodes) == {films.corpus.index_of[answer.documents[n].id] for n in answer.graph.nodes}
    assert all(isinstance(films.corpus[index], Passage) for index in found.indices)
    assert not nothing.graph.nodes
    assert nothing.texts == ()


def test_lower_case_finds_the_same_candidates(pipeline, films):
    [typed] = pipeline.search_over(films).search([QUESTION.lower()], 200)
    [given] = pipeline.search_over(films).search([QUESTION], 200)
    assert set(typed.indices.tolist()) == set(given.indices.tolist())


def test_no_candidate_is_not_answerable(pipeline, films):
    for collection in (films, Collection.in_memory([], encoder=None)):
        answer = pipeline.answer(NOTHING, collection)
        assert not answer.graph.nodes
        assert (answer.text, answer.facts, answer.documents) == (None, (), ())
        assert json.loads(json.dumps(answer.to_json()))["evidence"] == []


def test_together_as_alone_with_and_without_candidates(pipeline, films):
    facts = ["Rome lies in Italy ."]
    found = pipeline.answer_all([Query(NOTHING), Query(QUESTION, facts), Query(QUESTION)], collection=films)
    assert [one.facts for one in found[:2]] == [(), tuple(facts)]
    assert found[1].documents == ()
    assert found[2].graph.edges == pipeline.answer(QUESTION, films).graph.edges


def test_bad_input_in_python(pipeline, films, random_checkpoint):
    with pytest.raises(DataError, match="query 0: the question is empty"):
        pipeline.answer(" ", films)
    with pytest.raises(DataError, match="a pool of 0 candidates, allowed: 1 to 10,000"):
        pipeline.answer(QUESTION, films, pool=0)
    with pytest.raises(DataError, match="query 1: there are no facts"):
        pipeline.answer_all([Query(QUESTION), Query(QUESTION, [])], collection=films)
    # without a pruner the search needs vectors
    with pytest.raises(DataError, match="films: the collection has no vectors"):
        BgrPipeline.from_pretrained(random_checkpoint).answer(QUESTION, films)


def test_ask_shows_ids_and_titles(ask, pipeline, films, capsys):
    answer = pipeline.answer(QUESTION, films)
    assert answer.graph.nodes
    assert main(ask(QUESTION)) == 0
    out = capsys.readouterr().out
    assert all(f"document   [{n}] {answer.documents[n].id}" in out for n in answer.graph.nodes)
    assert main(ask(QUESTION, NOTHING, "--json", "--pool", 3)) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["id"] for one in found[0]["evidence"]} <= {one["id"] for one in DOCUMENTS}
    assert found[1]["evidence"] == []
    assert main(ask(NOTHING)) == 0
    out = capsys.readouterr().out
    assert "(no evidence)" in out
    assert "document" not in out


def test_questions_from_a_pipe_and_at_a_prompt(ask, monkeypatch, capsys):
    for terminal in (False, True):
        stream = io.StringIO(f"{QUESTION}\n{NOTHING}\n")
        stream.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr("sys.stdin", stream)
        typed = iter([QUESTION, NOTHING, ""])
        monkeypatch.setattr("builtins.input", lambda prompt, typed=typed: next(typed))
        assert main(ask()) == 0
        shown = capsys.readouterr()
        assert shown.out.index(QUESTION) < shown.out.index(NOTHING)
    assert "5 texts; an empty line ends" in shown.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"facts": "f.txt", "collection": "films"}, "either as --facts or as --collection"),
        ({"facts": "f.txt", "pool": 3}, "--pool is a number of texts of a collection, and --facts are given"),
        ({"collection": "films", "pool": 0}, "--pool: 0: allowed: 1 to 10000"),
    ],
)
def test_bad_options(pruned_checkpoint, given, said):
    with pytest.raises(OptionsError, match=said):
        AskOptions(questions=["a?"], checkpoint=pruned_checkpoint, **given)


def test_bad_collections_are_one_line(pruned_checkpoint, films, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(BgrPipeline, "from_pretrained", None)  # told before anything is loaded
    Collection.build([], tmp_path / "empty", encoder=None)
    (tmp_path / "other").mkdir()
    shutil.copytree(films.folder, tmp_path / "damaged")
    (tmp_path / "damaged" / "manifest.json").write_text("{")
    for name, said in [
        ("none", "no collection is there"),
        ("other", "no collection is there"),
        ("empty", "the collection has no texts"),
        ("damaged", "not valid JSON"),
    ]:
        options = AskOptions(questions=["a?"], checkpoint=pruned_checkpoint, collection=tmp_path / name)
        with pytest.raises(DataError, match=said) as error:
            Asking(options)
        assert "\n" not in str(error.value)


def test_a_damaged_segment_is_one_line(ask, films, capsys):
    next(films.folder.glob("segment-*/passages.jsonl")).write_text("{")
    assert main(ask(QUESTION)) == 1
    [line] = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert "passages.jsonl" in line


def test_a_search_finds_the_same_in_bfloat16(pruned_checkpoint, pipeline, films):
    half = BgrPipeline.from_pretrained(pruned_checkpoint, precision="bf16")
    [found], [expected] = (one.search_over(films).search([QUESTION], 200) for one in (half, pipeline))
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.scores.tolist() == expected.scores.tolist()
    assert half.answer(QUESTION, films).facts == pipeline.answer(QUESTION, films).facts
