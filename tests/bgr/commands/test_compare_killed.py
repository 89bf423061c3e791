"""A whole comparison killed in the middle of its calls: what was answered is not asked again."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter

SYSTEMS = ["bm25+sync", "bm25+gear", "prism", "bridgerag"]


def questions():
    facts = {
        "Paris": "Paris is the capital of France .",
        "Persona": "Persona was made in Sweden by Bergman .",
        "Alpha": "Alpha is the capital of Sweden .",
    }
    paragraphs = [
        {"title": title, "paragraph_text": text, "is_supporting": title != "Paris"} for title, text in facts.items()
    ]
    triples = [["Persona", "made in", "Sweden"], ["Alpha", "capital of", "Sweden"]]
    docs = [{"title": t, "text": x, "extracted_triples": triples if t != "Paris" else []} for t, x in facts.items()]
    same = {"answer": "Alpha", "answer_aliases": [], "answerable": True, "paragraphs": paragraphs}
    posed = [{"id": f"2hop__{n}", "question": f"What is capital number {n} of Sweden ?", **same} for n in range(6)]
    return posed, {"docs": docs}


def start(tmp_path, server, encoder_folder):
    words = ["--data", tmp_path / "q.json", "--openie", tmp_path / "t.json", "--encoder", encoder_folder]
    words += ["--llm", server.spec, "--replay", tmp_path / "replies.db", "--systems", *SYSTEMS, "--batch-size", "2"]
    words += ["--samples", "20", "--out", tmp_path / "out"]
    command = [sys.executable, "-m", "bgr.cli", "compare", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def kept(tmp_path):
    with sqlite3.connect(tmp_path / "replies.db") as base:
        return base.execute("select count(*) from replies").fetchone()[0]


def test_no_finished_call_is_made_again(tmp_path, schema_server, encoder_folder):
    posed, triples = questions()
    asked = schema_server.asked
    (tmp_path / "q.json").write_text(json.dumps(posed))
    (tmp_path / "t.json").write_text(json.dumps(triples))
    first = start(tmp_path, schema_server, encoder_folder)
    while asked.total() < 40 and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL, "it ended before it could be killed"
    time.sleep(0.1)
    before, finished = asked.total(), kept(tmp_path)
    assert finished >= 30
    second = start(tmp_path, schema_server, encoder_folder)
    assert second.wait() == 0
    # every reply is kept once; only what was under way at the kill was asked twice
    assert kept(tmp_path) == len(asked)
    assert asked.total() - before == len(asked) - finished
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert Counter(json.loads(line)["system"] for line in lines) == Counter({name: len(posed) for name in SYSTEMS})
