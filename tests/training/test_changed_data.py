"""A training is resumed only on the data that it was started on."""

import json
import shutil

import pytest

from bgr import __version__
from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import dataset_hash


@pytest.mark.workflow
def test_a_run_is_not_resumed_on_other_data(config, short_data, toy_data, tmp_path, capsys):
    data, out = tmp_path / "data", tmp_path / "run"
    shutil.copytree(short_data, data)
    words = ["train", "retriever", "--config", str(config(1)), "--data", str(data), "--out", str(out)]
    assert main([*words, "--direction", "forward"]) == 0
    started = json.loads((out / "training" / "started.json").read_text())
    assert started["version"] == __version__
    assert (started["data"], started["data_sha256"]) == (str(data), dataset_hash(short_data))
    shutil.rmtree(data)
    shutil.copytree(toy_data, data)
    for more in (["--resume"], ["--direction", "backward"]):
        capsys.readouterr()
        assert main([*words, *more]) == 1
        line = capsys.readouterr().err.strip().splitlines()[-1]
        assert f"{out}: was started on other data" in line
        assert "--overwrite to start again" in line
    assert not (out / "backward").exists()
