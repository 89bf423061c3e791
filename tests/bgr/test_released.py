"""The weights and the collection that come with the package."""

import gzip
import multiprocessing

import pytest

from bgr import released
from bgr.ask import Asking
from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.errors import BgrError
from bgr.retrievers.graph_hop.options import AskOptions
from bgr.utils.hashing import hash_files

SENTENCES = ["Rome lies in Italy .", "Persona was made in Sweden .", "Alpha has 3 people ."]


@pytest.fixture
def small_release(tmp_path, monkeypatch):
    """A release with three sentences, and an empty cache; returns the cache."""
    folder = tmp_path / "package"
    (folder / released.SENTENCES).parent.mkdir(parents=True)
    with gzip.open(folder / released.SENTENCES, "wt", encoding="utf-8") as file:
        file.writelines(f"{one}\n" for one in SENTENCES)
    monkeypatch.setattr(released, "RELEASED", folder)
    monkeypatch.setenv("BGR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_package_has_both():
    assert (released.checkpoint_folder() / "bgr.json").is_file()
    with gzip.open(released.checkpoint_folder().parent / released.SENTENCES, "rt", encoding="utf-8") as file:
        texts = file.read().splitlines()
    assert len(texts) == 146_622
    assert all(text == text.strip() and text for text in texts)


def test_a_collection_is_made_once(small_release, capsys):
    folder = released.collection_folder(progress=True)
    assert capsys.readouterr().err == f"preparing the collection of Atlas in {folder}, once\n"
    assert folder.parent == small_release / "collections"
    assert [one.text for one in Collection.open(folder).corpus] == SENTENCES
    before = hash_files(folder, ["manifest.json"])
    assert released.collection_folder(progress=True) == folder
    assert capsys.readouterr().err == ""
    assert hash_files(folder, ["manifest.json"]) == before


def test_an_interrupted_build_is_repeated(small_release, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("bgr.collection.changes.first", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            released.collection_folder()
    assert len(Collection.open(released.collection_folder()).corpus) == 3


def test_processes_make_it_at_the_same_time(small_release):
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        assert len(set(pool.map(_folder, range(4)))) == 1


def _folder(_):
    return released.collection_folder()


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BGR_CACHE", str(tmp_path / "file"))
    with pytest.raises(BgrError, match="set BGR_CACHE to another folder"):
        released.collection_folder()


def test_questions_are_asked_of_the_released_collection(small_release, pruned_checkpoint):
    asking = Asking(AskOptions(questions=("In which country was Persona made ?",), checkpoint=pruned_checkpoint))
    [answer] = asking.answers()
    assert set(answer.facts) <= set(SENTENCES)
    assert all(document.id.startswith("A0000") for document in answer.documents)


def test_the_released_weights_answer(tmp_path, capsys):
    facts = tmp_path / "facts.txt"
    facts.write_text("Fargo was directed by Joel Coen.\nSpain is governed from Madrid.\n", encoding="utf-8")
    assert main(["ask", "Who directed Fargo?", "--facts", str(facts)]) == 0
    assert "answer     Joel Coen" in capsys.readouterr().out
