"""`bgr collection triples` from its arguments to its files; the language model is a server on loopback."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date

import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.openie import read_openie
from bgr.collection.triples.triple import Triple
from bgr.data.kb.schema import Value
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE
from bgr.llm.replay import Replay

PASSAGES = [{"title": f"Title {n}", "text": f"Text number {n}."} for n in range(6)]
WHOLES = Corpus(Passage(str(n), one["title"], one["text"]) for n, one in enumerate(PASSAGES))


class Model:
    """States one triple of each passage, and of the last a row that is none; `bad` are passages of which it writes a
    poem. After `stop` calls it runs `kill` and hangs up."""

    def __init__(self):
        self.asked: list[int] = []
        self.bad: set[int] = set()
        self.stop = -1
        self.kill: Callable[[], None] | None = None
        self.long = ""

    def write(self, request):
        number = int(request["messages"][0]["content"].rsplit("number ", 1)[1].split(".")[0])
        if len(self.asked) == self.stop and self.kill is not None:
            kill, self.kill = self.kill, None
            kill()
            return None
        self.asked.append(number)
        if number in self.bad:
            return "a poem"
        rows = [[f"E{number}", "has", f"thing{self.long}"], *([["two", "parts"]] if number == 5 else [])]
        return {"entities": [f"E{number}"], "triples": rows}


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def server(chat_server, model):
    return chat_server(model.write).spec


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "corpus.json").write_text(json.dumps(PASSAGES))
    return tmp_path / "corpus.json"


@pytest.fixture
def extract(tmp_path, corpus, server):
    return [
        "collection",
        "triples",
        "extract",
        "--corpus",
        corpus,
        "--llm",
        server,
        "--out",
        tmp_path / "out" / "t.json",
    ]


@pytest.fixture
def refused(bgr):
    def call(*words):
        code, out, error = bgr(*words)
        assert (code, out) == (1, "")
        assert error.startswith("bgr collection: error: ")
        return error

    return call


def test_replies_without_a_count_of_tokens_are_told(tmp_path, bgr, corpus, model, chat_server):
    spec = chat_server(model.write, usage={}).spec
    _, out, _ = bgr("collection", "triples", "extract", "--corpus", corpus, "--llm", spec, "--out", tmp_path / "t.json")
    assert "tokens read 0, written 0 (replies without a count: 7); " in out


def test_extracted_failed_and_run_again(tmp_path, bgr, extract, model):
    model.bad = {2, 4}
    code, out, _ = bgr(*extract)
    assert code == 0
    assert "4 triples of 6 passages; rows left out: 1; passages that failed: 2 (" in out
    assert "run again to try them again" in out
    assert "calls: 9, from the cache: 0, failed: 3; tokens read 63, written 27" in out  # 2, 4 and 5 are asked twice
    file = tmp_path / "out" / "t.json"
    found = read_openie(file, WHOLES)
    assert found.triples == tuple(Triple(f"E{n}", "has", "thing", n) for n in (0, 1, 3, 5))
    assert found.bare == (2, 4)
    assert json.loads(file.read_text())["docs"][1]["extracted_entities"] == ["E1"]
    model.bad, model.asked = set(), []
    code, out, _ = bgr(*extract, "--json")
    assert sorted(model.asked) == [2, 4]
    counts = json.loads(out)
    assert (counts["passages"], counts["triples"], counts["failures"]) == (6, 6, {})
    assert read_openie(file, WHOLES).bare == ()
    before = file.read_bytes()
    assert "calls: 0, from the cache: 0," in bgr(*extract)[1]
    assert "calls: 0, from the cache: 9," in bgr(*extract, "--overwrite")[1]  # begun anew, no reply is paid for twice
    assert "calls: 0, from the cache: 2," in bgr(*extract)[1]
    assert sorted(model.asked) == [2, 4]
    assert file.read_bytes() == before


def test_the_first_passages_alone_and_then_the_rest(bgr, extract, model):
    assert "2 triples of 2 passages" in bgr(*extract, "--limit", 2)[1]
    assert "6 triples of 6 passages" in bgr(*extract, "--batch", 1)[1]
    assert sorted(model.asked) == [*range(6), 5]


@pytest.mark.workflow
def test_killed_and_run_again(tmp_path, bgr, extract, model):
    """Killed by kill -9 at the fourth call; the calls before it, whose replies are kept by then, are not made again."""
    command = [sys.executable, "-m", "bgr", *map(str, extract), "--concurrency", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:

        def kill():
            # a call may leave before the reply to the one before it is kept: on a busy machine that takes a while
            with Replay(tmp_path / "out" / "t.json.replies.db", replay_only=True) as replies:
                late = time.monotonic() + 60
                while len(replies) < 3 and time.monotonic() < late:
                    time.sleep(0.01)
            process.send_signal(signal.SIGKILL)

        model.kill, model.stop = kill, 3
    assert process.returncode == -signal.SIGKILL
    assert model.asked == [0, 1, 2]
    assert "6 triples of 6 passages" in bgr(*extract)[1]
    assert sorted(model.asked) == [*range(6), 5]


def test_what_is_in_the_way_of_an_extraction(tmp_path, extract, refused, bgr, model):
    out = tmp_path / "out" / "t.json"
    out.parent.mkdir()
    out.write_text("years of work")
    assert "exists already, and no t.json.db to resume from; give --overwrite to replace it" in refused(*extract)
    (tmp_path / "out" / "t.json.db").write_text("years of work " * 999)
    assert "t.json.db: not a file of extractions that can be used" in refused(*extract)
    assert out.read_text() == "years of work"
    assert model.asked == []
    assert "6 triples" in bgr(*extract, "--overwrite")[1]
    kept = (tmp_path / "out" / "t.json.db").read_bytes()
    assert "no such file or folder" in refused(*extract, "--llm", tmp_path / "nothing", "--overwrite")
    assert (tmp_path / "out" / "t.json.db").read_bytes() == kept
    assert "is a folder; name a file" in refused(*extract[:-1], tmp_path)
    assert "cannot be written" in refused(*extract[:-1], tmp_path / "corpus.json" / "t.json")
    assert "no such file" in refused(*extract, "--corpus", tmp_path / "none.json")
    for wrong in ([*extract, "--replay-only"], extract[:-2], [*extract, tmp_path]):
        with pytest.raises(SystemExit, match="2"):
            bgr(*wrong)
    assert "a server requires its model after the address" in refused(*extract, "--llm", "http://127.0.0.1:1/v1")
    assert "no such file or folder" in refused(*extract, "--llm", "./nothing.gguf")
    (tmp_path / "replies.db").write_text("years of work " * 999)
    assert "replies.db" in refused(*extract, "--replay", tmp_path / "replies.db")


def test_a_full_disk(tmp_path, bgr, extract, refused, model):
    model.long = "x" * 20_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))  # of any file: to the program a disk that is full
    try:
        error = refused(*extract, "--batch", 1, "--concurrency", 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "t.json" in error
    assert not (tmp_path / "out" / "t.json").exists()
    made = len(model.asked)
    assert 1 <= made < 6
    assert "6 triples of 6 passages" in bgr(*extract)[1]
    assert len(model.asked) <= 8  # 5 twice, and once more the one whose reply could not be kept


def test_check(tmp_path, corpus, bgr, refused):
    docs = [{**one, "extracted_triples": [["A", "is", f"B{n}"], ["x"]]} for n, one in enumerate(PASSAGES[:4])]
    docs[1]["extracted_triples"] = []
    docs.append({"title": "No", "text": "where.", "extracted_triples": []})
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"docs": docs}))
    check = ["collection", "triples", "check", file, "--corpus", corpus]
    code, out, _ = bgr(*check)
    assert code == 0
    assert "3 triples of 6 rows (left out: 3 not three parts); passages of the file that the corpus lacks: 1" in out
    assert "of the corpus that the file lacks: 2" in out
    assert "passages without triples: 3 of 6; entities: 4, of them in more than one passage: 1" in out
    assert "docs[0]: extracted_triples[1]: not three parts: ['x']" in out
    counts = json.loads(bgr(*check, "--json")[1])
    assert (counts["triples"], counts["malformed"], counts["passages without triples"]) == (
        3,
        {"not three parts": 3},
        3,
    )
    for raw, message in (("", "not valid JSON"), ("[]", "a list 'docs'"), ('{"docs": [{}]}', "none of its 1 passages")):
        file.write_text(raw)
        assert message in refused(*check)
    assert "no such file" in refused("collection", "triples", "check", tmp_path / "none", "--corpus", corpus)
    assert "no such file" in refused("collection", "triples", "check", file, "--corpus", tmp_path / "none")


@pytest.fixture
def dataset(tmp_path):
    """A folder with two facts, as `bgr data build` writes them."""
    facts = [
        {"head": "f1", "name": "Persona", "predicate": "cast member", "tail": "p1", "tail_name": "Bibi Andersson"},
        {
            "head": "f1",
            "name": "Persona",
            "predicate": "publication date",
            "value": Value("date", date(1966, 10, 18)).to_json(),
        },
    ]
    rows = [
        {"id": f"F{n}", "sentence": f"Sentence {n}.", "gold": True, "facts": [{**fact, "qualifiers": []}]}
        for n, fact in enumerate(facts)
    ]
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / FACTS_FILE).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "dataset" / FACTS_FILE


def test_facts(tmp_path, dataset, bgr, refused):
    out, corpus = tmp_path / "t.json", tmp_path / "facts.jsonl"
    words = ["collection", "triples", "facts", dataset.parent, "--out", out, "--corpus-out", corpus]
    assert "2 triples of 2 facts" in bgr(*words)[1]
    whole = Corpus(Passage(f"F{n}", "", f"Sentence {n}.") for n in range(2))
    assert read_openie(out, whole).triples == (
        Triple("Persona", "cast member", "Bibi Andersson", 0),
        Triple("Persona", "publication date", "1966-10-18", 1),
    )
    assert "passages without triples: 0 of 2" in bgr("collection", "triples", "check", out, "--corpus", corpus)[1]
    assert "t.json: exists already; give --overwrite" in refused(*words)
    assert "2 triples" in bgr(*words, "--overwrite")[1]
    assert "exists already; name a file" in refused(*words, "--out", tmp_path, "--overwrite")
    assert "cannot be written" in refused(*words, "--overwrite", "--out", out / "x")
    assert "no such file" in refused("collection", "triples", "facts", tmp_path / "none", "--out", tmp_path / "new")
    dataset.write_text('{"id": 3}\n')
    assert "line 1" in refused("collection", "triples", "facts", dataset.parent, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.fixture
def films(tmp_path, corpus, encoder_folder, bgr):
    """A collection of the six texts, without triples."""
    encoder = ["--encoder", encoder_folder]
    assert bgr("collection", "build", "--corpus", corpus, "--out", tmp_path / "films", *encoder)[0] == 0
    return tmp_path / "films", encoder


def test_extracted_into_a_collection_and_after_an_addition(tmp_path, bgr, films, model, server, refused):
    folder, encoder = films
    words = ["collection", "triples", "extract", folder, "--llm", server, *encoder]
    model.bad = {2}
    assert "5 triples of 6 passages" in bgr(*words)[1]
    assert ", 5 triples; corpus " in bgr("collection", "show", folder)[1]
    model.bad, model.asked = set(), []
    (tmp_path / "more.json").write_text(json.dumps([{"title": "Title 7", "text": "Text number 7."}]))
    assert "7 passages" in bgr("collection", "add", folder, "--corpus", tmp_path / "more.json", *encoder)[1]
    assert "7 triples of 7 passages" in bgr(*words)[1]
    assert sorted(model.asked) == [2, 7]
    assert "no such file or folder" in refused(*words[:4], "--llm", tmp_path / "none")
    assert json.loads(bgr("collection", "show", folder, "--json")[1])["triples"] == 7
    gone = json.loads(bgr("collection", "search", folder, "number 7", "-k", "1", "--method", "bm25", "--json")[1])
    code, out, error = bgr("collection", "delete", folder, gone[0]["passages"][0]["id"])
    assert (code, error) == (0, "")
    assert ", 6 triples; corpus " in out
    assert "hold what was written" in bgr("collection", "verify", folder)[1]
    assert "calls: 0, " in bgr(*words, "--overwrite")[1]  # no reply is paid for twice


def test_imported_into_a_collection(tmp_path, corpus, bgr, films, refused):
    folder, encoder = films
    docs = [{**one, "extracted_triples": [["A", "is", f"B{n}"]]} for n, one in enumerate(PASSAGES)]
    (tmp_path / "t.json").write_text(json.dumps({"docs": docs}))
    (tmp_path / "none.json").write_text(json.dumps({"docs": [{"title": "No", "text": "one", "extracted_triples": []}]}))
    words = ["collection", "triples", "import", folder]
    out = bgr(*words, tmp_path / "t.json", *encoder)[1]
    assert ", 6 triples; corpus " in out
    assert "t.json: 6 triples of 6 rows" in out
    before = (folder / "manifest.json").read_bytes()
    assert "none of its 1 passages is in the corpus" in refused(*words, tmp_path / "none.json", *encoder)
    assert "built with encoder" in refused(*words, tmp_path / "t.json")  # the packaged one is another
    assert (folder / "manifest.json").read_bytes() == before
    assert "6 triples of 6 rows" in bgr("collection", "triples", "check", tmp_path / "t.json", "--corpus", folder)[1]
    built = ["collection", "build", "--corpus", corpus, "--out", tmp_path / "words", "--words-only"]
    assert "words alone, 6 triples; corpus " in bgr(*built, "--triples", tmp_path / "t.json")[1]
