"""`bgr compare` from files to files: evaluations read, baselines and checkpoints run, bad input in one line."""

import json
import shutil

import pytest

from bgr.cli import main
from bgr.errors import BgrError
from eval.systems.spec import SystemSpec


def bgr(command, *argv) -> int:
    return main([command, *map(str, argv)])


@pytest.fixture(scope="module")
def evaluated(toy_data, tmp_path_factory):
    out = tmp_path_factory.mktemp("evaluated") / "evaluation"
    assert bgr("evaluate", "--data", toy_data, "--baselines", "random", "bm25", "--errors", "--out", out) == 0
    return out


@pytest.fixture
def evaluation(evaluated, tmp_path):
    return shutil.copytree(evaluated, tmp_path / "evaluation")


def test_evaluate_sorts_errors(evaluation):
    errors = json.loads((evaluation / "errors.json").read_text())
    assert errors["bm25"]["n"] == 10
    assert errors["bm25"]["failures"] > 0
    assert "## bm25" in (evaluation / "errors.md").read_text()


def test_read_and_run_side_by_side(evaluation, small_checkpoint, toy_data, tmp_path, capsys):
    capsys.readouterr()
    chosen = [
        evaluation,
        f"again={evaluation}:random",
        "words=bm25",
        f"{small_checkpoint}:forward",
        f"c={small_checkpoint}",
    ]
    out = tmp_path / "out"
    options = ("--samples", 50, "--main", "bm25", "--json")
    assert bgr("compare", "--data", toy_data, "--systems", *chosen, "--out", out, *options) == 0
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads((out / "metrics.json").read_text())
    assert list(content["systems"]) == ["random", "bm25", "again", "words", "forward", "c"]
    assert content["main"] == "bm25"
    means = {name: dict(one["all"]) for name, one in content["systems"].items()}
    for mean in means.values():
        mean.pop("seconds_per_question", None)
    assert means["again"] == means["random"]
    assert means["words"] == means["bm25"]
    assert 0 < means["forward"]["parameters"] < means["c"]["parameters"]
    stored = json.loads((evaluation / "metrics.json").read_text())["systems"]["bm25"]["all"]
    assert content["systems"]["bm25"]["all"] == pytest.approx(stored)


def test_same_command_same_files(evaluation, toy_data, tmp_path, capsys):
    for name in ("a", "b"):
        argv = ("--data", toy_data, "--systems", evaluation, "--samples", 30, "--out", tmp_path / name)
        assert bgr("compare", *argv) == 0
    assert "missed fact" in capsys.readouterr().out
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_limit_takes_the_first_questions(evaluation, toy_data, tmp_path):
    out = tmp_path / "out"
    argv = ("--systems", evaluation, "random2=random", "--limit", 4, "--samples", 9, "--out", out)
    assert bgr("compare", "--data", toy_data, *argv) == 0
    lines = [json.loads(line) for line in (out / "predictions.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["c0", "c1", "c2", "c3"]


def test_places(tmp_path):
    odd = tmp_path / "a:b=c"
    odd.mkdir()
    assert SystemSpec.parse("bm25") == SystemSpec(None, "bm25", None)
    assert SystemSpec.parse("x=random") == SystemSpec("x", "random", None)
    assert SystemSpec.parse(f"x={tmp_path}:fused") == SystemSpec("x", str(tmp_path), "fused")
    assert SystemSpec.parse(f"{tmp_path}:fused") == SystemSpec(None, str(tmp_path), "fused")
    assert SystemSpec.parse(str(odd)) == SystemSpec(None, str(odd), None)
    assert SystemSpec.parse(f"y={odd}") == SystemSpec("y", str(odd), None)
    for text in ("", "=", "x=", "=bm25", ":x"):
        with pytest.raises(BgrError, match=r"allowed: \[NAME=\]PLACE\[:PART\]"):
            SystemSpec.parse(text)


def test_a_seed_below_0_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["compare", "--data", str(tmp_path), "--systems", "bm25", "--out", str(tmp_path / "out"), "--seed", "-1"])
    assert "--seed: -1: allowed: 0 or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--systems", "EVAL", "--out", "EVAL"], "--overwrite"),
        (["--systems", "NOTHING"], "nothing does not exist"),
        (["--systems", "EVAL", "EVAL"], "two systems have the name 'random'"),
        (["--systems", "x=EVAL:fused"], "no system 'fused', there are: random, bm25"),
        (["--systems", "EVAL", "--main", "fused"], "--main is 'fused', the systems are: random, bm25"),
        (["--systems", "EVAL", "--split", "dev"], "question 'c0' is not in the split 'dev'"),
        (["--systems", "EVAL", "SMALL"], "4 questions, not the same as the 10 of"),
        (["--systems", "s=SMALL", "--limit", "5"], "question 'c4' is missing"),
        (["--systems", "EVAL", "--data", "OTHER"], "compare only what ran on the same data"),
        (["--systems", "EVAL", "--sweep", "EVAL"], "sweep.json: no such file"),
        (["--systems", "EVAL", "--sweep", "SWEEP"], "was made on data with hash 'another"),
        (["--systems", "EVAL", "--reader", "EVAL"], "reader.json"),
        (["--systems", "bm25:k"], "bm25 has no part 'k'"),
        (["--systems", "CKPT:best"], "unknown reconstruction rule 'best'"),
        (["--systems", "DATA"], "bgr.json: no such file"),
    ],
)
def test_bad_input(argv, said, evaluation, small_checkpoint, toy_data, tmp_path, capsys):
    small, other = tmp_path / "small", tmp_path / "other"
    small.mkdir()
    lines = (evaluation / "predictions.jsonl").read_text().splitlines(keepends=True)
    (small / "predictions.jsonl").write_text("".join(lines[:4]))
    shutil.copy(evaluation / "metrics.json", small)
    shutil.copytree(toy_data, other)
    (other / "train.jsonl").write_text("")
    places = {"EVAL": evaluation, "SMALL": small, "OTHER": other, "CKPT": small_checkpoint, "DATA": toy_data}
    point = {"gm": 0.5, "gs": 0.5, "f1": 0.5, "ged": 1.0}
    sweep = {"gammas": [0.5], "rules": {"fused": [point]}, "best": {"fused": {"gamma": 0.5}}, "n": 3}
    (tmp_path / "sweep.json").write_text(json.dumps({"about": {"data_hash": "another one"}, **sweep}))
    places |= {"NOTHING": tmp_path / "nothing", "SWEEP": tmp_path / "sweep.json"}
    words = []
    for word in argv:
        for name, place in places.items():
            word = word.replace(name, str(place))
        words.append(word)
    out = [] if "--out" in argv else ["--out", tmp_path / "out"]
    data = [] if "--data" in argv else ["--data", toy_data]
    before = sorted(path.name for path in tmp_path.iterdir())
    capsys.readouterr()
    assert bgr("compare", *words, *out, *data, "--samples", 5) == 1
    err = capsys.readouterr().err.strip().splitlines()
    assert err[-1].startswith("bgr compare: error: ")
    assert said in err[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == before
