"""`bgr collection` from its arguments to its folder, with a small encoder; every error is one line."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from itertools import count
from threading import Thread

import pytest

PEOPLE = [
    ("p0", "Paris", "Paris is the capital of France ."),
    ("p1", "Rome", "Rome is the capital of Italy ."),
    ("p2", "Persona", "Persona was made in Sweden by Bergman ."),
    ("p3", "", "Radium was discovered in Paris ."),
]
QUESTION = "Where was Radium discovered ?"


def write(path, rows):
    path.write_text("".join(json.dumps(dict(zip(("id", "title", "text"), row, strict=True))) + "\n" for row in rows))
    return path


@pytest.fixture
def corpus(tmp_path):
    return write(tmp_path / "corpus.jsonl", PEOPLE)


@pytest.fixture
def good(bgr):
    def call(*words):
        code, out, error = bgr("collection", *words)
        assert code == 0, error
        return out

    return call


@pytest.fixture
def refused(bgr):
    """The one line of a refusal."""

    def call(*words):
        code, out, error = bgr("collection", *words)
        assert (code, out) == (1, "")
        assert error.startswith("bgr collection: error: ")
        return error

    return call


@pytest.fixture
def misused(bgr, capsys):
    """The one line about wrong usage."""

    def call(*words):
        with pytest.raises(SystemExit, match="2"):
            bgr("collection", *words)
        out, error = capsys.readouterr()
        assert out == ""
        assert error.startswith("bgr collection ")
        assert error.count("\n") == 1
        return error

    return call


@pytest.fixture
def folder(tmp_path, corpus, encoder_folder, good):
    assert "index: 4 passages, vectors of 16 numbers of single precision; corpus " in good(
        "build", "--corpus", corpus, "--out", tmp_path / "index", "--encoder", encoder_folder
    )
    return tmp_path / "index"


def found(text):
    return [[one["id"] for one in row["passages"]] for row in json.loads(text)]


def test_build_search_add_delete_compact_verify(tmp_path, folder, encoder_folder, good):
    encoder = ["--encoder", encoder_folder]
    rows = json.loads(good("search", folder, QUESTION, "capital of Italy", "-k", "2", "--method", "bm25", "--json"))
    assert [row["question"] for row in rows] == [QUESTION, "capital of Italy"]
    assert [row["passages"][0]["id"] for row in rows] == ["p3", "p1"]
    assert rows[0]["passages"][0].keys() == {"score", "id", "title", "text"}
    # a passage's own words are nearest to it
    assert found(good("search", folder, PEOPLE[3][2], "-k", "1", "--method", "dense", "--json", *encoder)) == [["p3"]]
    text = good("search", folder, QUESTION, "-k", "3", *encoder).splitlines()
    assert text[0] == f"{QUESTION} (hybrid)"
    assert len(text) == 4
    new = write(tmp_path / "new.jsonl", [("p9", "Alpha", "Alpha is the capital of Sweden .")])
    assert "5 passages" in good("add", folder, "--corpus", new, *encoder)
    assert found(good("search", folder, "Alpha", "-k", "1", "--method", "bm25", "--json")) == [["p9"]]
    assert "3 passages, 2 deleted" in good("delete", folder, "p0", "p2")
    shown = json.loads(good("show", folder, "--json"))
    assert (shown["passages"], shown["deleted"], shown["dimensions"]) == (3, 2, 16)
    assert list(shown["segments"].values()) == [4, 1]
    assert "segment-000002: 1 passages" in good("show", folder)
    assert "17 files of" in good("verify", folder)
    assert "3 passages, vectors" in good("compact", folder)
    left = write(tmp_path / "left.jsonl", [PEOPLE[1], PEOPLE[3], ("p9", "Alpha", "Alpha is the capital of Sweden .")])
    counts = json.loads(good("verify", folder, "--corpus", left, "--json"))
    assert (counts["files"], counts["unhashed"]) == (8, [])


def test_words_alone_need_no_encoder(tmp_path, corpus, good, refused, misused):
    folder = tmp_path / "words"
    assert "4 passages, words alone" in good("build", "--corpus", corpus, "--out", folder, "--words-only")
    assert good("search", folder, QUESTION).splitlines()[0] == f"{QUESTION} (bm25)"
    assert "no vectors; build it again with an encoder" in refused("search", folder, QUESTION, "--method", "dense")
    assert "words alone, and nothing is encoded: leave out --ray" in refused(
        "add", folder, "--corpus", corpus, "--ray", "local"
    )
    options = ["--corpus", corpus, "--out", tmp_path / "more", "--words-only"]
    assert "leave out --encoder, --half and --ray" in misused("build", *options, "--half")


def test_published_corpora_get_ids_of_their_text(tmp_path, good):
    hippo = tmp_path / "hippo.json"
    hippo.write_text(json.dumps([{"title": title, "text": text} for _, title, text in PEOPLE]))
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"title": t, "text": text, "idx": 1}) + "\n" for _, t, text in PEOPLE))
    titles = tmp_path / "titles.json"
    titles.write_text(json.dumps({title: [text] for _, title, text in PEOPLE}))
    ids = []
    for file in (hippo, lines, titles):
        good("build", "--corpus", file, "--out", tmp_path / file.stem, "--words-only")
        ids += found(good("search", tmp_path / file.stem, QUESTION, "-k", "1", "--json"))
    assert ids[0] == ids[1] == ids[2]
    assert len(ids[0][0]) == 20


def test_documents_by_the_sentence(tmp_path, good, misused):
    folder = tmp_path / "sentences"
    long = write(tmp_path / "long.jsonl", [("p", "Persona", "It was made in Sweden. Bergman made it.")])
    words = ["--corpus", long, "--sentences", "--words-only"]
    assert "2 passages" in good("build", *words, "--out", folder)
    assert found(good("search", folder, "Bergman", "-k", "1", "--json")) == [["p#1"]]
    more = write(tmp_path / "more.jsonl", [("q", "", "One. Two. Three.")])
    assert "5 passages" in good("add", folder, "--corpus", more, "--sentences")
    options = ["--triples", tmp_path / "openie.json", "--out", folder, "--overwrite"]
    assert "--triples belong to whole texts" in misused("build", *words, *options)


def test_the_facts_of_a_dataset(tmp_path, good, refused):
    fact = {"head": "p", "name": "Persona", "predicate": "director", "tail": "b", "tail_name": "Bergman"}
    first = json.dumps({"id": "F0", "sentence": "Bergman made Persona.", "gold": True, "facts": [fact]})
    (tmp_path / "facts.jsonl").write_text(f"{first}\n")
    good("build", "--corpus", tmp_path, "--out", tmp_path / "facts", "--words-only")
    [shown] = json.loads(good("search", tmp_path / "facts", "Who made Persona?", "--json"))
    assert [(one["id"], one["title"], one["text"]) for one in shown["passages"]] == [
        ("F0", "", "Bergman made Persona.")
    ]
    (tmp_path / "facts.jsonl").write_text(f"{first}\n{first}\n")
    assert "facts.jsonl" in refused("build", "--corpus", tmp_path, "--out", tmp_path / "more", "--words-only")


def test_what_is_no_corpus(tmp_path, corpus, refused):
    out = ["--out", tmp_path / "out", "--words-only"]
    for raw, message in (
        (b"", "has no record"),
        (b"\n{", "not valid JSON"),
        (b"[1]", "item 0"),
        (b'{"id": "a"}', "text is missing"),
        (b'{"id": "a", "text": "b", "url": "c"}', "unknown key 'url'"),
        (corpus.read_bytes()[:-9], "corpus.jsonl:4: not valid JSON"),
        (corpus.read_bytes() * 2, "corpus.jsonl:5: the id 'p0' stands in line 1 already"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100_000, "nested too deeply"),
    ):
        corpus.write_bytes(raw)
        assert message in refused("build", "--corpus", corpus, *out)
    assert "nothing.jsonl: no such file" in refused("build", "--corpus", tmp_path / "nothing.jsonl", *out)
    assert "cannot be read" in refused("build", "--corpus", tmp_path, *out)
    assert not (tmp_path / "out").exists()


def test_a_folder_in_the_way(tmp_path, corpus, good, refused):
    options = ["build", "--corpus", corpus, "--words-only", "--out"]
    good(*options, tmp_path / "index")
    assert "a collection is there already; open it, or build with overwrite" in refused(*options, tmp_path / "index")
    good(*options, tmp_path / "index", "--overwrite")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for more in ([], ["--overwrite"]):
        assert "not empty (thesis.txt), and not a collection; name a new folder" in refused(
            *options, tmp_path / "mine", *more
        )
        assert "not a folder" in refused(*options, tmp_path / "mine" / "thesis.txt", *more)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    assert "cannot be written" in refused(*options, tmp_path / "mine" / "thesis.txt" / "index")
    for word in (["show"], ["verify"], ["compact"], ["delete", "p0"], ["search", "question"]):
        assert "no collection is there (no manifest.json); build it first" in refused(
            word[0], tmp_path / "mine", *word[1:]
        )


def test_another_corpus_or_encoder(tmp_path, folder, corpus, encoder_folder, refused, make_other):
    for words in (["search", folder, QUESTION], ["add", folder, "--corpus", make_other["corpus"]]):
        error = refused(*words, "--encoder", make_other["encoder"])
        assert "built with encoder" in error
        assert "build the collection again with overwrite, or open it with what it was built from" in error
    error = refused("verify", folder, "--corpus", make_other["corpus"])
    assert "built from 4 passages" in error
    assert "build the collection again" in error
    assert "no such folder" in refused("search", folder, QUESTION, "--encoder", tmp_path / "none")
    assert "not an encoder" in refused("search", folder, QUESTION, "--encoder", folder)


@pytest.fixture
def make_other(tmp_path, encoder_folder):
    """Another corpus, and another encoder."""
    other = tmp_path / "encoder"
    shutil.copytree(encoder_folder, other)
    (other / "notes.txt").write_text("a file more, another encoder")
    return {"corpus": write(tmp_path / "other.jsonl", [("q", "", "another")]), "encoder": other}


def test_changes_that_are_refused_change_nothing(tmp_path, folder, corpus, encoder_folder, good, refused):
    before = (folder / "manifest.json").read_bytes()
    assert "two passages have the id 'p0'; nothing was added" in refused(
        "add", folder, "--corpus", corpus, "--encoder", encoder_folder
    )
    assert "no passage has the id 'zz'; nothing was deleted" in refused("delete", folder, "p0", "zz")
    assert (folder / "manifest.json").read_bytes() == before
    assert "17 files" not in good("verify", folder)


def test_a_damaged_file(folder, encoder_folder, refused, good):
    file = folder / "segment-000001" / "vectors.npy"
    raw = bytearray(file.read_bytes())
    raw[-3] ^= 64
    file.write_bytes(raw)
    for word in ("verify", "compact"):
        if word == "compact":  # of one segment there is nothing to make one of
            good("delete", folder, "p0")
        assert "segment-000001/vectors.npy: not what was written (damaged or changed); build the" in refused(
            word, folder
        )
    file.write_bytes(raw[:-3])
    for words in (["show"], ["verify"], ["search", QUESTION, "--encoder", encoder_folder]):
        assert "vectors.npy: damaged or cut short; build the collection again" in refused(words[0], folder, *words[1:])
    (folder / "manifest.json").write_text('{"format": 7}')
    assert "format 7, this version reads 1 to 3; build the collection again" in refused("show", folder)


def test_a_full_disk(tmp_path, good, refused):
    rows = [(f"p{n}", "", f"fact {n} " + "long " * 100) for n in range(400)]
    corpus = write(tmp_path / "corpus.jsonl", rows)
    words = ["build", "--corpus", corpus, "--out", tmp_path / "index", "--words-only"]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # of any file: to the program a disk that is full
    try:
        error = refused(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "passages.jsonl: cannot be written: File too large" in error
    assert "no collection is there" in refused("show", tmp_path / "index")
    good(*words)
    assert "7 files of" in good("verify", tmp_path / "index")


@pytest.mark.workflow
def test_milvus(tmp_path, folder, encoder_folder, good, refused, misused):
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed (pip install pymilvus milvus-lite)")
    there = ["--milvus", tmp_path / "m.db", "--encoder", encoder_folder]
    search = ["search", folder, QUESTION, PEOPLE[1][2], "--json"]
    assert "collection passages: no such collection; build it first" in refused(*search, *there)
    assert "m.db, collection passages: 4 vectors" in good("upload", folder, *there)
    assert "is there already" in refused("upload", folder, *there)
    for method in ("dense", "hybrid"):
        here = good(*search, "--method", method, "--encoder", encoder_folder)
        assert found(good(*search, "--method", method, *there)) == found(here)
    assert "bm25 searches words" in misused(*search, "--method", "bm25", *there)
    good("delete", folder, "p0")
    assert "not of the 3 passages" in refused(*search, *there)
    assert "3 vectors" in good("upload", folder, *there, "--overwrite")
    assert found(good(*search, "--method", "dense", *there))[1][0] == "p1"
    assert "--milvus is required" in misused("upload", folder)
    (tmp_path / "words.jsonl").write_text('{"id": "a", "text": "b"}\n')
    good("build", "--corpus", tmp_path / "words.jsonl", "--out", tmp_path / "words", "--words-only")
    assert "no vectors; build it again" in refused("upload", tmp_path / "words", "--milvus", tmp_path / "m.db")


KILLED = """
import os, signal, sys
from bgr.cli import main
from bgr.collection import segments
from bgr.collection.embedding import SentenceEncoder
segments.CHUNK = 2
encode, calls = SentenceEncoder.__call__, []

