"""A build that is killed and started again gives the same dataset as one that is not interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bgr.cli import main
from bgr.collection import embedding as vector_store
from bgr.collection.embedding import SentenceEncoder

KILLED_BUILDS = Path(__file__).with_name("killed_builds.py")


def check_killed_builds(source, encoder, work, first, step, recipe="paper"):
    """Check that every killed build, started again, has the hash of an uninterrupted one; returns the outcomes."""
    work.mkdir()
    command = [sys.executable, str(KILLED_BUILDS), *map(str, (source, encoder, work, recipe, first, step))]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=one_thread)
    assert ended.returncode == 0, ended.stderr[-3000:]
    report = json.loads(ended.stdout)
    assert report["code"] == 0
    for outcome in report["outcomes"]:
        assert outcome["first"] == -signal.SIGKILL, outcome
        assert outcome["again"] == 0, outcome
        assert outcome["hash"] == report["hash"], outcome
        assert outcome["left"] == [], outcome
    return report["outcomes"]


@pytest.mark.workflow
def test_killed_half_way_through_the_vectors(tmp_path, source, small_encoder):
    (outcome,) = check_killed_builds(source, small_encoder, tmp_path / "work", 16, 1000)
    assert outcome["chunks"] > 2
    assert not outcome["whole"]


@pytest.mark.workflow
def test_killed_before_every_tenth_change_on_disk(tmp_path, source, small_encoder):
    outcomes = check_killed_builds(source, small_encoder, tmp_path / "work", 0, 10, "rivals")
    assert len(outcomes) > 1
    assert outcomes[0]["chunks"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "moments"), [("paper", 30), ("rivals", 15)])
def test_killed_before_every_change_on_disk(tmp_path, source, small_encoder, recipe, moments):
    outcomes = check_killed_builds(source, small_encoder, tmp_path / "work", 0, 1, recipe)
    assert len(outcomes) > moments
    assert outcomes[0]["chunks"] == 0
    assert outcomes[-1]["whole"] is (recipe == "paper")  # which at last removes its vectors


class Interrupted(Exception):
    pass


@pytest.fixture
def build(tmp_path, source, small_encoder, monkeypatch, capsys):
    """Build in chunks of 40 sentences; gives the hash and the number of encoded chunks; raises after `stop_after`."""
    monkeypatch.setattr(
        vector_store.VectorStore.__init__, "__kwdefaults__", {"chunk": 40, "progress": False}, raising=True
    )
    encode = SentenceEncoder.__call__

    def run(out, *more, stop_after=None, encoder=small_encoder):
        calls = []

        def counted(self, texts):
            if len(calls) == stop_after:
                raise Interrupted
            calls.append(len(texts))
            return encode(self, texts)

        monkeypatch.setattr(SentenceEncoder, "__call__", counted)
        # the recipe that encodes sentences
        arguments = ["--kqapro", str(source), "--similarity", str(encoder), "--out", str(tmp_path / out)]
        assert main(["data", "build", "--recipe", "paper", *arguments, *more]) == 0
        return json.loads((tmp_path / out / "dataset.json").read_text())["sha256"], len(calls)

    return run


def test_encoded_chunks_are_reused(tmp_path, build):
    whole, chunks = build("whole")
    assert chunks > 5
    with pytest.raises(Interrupted):
        build("data", stop_after=3)
    assert not (tmp_path / "data").exists()
    assert len(list((tmp_path / "data.part").iterdir())) == 3
    assert build("data") == (whole, chunks - 3)
    assert sorted(path.name for path in tmp_path.glob("data*")) == ["data"]


def test_a_damaged_chunk_is_encoded_again(tmp_path, build):
    whole, chunks = build("whole")
    with pytest.raises(Interrupted):
        build("data", stop_after=3)
    cut, other, _ = sorted((tmp_path / "data.part").iterdir())
    cut.write_bytes(cut.read_bytes()[:100])
    other.write_bytes(other.read_bytes()[:-1] + b"?")
    assert build("data") == (whole, chunks - 1)


@pytest.mark.workflow
@pytest.mark.parametrize("changed", ["seed", "encoder", "tokens"])
def test_a_different_build_does_not_reuse_chunks(tmp_path, build, small_encoder, changed):
    """Chunks of other sentences or of another encoder are ignored."""
    other = {"seed": ("--seed", "1"), "encoder": (), "tokens": ()}[changed]
    with pytest.raises(Interrupted):
        build("data", stop_after=3)
    if changed == "encoder":
        change_weights(small_encoder)
    elif changed == "tokens":
        config = json.loads((small_encoder / "tokenizer_config.json").read_text())
        (small_encoder / "tokenizer_config.json").write_text(json.dumps({**config, "do_lower_case": False}))
    whole, chunks = build("whole", *other)
    assert build("data", *other) == (whole, chunks)


def change_weights(folder):
    from transformers import BertModel

    model = BertModel.from_pretrained(folder)
    model.embeddings.word_embeddings.weight.data.mul_(-1)
    model.save_pretrained(folder)


def test_a_users_folder_of_that_name_is_kept(tmp_path, build):
    (tmp_path / "data.part").mkdir()
    (tmp_path / "data.part" / "notes.txt").write_text("mine")
    build("data")
    assert [path.name for path in (tmp_path / "data.part").iterdir()] == ["notes.txt"]
