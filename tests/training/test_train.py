"""`bgr train retriever` from files to a folder: learns, repeats itself, resumes, and refuses what is wrong."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.models.config import BgrConfig
from bgr.models.truncation import Truncation
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.retrievers.graph_hop.export import model_card
from bgr.retrievers.graph_hop.reconstruction import equation
from training.base_module import RetrievalModule
from training.callbacks import Epoch
from training.retriever.calibrate import dev_metrics
from training.retriever.train import parse, train_direction
from training.run import Run


def train(config, data, out, *more):
    return main(["train", "retriever", "--config", str(config), "--data", str(data), "--out", str(out), *more])


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


def test_learns_the_toy_and_scores_the_same_when_loaded(trained_run, toy_data):
    metrics = json.loads((trained_run / "printed.txt").read_text().strip().splitlines()[-1])
    pipeline = BgrPipeline.from_pretrained(trained_run / "run")
    found = metrics[pipeline.settings.rule]
    assert found["f1"] > 0.8  # one that has learned nothing has 0.65
    dev = load_split(toy_data, "dev")
    graphs = [pipeline.answer(e.question, e.facts).graph for e in dev]
    assert dev_metrics(graphs, dev) == pytest.approx(found)
    logs = trained_run / "run" / "training" / "forward"
    assert "dev/gm" in (logs / "csv" / "metrics.csv").read_text()
    assert list((logs / "tb").glob("events*"))


@pytest.mark.parametrize("direction", ["forward", pytest.param("backward", marks=pytest.mark.workflow)])
def test_same_seed_same_weights_other_seed_others(config, short_data, tmp_path, direction):
    for name, more in (("a", []), ("b", []), ("c", ["--seed=4"])):
        assert train(config(1), short_data, tmp_path / name, f"--direction={direction}", *more) == 0
    a, b, c = (load_file(tmp_path / name / direction / "model.safetensors") for name in "abc")
    assert same(a, b)
    assert not same(a, c)


@pytest.mark.workflow
def test_starts_from_a_checkpoint_of_the_same_settings(trained_run, config, short_data, tmp_path, capsys):
    start = ["--init", str(trained_run / "run"), "--direction=forward"]
    still = [f"--model.{name}=0" for name in ("learning_rate", "encoder_learning_rate", "matrix_learning_rate")]
    assert train(config(1), short_data, tmp_path / "a", *start, *still, "--model.weight_decay=0") == 0
    a, trained = (load_file(home / "forward" / "model.safetensors") for home in (tmp_path / "a", trained_run / "run"))
    assert same(a, trained)
    capsys.readouterr()
    assert train(config(1), short_data, tmp_path / "b", *start, "--model.rows=3") == 1
    assert "rows is 3, but 2 in " in capsys.readouterr().err
    assert train(config(1), short_data, tmp_path / "b", "--init", str(tmp_path / "none")) == 1
    assert "none/forward/config.json: no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        train(config(1), short_data, tmp_path / "a", "--init", str(tmp_path / "a"), "--overwrite")
    assert "would be deleted with --out" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


@pytest.mark.workflow
def test_the_result_is_the_mean_of_the_old_and_the_new_weights(trained_run, config, short_data, tmp_path, capsys):
    start = ["--init", str(trained_run / "run"), "--direction=forward"]
    for name, kept in (("new", 0), ("mean", 0.25), ("old", 1)):
        assert train(config(1), short_data, tmp_path / name, *start, f"--model.init_share={kept}") == 0
    homes = [trained_run / "run", *(tmp_path / name for name in ("new", "mean", "old"))]
    before, new, mean, old = (load_file(home / "forward" / "model.safetensors") for home in homes)
    assert same(old, before)
    assert not same(new, before)
    for name, weights in mean.items():
        torch.testing.assert_close(weights, 0.25 * before[name] + 0.75 * new[name])
    capsys.readouterr()
    assert train(config(1), short_data, tmp_path / "none", "--direction=forward", "--model.init_share=0.5") == 1
    assert "init_share needs init" in capsys.readouterr().err


def test_a_mean_leaves_frozen_weights_as_they_are_to_the_sign_of_zero():
    model = torch.nn.Linear(2, 1)
    model.weight.data, model.bias.data = torch.tensor([[-0.0, 1.0]]), torch.tensor([1.0])
    model.weight.requires_grad_(False)
    beginning = {name: one.detach().clone() for name, one in model.named_parameters()}
    model.bias.data += 1
    RetrievalModule.average(SimpleNamespace(model=model, beginning=beginning, hparams={"init_share": 0.25}))
    assert torch.signbit(model.weight).tolist() == [[True, False]]
    assert model.bias.tolist() == [1.75]


def test_on_a_cpu_gradients_are_added_up_in_one_order(config, toy_data, tmp_path):
    torch.use_deterministic_algorithms(False)
    parse(Run(config(1), toy_data, tmp_path / "run"), "forward")
    assert torch.are_deterministic_algorithms_enabled()


class Stopped(Exception):
    pass


@pytest.mark.workflow
def test_resume_gives_the_weights_of_an_uninterrupted_run(config, short_data, tmp_path):
    def stop_after_two(epoch):
        if isinstance(epoch, Epoch) and epoch.number == 2:
            raise Stopped

    whole, parts = (Run(config(4), short_data, tmp_path / name) for name in ("whole", "parts"))
    train_direction(whole, "forward", lambda epoch: None)
    with pytest.raises(Stopped):
        train_direction(parts, "forward", stop_after_two)
    epochs = []
    train_direction(replace(parts, resume=True), "forward", epochs.append)
    # an epoch is reported before its checkpoint is written, so the second one was lost and is repeated; where time is
    # short, the progress within one is reported too
    assert [epoch.number for epoch in epochs if isinstance(epoch, Epoch)] == [2, 3, 4]
    a, b = (load_file(run.out / "forward" / "model.safetensors") for run in (whole, parts))
    assert same(a, b)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--model.colour=red"], "colour"),
        (["--model.frozen_layers=many"], "frozen_layers"),
        (["--model.direction=up"], "forward, backward"),
        (["--model.encoder=/no/such/folder"], "/no/such/folder"),
        (["--data.batch_size=0"], "batch_size is 0, allowed: 1 or more"),
        (["--data.limit=-1"], "limit is -1, allowed: 0 or more"),
        (["--model.learning_rate=1e300"], "learning_rate is 1e+300, allowed: 0 or more, up to 1e30"),
        (["--model.learning_rate=-1"], "learning_rate is -1.0, allowed: 0 or more"),
        (["--model.weight_decay=-1"], "weight_decay is -1.0, allowed: 0 or more"),
        (["--model.warmup=2"], "warmup is 2.0, allowed: 0 to 1"),
        (["--trainer.enable_model_summary=-1"], "trainer.enable_model_summary is '-1', allowed: bool, null"),
    ],
)
def test_bad_settings_are_one_line_and_write_nothing(config, toy_data, tmp_path, refused, more, said):
    refused(train(config(), toy_data, tmp_path / "run", *more), said, "run")


def test_unknown_key_in_the_file(config, toy_data, tmp_path, capsys):
    path = config()
    path.write_text(path.read_text().replace("batch_size", "batch_sise"))
    assert train(path, toy_data, tmp_path / "run") == 1
    error = capsys.readouterr().err.strip()
    assert "batch_sise" in error
    assert "config.yaml" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("kind", ["retriever", "reader"])
def test_a_config_that_is_nested_too_deeply(kind, toy_data, tmp_path, refused):
    path = tmp_path / "deep.yaml"
    path.write_text("[" * 5000)
    words = ["train", kind, "--config", str(path), "--data", str(toy_data), "--out", str(tmp_path / "run")]
    refused(main(words), "deep.yaml: ", "run")


def test_an_existing_run_is_not_touched(config, toy_data, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("keep")
    assert train(config(), toy_data, tmp_path / "run") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_missing_data_and_missing_config(config, toy_data, tmp_path, capsys):
    assert train(config(), tmp_path / "nowhere", tmp_path / "run") == 1
    assert "nowhere" in capsys.readouterr().err
    assert train("nosuch", toy_data, tmp_path / "run") == 1
    assert "demo" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("text", "said"), [("{", "not valid JSON"), ('{"recipe": 2}', "recipe is 2, allowed: a text")])
def test_a_damaged_dataset_is_refused_before_training(config, short_data, tmp_path, refused, text, said):
    data = shutil.copytree(short_data, tmp_path / "data")
    (data / "dataset.json").write_text(text)
    refused(train(config(), data, tmp_path / "run"), said, "run")


@pytest.mark.workflow
def test_truncated_texts_are_said_once_and_kept(config, short_data, tmp_path, capsys):
    # the question has 14 tokens, the facts of capitals 9, the others fewer
    short = ("--model.question_tokens=13", "--model.fact_tokens=8")
    assert train(config(1), short_data, tmp_path / "run", *short) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "truncated" in line]
    assert lines == ["forward   truncated: 1 of 1 questions (100.00 %), 3 of 16 facts (18.75 %)"]
    settings = Settings.load(tmp_path / "run")
    assert settings.truncation == {"questions": Truncation(1, 1), "facts": Truncation(3, 16)}
    limits = BgrConfig()
    assert "| longer texts in training | truncated: 3 of 16 facts (18.75 %)" in model_card(settings, limits, limits)
    assert "longer texts" not in model_card(replace(settings, truncation={}), limits, limits)


def test_the_papers_model_is_trained_with_its_own_rule(encoder_folder, short_data, tmp_path, capsys):
    words = ["--config", "paper", "--data", str(short_data), "--out", str(tmp_path / "run"), "--json"]
    more = [f"--model.encoder={encoder_folder}", "--trainer.max_epochs=1", "--trainer.accelerator=cpu"]
    assert main(["train", "retriever", *words, *more]) == 0
    capsys.readouterr()
    pipeline = BgrPipeline.from_pretrained(tmp_path / "run")
    config = pipeline.forward.config
    assert (config.rows, config.frozen_layers, config.width) == (1, 0, config.encoder.hidden_size)
    extra = ("links", "marks", "numbers", "kind", "context", "relevance", "completeness", "pruner")
    assert all(getattr(pipeline.forward, name) is None for name in extra)
    assert pipeline.settings.rule == "equation"
    (example,) = load_split(short_data, "dev")[:1]
    answer = pipeline.answer(example.question, example.facts)
    gamma = pipeline.settings.gamma("equation")
    assert answer.graph == equation(answer.forward, answer.backward, gamma)
    assert answer.completeness is None


@pytest.mark.parametrize("rule", ["backwards", "1"])
def test_an_unknown_rule_is_refused(config, short_data, tmp_path, capsys, rule):
    path = config(1)
    path.write_text(f"{path.read_text()}rule: {rule}\n")
    assert train(path, short_data, tmp_path / "run") == 1
    error = capsys.readouterr().err.strip()
    assert str(path) in error
    assert "rule" in error
    assert not (tmp_path / "run").exists()


def test_an_encoder_of_another_kind_is_refused(config, short_data, tmp_path, capsys):
    from transformers import RobertaConfig

    RobertaConfig(vocab_size=66, hidden_size=16, num_hidden_layers=1, num_attention_heads=2).save_pretrained(tmp_path)
    assert train(config(1), short_data, tmp_path / "run", f"--model.encoder={tmp_path}") == 1
    error = capsys.readouterr().err.strip()
    assert f"encoder {tmp_path} is of type roberta, allowed: bert" in error
    assert "\n" not in error
