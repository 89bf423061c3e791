"""The notebooks run from start to end, and are stored small."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
MAX_BYTES = 150_000

PRINTED = {
    "1-first-answer": ["109 minute (confidence ", "not answerable from these facts", "Blade Runner (confidence "],
    "2-dataset": ["evidence structures", "gold      [(-1, "],
    "3-compare": ["P 0.667  R 0.667  F1 0.667  EM 0", "GM False GS True", "GED 0\nGED-l 1", "released weights"],
}


def printed(notebook):
    """What the cells print to standard output."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "".join(output.text for output in outputs if output.get("name") == "stdout")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_is_small_and_shows_its_results(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < MAX_BYTES
    assert all(text in printed(notebook) for text in PRINTED[path.stem])
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert {output.get("name", "stdout") for output in outputs} == {"stdout"}
    assert "/root/" not in path.read_text(encoding="utf-8")


# the second one builds a dataset and trains a model
TAKES = {"2-dataset": pytest.mark.slow}


@pytest.mark.parametrize(
    "path", [pytest.param(one, marks=TAKES.get(one.stem, pytest.mark.workflow), id=one.stem) for one in NOTEBOOKS]
)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    # the kernel finds the packages of this checkout, and not what another one has installed
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(text in printed(notebook) for text in PRINTED[path.stem])
