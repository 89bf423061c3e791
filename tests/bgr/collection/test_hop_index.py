"""Names and token ids that are kept beside a collection."""

import shutil
import threading
import time

import numpy as np
import pytest
from filelock import FileLock

from bgr.collection.collection import Collection
from bgr.collection.folder import HOPS_LOCK
from bgr.errors import DataError

DOCUMENTS = [
    {"id": "p1", "title": "Persona", "text": "Persona was made by Bergman in Sweden ."},
    {"id": "p2", "title": "", "text": "Bergman was a director , and Persona a film ."},
    {"id": "p3", "title": "Rome", "text": "Rome lies in Italy ."},
]
MORE = [{"id": "p4", "title": "Paris", "text": "Paris lies in France ."}]


@pytest.fixture
def films(tmp_path):
    return Collection.build(DOCUMENTS, tmp_path / "films", encoder=None)


def kept(collection):
    """The folders of names and token ids, finished or not."""
    return sorted(path.name for path in collection.folder.iterdir() if "hops-" in path.name)


def contents(index):
    texts = np.arange(len(index.mentions))
    names = [[index.mentions.finder.names[n] for n in index.mentions.of_text(text)] for text in texts]
    return names, index.tokens.rows(texts).ids.tolist()


def test_it_is_built_once_and_the_same_in_memory(films, tokenizer):
    first = films.hop_index(tokenizer, max_tokens=8)
    assert films.hop_index(tokenizer, max_tokens=8) is first
    [name] = kept(films)
    before = {path: path.stat().st_mtime_ns for path in (films.folder / name).iterdir()}
    again = Collection.open(films.folder, encoder=None).hop_index(tokenizer, max_tokens=8)
    assert {path: path.stat().st_mtime_ns for path in (films.folder / name).iterdir()} == before
    memory = Collection.in_memory(DOCUMENTS, encoder=None).hop_index(tokenizer, max_tokens=8)
    assert contents(first) == contents(again) == contents(memory)
    assert contents(memory)[0] == [["persona"], ["persona"], ["rome"]]
    part = films.subset([1, 2]).hop_index(tokenizer, max_tokens=8)
    assert contents(part) == contents(
        Collection.in_memory(DOCUMENTS[1:], encoder=None).hop_index(tokenizer, max_tokens=8)
    )


