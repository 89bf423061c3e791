"""`bgr evaluate` from files to files, with a tiny checkpoint and with baselines alone."""

import json
import shutil
from dataclasses import replace

import pytest

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.retrievers.graph_hop.reconstruction import RULES
from eval.run.evaluate import query_of
from eval.run.read_evaluation import read_evaluation


@pytest.fixture
def data(examples, tmp_path):
    splits = {"train": examples[:1], "dev": [], "test": examples[2:14]}
    write_dataset(tmp_path / "data", splits, [], {})
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


def test_truncated_texts_are_counted_once(checkpoint, examples, tmp_path, capsys):
    # the checkpoint reads 64 tokens: two special ones, and a word each
    long, whole = " ".join(["persona"] * 63), " ".join(["rome"] * 62)
    facts = (long, whole, *examples[0].facts[2:])
    questions = {"a": long, "b": long, "c": whole}
    asked = [replace(examples[0], id=name, facts=facts, question=text) for name, text in questions.items()]
    splits = {"train": [], "dev": [], "test": [*asked, examples[3]]}
    write_dataset(tmp_path / "long", splits, [], {})
    words = ("--checkpoint", checkpoint, "--data", tmp_path / "long", "--out", tmp_path / "out", "--rule", "backward")
    assert evaluate(*words) == 0
    line = "backward: truncated: 1 of 3 questions (33.33 %), 1 of 12 facts (8.33 %)"
    assert capsys.readouterr().out.count("truncated:") == 1
    assert line in (tmp_path / "out" / "metrics.md").read_text()
    systems = json.loads((tmp_path / "out" / "metrics.json").read_text())["systems"]
    counts = {
        name: value for name, value in systems["backward"]["all"].items() if name.startswith(("questions", "facts"))
    }
    assert counts == {"questions_distinct": 3, "questions_truncated": 1, "facts_distinct": 12, "facts_truncated": 1}
    assert not any("truncated" in name for name in systems["bm25"]["all"])
    again = read_evaluation(tmp_path / "out")
    results = again.predictions("backward", splits["test"]).results
    assert [result.truncated for result in results] == [(-1, 0), (-1, 0), (0,), ()]
    assert again.predictions("bm25", splits["test"]).results[0].truncated is None


@pytest.mark.workflow
def test_baselines_alone(data, tmp_path, capsys):
    assert evaluate("--data", data, "--baselines", "random", "bm25", "--out", tmp_path / "out") == 0
    assert "random, by type" in capsys.readouterr().out
    before = (tmp_path / "out" / "predictions.jsonl").read_bytes()
    assert evaluate("--data", data, "--baselines", "random", "bm25", "--out", tmp_path / "out", "--overwrite") == 0
    assert (tmp_path / "out" / "predictions.jsonl").read_bytes() == before


@pytest.mark.workflow
def test_questions_without_an_answer(checkpoint, examples, tmp_path, capsys):
    """They are scored apart, for all systems, and do not change the graph metrics."""
    gaps = [
        replace(one, graph=EvidenceGraph(), answer="", missing=kind)
        for one, kind in zip(examples[20:24], ["one", "all", "one", "one"], strict=True)
    ]
    systems = {}
    for name, test in {"without": examples[:6], "with": [*gaps[:2], *examples[:6], *gaps[2:]]}.items():
        write_dataset(tmp_path / name, {"train": [], "dev": [], "test": test}, [], {})
        words = ("--checkpoint", checkpoint, "--rule", "forward", "fused", "--out", tmp_path / f"{name}-out")
        assert evaluate("--data", tmp_path / name, *words) == 0
        assert ("Questions without an answer" in capsys.readouterr().out) == (name == "with")
        content = json.loads((tmp_path / f"{name}-out" / "metrics.json").read_text())
        assert (content["about"]["questions"], content["about"]["unanswerable"]) == (6, len(test) - 6)
        systems[name] = content
        for system in content["systems"].values():
            system["all"].pop("seconds_per_question", None)
    assert systems["with"]["systems"] == systems["without"]["systems"]
    assert "refusal" not in systems["without"]
    refusals = systems["with"]["refusal"]
    assert [*refusals] == ["bm25", "forward", "fused"]
    assert [(kind, gap["n"]) for kind, gap in refusals["fused"]["gaps"].items()] == [("any", 4), ("one", 3), ("all", 1)]
    assert refusals["bm25"]["gaps"]["any"] == {"n": 4, "auc": None, "found": None, "refused": 0}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--data", "DATA", "--out", "DATA"], "--overwrite"),
        (["--data", "DATA", "--split", "dev", "--out", "OUT"], "'dev' is empty"),
        (["--data", "OUT", "--out", "NEW"], "no such file"),
        (["--data", "DATA", "--checkpoint", "CKPT", "--rule", "best"], "unknown reconstruction rule 'best', known: "),
        (["--data", "DATA", "--checkpoint", "OUT"], "bgr.json"),
        (["--data", "DAMAGED", "--checkpoint", "OUT", "--out", "NEW"], "dataset.json: not valid JSON"),
    ],
)
def test_errors_are_one_line_and_nothing_is_left(argv, said, checkpoint, data, tmp_path, capsys):
    damaged = shutil.copytree(data, tmp_path / "damaged")
    (damaged / "dataset.json").write_text("{")
    folders = {"OUT": tmp_path / "out", "NEW": tmp_path / "new", "DAMAGED": damaged}
    places = {"DATA": data, "CKPT": checkpoint, **folders}
    before = sorted(path.name for path in tmp_path.iterdir())
    assert evaluate(*(places.get(word, word) for word in argv)) == 1
    err = capsys.readouterr().err.strip().splitlines()
    assert said in err[-1]
    assert err[-1].startswith("bgr evaluate: error: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
