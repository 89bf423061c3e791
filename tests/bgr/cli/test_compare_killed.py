"""A comparison or a study that was killed does not repeat finished calls."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter

import pytest

SYSTEMS = ["bm25+sync", "bm25+gear", "prism", "bridgerag", "llm-edges"]
QUESTIONS = 6


def start(tmp_path, server, words):
    fixed = ["--data", tmp_path / "q.json", "--llm", server.spec, "--replay", tmp_path / "replies.db"]
    fixed += ["--batch-size", "2", "--concurrency", "2", "--out", tmp_path / "out"]
    command = [sys.executable, "-m", "bgr", *map(str, [*words, *fixed])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def kept(tmp_path):
    with sqlite3.connect(tmp_path / "replies.db") as base:
        return base.execute("select count(*) from replies").fetchone()[0]


def compare(tmp_path, encoder_folder):
    words = ["compare", "--openie", tmp_path / "t.json", "--encoder", encoder_folder, "--samples", "20"]
    return [*words, "--systems", *SYSTEMS]


def prism(_, encoder_folder):
    return ["ablate", "prism", "--encoder", encoder_folder]


def bridgerag(_, encoder_folder):
    return ["ablate", "bridgerag", "--encoder", encoder_folder]


def answers(*_):
    return ["ablate", "answers"]


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        pytest.param(compare, 40, marks=pytest.mark.workflow),
        pytest.param(prism, 40, marks=pytest.mark.slow),
        pytest.param(bridgerag, 15, marks=pytest.mark.slow),
        pytest.param(answers, 6, marks=pytest.mark.slow),
    ],
)
def test_no_finished_call_is_made_again(command, calls, tmp_path, capitals, schema_server, encoder_folder):
    capitals(QUESTIONS)
    words = command(tmp_path, encoder_folder)
    asked = schema_server.asked
    first = start(tmp_path, schema_server, words)
    while asked.total() < calls and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL, "it ended before it could be killed"
    time.sleep(0.1)
    before, finished = asked.total(), kept(tmp_path)
    assert finished >= calls // 2
    second = start(tmp_path, schema_server, words)
    assert second.wait() == 0
    # every reply is kept once; only what was under way at the kill was asked twice
    assert kept(tmp_path) == len(asked)
    assert asked.total() - before == len(asked) - finished
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    found = Counter(json.loads(line)["system"] for line in lines)
    assert set(found.values()) == {QUESTIONS}
    assert command is not compare or set(found) == set(SYSTEMS)
