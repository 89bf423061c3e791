import json
from statistics import fmean, stdev

import pytest

from bgr.pipeline import BgrPipeline
from training.retriever.seeds import read_seeds, spreads, table
from training.run import Run, is_finished, mark_finished

SMALL = ["--trainer.max_epochs=1", "--data.limit=6"]


def test_mean_and_sample_standard_deviation():
    rows = [{"fused": {"gs": 1.0, "gm": 1.0, "ece": 0.0}, "forward": {"gm": gm}} for gm in (0.25, 0.75)]
    dev = spreads(rows)
    assert dev["forward"]["gm"] == {"mean": 0.5, "sd": stdev([0.25, 0.75]), "n": 2, "values": [0.25, 0.75]}
    assert spreads(rows[:1])["forward"]["gm"] == {"mean": 0.25, "sd": None, "n": 1, "values": [0.25]}
    assert table(spreads(rows[:1])).splitlines()[0] == "dev  forward      gm 0.250"
    assert table(dev).splitlines() == [
        "dev  forward      gm 0.500 ± 0.354",
        "dev  fused        gm 1.000 ± 0.000  gs 1.000 ± 0.000  ece 0.000 ± 0.000",
    ]


def test_seeds_are_read():
    assert read_seeds("0, 2,1") == (0, 2, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", "0,0"], "0 is repeated"),
        (["--seeds", "1,01"], "1 is repeated"),
        (["--seeds", "a"], "'a' is not a valid seed; allowed: integers from 0 to 4294967295"),
        (["--seeds", ""], "'' is not a valid seed"),
        (["--seeds", "0,"], "'' is not a valid seed"),
        (["--seeds=-1"], "'-1' is not a valid seed"),
        (["--seeds", "4294967296"], "'4294967296' is not a valid seed"),
        (["--seeds", "²"], "'²' is not a valid seed"),
    ],
)
def test_bad_seeds_are_one_line_and_write_nothing(train, tmp_path, capsys, words, said):
    assert train(tmp_path / "run", *words) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.workflow
def test_a_run_per_seed_and_their_summary(train, tmp_path, capsys, one_thread):
    out = tmp_path / "runs"
    assert train(out, "--seeds", "4,3", "--json", *SMALL) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "seeds.json").read_text())
    assert (printed["seeds"], printed["runs"]) == ([4, 3], ["seed-4", "seed-3"])
    kept = [json.loads((out / run / "bgr.json").read_text())["metrics"]["dev"] for run in printed["runs"]]
    for rule, row in printed["dev"].items():
        for name, spread in row.items():
            values = [metrics[rule][name] for metrics in kept]
            assert spread == {"mean": fmean(values), "sd": stdev(values), "n": 2, "values": values}
    BgrPipeline.from_pretrained(out / "seed-3").answer("Which city ?", ["Paris is a city ."])

    # the folder accepts neither a new start nor another kind of run
    assert train(out, "--seeds", "4,3", *SMALL) == 1
    assert "give --resume to resume or --overwrite to start again" in capsys.readouterr().err
    assert train(out, "--resume", *SMALL) == 1
    assert "was started with --seeds" in capsys.readouterr().err

    # finished seeds are skipped, unfinished ones resume
    written = {path: path.stat().st_mtime_ns for path in out.glob("seed-*/*/model.safetensors")}
    before = (out / "seed-3" / "bgr.json").read_bytes()
    (out / "seed-3" / "bgr.json").unlink()
    (out / "seeds.json").unlink()
    assert train(out, "--seeds", "4,3", "--resume", *SMALL) == 0
    assert {path: path.stat().st_mtime_ns for path in out.glob("seed-*/*/model.safetensors")} == written
    assert (out / "seed-3" / "bgr.json").read_bytes() == before
    assert json.loads((out / "seeds.json").read_text()) == printed
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith(f"dev  forward      gm {printed['dev']['forward']['gm']['mean']:.3f} ± ")
    assert shown[-1].startswith("mean ± sample standard deviation, n = 2; checkpoints in ")


def test_with_other_settings_nothing_is_finished(tmp_path):
    run = Run(tmp_path / "config.yaml", tmp_path / "data", tmp_path / "run")
    (run.out / "forward").mkdir(parents=True)
    (run.out / "forward" / "model.safetensors").touch()
    run.home("forward").mkdir(parents=True)
    assert not is_finished(run, "forward", {"seed": 0})
    mark_finished(run, "forward", {"seed": 0})
    assert is_finished(run, "forward", {"seed": 0})
    assert not is_finished(run, "forward", {"seed": 1})


def test_a_single_run_is_not_gone_on_with_as_several(train, tmp_path, capsys):
    (tmp_path / "run" / "training" / "forward").mkdir(parents=True)
    assert train(tmp_path / "run", "--seeds", "0,1", "--resume") == 1
    assert "was started without --seeds" in capsys.readouterr().err
