"""Files of a checkpoint are compared with their hashes whenever they are loaded."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bgr.errors import CheckpointError
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.export import export
from bgr.retrievers.graph_hop.options import ExportOptions
from bgr.utils.atomic_io import complete_folder
from bgr.utils.checksums import SUMS, changed_files, check_file, write_sums


def flip(path, at=-10):
    """Change one bit, in the last tensor of a safetensors file."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


@pytest.fixture
def exported(random_checkpoint, tmp_path):
    return export(ExportOptions(run=random_checkpoint, out=tmp_path / "exported"))


def test_the_hashes_are_those_of_sha256sum(exported):
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum")
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", SUMS], cwd=exported, check=True)
    assert {"bgr.json", "forward/config.json", "backward/model.safetensors", "tokenizer.json"} <= {
        line.split("  ")[1] for line in (exported / SUMS).read_text().splitlines()
    }


@pytest.mark.parametrize(
    "name",
    ["forward/model.safetensors", "backward/model.safetensors", "forward/config.json", "bgr.json", "tokenizer.json"],
)
def test_a_file_that_changed_is_not_loaded(name, exported):
    BgrPipeline.from_pretrained(exported, device="cpu")
    path = exported / name
    if path.suffix == ".json":
        path.write_text(path.read_text() + " ")
    else:
        flip(path)
    assert [line.partition(": ")[0] for line in changed_files(exported)] == [str(path)]
    with pytest.raises(CheckpointError, match=f"{name}: is damaged or was changed") as error:
        BgrPipeline.from_pretrained(exported, device="cpu")
    assert "\n" not in str(error.value)
    write_sums(exported)
    BgrPipeline.from_pretrained(exported, device="cpu")


def test_a_checkpoint_without_hashes_is_loaded(exported):
    (exported / SUMS).unlink()
    flip(exported / "forward/model.safetensors")
    BgrPipeline.from_pretrained(exported, device="cpu")
    with pytest.raises(CheckpointError, match="has no SHA256SUMS"):
        changed_files(exported)


def test_the_model_card_and_files_of_the_training_may_change(exported):
    before = (exported / SUMS).read_text()
    (exported / "README.md").write_text("mine")
    (exported / "training").mkdir()
    (exported / "training" / "last.ckpt").touch()
    (exported / ".hidden").touch()
    write_sums(exported)
    assert (exported / SUMS).read_text() == before
    assert changed_files(exported) == []


def test_a_file_that_is_missing_is_told(exported):
    (exported / "words.txt").unlink(missing_ok=True)
    (exported / "forward/config.json").unlink()
    assert any(line == f"{exported / 'forward/config.json'}: no such file" for line in changed_files(exported))


@pytest.mark.parametrize("text", ["oops\n", "a" * 64 + "  /etc/passwd\n", "a" * 64 + "  ../x\n", "\0\0"])
def test_hashes_that_are_not_valid_are_one_line(text, tmp_path):
    (tmp_path / "bgr.json").write_text("{}")
    (tmp_path / SUMS).write_text(text)
    with pytest.raises(CheckpointError, match="line 1: not a hash"):
        check_file(tmp_path / "bgr.json")


def test_sums_of_a_folder_that_only_holds_checkpoints_are_not_read(tmp_path):
    (tmp_path / SUMS).write_text("of the user\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "bgr.json").write_text("{}")
    check_file(tmp_path / "run" / "bgr.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record.update(thresholq=0.9), "unknown field 'thresholq', did you mean 'threshold'?"),
        (lambda record: record.update(colour=1), "unknown field 'colour'"),
        (
            lambda record: record["encoder"].update(hidden_akt=record["encoder"].pop("hidden_act")),
            "unknown field 'encoder.hidden_akt', did you mean 'hidden_act'?",
        ),
        (lambda record: record["encoder"].update(num_hidden_layers=10**6), "num_hidden_layers is 1000000, allowed"),
    ],
)
def test_fields_that_nobody_reads_are_refused(change, said, small_checkpoint):
    path = small_checkpoint / "forward/config.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(CheckpointError) as error:
        BgrPipeline.from_pretrained(small_checkpoint, device="cpu")
    assert str(error.value).startswith(f"{path}: {said}")


def test_fields_of_published_encoders_are_allowed(small_checkpoint):
    path = small_checkpoint / "forward/config.json"
    record = json.loads(path.read_text())
    record["encoder"] |= {"directionality": "bidi", "gradient_checkpointing": False, "sep_token_id": 2}
    path.write_text(json.dumps(record))
    BgrPipeline.from_pretrained(small_checkpoint, device="cpu")


def test_the_shipped_checkpoint_is_as_it_was_written():
    shipped = Path(__file__).parents[3] / "checkpoints" / "atlas"
    assert changed_files(shipped) == []


def test_what_a_killed_run_left_half_written_is_removed(tmp_path):
    (tmp_path / "inner").mkdir()
    for name in (".a.json.k1x.half", "inner/.b.jsonl.k2x.half", "a.json", ".mine"):
        (tmp_path / name).write_text("x")
    complete_folder(tmp_path)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == [
        ".mine",
        "SHA256SUMS",
        "a.json",
        "inner",
    ]
    assert changed_files(tmp_path) == []
