"""`bgr data` as users type it: every action is there, with its help."""

import pytest

from bgr.cli import main
from bgr.cli.data import ACTIONS


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_every_action_explains_itself(action, capsys):
    with pytest.raises(SystemExit) as done:
        main(["data", action, "--help"])
    assert done.value.code == 0
    assert f"bgr data {action}" in capsys.readouterr().out


@pytest.mark.parametrize("action", sorted(set(ACTIONS) - {"build", "convert"}))
def test_a_folder_that_is_no_dataset_is_one_line(action, tmp_path, capsys):
    assert main(["data", action, str(tmp_path / "nowhere")]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("bgr data: error: ")
    assert "nowhere" in last
