"""Errors of the system and of libraries that find no memory, in one line, and suggestions for misspelled names."""

import errno

import pytest
import torch

from bgr.cli import main
from bgr.cli.parser import Command, Output, execute
from bgr.errors import BgrError, CheckpointError
from bgr.utils.error_text import did_you_mean, did_you_mean_path, is_out_of_memory, nearest, out_of_memory
from bgr.utils.options import Options


def allocated_by_torch():
    torch.empty(1 << 60)


def refused_after_another():
    try:
        raise RuntimeError("could not create a primitive")
    except RuntimeError as error:
        raise CheckpointError(f"run: cannot be loaded: {error}") from None


def raised(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize(
    "act",
    [
        allocated_by_torch,
        refused_after_another,
        raised(MemoryError()),
        raised(OSError(errno.ENOMEM, "Cannot allocate memory")),
        raised(RuntimeError("can't start new thread")),
        raised(RuntimeError("std::bad_alloc")),
    ],
)
def test_a_command_without_memory_says_what_to_lower(act):
    def run(options):
        act()
        return Output("")

    with pytest.raises(BgrError, match=r"^out of memory; .*free some memory"):
        execute("bgr x", Command(summary="", description="", options=Options, run=run, example=""), [])


def test_a_full_disk_that_only_pytorch_has_seen_is_one_line():
    def run(options):
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0")

    with pytest.raises(BgrError, match="an output: PyTorch could not write a file; free some space"):
        execute("bgr x", Command(summary="", description="", options=Options, run=run, example=""), [])


def test_other_errors_are_not_taken_for_it():
    assert not is_out_of_memory(RuntimeError("shapes do not fit"))
    assert not is_out_of_memory(OSError(errno.ENOSPC, "No space left on device"))


def test_the_options_of_the_command_are_named():
    assert "lower --batch-size or --pool, " in out_of_memory(["out", "pool", "batch_size"])
    assert "lower --data.batch_size, " in out_of_memory(["settings", "seed"])
    assert "lower" not in out_of_memory(["out"])


def test_the_nearest_name_regardless_of_case():
    assert nearest("BM52", ["dense", "bm25", "hybrid"]) == "bm25"
    assert nearest("bm25", ["BM25"]) == "BM25"
    assert nearest("qqq", ["dense", "bm25"]) is None
    assert nearest("", ["dense"]) is None
    assert nearest("dense", []) is None
    assert did_you_mean("densse", ["dense"]) == "; did you mean dense?"
    assert did_you_mean("qqq", ["dense"]) == ""


def test_the_nearest_file_of_a_folder(tmp_path, monkeypatch):
    (tmp_path / "atlas").mkdir()
    (tmp_path / "other\x1b[31m").mkdir()
    assert did_you_mean_path(tmp_path / "atls") == f"; did you mean {tmp_path / 'atlas'}?"
    assert "\x1b" not in did_you_mean_path(tmp_path / "other")
    assert did_you_mean_path(tmp_path / "qqqqqq") == ""
    assert did_you_mean_path(tmp_path / "atlas") == ""  # it exists
    assert did_you_mean_path(tmp_path / "nowhere" / "atlas") == ""
    monkeypatch.chdir(tmp_path)
    assert did_you_mean_path(type(tmp_path)("atls")) == "; did you mean atlas?"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("asc x", "ask"),
        ("data bild", "build"),
        ("collection triples extrakt", "extract"),
        ("ask x --chekpoint a", "--checkpoint"),
        ("data show work/data --idd 3", "--id"),
        ("ask x --precision bf61", "bf16"),
        ("data build --kqapro a --out b --recipe rivls", "rivals"),
        ("evaluate --data a --out b --config {tmp}/options.yaml", "batch-size"),
        ("train retriever --config demmo --data a --out {tmp}/b", "demo"),
        ("train baseline --config bmm25 --data a --out {tmp}/b", "baseline-bm25"),
        ("train reader --config {tmp}/reader.yml --data a --out {tmp}/b", "{tmp}/reader.yaml"),
        ("train retriever --config demo --data {tmp}/dta --out {tmp}/b", "{tmp}/data"),
        ("evaluate --data {tmp}/dta --out {tmp}/b", "{tmp}/data"),
        ("ask x --checkpoint {tmp}/chekpoint", "{tmp}/checkpoint"),
        ("collection show {tmp}/chekpoint", "{tmp}/checkpoint"),
        ("compare --data {tmp}/data --systems rndom --out {tmp}/b", "random"),
        ("ablate prism --data a --llm smollm2 --out {tmp}/b --variants prsim", "prism"),
    ],
)
def test_commands_name_what_was_probably_meant(words, meant, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "reader.yaml").write_text("model: {}\n")
    (tmp_path / "options.yaml").write_text("batchsize: 3\n")
    try:
        code = main(words.format(tmp=tmp_path).split())
    except SystemExit as stopped:  # wrong usage
        code = stopped.code
    assert code in (1, 2)
    error = capsys.readouterr().err
    assert f"did you mean {meant.format(tmp=tmp_path)}?" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("--trainer.max_epoch=3", "trainer.max_epochs"),  # no abbreviation
        ("--modle.learning_rate=1", "model.learning_rate"),
        ("learning_rat: 1", "model.learning_rate"),
    ],
)
def test_settings_of_a_training(setting, meant, toy_data, tmp_path, capsys):
    config = tmp_path / "config.yaml"
    config.write_text(f"model:\n  {'kind: dpr' if setting.startswith('--') else setting}\n")
    words = ["train", "baseline", "--config", str(config), "--data", str(toy_data), "--out", str(tmp_path / "out")]
    assert main([*words, *([setting] if setting.startswith("--") else [])]) == 1
    assert f"; did you mean {meant}?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
