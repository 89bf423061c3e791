"""The sweep over γ, and the command that writes it."""

import csv
import json

import pytest

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.reconstruction import GAMMAS, RULES
from eval.report.evaluation import sweep_text, write_sweep
from eval.run.evaluate import Predictions, evaluate, query_of
from eval.run.sweep import sweep

STAR = EvidenceGraph([(ROOT, 0), (ROOT, 1)])


def test_points_are_those_of_the_evaluation(examples, imperfect):
    def merge(place, rule, gamma):
        return imperfect[place].graph if gamma < 0.5 else STAR

    result = sweep(merge, examples, ["equation", "forward"], gammas=[0.0, 0.25, 0.5])
    slow = evaluate({"slow": Predictions(imperfect)}, examples)[0].mean
    for metric in ("gm", "gs", "f1", "ged"):
        assert result.points["equation"][0][metric] == pytest.approx(slow[metric])
        assert result.points["equation"][1] == result.points["equation"][0] != result.points["equation"][2]
    assert len({tuple(point.items()) for point in result.points["forward"]}) == 1  # no γ in it
    assert result.n == len(examples)
    assert result.best("equation") == (0.0, result.points["equation"][0])  # of equal ones the smallest


def test_the_best_gamma_is_where_gm_and_f1_are(examples):
    def merge(place, rule, gamma):
        return examples[place].graph if gamma == 0.7 else STAR

    result = sweep(merge, examples, ["fused"])
    assert result.best("fused")[0] == 0.7
    assert result.best("fused")[1] == {"gm": 1.0, "gs": 1.0, "f1": 1.0, "ged": 0.0, "score": 1.0}
    text = sweep_text(result, {"checkpoint_gammas": {"fused": 0.5}, "split": "test"})
    assert text.splitlines()[2].split()[:4] == ["fused", "0.70", "0.50", "100.00"]
    assert "for inspection only" in text
    assert "for inspection only" not in sweep_text(result, {"checkpoint_gammas": {}, "split": "dev"})


def test_distances_out_of_time_are_said(examples):
    far = [EvidenceGraph([(ROOT, n) for n in range(4)] + [(n, n + 4) for n in range(4)])] * 2
    result = sweep(lambda place, rule, gamma: far[place], examples[3:5], ["equation"], ged_seconds=0.0)
    assert (result.ged_not_exact > 0) == (
        "ran out of time" in sweep_text(result, {"checkpoint_gammas": {}, "split": "dev"})
    )


def test_bad_input():
    with pytest.raises(DataError, match="no examples"):
        sweep(lambda *_: STAR, [], ["fused"])


@pytest.mark.parametrize(("rules", "gammas"), [([], [0.5]), (["fused"], []), (["fused"], [1.5])])
def test_nothing_to_sweep(examples, rules, gammas):
    with pytest.raises(BgrError, match="allowed: 0 to 1"):
        sweep(lambda *_: STAR, examples, rules, gammas=gammas)


@pytest.fixture
def data(examples, tmp_path):
    write_dataset(tmp_path / "data", {"train": examples[:1], "dev": examples[2:10], "test": examples[10:12]}, [], {})
    return tmp_path / "data"


@pytest.mark.workflow
def test_command_writes_tables_and_the_figure(small_checkpoint, data, examples, capsys):
    assert main(["evaluate", "--checkpoint", str(small_checkpoint), "--data", str(data), "--sweep"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split()[-1] == "n"
    home = small_checkpoint.parent / f"{small_checkpoint.name}-sweep-dev"
    assert sorted(path.name for path in home.iterdir()) == [
        "SHA256SUMS",
        "sweep.csv",
        "sweep.json",
        "sweep.md",
        "sweep.png",
    ]
    assert (home / "sweep.png").read_bytes()[:4] == b"\x89PNG"
    content = json.loads((home / "sweep.json").read_text())
    assert content["n"] == 8
    assert set(content["rules"]) == set(RULES)
    with (home / "sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(RULES) * len(GAMMAS)
    assert float(rows[0]["gm"]) == content["rules"][rows[0]["rule"]][0]["gm"]
    # one point by hand
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    found = pipeline.retrieve_directions([query_of(example) for example in examples[2:10]])
    results = [one.merged("fused", 0.3, fusion=pipeline.settings.fusion) for one in found]
    mean = evaluate({"fused": Predictions(results)}, examples[2:10])[0].mean
    point = content["rules"]["fused"][GAMMAS.index(0.3)]
    assert {metric: point[metric] for metric in ("gm", "gs", "f1", "ged")} == pytest.approx(
        {metric: mean[metric] for metric in ("gm", "gs", "f1", "ged")}
    )


@pytest.mark.workflow
def test_command_with_chosen_rules_split_and_json(small_checkpoint, data, tmp_path, capsys):
    chosen = [
        "--rule",
        "fused",
        "equation",
        "--split",
        "test",
        "--limit",
        "1",
        "--json",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(["evaluate", "--checkpoint", str(small_checkpoint), "--data", str(data), "--sweep", *chosen]) == 0
    content = json.loads(capsys.readouterr().out)
    assert list(content["rules"]) == ["fused", "equation"]
    assert (content["n"], content["about"]["split"]) == (1, "test")
    assert content == json.loads((tmp_path / "out" / "sweep.json").read_text())


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--checkpoint", "CKPT", "--rule", "best"], "unknown reconstruction rule 'best', known: "),
        (["--checkpoint", "OUT"], "bgr.json"),
        (["--checkpoint", "CKPT", "--out", "DATA"], "--overwrite"),
    ],
)
def test_errors_are_one_line_and_nothing_is_left(argv, said, small_checkpoint, data, tmp_path, capsys):
    places = {"DATA": str(data), "CKPT": str(small_checkpoint), "OUT": str(tmp_path / "out")}
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main(["evaluate", "--data", str(data), "--sweep", *(places.get(word, word) for word in argv)]) == 1
    err = capsys.readouterr().err.strip().splitlines()
    assert said in err[-1]
    assert err[-1].startswith("bgr evaluate: error: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_figure_takes_any_rules(examples, tmp_path):
    result = sweep(lambda place, rule, gamma: examples[place].graph, examples[:3], ["fused"], gammas=[0.0, 1.0])
    write_sweep(tmp_path, result, {"checkpoint_gammas": {}, "split": "dev"})
    assert (tmp_path / "sweep.png").stat().st_size > 5_000
