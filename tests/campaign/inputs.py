"""Damaged inputs: every file that a command reads, with damaged bytes, values and structure.

Files with a hash (checkpoints, datasets, collections, runs, evaluations) must be refused or give the same result. Of
the others, what the damage did not touch must give the same result: of JSON lines, every line that is still whole.
Sources of datasets have the oracles of `tests.mutations`.
"""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import yaml

from ..mutations.campaign import Case
from ..mutations.cases import byte_cases, read, structure_cases, value_cases
from ..mutations.harm import BYTES, places
from . import forks
from .commands import json_lines, timeless
from .outcomes import OTHER, RIGHT, TRACEBACK, Outcome, judged
from .world import QUESTION

PART = "damaged input"
TEXTUAL = ("Latin-1", "surrogates in UTF-8", "UTF-16", "single quotes", "truncated by one")
MEMORY = 3 << 30
"""Bytes by which a command's memory may grow."""

Results = Callable[[Path, str], Any]
"""From the folder of the case and what was printed."""
Judge = Callable[[Any, Any, Path, Path], str]
"""From the results with the whole and with the damaged input, and both inputs; what is wrong, or nothing."""


@dataclass(frozen=True)
class Target:
    """Files that a command reads.

    Args:
        part: the part of the world that is damaged: a folder, or a file.
        files: patterns of the files in it.
        words: the command, with ``{harmed}``, ``{out}``, ``{world}``, ``{llm}`` and ``{question}``.
        results: what the command found.
        judge: compares results.
        name: of the kind of file.
    """

    name: str
    part: str
    files: tuple[str, ...]
    words: str
    results: Results
    judge: Judge


def attack(
    world: Path, home: Path, llm: str, count: int, seed: int, jobs: int = 1, targets: list[Target] | None = None
) -> Iterator[Outcome]:
    """`count` damaged inputs, spread evenly over the kinds of files."""
    chosen = TARGETS if targets is None else targets
    for number, target in enumerate(chosen):
        share = count // len(chosen) + (number < count % len(chosen))
        if share:
            yield from _damaged(target, world, home / "inputs", llm, share, seed, jobs)


def cases_of(target: Target, world: Path) -> list[Case]:
    """All cases of a target."""
    part = world / target.part
    folder = part if part.is_dir() else part.parent
    names = target.files if part.is_dir() else (part.name,)
    found = sorted({path for name in names for path in folder.glob(name) if path.is_file()})
    return [case for path in found for case in _cases(path, path.relative_to(folder).as_posix())]


def _cases(path: Path, name: str) -> Iterator[Case]:
    yield Case(f"{name}: missing", lambda folder: (folder / name).unlink())
    if path.suffix in (".json", ".jsonl"):
        yield from byte_cases(name)
        ways = [way for way in places(read(path), most=4) if way]
        if ways:
            yield from value_cases(path, name, ways[:400], min(60, 3 * len(ways)), lambda way: None)
            inner = [way for way in ways if len(way) > (path.suffix == ".jsonl")]
            yield from structure_cases(path, name, inner[:400], 30, lambda way: None) if inner else ()
    elif path.suffix in (".yaml", ".txt") or path.name == "SHA256SUMS":
        yield from (case for case in byte_cases(name))
        yield from (Case(f"{name}: line {how} {n}", partial(_line, name, how, n)) for how in LINES for n in range(16))
    else:
        yield from (Case(f"{name}: {how}", partial(_bytes, name, how)) for how in BYTES if how not in TEXTUAL)
        yield from (Case(f"{name}: flipped {n} of 24", partial(_flip, name, n)) for n in range(24))


def _bytes(name: str, how: str, folder: Path) -> None:
    path = folder / name
    path.write_bytes(BYTES[how](path.read_bytes() or b"x", Random(f"{name}|{how}")))


