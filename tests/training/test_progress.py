"""What a person sees while an epoch runs."""

import re

from training.callbacks import Steps, is_tenth, to_stderr
from training.retriever.side_by_side import _show


def test_each_tenth_of_the_steps_once():
    for of in (3, 10, 37, 1000):
        assert sum(is_tenth(done, of) for done in range(1, of + 1)) == min(of, 10)
        assert is_tenth(of, of)


def test_in_a_file_a_tenth_is_a_line(capsys):
    for done in range(1, 101):
        to_stderr(Steps("forward", done, 100, 75.0))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0] == "forward   step 10/100, 1:15 left"


def test_a_bar_adds_up_both_directions(capsys):
    from bgr.utils.progress import progress_bar

    done = {}
    with progress_bar(0, "training", "step") as bar:
        for name, steps in (("forward", 30), ("backward", 10), ("forward", 50)):
            _show(bar, Steps(name, steps, 100, 1.0), done, 2)
        assert (bar.n, bar.total) == (60, 200)


def test_a_training_in_a_file_shows_its_steps(train, tmp_path, capsys):
    assert train(tmp_path / "run", "--direction=forward", epochs=4) == 0
    lines = capsys.readouterr().err.splitlines()
    steps = [found for line in lines if (found := re.fullmatch(r"forward +step (\d+)/20, \d+:\d\d left", line))]
    assert len(steps) >= 9
    assert steps[-1][1] == "20"
