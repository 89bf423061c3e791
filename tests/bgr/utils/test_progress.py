import io

import pytest

from bgr.utils import progress
from bgr.utils.progress import Pace, progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """``clock[0]``: the seconds since the start, which only the test changes."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_file_gets_a_line_for_each_tenth(clock, capsys):
    with progress_bar(1000, "facts", "sentence") as bar:
        for _ in range(1000):
            clock[0] += 1
            bar.update()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0] == "facts: 100 of 1,000 sentences, 10 %, 15:00 left"
    assert lines[-1] == "facts: 1,000 of 1,000 sentences, 100 %, 00:00 left"


def test_short_work_is_not_shown(clock, capsys):
    with progress_bar(10, "facts", "sentence") as bar:
        for _ in range(10):
            clock[0] += 0.1
            bar.update()
    assert capsys.readouterr().err == ""


def test_hidden(clock, capsys):
    with progress_bar(10, "facts", "sentence", show=False) as bar:
        clock[0] += 10
        bar.update(5)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(progress, "SECONDS", 0)
    with progress_bar(10, "facts", "sentence") as bar:
        bar.update(10)
    assert "\rfacts: 100%" in progress.sys.stderr.getvalue()


def test_every_epoch_has_its_tenths(clock):
    pace, shown = Pace(), []
    for step in range(200):
        clock[0] += 10
        if pace.due((step % 100 + 1) / 100):
            shown.append(step % 100 + 1)
    assert shown == [*range(10, 101, 10)] * 2


def test_lines_are_not_closer_than_two_seconds(clock):
    pace, shown = Pace(), []
    for step in range(1, 101):
        clock[0] += 0.06
        if pace.due(step / 100):
            shown.append(step)
    assert shown == [34, 68]