def _flip(name: str, number: int, folder: Path) -> None:
    """One bit, of places spread evenly over the file."""
    raw = bytearray((folder / name).read_bytes() or b"x")
    raw[(len(raw) - 1) * number // 23] ^= 1 << Random(number).randrange(8)
    (folder / name).write_bytes(bytes(raw))


LINES: Mapping[str, Callable[[str], str]] = {
    "misspelled": lambda line: line.replace(":", "q:", 1) if ":" in line else f"q{line}",
    "repeated": lambda line: f"{line}\n{line}",
    "removed": lambda line: "# nothing",
    "a list": lambda line: f"{line.partition(':')[0]}: [1, x]",
    "a far number": lambda line: f"{line.partition(':')[0]}: 1.0e+300",
    "negative": lambda line: f"{line.partition(':')[0]}: -1",
    "indented": lambda line: f"   {line}",
    "a tag": lambda line: f"{line.partition(':')[0]}: !!python/object/apply:os.system ['touch /tmp/owned']",
}
"""Damage to one line of a YAML file or a text."""


def _line(name: str, how: str, number: int, folder: Path) -> None:
    lines = (folder / name).read_text().split("\n")
    lines[number % len(lines)] = LINES[how](lines[number % len(lines)])
    (folder / name).write_text("\n".join(lines))


def _damaged(target: Target, world: Path, home: Path, llm: str, count: int, seed: int, jobs: int) -> Iterator[Outcome]:
    shutil.rmtree(home, ignore_errors=True)
    before = home / "whole"
    ended = forks.run(partial(_attempt, target, world, None, before, llm), before / "log")
    if ended.code:
        yield Outcome(PART, target.name, "whole", TRACEBACK, ended.error[-1500:])
        return
    expected = json.loads((before / "found.json").read_text())
    cases = cases_of(target, world)
    chosen = random.Random(f"{seed}|{target.name}").sample(cases, min(count, len(cases)))
    # two cases may have the same name
    tasks = (((n, case), partial(_attempt, target, world, case, home / f"{n}", llm)) for n, case in enumerate(chosen))
    for (number, case), ended in forks.many(tasks, home / "logs", jobs):
        place = home / f"{number}"
        wrong = ""
        if ended.code == 0 and not ended.hung:
            part, file = world / target.part, place / "found.json"
            if file.is_file():
                wrong = target.judge(expected, json.loads(file.read_text()), part, place / part.name)
            else:
                wrong = f"exit code 0 without a result: {ended.last}"
        kind, detail = judged(ended, wrong)
        if kind == RIGHT and (place / "owned").exists():
            kind, detail = OTHER, "it ran code"
        yield Outcome(PART, target.name, case.name, kind, detail)
        shutil.rmtree(place, ignore_errors=True)


def _attempt(target: Target, world: Path, case: Case | None, place: Path, llm: str) -> int:
    """Damage a copy, run the command, and write what it found."""
    import resource

    part = world / target.part
    harmed = place / part.name
    place.mkdir(parents=True, exist_ok=True)
    if part.is_dir():
        shutil.copytree(part, harmed)
    else:
        shutil.copy(part, harmed)
    if case is not None:
        case.harm(harmed if part.is_dir() else place)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    texts = {"harmed": harmed, "out": place / "out", "world": world, "llm": llm, "question": QUESTION, "place": place}
    words = [word.format(**texts) for word in target.words.split(" | ")]
    printed = place / "printed"
    code = _printing(printed, forks.command(words, {"BGR_CACHE": str(world / "cache")}))
    if code == 0:
        found = json.dumps(target.results(place, printed.read_text()))
        (place / "found.json").write_text(found.replace(str(place), ""))  # reports name their inputs
    return code


def _printing(file: Path, act: forks.Act) -> int:
    import contextlib

    with file.open("w") as stream, contextlib.redirect_stdout(stream):
        return act()


def _printed(place: Path, printed: str) -> Any:
    return timeless(json.loads(printed))


def _lines_of(pattern: str) -> Results:
    def results(place: Path, printed: str) -> Any:
        files = sorted((place / "out").parent.glob(f"out{pattern}"))
        return [timeless(record) for file in files for record in json_lines(file)]

    return results


def _metrics(place: Path, printed: str) -> Any:
    return timeless(json.loads((place / "out" / "metrics.json").read_text()))


def _tree(place: Path, printed: str) -> Any:
    import hashlib

    files = (path for path in sorted((place / "out").rglob("*")) if path.is_file() and path.name != "README.md")
    return {str(p.relative_to(place)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def _same(expected: Any, found: Any, whole: Path, harmed: Path) -> str:
    """Sealed inputs: the same result, or none."""
    return (
        "" if found == expected else f"another result: {json.dumps(found)[:300]}, expected {json.dumps(expected)[:300]}"
    )


def _any(expected: Any, found: Any, whole: Path, harmed: Path) -> str:
    """Inputs that may say something else without being damaged."""
    return ""


def _whole_lines(expected: Any, found: Any, whole: Path, harmed: Path) -> str:
    """JSON lines: the results of lines that are still whole are as before."""
    own = harmed.read_bytes().split(b"\n")
    left = [json.loads(line)["id"] for line in whole.read_bytes().split(b"\n") if line and own.count(line) == 1]
    lost = _lost([record for record in expected if record["id"] in left], found)
    return f"{len(lost)} of {len(left)} whole lines have another result: {json.dumps(lost[0])[:300]}" if lost else ""


def _lost(records: Iterable[Any], found: Sequence[Any]) -> list[Any]:
    """The records that were not found again."""
    return [record for record in records if not any(_close(record, one) for one in found)]


def _close(value: Any, other: Any) -> bool:
    """Equal but for the last bits of sums, which differ on some processors for a batch of other questions."""
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-4, abs_tol=1e-6)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_close, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_close(value[key], other[key]) for key in value)
    return bool(value == other)


def _whole_records(key: str, holder: str = "") -> Judge:
    """A list of objects in one file: as `_whole_lines`."""

    def judge(expected: Any, found: Any, whole: Path, harmed: Path) -> str:
        before, after = (json.loads(path.read_bytes().decode("utf-8-sig")) for path in (whole, harmed))
        before, after = (one[holder] if holder else one for one in (before, after))
        left = [str(one[key]) for one in before if one in after]
        lost = _lost([record for record in expected if str(record["id"]) in left], found)
        return f"{len(lost)} whole records have another result: {json.dumps(lost[0])[:300]}" if lost else ""

    return judge


def _from_facts(expected: Any, found: Any, whole: Path, harmed: Path) -> str:
    """The evidence consists of lines of the file."""
    lines = [" ".join(line.split()) for line in harmed.read_text(encoding="utf-8-sig").splitlines()]
    texts = [one["text"] if isinstance(one, dict) else one for one in found.get("evidence", [])]
    strange = [text for text in texts if " ".join(text.split()) not in lines]
    return f"not a line of the file: {strange[:2]}" if strange else ""


def _settings(expected: Any, found: Any, whole: Path, harmed: Path) -> str:
    """A config that was accepted has no key that the whole one lacks."""
    with suppress(yaml.YAMLError):
        before, after = (_keys(yaml.safe_load(path.read_text(encoding="utf-8-sig"))) for path in (whole, harmed))
        return f"accepted: {sorted(after - before)}" if after - before else ""
    return "it is no YAML"


def _keys(value: Any, at: str = "") -> set[str]:
    if not isinstance(value, dict):
        return set()
    return {f"{at}{key}" for key in value} | {name for key, one in value.items() for name in _keys(one, f"{at}{key}.")}


_ASK = "ask | --checkpoint | {harmed} | --facts | {world}/facts.txt | --json | {question}"
QUICK = ("checkpoint", "predictions", "collection, searched", "questions", "corpus")
"""Kinds of files that are tried in CI."""

TARGETS = [
    Target("checkpoint", "checkpoint", ("bgr.json", "*ward/*", "encoder/*", "words.txt", "SHA256SUMS"), _ASK, _printed,
           _same),
    Target("tokenizer", "checkpoint", ("tokenizer*.json", "reader/tokenizer*.json"), _ASK, _printed, _same),
    Target("reader", "checkpoint", ("reader/*",), _ASK, _printed, _same),
    Target("run", "run", ("*.json", "*ward/*", "words.txt"), "export | --run | {harmed} | --out | {out}", _tree, _same),
    Target("baseline", "baseline", ("baseline.json", "dpr/*", "tokenizer.json"),
           "evaluate | --data | {world}/data | --baselines | {harmed} | --out | {out}", _metrics, _same),
    Target("verbalizer", "verbalizer", ("*.json", "*.safetensors"),
           "data | build | --kqapro | {world}/source | --similarity | {world}/encoder | --verbalizer | {harmed}"
           " | --limit | 6 | --out | {out}", _lines_of("/*.jsonl"), _same),
    Target("dataset", "data", ("*.jsonl", "dataset.json"),
           "evaluate | --data | {harmed} | --baselines | bm25 | random | --out | {out}", _metrics, _same),
    Target("dataset of questions with programs", "built", ("*.jsonl", "dataset.json", "arrow/*", "arrow/*/*"),
           "data | verify | {harmed}", lambda place, printed: printed.replace(str(place), ""), _same),
    Target("predictions", "evaluation", ("predictions.jsonl", "metrics.json"),
           "compare | --data | {world}/data | --systems | {harmed} | --samples | 20 | --out | {out}",
           lambda place, printed: timeless(json.loads((place / "out" / "metrics.json").read_text())), _same),
    Target("collection, searched", "collection", ("manifest.json", "segment*/*", "triples*/*"),
           "collection | search | {harmed} | {question} | Who directed Persona? | --encoder | {world}/encoder | --json",
           _printed, _same),
    Target("collection, asked", "collection", ("hops*/*", "segment*/*"),
           "ask | --checkpoint | {world}/checkpoint | --collection | {harmed} | --json | {question}", _printed, _same),
    Target("collection, changed", "collection", ("manifest.json", "segment*/*", "triples*/*"),
           "collection | add | {harmed} | --corpus | {world}/more.jsonl | --encoder | {world}/encoder",
           lambda place, printed: _added(place / "collection"), _same),
    Target("corpus", "corpus.jsonl", (), "collection | build | --corpus | {harmed} | --words-only | --out | {out}",
           _lines_of("/segment*/passages.jsonl"), _whole_lines),
    Target("triples", "openie.json", (),
           "collection | build | --corpus | {world}/corpus.jsonl | --triples | {harmed} | --words-only | --out | {out}",
           _lines_of("/triples*/triples.jsonl"), _any),
    Target("questions", "own.jsonl", (),
           "predict | --checkpoint | {world}/checkpoint | --precision | 32 | --questions | {harmed} | --out | {out}",
           _lines_of(""), _whole_lines),
    Target("questions of one's own data", "labelled.jsonl", (),
           "data | import | {harmed} | --out | {out} | --candidates | 4", _lines_of("/*.jsonl"), _any),
    Target("passages", "passages.json", (),
           "compare | --data | {harmed} | --systems | bm25 | --samples | 20 | --out | {out}",
           _lines_of("/results.jsonl"), _any),
    Target("replay cache", "replies.db", (),
           "compare | --data | {world}/passages.json | --systems | llm-edges | --samples | 20 | --llm | {llm}"
           " | --replay | {harmed} | --replay-only | --out | {out}", _lines_of("/results.jsonl"), _same),
    Target("results of a run that is resumed", "compared", ("results.jsonl",),
           "compare | --data | {world}/passages.json | --systems | llm-edges | --samples | 20 | --llm | {llm}"
           " | --replay | {world}/replies.db | --out | {harmed}",
           lambda place, printed: timeless(json.loads((place / "compared" / "passages.json").read_text())), _same),
    Target("checkpoints of a training that is resumed", "run", ("training/*/epochs/*.ckpt", "training/*.json"),
           "train | retriever | --resume | --config | {world}/retriever.yaml | --data | {world}/data"
           " | --out | {harmed}",
           lambda place, printed: timeless(json.loads((place / "run" / "bgr.json").read_text())), _same),
    Target("facts", "facts.txt", (),
           "ask | --checkpoint | {world}/checkpoint | --facts | {harmed} | --json | {question}",
           _printed, _from_facts),
    Target("config", "baseline.yaml", (),
           "train | baseline | --config | {harmed} | --data | {world}/data | --out | {out} | --trainer.max_epochs=1",
           lambda place, printed: None, _settings),
    Target("encoder", "encoder", ("*.json", "*.safetensors"),
           "collection | build | --corpus | {world}/corpus.jsonl | --encoder | {harmed} | --out | {out}",
           lambda place, printed: None, _any),
]  # fmt: skip


def _added(folder: Path) -> Any:
    import hashlib

    return {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.suffix == ".jsonl"
    }
