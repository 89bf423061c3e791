"""Packed replies: the same bytes for the same replies, and every damaged file refused."""

import json
import lzma
import os

import pytest

from bgr.cli import main
from bgr.errors import BgrError, DataError
from bgr.llm.interface import Backend, Completion, Message, Request
from bgr.llm.language_model import Llm
from bgr.llm.pack import PackOptions, pack, unpack
from bgr.llm.packed import read_packed
from bgr.llm.replay import Replay, ReplayError, key_of

ASKED = [Request("step", (Message("user", f"{i}é"),)) for i in range(5)]
FIRST = Request("judge", (Message("user", "yes?"),), max_tokens=1, top_logprobs=5)


class Counting(Backend):
    name = "counting"

    def __init__(self):
        self.calls = 0

    def complete(self, requests):
        self.calls += len(requests)
        return [
            Completion(f"reply\nto {one.messages[0].content}", 3, 2, first=(("Yes", -0.1234567890123456),))
            if one.top_logprobs
            else Completion(f"reply\nto {one.messages[0].content}", 3, 2, seconds=0.25)
            for one in requests
        ]


def filled(path, asked=(*ASKED, FIRST)):
    with Replay(path) as replay:
        return Llm(Counting(), replay=replay).ask(asked)


@pytest.fixture
def packed(tmp_path):
    filled(tmp_path / "r.db")
    assert pack(PackOptions(source=tmp_path / "r.db", out=tmp_path / "r.jsonl.xz")) == 6
    return tmp_path / "r.jsonl.xz"


def test_a_packed_file_answers_in_place_of_the_model(tmp_path, packed):
    backend = Counting()
    with Replay(packed, replay_only=True) as replay:
        assert len(replay) == 6
        llm = Llm(backend, replay=replay)
        found = llm.ask([*ASKED, FIRST])
        with pytest.raises(ReplayError, match="missing for counting"):
            llm.ask([Request("other", (Message("user", "new"),))])
    expected = filled(tmp_path / "r.db")
    assert [(one.text, one.first) for one in found] == [(one.text, one.first) for one in expected]
    assert backend.calls == 0
    assert all(one.usage.cached == 1 for one in found)


def test_equal_replies_give_equal_bytes_in_any_order_and_come_back(tmp_path, packed):
    def repacked(name):
        return PackOptions(source=tmp_path / name, out=tmp_path / f"{name}.xz", overwrite=True)

    with Replay(tmp_path / "r.db", replay_only=True) as replay:
        rows = list(replay.rows())
    with Replay(tmp_path / "turned.db") as replay:
        replay.add(rows[::-1])
    pack(repacked("turned.db"))
    assert (tmp_path / "turned.db.xz").read_bytes() == packed.read_bytes()
    assert unpack(PackOptions(source=packed, out=tmp_path / "again.db")) == 6
    pack(repacked("again.db"))
    assert (tmp_path / "again.db.xz").read_bytes() == packed.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [
        "again.db",
        "again.db.xz",
        "r.db",
        "r.jsonl.xz",
        "turned.db",
        "turned.db.xz",
    ]
    filled(tmp_path / "again.db", [Request("step", (Message("user", "more"),))])
    with Replay(tmp_path / "again.db", replay_only=True) as replay:
        assert len(replay) == 7


def test_nothing_is_added_to_a_packed_file_or_replaced(tmp_path, packed):
    before = packed.read_bytes()
    with pytest.raises(DataError, match="only read: give --replay-only, or bgr llm unpack"):
        Replay(packed)
    for make in (pack, unpack):
        source = tmp_path / "r.db" if make is pack else packed
        with pytest.raises(BgrError, match="exists already"):
            make(PackOptions(source=source, out=packed))
    with pytest.raises(DataError, match="no such file"):
        pack(PackOptions(source=tmp_path / "none.db", out=tmp_path / "new"))
    assert packed.read_bytes() == before


def rewritten(packed, change):
    """The file with other lines, and with the hash and number of these."""
    import hashlib

    head, *rows = [json.loads(line) for line in lzma.decompress(packed.read_bytes()).splitlines()]
    lines = [line if isinstance(line, str) else json.dumps(line) for line in change(rows)]
    body = "".join(f"{line}\n" for line in lines).encode()
    head |= {"replies": len(lines), "sha256": hashlib.sha256(body).hexdigest()}
    packed.write_bytes(lzma.compress(json.dumps(head).encode() + b"\n" + body))


