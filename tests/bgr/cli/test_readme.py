"""The README's Python examples run as they stand, over a small checkpoint and a small server."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[3] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def demo(tmp_path, monkeypatch, random_checkpoint):
    """A working folder with the demo's checkpoint in its place."""
    (tmp_path / "work" / "demo").mkdir(parents=True)
    (tmp_path / "work" / "demo" / "checkpoint").symlink_to(random_checkpoint)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_candidates_of_one_question(demo, capsys):
    exec(compile(EXAMPLES[0], "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert re.fullmatch(r"frozenset\(.*\) \[.*\] [01]\.\d+\n", out), out
    assert (demo / "graph.svg").stat().st_size > 1000


def test_four_retrievers_over_a_collection(demo, capsys, schema_server):
    code = EXAMPLES[1].replace("http://localhost:8000/v1#model", schema_server.spec)
    exec(compile(code, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    # the searches rank all three documents, and begin with one of the two that the answer needs
    assert all("Persona was made in Sweden." in line and "(-1, " in line for line in lines[:2])
    assert schema_server.calls >= 3
    assert (demo / "work" / "films").is_dir()


def test_examples_are_the_two_above():
    assert len(EXAMPLES) == 2
