"""`bgr data build --verbalizer`: with a model of random output, the dataset is that of the templates, and says so."""

from __future__ import annotations

import json

import pytest

from bgr.cli import main
from bgr.data.reasongraphqa.verbalize import seq2seq
from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator


def build(source, out, encoder, *more):
    arguments = ["--kqapro", str(source), "--out", str(out), "--similarity", str(encoder), "--limit", "6"]
    return main(["data", "build", *arguments, "--candidates", "8", "--candidates-min", "6", *more])


def sheet(out):
    return json.loads((out / "dataset.json").read_text())


@pytest.mark.workflow
def test_nonsense_falls_back_and_is_counted(tmp_path, source, small_encoder, small_t5, capsys):
    assert build(source, tmp_path / "plain", small_encoder) == 0
    assert "verbalized by" not in capsys.readouterr().out
    assert build(source, tmp_path / "data", small_encoder, "--verbalizer", str(small_t5)) == 0
    plain, found = sheet(tmp_path / "plain"), sheet(tmp_path / "data")
    assert found["sha256"] == plain["sha256"]
    wording = found.pop("wording")
    assert found == plain  # without the option nothing in the sheet speaks of it
    units = found["facts"]["units"]
    assert wording["model"] == small_t5.name
    assert wording["units"] == wording["by_templates"] == units
    assert wording["candidates"] == 4 * units == wording["candidates_unfinished"] + wording["candidates_incomplete"]
    said = capsys.readouterr().out
    assert f"verbalized by {small_t5.name}: 0 of {units} sentences" in said
    assert not (tmp_path / "data.part").exists()


class Interrupted(Exception):
    pass


@pytest.mark.workflow
def test_an_interrupted_build_goes_on_and_mixes_nothing(tmp_path, source, small_encoder, small_t5, monkeypatch, capsys):
    """A build stopped in the third chunk reuses two chunks; with another number of candidates, none."""
    monkeypatch.setattr(seq2seq, "CHUNK", 4)
    generate = Seq2seqGenerator.__call__
    calls = []

    def run(out, *more, stop_after=None):
        calls.clear()

        def counted(self, lines):
            if len(calls) == stop_after:
                raise Interrupted
            calls.append(lines)
            return generate(self, lines)

        monkeypatch.setattr(Seq2seqGenerator, "__call__", counted)
        assert build(source, tmp_path / out, small_encoder, "--verbalizer", str(small_t5), *more) == 0
        return len(calls)

    whole = run("whole")
    assert whole > 3
    with pytest.raises(Interrupted):
        run("data", stop_after=2)
    assert len(list((tmp_path / "data.part").glob("*.sentences"))) == 2
    assert run("data") == whole - 2
    assert sheet(tmp_path / "data") == sheet(tmp_path / "whole")
    with pytest.raises(Interrupted):
        run("other", stop_after=2)
    assert run("other", "--verbalizer-candidates", "1") == whole
    assert sheet(tmp_path / "other")["wording"]["candidates_per_unit"] == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--verbalizer", "/no/such/folder"], "/no/such/folder: no such folder"),
        (["--verbalizer", "ENCODER"], "allowed: an encoder-decoder"),
        (["--verbalizer", "EMPTY"], "config.json: no such file"),
        (["--verbalizer", "T5", "--verbalizer-candidates", "0"], "0 candidates for a fact, allowed: 1 or more"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, source, small_encoder, small_t5, capsys, more, said):
    (tmp_path / "empty").mkdir()
    places = {"ENCODER": str(small_encoder), "T5": str(small_t5), "EMPTY": str(tmp_path / "empty")}
    before = sorted(tmp_path.iterdir())
    assert build(source, tmp_path / "data", small_encoder, *[places.get(word, word) for word in more]) == 1
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert said in error[0]
    assert sorted(tmp_path.iterdir()) == before