def with_value(place, value):
    def change(rows):
        rows[1][place] = value
        return rows

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_value(0, "x"), "line 3: key is 'x', allowed"),
        (with_value(2, None), "line 3: backend, step or text is no text"),
        (with_value(3, "\ud800"), "line 3: backend, step or text"),
        (with_value(4, -1), "line 3: a count"),
        (with_value(6, True), "line 3: a count"),
        (with_value(7, "1"), "line 3: seconds"),
        (with_value(7, float("nan")), "line 3: seconds"),
        (lambda rows: rows[::-1], "out of order"),
        (lambda rows: [rows[0], *rows], "repeated or out of order"),
        (lambda rows: [*rows, {}], "allowed: a list of key"),
        (lambda rows: [row if i else [*row, 1] for i, row in enumerate(rows)], "allowed: a list of key"),
        (lambda rows: ["[" * 9999, *rows], "line 2: not valid JSON"),
        (lambda rows: [*rows[:-1], [*rows[-1][:3], "words", *rows[-1][4:]]], "alternatives are damaged"),
    ],
)
def test_replies_that_are_not_valid(packed, change, message):
    rewritten(packed, change)
    with pytest.raises(DataError, match=message):
        Replay(packed, replay_only=True)


def test_a_file_that_is_damaged_anywhere_is_refused(packed):
    whole = packed.read_bytes()
    for place in range(0, len(whole), 7):
        packed.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(DataError):
            list(read_packed(packed))
        packed.write_bytes(whole[:place])
        with pytest.raises(DataError):
            list(read_packed(packed))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lzma.compress(b""), "not valid JSON"),
        (lzma.compress(b"[]\n"), "of the format"),
        (lzma.compress(b'{"format": "bgr replies 2"}\n'), "of the format"),
        (lzma.compress(b'{"format": "bgr replies 1"}\n[]\n'), "whose number and hash"),
        (lzma.compress(b"\xff\n"), "not UTF-8"),
        (lzma.compress(b'{"format": "bgr replies 1"}\n') * 2, "followed by other data"),
    ],
)
def test_files_of_another_content(tmp_path, content, message):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=message):
        Replay(tmp_path / "x", replay_only=True)


def test_a_file_that_would_fill_the_memory_is_refused(packed, monkeypatch):
    monkeypatch.setattr("bgr.llm.packed.MAX_BYTES", 100)
    with pytest.raises(DataError, match="more than 100 bytes"):
        list(read_packed(packed))
    monkeypatch.setattr("bgr.llm.packed.MEMORY", 1000)
    with pytest.raises(DataError, match="not a packed replay file"):
        list(read_packed(packed))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("text = 'another'", "r.db: the reply under .* is damaged; delete the file"),
        ("tokens_in = -1, digest = ''", "is damaged: a count"),  # of a format without hashes
    ],
)
def test_a_damaged_reply_is_not_packed(tmp_path, change, message):
    filled(tmp_path / "r.db")
    with Replay(tmp_path / "r.db") as replay:
        replay._file.execute(f"UPDATE replies SET {change} WHERE key = ?", (key_of("counting", ASKED[0]),))
    with pytest.raises(DataError, match=message):
        pack(PackOptions(source=tmp_path / "r.db", out=tmp_path / "out.xz"))
    assert not (tmp_path / "out.xz").exists()


def test_the_commands(tmp_path, capsys):
    filled(tmp_path / "r.db")
    assert main(["llm", "pack", str(tmp_path / "r.db"), "--out", str(tmp_path / "r.xz")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'r.xz'}: 6 replies, ")
    assert main(["llm", "unpack", str(tmp_path / "r.xz"), "--out", str(tmp_path / "r.db")]) == 1
    assert "exists already; give --overwrite" in capsys.readouterr().err
    assert main(["llm", "unpack", str(tmp_path / "r.xz"), "--out", str(tmp_path / "r.db"), "--overwrite"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'r.db'}: 6 replies\n"
