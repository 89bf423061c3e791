"""Tables of the pages, made again without a language model.

`python docs/hooks/tables.py` writes the tables; with ``--check`` it only compares them.

A page has commands in a block of `sh`, and below it the tables of the last one between two comments:

    <!-- tables: systems; differences R@5; rounds -->
    <!-- end of tables -->

The commands are run as they stand, but for ``work/``, which is a temporary folder, and for the published files of
MuSiQue, which are in the folder that ``BGR_MULTIHOP`` names. With ``--llm``, ``--replay-only`` is required. Seconds,
which differ from run to run, are left out.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bgr.cli import compare as compare_words
from bgr.cli.data import command as data_command
from bgr.cli.parser import Group, parse
from bgr.errors import BgrError
from bgr.utils.atomic_io import write_text
from eval.compare.compare import Comparison
from eval.compare.passages import PassageComparison, corpus_line
from eval.compare.run import compare
from eval.report.document import Table
from eval.report.passages import notes, pairs_table, rounds_table, systems_table
from eval.run.passage_scores import usage_of

ROOT = Path(__file__).parents[2]
PAGES = ("docs/passages.md",)
MULTIHOP = "BGR_MULTIHOP"
PUBLISHED = "musique_train"
"""First letters of the published files that are not in the repository."""

_BLOCK = re.compile(
    r"```sh\n(?P<commands>(?:(?!```).)*?)```\n\n"
    r"<!-- tables: (?P<tables>[^\n]*?) -->\n(?P<made>.*?)<!-- end of tables -->",
    re.S,
)


def main(words: Sequence[str]) -> int:
    """Write the tables of all pages, or with ``--check`` name the pages whose tables differ (exit code 1)."""
    if set(words) - {"--check"}:
        raise BgrError(f"tables.py: {' '.join(words)}: allowed: --check")
    differ = []
    for page in PAGES:
        path = ROOT / page
        before = path.read_text(encoding="utf-8")
        after = remade(before)
        if after != before:
            differ.append(page)
            if "--check" not in words:
                write_text(path, after)
    print(f"tables differ: {', '.join(differ)}" if differ else "all tables are the same")
    return int(bool(differ and "--check" in words))


def remade(page: str) -> str:
    """The text of a page with all its tables made again.

    Raises:
        BgrError: a command cannot be run, or a reply is missing.
    """
    return _BLOCK.sub(_remade, page)


def _remade(block: re.Match[str]) -> str:
    with TemporaryDirectory(prefix="bgr-") as work:
        found = [_run(shlex.split(line), Path(work)) for line in _lines(block["commands"])][-1]
    if found is None:
        raise BgrError(f"tables: {block['tables']}: the last command above them must be bgr compare")
    start, end = block.start("made") - block.start(), block.end("made") - block.start()
    made = "\n\n".join(_parts(found, block["tables"]))
    return f"{block[0][:start]}\n{made}\n\n{block[0][end:]}"


def _lines(commands: str) -> list[str]:
    """One text for each command; a backslash at the end continues it on the next line."""
    return [line for line in commands.replace("\\\n", " ").splitlines() if line.strip()]


def _run(words: Sequence[str], work: Path) -> PassageComparison | None:
    """Run one command; the result of `bgr compare`."""
    name, given = words[1] if len(words) > 1 else "", [_place(word, work) for word in words[2:]]
    if words[0] == "bgr" and name == "data":
        group = data_command()
        entry = group.commands[given[0]]
        if isinstance(entry, Group):
            raise BgrError(f"bgr data {given[0]}: allowed: bgr data import and other single commands")
        entry.run(parse(f"bgr data {given[0]}", entry, given[1:])[0])
        return None
    asks = "--llm" in given and "--replay-only" not in given
    if words[0] != "bgr" or name != "compare" or asks:
        raise BgrError(f"{shlex.join(words)}: allowed: bgr data …, and bgr compare …, with --llm also --replay-only")
    options, _ = parse("bgr compare", compare_words.command(), given)
    found = compare(options)
    if isinstance(found, Comparison):
        raise BgrError(f"{shlex.join(words)}: compares graphs alone, allowed: systems on passages")
    return found


def _place(word: str, work: Path) -> str:
    if word.startswith("work/"):
        return str(work / word.removeprefix("work/"))
    if word.startswith(PUBLISHED):
        if MULTIHOP not in os.environ:
            raise BgrError(f"{word}: {MULTIHOP} must name the folder of this file (HippoRAG's sample of MuSiQue)")
        return str(Path(os.environ[MULTIHOP]) / word)
    return str(ROOT / word) if word.startswith("docs/") else word


def _parts(found: PassageComparison, tables: str) -> Iterator[str]:
    yield corpus_line(found.about)
    for wanted in filter(None, map(str.strip, tables.split(";"))):
        name, *columns = wanted.split()
        if name not in TABLES:
            raise BgrError(f"tables: {wanted}: allowed: {', '.join(TABLES)}, each with names of metrics")
        yield TABLES[name](found, columns).as_markdown()
    yield from notes(found)[1:]


def _systems(found: PassageComparison, columns: Sequence[str]) -> Table:
    """The table of systems with these metrics, or all; calls are those of the run whose replies are repeated."""
    frame = systems_table(found).frame
    metrics = [one for one in frame.columns if one in (columns or found.metrics)]
    if "calls" in frame:
        usages = [usage_of(one, found.price) for one in found.systems]
        frame["calls"] = [f"{one['calls'] + one['cached']:.1f}" for one in usages]
    usage = [one for one in ("calls", "tokens in", "tokens out", "failed") if one in frame]
    return Table(frame[["system", *metrics, "n", *usage]])


def _differences(found: PassageComparison, columns: Sequence[str]) -> Table:
    """Any two systems by one metric."""
    if len(columns) != 1 or columns[0] not in found.metrics:
        raise BgrError(f"tables: differences {' '.join(columns)}: allowed: one of {', '.join(found.metrics)}")
    return pairs_table(found, columns[0])


TABLES: dict[str, Callable[[PassageComparison, Sequence[str]], Table]] = {
    "systems": _systems,
    "differences": _differences,
    "rounds": lambda found, _: rounds_table(found),
}

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BgrError as error:
        sys.exit(f"tables.py: {error}")
