"""The commands that write something: their words, and the files of their result."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .forks import Act, command

LEFT = re.compile(r"\.half$|\.part$|bgr-half-|bgr-old-|\.lock$")
"""Names of unfinished files and of locks, which nobody may find after the end."""


@dataclass(frozen=True)
class Command:
    """A command that writes.

    Args:
        words: with ``{world}`` (inputs), ``{out}`` (the result), ``{home}`` (the folder around it) and ``{llm}``.
        again: words of a repetition after an interruption.
        changes: part of the world that the result is a changed copy of.
        varies: pattern of files, or of parts of texts, that name times, paths or durations.
        quick: part of the tests in CI.
    """

    name: str
    words: str
    again: str = ""
    changes: str = ""
    varies: str = ""
    quick: bool = False

    def act(self, world: Path, home: Path, llm: str, *, again: bool = False, more: str = "") -> Act:
        words = f"{self.words} {self.again if again else ''} {more}".split()
        places = {"world": world, "home": home, "out": home / "out", "llm": llm}
        return command([word.format(**places) for word in words], {"BGR_CACHE": str(home / "cache")})

    def prepare(self, world: Path, home: Path) -> None:
        """An empty folder, with what the command changes."""
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        if self.changes:
            shutil.copytree(world / self.changes, home / "out")

    def result(self, home: Path) -> dict[str, str]:
        """SHA-256 of each file of the result but those that vary."""
        out = home / "out"
        files = [out] if out.is_file() else sorted(path for path in out.rglob("*") if path.is_file())
        names = {str(path.relative_to(home)): path for path in files}
        return {
            name: hashlib.sha256(_content(path)).hexdigest()
            for name, path in names.items()
            # a log that a killed writer left is read with its file, and then removed
            if not name.endswith((".db-wal", ".db-shm"))
            and not (self.varies and re.search(self.varies, name))
            and not LEFT.search(name)
        }


def _content(path: Path) -> bytes:
    """The bytes of a file; of those that say how long something took, all else."""
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as base:
            [table] = (name for [name] in base.execute("select name from sqlite_master where type = 'table'"))
            columns = "key, text" if table == "replies" else "key, body"
            return repr(sorted(base.execute(f"select {columns} from {table}"))).encode()
    if path.name in ("metrics.json", "passages.json", "results.jsonl"):
        try:
            records = json_lines(path) if path.suffix == ".jsonl" else [json.loads(path.read_text())]
        except ValueError:  # the disk was full within a line of a log
            return path.read_bytes()
        # results are written in the order in which questions end
        return repr(sorted(json.dumps(timeless(record), sort_keys=True) for record in records)).encode()
    return path.read_bytes()


def json_lines(path: Path) -> list[Any]:
    """The records of a file; `str.splitlines` would also cut at U+2028, which JSON allows inside a string."""
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def timeless(value: Any) -> Any:
    """A record without what was counted and timed."""
    if isinstance(value, list):
        return [timeless(one) for one in value]
    if isinstance(value, dict):
        return {
            key: timeless(one)
            for key, one in value.items()
            if not re.match(r"seconds|usage|calls|cached|failed|tokens", key)
        }
    return value


def left(home: Path) -> list[str]:
    """Unfinished files and locks below a folder, but for the cache, which removes what is an hour old."""
    own = {".lock", ".hops.lock"}  # `filelock` leaves these in collections
    found = (p.relative_to(home) for p in home.rglob("*") if LEFT.search(p.name) and p.name not in own)
    return sorted(str(path) for path in found if path.parts[0] != "cache")


_TRAINING = r"^out/training/|SHA256SUMS"
COMMANDS = [
    Command("data build", "data build --kqapro {world}/source --similarity {world}/encoder --out {out}", quick=True),
    Command("atlas", "atlas --questions 30 --size 3000 --out {out}"),
    Command(
        "train retriever",
        "train retriever --config {world}/retriever.yaml --data {world}/data --out {out} --checkpoint.steps=1",
        again="--resume",
        varies=_TRAINING,
        quick=True,
    ),
    Command(
        "train baseline",
        "train baseline --config {world}/baseline.yaml --data {world}/data --out {out} --checkpoint.steps=1",
        again="--resume",
        varies=_TRAINING,
    ),
    Command(
        "train reader",
        "train reader --config {world}/reader.yaml --data {world}/data --out {out} --retriever {world}/run"
        " --checkpoint.steps=1",
        again="--resume",
        varies=_TRAINING,
    ),
    Command(
        "train verbalizer",
        "train verbalizer --config {world}/verbalizer.yaml --kqapro {world}/source --out {out}",
        again="--resume",
        varies=_TRAINING,
    ),
    Command(
        "train pruner",
        "train pruner --checkpoint {world}/run --data {world}/built --collection {world}/facts --out {out}"
        " --questions 8 --dev-questions 2 --pool 20 --candidates 8 --epochs 1",
    ),
    Command(
        "collection build",
        "collection build --corpus {world}/corpus.jsonl --triples {world}/openie.json --encoder {world}/encoder"
        " --out {out}",
        quick=True,
    ),
    Command(
        "collection add",
        "collection add {out} --corpus {world}/more.jsonl --encoder {world}/encoder",
        changes="collection",
    ),
    Command(
        "collection triples extract",
        "collection triples extract {out} --llm {llm} --encoder {world}/encoder --batch 2",
        changes="collection",
    ),
    Command(
        "compare",
        "compare --data {world}/passages.json --openie {world}/triples.json --encoder {world}/encoder --samples 20"
        " --systems bm25 bm25+sync prism llm-edges --llm {llm} --batch-size 2 --out {out}",
        varies=r"SHA256SUMS|\.png$|passages\.(md|html)|\.csv$|traces\.html",
    ),
    Command(
        "predict",
        "predict --checkpoint {world}/checkpoint --questions {world}/asked.jsonl --collection {world}/collection"
        " --out {out}",
        quick=True,
    ),
    Command("export", "export --run {world}/run --reader {world}/reader --out {out}", quick=True),
    Command(
        "evaluate",
        "evaluate --checkpoint {world}/checkpoint --data {world}/data --out {out}",
        varies=r"answers\.(md|html)|metrics\.(md|csv)|SHA256SUMS",
    ),
    Command("data import", "data import {world}/labelled.jsonl --out {out} --candidates 4"),
    Command("data convert", "data convert {world}/data {out} --to released"),
]
