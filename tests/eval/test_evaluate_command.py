"""`bgr evaluate` from files to files, with a tiny checkpoint and with baselines alone."""

import json

import pytest

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.retrievers.graph_hop.reconstruction import RULES
from eval.run.evaluate import query_of


@pytest.fixture
def data(examples, tmp_path):
    splits = {"train": examples[:1], "dev": examples[1:2], "test": examples[2:14]}
    write_dataset(tmp_path / "data", splits, [], {})
    (tmp_path / "data" / "dev.jsonl").write_text("")
    return tmp_path / "data"


@pytest.fixture
def checkpoint(small_checkpoint):
    home = small_checkpoint.rename(small_checkpoint.parent / "tiny")
    Settings(rule="intersection", gammas={"intersection": 0.25}).save(home)
    return home


def evaluate(*argv) -> int:
    return main(["evaluate", *map(str, argv)])


def test_checkpoint_rules_and_baseline_in_one_table(checkpoint, data, examples, capsys):
    assert evaluate("--checkpoint", checkpoint, "--data", data) == 0
    out = capsys.readouterr().out
    table = out.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table[2:]][:6] == [
        "bm25",
        "forward",
        "backward",
        "equation",
        "intersection",
        "released",
    ]
    assert "intersection, by structure" in out  # the checkpoint's own rule is broken down
    report = checkpoint.parent / "tiny-evaluation-test"
    content = json.loads((report / "metrics.json").read_text())
    assert content["main"] == "intersection"
    assert content["about"]["gammas"] == {rule: 0.25 if rule == "intersection" else 0.5 for rule in RULES}
    assert set(content["systems"]) == {"bm25", *RULES}
    assert all(system["all"]["n"] == 12 for system in content["systems"].values())
    own = BgrPipeline.from_pretrained(checkpoint).retrieve([query_of(example) for example in examples[2:14]])
    records = [json.loads(line) for line in (report / "predictions.jsonl").read_text().splitlines()]
    edges = [{(a, b) for a, b, *_ in record["predictions"]["intersection"]["edges"]} for record in records]
    assert edges == [result.graph.edges for result in own]


def test_chosen_rules_gamma_limit_and_json(checkpoint, data, tmp_path, capsys):
    out = tmp_path / "out"
    chosen = ("--rule", "equation", "--gamma", 1, "--limit", 5, "--baselines", "--json", "--out", out)
    assert evaluate("--checkpoint", checkpoint, "--data", data, *chosen) == 0
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads((out / "metrics.json").read_text())
    assert list(content["systems"]) == ["equation"]
    assert content["systems"]["equation"]["all"]["n"] == 5
    assert content["about"]["gammas"] == {"equation": 1}
    assert content["main"] == "equation"


def test_baselines_alone(data, tmp_path, capsys):
    assert evaluate("--data", data, "--baselines", "random", "bm25", "--out", tmp_path / "out") == 0
    assert "random, by type" in capsys.readouterr().out
    before = (tmp_path / "out" / "predictions.jsonl").read_bytes()
    assert evaluate("--data", data, "--baselines", "random", "bm25", "--out", tmp_path / "out", "--overwrite") == 0
    assert (tmp_path / "out" / "predictions.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--data", "DATA", "--out", "DATA"], "--overwrite"),
        (["--data", "DATA", "--split", "dev", "--out", "OUT"], "'dev' is empty"),
        (["--data", "OUT", "--out", "NEW"], "no such file"),
        (["--data", "DATA", "--checkpoint", "CKPT", "--rule", "best"], "unknown reconstruction rule 'best', known: "),
        (["--data", "DATA", "--checkpoint", "OUT"], "bgr.json"),
    ],
)
def test_errors_are_one_line_and_nothing_is_left(argv, said, checkpoint, data, tmp_path, capsys):
    places = {"DATA": data, "CKPT": checkpoint, "OUT": tmp_path / "out", "NEW": tmp_path / "new"}
    before = sorted(path.name for path in tmp_path.iterdir())
    assert evaluate(*(places.get(word, word) for word in argv)) == 1
    err = capsys.readouterr().err.strip().splitlines()
    assert said in err[-1]
    assert err[-1].startswith("bgr evaluate: error: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
