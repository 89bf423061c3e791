"""Files that the code of version 0.1 wrote: read, migrated when they are changed, or refused with what to do.

The collections hold six passages with vectors of hashed words; those of format 1 have no hashes.
"""

import json
import shutil
from pathlib import Path

import pytest

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.collection.folder import read_manifest
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import BgrError
from bgr.llm.interface import Message, Request
from bgr.llm.replay import Replay, key_of
from bgr.pipeline import BgrPipeline

FILES = Path(__file__).parent / "files_0_1"


@pytest.fixture
def copy(tmp_path):
    """``copy("collection-1")``: a copy, since opening may write beside the files."""
    return lambda name: Path(shutil.copytree(FILES / name, tmp_path / name))


@pytest.mark.parametrize("name", ["collection-1", "collection-2"])
def test_collections_are_read_and_take_the_present_format_when_changed(name, copy, word_encoder):
    folder = copy(name)
    collection = Collection.open(folder, encoder=word_encoder, key="words")
    [hits] = collection.hybrid.search(["Who directed Persona?"], k=1)
    assert collection.corpus[hits.indices[0]].text == "Bergman directed Persona ."
    collection.add([{"id": "new", "title": "", "text": "Persona was shown in 1966 ."}])
    assert json.loads((folder / "manifest.json").read_text())["format"] == 3
    [hits] = Collection.open(folder, encoder=word_encoder, key="words").hybrid.search(["shown in 1966"], k=1)
    assert collection.corpus[hits.indices[0]].id == "new"
    collection.compact()
    assert all(piece.sha256 for piece in read_manifest(folder).pieces)
    assert main(["verify", str(folder)]) == 0


def test_a_collection_of_format_2_is_compared_with_its_hashes(copy, word_encoder):
    folder = copy("collection-2")
    path = folder / "segment-000001" / "vectors.npy"
    raw = bytearray(path.read_bytes())
    raw[-3] ^= 1
    path.write_bytes(raw)
    with pytest.raises(BgrError, match=r"vectors\.npy: not what was written"):
        Collection.open(folder, encoder=word_encoder, key="words").dense.search(["Persona"], k=1)


def test_a_replay_cache_is_read(tmp_path):
    shutil.copy(FILES / "replies-1.db", tmp_path)
    with Replay(tmp_path / "replies-1.db", replay_only=True) as replay:
        found = replay.get(key_of("tiny", Request("step", (Message("user", "Which?"),))))
        assert found is not None
        assert (found.text, found.tokens_in, found.tokens_out) == ("Persona", 7, 3)


def test_a_dataset_is_read_and_compared_with_its_hash(copy):
    folder = copy("dataset")
    [example] = load_split(folder, "test")
    assert (example.answer, sorted(example.graph.edges)) == ("alpha", [(-1, 0), (0, 1)])
    assert main(["verify", str(folder)]) == 0
    with (folder / "test.jsonl").open("a") as file:
        file.write("\n")
    assert main(["verify", str(folder)]) == 1


def test_a_checkpoint_is_refused_in_one_line(copy, random_checkpoint, tmp_path):
    folder = shutil.copytree(random_checkpoint, tmp_path / "run")
    shutil.copy(FILES / "checkpoint-1" / "bgr.json", folder)
    with pytest.raises(BgrError, match="format") as error:
        BgrPipeline.from_pretrained(folder)
    assert "\n" not in str(error.value)
    assert "train" in str(error.value)
