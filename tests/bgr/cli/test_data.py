"""`bgr data` as users type it."""

import pytest

from bgr.cli import main
from bgr.cli.data import command

OTHERS = {"build", "convert", "database", "import", "paraphrase", "unseen", "worlds"}
"""Actions that do not read one dataset."""


@pytest.mark.parametrize("action", sorted(set(command().commands) - OTHERS))
def test_a_folder_that_is_no_dataset_is_one_line(action, tmp_path, capsys):
    assert main(["data", action, str(tmp_path / "nowhere")]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("bgr data: error: ")
    assert "nowhere" in last
