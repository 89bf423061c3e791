"""The tables that are made again without a language model: the same, byte for byte, as those that the pages show."""

import importlib.util
import re
from pathlib import Path

import pytest

from bgr.errors import BgrError
from bgr.llm.packed import read_packed

ROOT = Path(__file__).parents[2]
REPLAYS = ROOT / "docs/replays"


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs/hooks/tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGE = """# Page

```sh
bgr data import docs/replays/reasongraphqa.jsonl --out work/data
bgr compare --data work/data --scope question --limit 4 --systems bm25 nothing --samples 50 \\
    {replay} --out work/compared
```

<!-- tables: {tables} -->
{made}<!-- end of tables -->

The end.
"""


def page(tables="systems R@5 F1; differences F1", replay="--seed 0", made=""):
    return PAGE.format(tables=tables, replay=replay, made=made)


@pytest.mark.workflow
def test_the_tables_of_a_page_and_nothing_else_are_made_again(tables, capfd):
    found = tables.remade(page())
    made = re.search(r"-->\n(.*?)<!-- end", found, re.S)[1]
    lines = made.strip().splitlines()
    assert lines[0].startswith("data, test: 4 questions (data ")
    assert lines[2] == "| system | R@5 | F1 | n |"
    assert re.fullmatch(r"\| bm25 \| \d+\.\d \[.*\] \| \d+\.\d \[.*\] \| 4 \|", lines[4])
    assert lines[5] == "| nothing | 0.0 [0.0, 0.0] | 0.0 [0.0, 0.0] | 4 |"
    assert lines[7].startswith("| first | second | ΔF1 |")
    assert found == page(made=made)
    assert tables.remade(page(made="\nwhat somebody typed\n")) == found
    assert tables.remade("a page without tables") == "a page without tables"


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"replay": "--llm smollm2"}, "with --llm also --replay-only"),
        ({"tables": "sytems"}, "sytems: allowed: systems, differences, rounds"),
        ({"tables": "differences EM"}, "allowed: one of R@2"),
    ],
)
def test_what_cannot_be_made_is_one_line(tables, given, message, capfd):
    with pytest.raises(BgrError, match=message):
        tables.remade(page(**given))


@pytest.mark.parametrize("command", ["bgr data import docs/replays/reasongraphqa.jsonl --out work/data", "rm -r x"])
def test_other_commands_are_not_run(tables, command, capfd):
    text = f"```sh\n{command}\n```\n\n<!-- tables: systems -->\n<!-- end of tables -->\n"
    with pytest.raises(BgrError, match=r"allowed: bgr data|must be bgr compare"):
        tables.remade(text)


def test_published_files_are_in_the_folder_of_the_environment(tables, monkeypatch):
    monkeypatch.delenv("BGR_MULTIHOP", raising=False)
    with pytest.raises(BgrError, match=r"musique_train\.json: BGR_MULTIHOP must name"):
        tables._place("musique_train.json", Path("x"))


def test_the_replays_are_small_and_every_packed_file_is_valid():
    files = [file for file in REPLAYS.iterdir() if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 20_000_000
    for file in files:
        assert file.suffix != ".xz" or list(read_packed(file))


PAGES = [ROOT / "docs/passages.md"]
BLOCKS = [(path.name, n) for path in PAGES for n in range(path.read_text(encoding="utf-8").count("<!-- tables: "))]


def test_every_table_is_below_its_command(tables):
    assert [ROOT / name for name in tables.PAGES] == PAGES
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert text.count("<!-- end of tables -->") == len(tables._BLOCK.findall(text)) == len(BLOCKS) > 0


@pytest.mark.workflow
@pytest.mark.parametrize(("name", "number"), BLOCKS)
def test_the_pages_have_the_tables_of_the_published_sample(
    tables, name, number, multihop_sample, build_once, monkeypatch, capfd
):
    if multihop_sample is None:
        pytest.skip("BGR_MULTIHOP names no folder with HippoRAG's sample")
    monkeypatch.setenv("BGR_CACHE", str(build_once("vectors-of-tables", lambda folder: None)))  # of one corpus for all
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    block = list(tables._BLOCK.finditer(text))[number][0]
    assert tables.remade(block) == block
