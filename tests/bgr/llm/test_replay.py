"""The replay cache: several processes, kills, and invalid files."""

import multiprocessing
import os
import signal
import sqlite3
import time
from dataclasses import replace

import pytest

from bgr.errors import DataError
from bgr.llm.interface import Completion, Message, Request
from bgr.llm.language_model import Llm
from bgr.llm.replay import APPLICATION, Replay, key_of

REPLY = Completion("text", 3, 1, True)
REQUEST = Request("step", (Message("user", "a"),), {"type": "object"}, 10, 0.0, 0)


def test_round_trip_and_the_first_reply_stays(tmp_path):
    with Replay(tmp_path / "new" / "a b?#%.db") as replay:
        assert replay.get("k") is None
        assert replay.put("k", "model", "step", REPLY) == REPLY
        assert replay.put("k", "model", "step", Completion("later", 0, 0)) == REPLY
    with Replay(tmp_path / "new" / "a b?#%.db") as replay:
        assert replay.get("k") == REPLY
        assert len(replay) == 1


def test_the_key_is_of_all_that_decides_a_reply():
    others = [
        replace(REQUEST, messages=(Message("system", "a"),)),
        replace(REQUEST, messages=(Message("user", "b"),)),
        replace(REQUEST, messages=(Message("user", "a"), Message("user", ""))),
        replace(REQUEST, schema=None),
        replace(REQUEST, schema={"type": "array"}),
        replace(REQUEST, max_tokens=11),
        replace(REQUEST, temperature=0.5),
        replace(REQUEST, seed=1),
    ]
    keys = {key_of("model", request) for request in [REQUEST, *others]} | {key_of("other", REQUEST)}
    assert len(keys) == len(others) + 2
    assert key_of("model", replace(REQUEST, step="other", temperature=0)) == key_of("model", REQUEST)
    two = {"a": {"type": "string"}, "b": {"type": "string"}}
    turned = dict(reversed(two.items()))
    one, other = (replace(REQUEST, schema={"properties": properties}) for properties in (two, turned))
    assert key_of("model", one) != key_of("model", other)


FIRST = Completion("Yes", 3, 1, True, (("Yes", -0.1234567890123456), (" no\n", -9999.0)))
ALTERNATIVES = replace(REQUEST, top_logprobs=5)


def test_log_probabilities_are_part_of_the_key_only_where_they_are_wanted(tmp_path):
    # the key of a request without them is unchanged, so caches of earlier versions stay valid
    assert key_of("model", REQUEST) == "ce28459a606d30e866c4f8dc02ad381410f1efafdf5e833a861f99ccc8527b5f"
    keys = {key_of("model", replace(REQUEST, top_logprobs=n)) for n in (0, 1, 5)}
    assert len(keys) == 3
    key = key_of("model", ALTERNATIVES)
    with Replay(tmp_path / "r") as replay:
        assert replay.get(key) is None
        assert replay.put(key, "model", "step", FIRST) == FIRST
        assert replay.put(key, "model", "step", REPLY) == FIRST
        assert replay.put("k", "model", "step", REPLY) == REPLY
    with Replay(tmp_path / "r", replay_only=True) as replay:
        assert replay.get(key) == FIRST
        assert replay.get("k") == REPLY
        assert len(replay) == 2


@pytest.mark.parametrize(
    "text", ["words", "[1, 2, 3]", '["a", [["b"]]]', '["a", [["b", "x"]]]', "{}", "[" * 99999, "[3, []]"]
)
def test_damaged_alternatives(tmp_path, text):
    with Replay(tmp_path / "r") as replay:
        replay._file.execute("INSERT INTO replies VALUES ('first:k', 'm', 's', ?, 1, 1, 0, 0.5, 0, '')", (text,))
        with pytest.raises(DataError, match="is damaged"):
            replay.get("first:k")


