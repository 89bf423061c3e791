"""Files and texts that are not what they seem: repeated keys, pipes, other encodings, endless lines."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from bgr.ask import read_sentences
from bgr.cli import main
from bgr.collection.corpus import load_corpus, read_documents
from bgr.data.json_stream import read_items
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split
from bgr.data.reasongraphqa.io.fact_records import read_facts
from bgr.errors import BgrError, DataError
from bgr.models.pool_ranker import PoolRanker, RankerConfig
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.checkpoint import load_ranker
from bgr.retrievers.graph_hop.options import AskOptions
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import MAX_TEXT, parse_json
from bgr.utils.options import OptionsError
from training.seq2seq.reader import ReaderData

LONG = "x" * (MAX_TEXT + 1)


@pytest.fixture
def dataset(short_data, tmp_path):
    """A copy of the dataset whose files may be edited: ``dataset("test.jsonl", lambda text: text)``."""
    folder = shutil.copytree(short_data, tmp_path / "data")

    def edit(name, change):
        path = folder / name
        path.write_text(change(path.read_text()))
        return folder

    return edit


def test_a_file_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr("bgr.ask.MAX_FILE", 1_000)
    with pytest.raises(DataError, match="/dev/zero: more than 1,000 characters"):
        read_sentences(Path("/dev/zero"))


def test_a_key_twice_is_refused(tmp_path):
    with pytest.raises(DataError, match="here: not valid JSON: key 'rule' is repeated in an object"):
        parse_json('{"rule": "fused", "a": [{"rule": 1}], "rule": "equation"}', "here")
    path = tmp_path / "list.json"
    path.write_text('[{"a": 1}, {"b": {"a": 1, "a": 2}}]')
    for read in (read_json, lambda path: list(read_items(path))):
        with pytest.raises(DataError, match="key 'a' is repeated"):
            read(path)


def test_a_key_twice_is_found_in_a_large_object_in_linear_time():
    keys = ", ".join(f'"{n}": 0' for n in [*range(100_000), 99_999])
    began = time.process_time()
    with pytest.raises(DataError, match="key '99999' is repeated"):
        parse_json(f"{{{keys}}}", "here")
    assert time.process_time() - began < 10  # compared with each other, the keys take minutes


def test_a_key_twice_is_refused_in_a_corpus_and_in_a_dataset(dataset, tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "one", "text": "two"}\n')
    with pytest.raises(DataError, match=r"corpus.jsonl:1: .*key 'text' is repeated"):
        load_corpus(path)
    folder = dataset("dataset.json", lambda text: text.replace("{", '{"sha256": "x", ', 1))
    with pytest.raises(DataError, match=r"dataset.json: .*key 'sha256' is repeated"):
        load_split(folder, "test")


def test_a_pipe_in_place_of_a_split_is_refused(dataset):
    folder = dataset("test.jsonl", lambda text: text)
    (folder / "test.jsonl").unlink()
    os.mkfifo(folder / "test.jsonl")
    with pytest.raises(DataError, match=r"test\.jsonl: not a regular file"):
        load_split(folder, "test")


def test_an_edited_split_is_refused_until_its_hash_is_accepted(dataset):
    folder = dataset("test.jsonl", lambda text: text.rstrip() + " \n")
    with pytest.raises(DataError, match="a file was changed after the dataset was written") as error:
        load_split(folder, "dev")
    assert "\n" not in str(error.value)
    for count in ("stats", "leakage"):  # every reader of a split
        assert main(["data", count, str(folder)]) == 1
    with pytest.raises(DataError, match="a file was changed after the dataset was written"):
        ReaderData(str(folder), limit=1).setup()
    metadata = read_json(folder / "dataset.json") | {"sha256": dataset_hash(folder)}
    (folder / "dataset.json").write_text(json.dumps(metadata))
    assert load_split(folder, "dev")


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file_never_blocks(kind, tmp_path):
    path = tmp_path / "bgr.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="not a regular file"):
        read_json(path)


@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json"])
def test_a_pipe_in_a_checkpoint_never_blocks(name, small_checkpoint):
    (small_checkpoint / name).unlink(missing_ok=True)
    os.mkfifo(small_checkpoint / name)
    with pytest.raises(BgrError, match=f"{name}: not a regular file"):
        BgrPipeline.from_pretrained(small_checkpoint, device="cpu")


def test_a_pipe_in_place_of_weights_never_blocks(tmp_path):
    PoolRanker(RankerConfig()).save_pretrained(tmp_path / "ranker")
    (tmp_path / "ranker" / "model.safetensors").unlink()
    os.mkfifo(tmp_path / "ranker" / "model.safetensors")
    with pytest.raises(BgrError, match=r"model\.safetensors: not a regular file"):
        load_ranker(tmp_path)


def test_the_mark_at_the_beginning_is_no_part_of_the_first_fact(tmp_path):
    path = tmp_path / "facts.txt"
    path.write_bytes("\ufeffOne.\nTwo.\n".encode())
    assert read_sentences(path) == ["One.", "Two."]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_refused(encoding, tmp_path):
    path = tmp_path / "facts.txt"
    path.write_bytes("One.\nTwo.\n".encode(encoding))
    with pytest.raises(DataError, match=r"facts.txt: .*UTF-8") as error:
        read_sentences(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("question", "said"),
    [("Who\udcff?", "not valid UTF-8"), (LONG, "a question has 100,001 characters, allowed: 100,000 or fewer")],
)
def test_a_question_that_cannot_be_read_is_refused(question, said, tmp_path):
    with pytest.raises(OptionsError, match=said):
        AskOptions(questions=(question,), checkpoint=tmp_path, facts=tmp_path)


def test_a_pipeline_refuses_texts_that_cannot_be_read(random_checkpoint):
    pipeline = BgrPipeline.from_pretrained(random_checkpoint, device="cpu")
    for question, facts, said in (
        ("Who\udcff?", ["One."], "the question is .* not valid UTF-8"),
        ("Who?", ["One.", "\ud800"], "fact 1 is .* not valid UTF-8"),
        ("Who?", ["One.", LONG], "fact 1 has 100,001 characters"),
        ("Who?", ["One.", 2], "fact 1 is 2, allowed: a text"),
    ):
        with pytest.raises(DataError, match=said):
            pipeline.answer(question, facts)


def test_a_long_fact_is_refused_at_every_entrance(dataset, tmp_path):
    (tmp_path / "facts.txt").write_text(f"One.\n{LONG}\n")
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"id": "a", "text": LONG}) + "\n")

    def longer(text):
        record = json.loads(text.splitlines()[0])
        record["facts"][0] = LONG
        return json.dumps(record) + "\n"

    folder = dataset("test.jsonl", longer)
    dataset("facts.jsonl", lambda _: json.dumps({"id": "f", "sentence": LONG}) + "\n")
    (folder / "dataset.json").unlink()
    for read in (
        lambda: read_sentences(tmp_path / "facts.txt"),
        lambda: load_corpus(tmp_path / "corpus.jsonl"),
        lambda: read_documents([LONG]),
        lambda: load_split(folder, "test"),
        lambda: list(read_facts(folder)),
    ):
        with pytest.raises(DataError, match=r"characters") as error:
            read()
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 500
