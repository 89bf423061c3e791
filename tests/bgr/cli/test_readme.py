"""The Python examples of the README and the pages run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = {"README.md": 1, "docs/facts.md": 1, "docs/systems.md": 1}
"""Pages whose examples run here, with their number."""


def examples(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def demo(tmp_path, monkeypatch, random_checkpoint):
    """A working folder with the demo's checkpoint in its place."""
    (tmp_path / "work" / "demo").mkdir(parents=True)
    (tmp_path / "work" / "demo" / "checkpoint").symlink_to(random_checkpoint)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(page, code=None):
    names = {}
    exec(compile(code or examples(page)[0], page, "exec"), names)
    return names


def test_candidates_of_one_question(demo, capsys):
    run("README.md")
    out = capsys.readouterr().out
    assert re.fullmatch(r"Stockholm 0\.\d+ frozenset\(\{\(-1, 0\), \(0, 1\)\}\)\n", out), out
    assert (demo / "answer.svg").stat().st_size > 1000


def test_facts_and_documents(demo, capsys):
    names = run("docs/facts.md")
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("Stockholm ")
    assert "[0, 1]" in second
    assert third.startswith("Stockholm ")
    assert (demo / "graph.svg").stat().st_size > 1000
    assert [one["title"] for one in names["answer"].evidence] == ["", ""]


def test_four_retrievers_over_a_collection(demo, capsys, schema_server):
    run("docs/systems.md", examples("docs/systems.md")[0].replace("http://localhost:8000/v1#model", schema_server.spec))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    # the searches rank all three documents, and begin with one of the two that the answer needs
    assert all("Persona was made in Sweden." in line and "(-1, " in line for line in lines[:2])
    assert schema_server.calls >= 3
    assert (demo / "work" / "films").is_dir()


def test_examples_are_those_above():
    assert {page: len(examples(page)) for page in PAGES} == PAGES
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150
