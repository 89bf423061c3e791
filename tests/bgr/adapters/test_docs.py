"""The code in docs/adapters.md runs as it stands, in order."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "adapters.md"


@pytest.mark.workflow
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 [None] Persona", lines
    assert {document.id for document in names["documents"]} == {"1", "2", "3"}
    assert {node.node_id for node in names["nodes"]} == {"1", "2", "3"}
    assert {one.id for one in names["found"]["retriever"]["documents"]} == {"1", "2", "3"}
    assert names["again"].run({"retriever": {"query": names["question"]}}).keys() == {"retriever"}
