"""One replay cache for workers on several machines."""

import pytest

from bgr.errors import DataError
from bgr.llm.interface import Completion
from bgr.llm.replay import Replay
from bgr.llm.worker_replay import WorkerReplay, shared_replay

REPLY = Completion("of the cache", 3, 1)
OTHER = Completion("of a worker", 4, 2, cut=True)


def worker(monkeypatch, path, machine):
    monkeypatch.setattr("socket.gethostname", lambda: machine)
    return WorkerReplay(path)


def make(path):
    Replay(path).close()
    return path


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_replies_of_all_machines_are_joined(tmp_path, monkeypatch):
    path = tmp_path / "replies.db"
    with Replay(path) as replay:
        replay.put("k", "b", "s", REPLY)
    with shared_replay(path):
        for number, machine in enumerate(["a.org", "b"]):
            with worker(monkeypatch, path, machine) as replay:
                assert replay.get("k") == REPLY
                assert replay.get(f"new {number}") is None
                assert replay.put(f"new {number}", "b", "s", OTHER) == OTHER
                assert replay.get(f"new {number}") == OTHER
        assert {"replies.db.a-org.worker", "replies.db.b.worker"} <= set(names(tmp_path))
    assert names(tmp_path) == ["replies.db"]
    with Replay(path, replay_only=True) as replay:
        assert [replay.get(key) for key in ("k", "new 0", "new 1")] == [REPLY, OTHER, OTHER]


def test_a_name_with_signs_of_a_pattern_has_its_own_workers(tmp_path, monkeypatch):
    path, other = tmp_path / "a[1].replies.db", tmp_path / "a1.replies.db"
    with worker(monkeypatch, make(other), "b") as replay:
        replay.put("k", "b", "s", REPLY)
    with shared_replay(path), worker(monkeypatch, path, "b") as replay:
        replay.put("k", "b", "s", OTHER)
    assert names(tmp_path) == ["a1.replies.db", "a1.replies.db.b.worker", "a[1].replies.db"]
    with Replay(path, replay_only=True) as replay:
        assert replay.get("k") == OTHER


def test_what_a_killed_run_leaves_is_joined_first(tmp_path, monkeypatch):
    path = tmp_path / "replies.db"
    with shared_replay(path):
        left = worker(monkeypatch, path, "a")  # still open when the run ends
        left.put("k", "b", "s", REPLY)
    with Replay(path, replay_only=True) as replay:
        assert replay.get("k") == REPLY
    left.put("later", "b", "s", OTHER)
    left.close()
    with shared_replay(path), worker(monkeypatch, path, "b") as replay:
        assert replay.get("later") == OTHER
    assert names(tmp_path) == ["replies.db"]


def test_files_that_are_none(tmp_path):
    path = tmp_path / "replies.db"
    with pytest.raises(DataError, match="no such file"), shared_replay(path, replay_only=True):
        pass
    (tmp_path / "replies.db.a.worker").write_text("years of work " * 1000)
    with pytest.raises(DataError, match=r"a\.worker: cannot be used as a replay cache"), shared_replay(path):
        pass
    assert (tmp_path / "replies.db.a.worker").read_text().startswith("years")
