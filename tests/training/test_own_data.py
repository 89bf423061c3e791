"""Training on questions of one's own: from JSON lines to an answer."""

import json
import shutil
from pathlib import Path

import pytest

from bgr.cli import main
from bgr.released import checkpoint_folder
from bgr.retrievers.graph_hop.known_words import KnownWords
from bgr.utils.atomic_io import complete_folder
from tests.conftest import toy_examples
from training.retriever.train import parse
from training.run import Run

OWN = Path(__file__).parents[2] / "configs" / "own.yaml"


@pytest.mark.workflow
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_config_starts_from_the_released_weights(direction, short_data, tmp_path):
    init = f"--model.init={checkpoint_folder()}"
    cli = parse(Run(OWN, short_data, tmp_path / "run", [init]), direction)
    assert cli.model.hparams["init_share"] == 0.5
    assert not (tmp_path / "run").exists()


def own_lines(level):
    """40 questions: graphs in dev and test, `level` in training."""
    for number, one in enumerate(toy_examples(40, "x")):
        split = "dev" if number % 8 == 6 else "test" if number % 8 == 7 else "train"
        record = {"id": one.id, "question": one.question, "facts": one.facts, "answer": one.answer, "split": split}
        graph = {"graph": {"edges": sorted(one.graph.edges)}}
        known = {"graph": graph, "evidence": {"evidence": sorted(one.graph.nodes)}, "answer": {}}
        yield json.dumps({**record, **(known[level] if split == "train" else graph)})


@pytest.mark.workflow
@pytest.mark.parametrize("level", ["graph", "evidence", "answer"])
def test_from_lines_to_an_answer(level, trained_run, config, tmp_path, capsys):
    lines, facts = tmp_path / "own.jsonl", tmp_path / "facts.txt"
    data, run, made = (tmp_path / name for name in ("data", "run", "checkpoint"))
    lines.write_text("\n".join(own_lines(level)))
    question = json.loads(lines.read_text().splitlines()[0])
    facts.write_text("\n".join(question["facts"]))
    start = shutil.copytree(trained_run / "run", tmp_path / "start")
    (KnownWords.of(start) + KnownWords({"kelvin": 1})).save(start)
    complete_folder(start)
    reports = []
    for words in (
        ["data", "import", lines, "--out", data],
        ["train", "retriever", "--config", config(2), "--init", start, "--data", data, "--out", run],
        ["evaluate", "--checkpoint", run, "--data", data, "--out", tmp_path / "scores", "--json"],
        ["export", "--run", run, "--out", made],
        ["ask", question["question"], "--checkpoint", made, "--facts", facts, "--json"],
    ):
        capsys.readouterr()
        assert main([str(word) for word in words]) == 0
        reports.append(capsys.readouterr().out)
    scores = json.loads(reports[2])["systems"]
    # the lower-case names of the toy share words all the same, and the checkpoint knew the task
    assert scores["fused"]["all"]["f1"] > scores["bm25"]["all"]["f1"]
    assert question["facts"][0] in reports[4] or question["facts"][1] in reports[4]
    assert "kelvin" in KnownWords.of(run).counts