def counted(self, texts):
    calls.append(len(texts))
    if len(calls) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return encode(self, texts)

SentenceEncoder.__call__ = counted
main(sys.argv[2:])
print("calls", calls)
"""


@pytest.mark.slow
def test_a_build_that_was_killed_goes_on(tmp_path, corpus, encoder_folder):
    words = ["collection", "build", "--corpus", corpus, "--out", tmp_path / "index", "--encoder", encoder_folder]

    def run(stop):
        command = [sys.executable, "-c", KILLED, str(stop), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run(2).returncode == -signal.SIGKILL
    second = run(99)
    assert second.returncode == 0, second.stderr
    assert "4 passages" in second.stdout
    assert second.stdout.splitlines()[-1] == "calls [2]"  # the first two are not encoded again


def test_options_may_stand_between_positional_words(tmp_path, corpus, good):
    good("build", "--words-only", "--corpus", corpus, "--out", tmp_path / "index")
    expected = found(good("search", tmp_path / "index", QUESTION, "Italy", "-k", "1", "--json"))
    for words in (["-k", "1", "--json", QUESTION, "Italy"], [QUESTION, "--json", "-k", "1", "Italy"]):
        assert found(good("search", tmp_path / "index", *words)) == expected
    assert found(good("search", "-k", "1", "--json", "--", tmp_path / "index", QUESTION, "Italy")) == expected


def test_the_former_word_is_understood(tmp_path, corpus, bgr):
    assert bgr("index", "build", "--corpus", corpus, "--out", tmp_path / "index", "--words-only")[0] == 0
    assert "4 passages, words alone" in bgr("collection", "show", tmp_path / "index")[1]


def test_truncated_texts_are_counted(tmp_path, corpus, encoder_folder, bgr, monkeypatch):
    monkeypatch.setattr("bgr.collection.embedding.PASSAGE_TOKENS", 10)
    folder, words = tmp_path / "collection", ("--encoder", encoder_folder)
    code, out, _ = bgr("collection", "build", "--corpus", corpus, "--out", folder, *words)
    assert code == 0
    # only Persona's, with its title nine words and two special tokens, is longer than ten
    assert out.strip().endswith("; truncated: 1 of 4 encoded texts (25.00 %)")
    code, out, error = bgr("collection", "search", folder, QUESTION, "?", *words)
    assert "truncated" not in out + error
    code, out, error = bgr("collection", "search", folder, QUESTION + " " + QUESTION, "?", *words)
    assert (code, "truncated" in out) == (0, False)
    assert "truncated: 1 of 2 questions (50.00 %)" in error.splitlines()


@pytest.fixture
def pipe(tmp_path):
    """``pipe(content)``: a new pipe that gives the content once; a second reader finds it empty."""
    number = count()

    def make(content):
        path = tmp_path / f"pipe-{next(number)}"
        os.mkfifo(path)

        def write():
            path.write_bytes(content)
            time.sleep(0.5)  # until the first reader has closed it
            path.write_bytes(b"")

        Thread(target=write, daemon=True).start()
        return path

    return make


def test_a_corpus_from_a_pipe(tmp_path, corpus, good, refused, pipe):
    folder = tmp_path / "index"
    published = json.dumps([{"title": title, "text": text} for _, title, text in PEOPLE]).encode()
    for content in (corpus.read_bytes(), published):
        assert "4 passages" in good("build", "--corpus", pipe(content), "--out", folder, "--words-only", "--overwrite")
    added = b'{"id": "x", "text": "Alpha has 3 people ."}\n'
    assert "5 passages" in good("add", folder, "--corpus", pipe(added))
    wrong = pipe(b'{"id": "y"}')
    assert f"{wrong}:1: text is missing" in refused("add", folder, "--corpus", wrong)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"[]", b"{}"])
def test_an_empty_corpus_replaces_nothing(tmp_path, corpus, good, refused, pipe, content):
    folder, empty = tmp_path / "index", tmp_path / "empty.json"
    good("build", "--corpus", corpus, "--out", folder, "--words-only")
    empty.write_bytes(content)
    for given in (lambda: empty, lambda: pipe(content)):
        for words in (["build", "--out", folder, "--words-only", "--overwrite"], ["add", folder]):
            path = given()
            assert f"{path}: " in (said := refused(*words, "--corpus", path))
            assert "allowed: " in said
    assert "4 passages" in good("show", folder)