def test_another_tokenizer_or_length_has_its_own(films, tokenizer):
    other = type(tokenizer)(tokenizer_object=tokenizer.backend_tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    other.add_tokens(["bergman's"])
    for one, length in ((tokenizer, 8), (tokenizer, 6), (other, 8)):
        films.hop_index(one, max_tokens=length)
    assert len(kept(films)) == 3
    tokenizer("a call changes what the tokenizer holds", truncation=True, max_length=3)
    Collection.open(films.folder, encoder=None).hop_index(tokenizer, max_tokens=8)
    assert len(kept(films)) == 3


@pytest.mark.parametrize("change", ["add", "delete"])
def test_a_change_of_the_texts_rebuilds_it(films, tokenizer, change):
    films.hop_index(tokenizer, max_tokens=8)
    old = kept(films)
    films.add(MORE) if change == "add" else films.delete(["p1"])
    assert kept(films) == []
    index = films.hop_index(tokenizer, max_tokens=8)
    assert len(kept(films)) == 1
    assert kept(films) != old
    texts = [*DOCUMENTS, *MORE] if change == "add" else DOCUMENTS[1:]
    assert contents(index) == contents(Collection.in_memory(texts, encoder=None).hop_index(tokenizer, max_tokens=8))
    before = kept(films)
    films.compact()  # the same texts
    assert kept(films) == before


class Stops:
    """A tokenizer that is interrupted at its first text."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)

    def __len__(self):
        return len(self.tokenizer)

    def __call__(self, *words, **more):
        raise KeyboardInterrupt


def test_an_interrupted_build_leaves_nothing_that_counts(films, tokenizer):
    with pytest.raises(KeyboardInterrupt):
        films.hop_index(Stops(tokenizer), max_tokens=8)
    assert kept(films) == []
    films.hop_index(tokenizer, max_tokens=8)
    [name] = kept(films)
    half = films.folder / f".{name}.bgr-half-abc"
    shutil.move(films.folder / name, half)  # as `kill -9` leaves it
    again = Collection.open(films.folder, encoder=None)
    again.hop_index(tokenizer, max_tokens=8)
    assert kept(films) == [name]
    half.mkdir()
    again.add(MORE)
    assert kept(films) == []


def test_a_process_waits_for_another_that_builds(films, tokenizer, capsys):
    held = threading.Event()

    def build():
        with FileLock(films.folder / HOPS_LOCK):
            held.set()
            time.sleep(0.3)

    other = threading.Thread(target=build)
    other.start()
    held.wait()
    films.hop_index(tokenizer, max_tokens=8)
    other.join()
    assert "another process prepares this collection; waiting for it" in capsys.readouterr().err
    assert len(kept(films)) == 1


def test_the_change_of_a_collection_leaves_a_running_build(films, tokenizer):
    half = films.folder / f".hops-{'0' * 16}-{'0' * 16}.bgr-half-abc"
    half.mkdir()
    with FileLock(films.folder / HOPS_LOCK):
        films.add(MORE)
        assert half.exists()
    films.delete(["p4"])
    assert not half.exists()


@pytest.mark.parametrize("name", ["names.txt", "names.npy", "texts.npy", "text_starts.npy", "ids.npy", "starts.npy"])
@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "other"])
def test_damage_is_told_with_what_to_do(films, tokenizer, name, damage):
    films.hop_index(tokenizer, max_tokens=8)
    [home] = kept(films)
    path = films.folder / home / name
    if damage == "missing":
        path.unlink()
    elif damage == "other" and name.endswith(".npy"):
        np.save(path, np.array([0, 10_000], dtype=np.load(path).dtype))
    elif damage == "other":
        path.write_bytes(b"\xff\n")
    else:
        path.write_bytes(b"" if damage == "empty" else path.read_bytes()[:-5])
    with pytest.raises(DataError, match=f"remove .*{home}, which is built again") as error:
        Collection.open(films.folder, encoder=None).hop_index(tokenizer, max_tokens=8)
    assert "\n" not in str(error.value)
    with pytest.raises(DataError, match=f"remove .*{home}, which is built again"):
        Collection.open(films.folder, encoder=None).verify()
    shutil.rmtree(path.parent)
    Collection.open(films.folder, encoder=None).hop_index(tokenizer, max_tokens=8)


def test_texts_of_another_number_are_damage(films, tokenizer):
    films.hop_index(tokenizer, max_tokens=8)
    [home] = kept(films)
    Collection.in_memory(DOCUMENTS[:2], encoder=None).hop_index(tokenizer, max_tokens=8).tokens.save(
        films.folder / home
    )
    with pytest.raises(DataError, match="names of 3 texts, token ids of 2, of 3"):
        Collection.open(films.folder, encoder=None, verify=False).hop_index(tokenizer, max_tokens=8)
    with pytest.raises(DataError, match=r"ids\.npy: damaged; remove .*, which is built again"):
        Collection.open(films.folder, encoder=None).hop_index(tokenizer, max_tokens=8)


def test_a_folder_that_cannot_be_written_is_told(films, tokenizer):
    (films.folder / HOPS_LOCK).mkdir()
    with pytest.raises(DataError, match="films: cannot be written"):
        films.hop_index(tokenizer, max_tokens=8)


def test_it_stands_in_no_ones_way(films, tokenizer):
    films.hop_index(tokenizer, max_tokens=8)
    again = Collection.build(DOCUMENTS[:1], films.folder, encoder=None, overwrite=True)
    assert kept(again) == []
    again.hop_index(tokenizer, max_tokens=8)
    again.verify()
    (films.folder / "manifest.json").unlink()
    assert len(Collection.build(DOCUMENTS, films.folder, encoder=None)) == 3


def test_an_empty_collection(tmp_path, tokenizer):
    empty = Collection.build([], tmp_path / "none", encoder=None)
    assert len(empty.hop_index(tokenizer, max_tokens=8).mentions) == 0
    assert kept(empty) == []