def test_files_that_are_no_replay_cache(tmp_path):
    (tmp_path / "text").write_text("no database at all, but longer than a header of one hundred bytes" * 9)
    (tmp_path / "short").write_text("x")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE t (x)")
    other.close()
    Replay(tmp_path / "later").close()
    later = sqlite3.connect(tmp_path / "later")
    later.execute("PRAGMA user_version = 9")
    later.close()
    for name, problem in {
        "text": "cannot be used as a replay cache: file is not a database",
        "short": "cannot be used as a replay cache: file is not a database",
        "other": "a database, but not a replay cache",
        "later": "of format 9; this version reads format 4",
        ".": "cannot be used as a replay cache",
    }.items():
        with pytest.raises(DataError, match=problem) as caught:
            Replay(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        Replay(tmp_path / "missing", replay_only=True)
    assert not (tmp_path / "missing").exists()
    assert (tmp_path / "short").read_text() == "x"


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT * FROM n"


@pytest.mark.parametrize(
    "change",
    [
        f"ALTER TABLE replies RENAME TO r; CREATE VIEW replies AS SELECT * FROM r, ({ENDLESS})",
        f"CREATE TRIGGER t BEFORE INSERT ON replies BEGIN SELECT count(*) FROM ({ENDLESS}); END",
        "ALTER TABLE replies ADD COLUMN more TEXT AS (hex(zeroblob(400000000)))",
        "CREATE TABLE more (x)",
        "CREATE INDEX i ON replies (length(zeroblob(400000000) || text))",
    ],
    ids=["view", "trigger", "computed", "table", "index"],
)
def test_nothing_of_another_program_runs(tmp_path, change):
    Replay(tmp_path / "r").close()
    other = sqlite3.connect(tmp_path / "r")
    other.executescript(change)
    other.close()
    for replay_only in (False, True):
        with pytest.raises(DataError, match=r"cannot be used as a replay cache: (it has the|the column)"):
            Replay(tmp_path / "r", replay_only=replay_only)


def test_a_damaged_row(tmp_path):
    with Replay(tmp_path / "r") as replay:
        replay._file.execute("INSERT INTO replies VALUES ('k', 'm', 's', x'ff', 1, 1, 0, 0.5, 0, '')")
        with pytest.raises(DataError, match="is damaged"):
            replay.get("k")


@pytest.mark.parametrize("change", ["text = 'tExt'", "text = ''", "tokens_in = 4", "cut = 0", "clipped = 1"])
def test_a_changed_row_is_seen(tmp_path, change):
    with Replay(tmp_path / "r") as replay:
        replay.put("k", "model", "step", REPLY)
        replay._file.execute(f"UPDATE replies SET {change}")
        with pytest.raises(DataError, match="is damaged"):
            replay.get("k")


def test_a_changed_row_is_not_among_the_rows(tmp_path):
    with Replay(tmp_path / "r") as replay:
        for key in "ab":
            replay.put(key, "model", "step", REPLY)
        assert [row[0] for row in replay.rows()] == ["a", "b"]
        replay._file.execute("UPDATE replies SET text = 'tExt' WHERE key = 'b'")
        with pytest.raises(DataError, match="/r: the reply under b… is damaged; delete the file"):
            list(replay.rows())


def test_a_cache_of_format_3_is_upgraded(tmp_path):
    with Replay(tmp_path / "r") as replay:
        replay.put("k", "model", "step", REPLY)
        replay._file.execute("ALTER TABLE replies DROP COLUMN digest")
        replay._file.execute("PRAGMA user_version = 3")
    with Replay(tmp_path / "r", replay_only=True) as replay:
        assert replay.get("k") == REPLY


def test_a_cache_without_seconds(tmp_path):
    """A cache of format 1 without seconds is upgraded and keeps its replies."""
    old = sqlite3.connect(tmp_path / "r")
    old.execute(
        "CREATE TABLE replies (key TEXT PRIMARY KEY, backend TEXT NOT NULL, step TEXT NOT NULL, text TEXT NOT NULL, "
        "tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cut INTEGER NOT NULL) WITHOUT ROWID"
    )
    old.execute("INSERT INTO replies VALUES ('old', 'm', 's', 'text', 3, 1, 1)")
    old.execute(f"PRAGMA application_id = {APPLICATION}")
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    for _ in range(2):
        with Replay(tmp_path / "r", replay_only=True) as replay:
            assert (replay.get("old"), replay.get("old").seconds) == (REPLY, 0.0)
    with Replay(tmp_path / "r") as replay:
        replay.put("new", "m", "s", replace(REPLY, seconds=0.25))
        assert replay.get("new").seconds == 0.25


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), "words", b"\xff"])
def test_damaged_seconds_are_none(tmp_path, seconds):
    """They do not affect results, so the reply stays valid."""
    with Replay(tmp_path / "r") as replay:
        replay._file.execute("INSERT INTO replies VALUES ('k', 'm', 's', 'text', 3, 1, 1, ?, 0, '')", (seconds,))
        assert (replay.get("k"), replay.get("k").seconds) == (REPLY, 0.0)


def write_many(path, name, start, count, begin):
    begin.wait()
    with Replay(path) as replay:
        for i in range(start, start + count):
            replay.put(f"k{i}", name, "step", Completion(f"{name} {i}", i, 1))


def test_processes_that_write_at_once(tmp_path):
    """Overlapping keys get one complete reply each. The file is new, so the processes also race to create it."""
    context = multiprocessing.get_context("fork")
    begin = context.Event()
    arguments = [("one", 0, 60), ("two", 30, 60), ("three", 0, 90)]
    writers = [context.Process(target=write_many, args=(tmp_path / "r", *a, begin)) for a in arguments]
    for writer in writers:
        writer.start()
    begin.set()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    with Replay(tmp_path / "r") as replay:
        assert len(replay) == 90
        for i in range(90):
            name, number = replay.get(f"k{i}").text.split()
            assert (name in ("one", "two", "three"), int(number)) == (True, i)


def run_whole(path, log, model, requests):
    """Request everything; the log gets a line for each call that the model finishes."""

    class Slow(model):
        def each(self, requests):
            for i, request in enumerate(requests):
                completion = self._one(request)
                os.write(log, f"{request.messages[0].content}\n".encode())
                yield i, completion
                time.sleep(0.002)

    with Replay(path) as replay:
        return Llm(Slow({r.messages[0].content: ["words"] for r in requests}), replay=replay).ask(requests)


def test_a_killed_run_repeats_no_finished_call(tmp_path, script, ask_for):
    context = multiprocessing.get_context("fork")
    requests = [ask_for(f"question {i}") for i in range(60)]
    log = os.open(tmp_path / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    kept_before = 0
    for wanted in (10, 25, 40):
        run = context.Process(target=run_whole, args=(tmp_path / "r", log, script, requests))
        run.start()
        while (tmp_path / "log").read_text().count("\n") < wanted and run.is_alive():
            time.sleep(0.001)
        os.kill(run.pid, signal.SIGKILL)
        run.join()
        assert run.exitcode == -signal.SIGKILL
        with Replay(tmp_path / "r") as replay:
            kept, finished = len(replay), (tmp_path / "log").read_text().splitlines()
        # a call that the kill hit between its answer and its row on disk may be asked for again: one for each kill
        assert kept_before < kept
        assert len(set(finished)) - kept <= 1
        kept_before = kept
    assert all(reply.value == "words" for reply in run_whole(tmp_path / "r", log, script, requests))
    os.close(log)
    finished = (tmp_path / "log").read_text().splitlines()
    assert len(set(finished)) == 60
    assert len(finished) <= 60 + 3
