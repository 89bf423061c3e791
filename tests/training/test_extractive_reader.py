"""Training of an extractive reader from a config to an answer."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import read_split
from bgr.errors import CheckpointError
from bgr.models.batching import Sentences
from bgr.models.extractive_reader import ExtractiveReaderConfig, ExtractiveReaderModel
from bgr.reader.extractive import ExtractiveReader, ExtractiveSettings, Joint, logit
from bgr.reader.loading import load_reader
from bgr.reader.reader import NOT_ANSWERABLE, ReaderInput
from bgr.utils.atomic_io import complete_folder
from training.reader.retrieved import retrieve

MODEL = "layers: 1"


@pytest.fixture
def train(write_config, toy_data, tmp_path):
    """``train(*words, epochs=8)``: the folder of a reader of the toy questions."""

    def run(*words, epochs=8):
        config = write_config("reader", MODEL, epochs)
        out = ["--out", str(tmp_path / "reader"), "--overwrite"]
        assert main(["train", "reader", "--config", str(config), "--data", str(toy_data), *out, *words]) == 0
        return tmp_path / "reader"

    return run


@pytest.fixture
def items(toy_data):
    test = list(read_split(toy_data, "test"))
    return test, [ReaderInput(e.question, e.facts, e.graph) for e in test]


def test_it_learns_to_point_and_is_exported_with_a_retriever(train, items, small_checkpoint, tmp_path, capsys):
    folder = train()
    said = capsys.readouterr().out
    assert "dev exact 1" in said
    reader = load_reader(folder)
    assert isinstance(reader, ExtractiveReader)
    test, asked = items
    found = reader.answer(asked, batch_size=4)
    assert [one.text for one in found] == [e.answer for e in test]
    for example, one in zip(test, found, strict=True):
        [span] = one.spans
        assert example.facts[span.fact][span.start : span.end] == example.answer
        assert one.support == (span.fact,)
    # one at a time, in any order
    assert [reader.answer([item])[0].text for item in asked[::-1]] == [one.text for one in found[::-1]]
    assert reader.answer([ReaderInput(test[0].question, test[0].facts, test[0].graph.__class__())]) == [NOT_ANSWERABLE]
    assert_farther(reader, test)
    out = tmp_path / "out"
    words = ["export", "--run", str(small_checkpoint), "--reader", str(folder), "--out", str(out)]
    assert main(words) == 0
    assert "| reader | extractive, " in (out / "README.md").read_text()
    (tmp_path / "facts.txt").write_text("\n".join(test[0].facts))
    capsys.readouterr()
    ask = ["ask", "--checkpoint", str(out), "--facts", str(tmp_path / "facts.txt"), "--json", test[0].question]
    assert main(ask) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["answer"] is None or record["spans"]


def assert_farther(reader, examples):
    """Other questions are farther from those of the training than the test's, and answers to them are believed less."""
    asked = list(dict.fromkeys(example.question for example in examples))
    others = ["Warum ist der Himmel abends rot?", "how many eggs go into the batter", "x = 3 * y + 7"]
    rows = Sentences([*asked, *others], reader.tokenizer, max_tokens=64).take(range(len(asked) + len(others)))
    with torch.inference_mode():
        far = reader.model.distance(reader.model._encoded(rows.to(reader.device))).tolist()
    assert min(far[len(asked) :]) > max(far[: len(asked)])
    item = ReaderInput(others[0], examples[0].facts, examples[0].graph, completeness=0.5)
    sure = []
    for weight in (0.0, -0.01):
        settings = replace(reader.settings, joint=Joint(0.1, 1.0, 0.0, distance=weight))
        [found] = ExtractiveReader(reader.model, reader.tokenizer, settings, device=reader.device).answer([item])
        sure.append(logit(found.confidence))
    assert sure[0] - sure[1] == pytest.approx(0.01 * far[len(asked)], rel=1e-2)


@pytest.mark.workflow
def test_graphs_of_a_retriever_are_read_too(train, small_checkpoint, capsys):
    folder = train("--retriever", str(small_checkpoint), "--data.retrieved_limit=5", epochs=1)
    assert "retrieved exact" in capsys.readouterr().out
    [kept] = (folder / "training" / "reader").glob("graphs-*.jsonl")
    records = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len(records) == 5 + 10  # and all of dev
    assert {"retrieved_exact", "dev_exact"} <= ExtractiveReader.from_pretrained(folder).settings.metrics["dev"].keys()


@pytest.mark.workflow
def test_it_starts_from_another_reader(train, tmp_path, capsys):
    folder = train(epochs=1)
    first = tmp_path / "first"
    folder.rename(first)
    _with_a_label(first, "zone")
    rates = [f"--model.{name}learning_rate=0" for name in ("", "matrix_", "encoder_")]
    train("--init", str(first), *rates, epochs=1)
    assert "start anew" not in capsys.readouterr().err
    two = [load_reader(one).model.state_dict() for one in (first, folder)]
    assert all(torch.equal(weight, two[1][name]) for name, weight in two[0].items())
    assert load_reader(folder).model.config.labels[0] == "zone"


@pytest.mark.workflow
def test_the_result_is_the_mean_of_the_old_and_the_new_weights(train, tmp_path, capsys):
    first = train(epochs=1).rename(tmp_path / "first")
    found = {}
    for share in (0.25, 0, 1):
        folder = train("--init", str(first), f"--model.init_share={share}", epochs=1)
        found[share] = load_reader(folder).model.state_dict()
    old = load_reader(first).model.state_dict()
    assert any(not torch.equal(weights, old[name]) for name, weights in found[0].items())
    for name, weights in old.items():
        assert torch.equal(found[1][name], weights), name
        if name.startswith("distance."):  # measured with the weights that result
            continue
        torch.testing.assert_close(found[0.25][name], 0.25 * weights + 0.75 * found[0][name])


def _with_a_label(folder, name):
    """A reader that also knows a label that the data do not have, in the first place."""
    reader = load_reader(folder)
    model = reader.model
    config = ExtractiveReaderConfig.from_dict({**model.config.to_dict(), "labels": [name, *model.config.labels]})
    wider = ExtractiveReaderModel(config)
    own = wider.state_dict()
    for key, weight in model.state_dict().items():
        if own[key].shape == weight.shape:
            own[key].copy_(weight)
        else:
            own[key][1:].copy_(weight)
    shutil.rmtree(folder)
    folder.mkdir()
    ExtractiveReader(wider, reader.tokenizer, reader.settings).save(folder)
    complete_folder(folder)


def test_the_confidence_knows_of_missing_evidence():
    plain = ExtractiveSettings(slope=2.0, offset=-1.0)
    assert logit(plain.calibrated(0.8)) == pytest.approx(2 * logit(0.8) - 1)
    assert plain.calibrated(0.8, 0.25) == pytest.approx(0.25 * plain.calibrated(0.8))
    joint = ExtractiveSettings(joint=Joint(reader=1.5, completeness=0.5, offset=-0.2))
    assert logit(joint.calibrated(0.8, 0.3)) == pytest.approx(1.5 * logit(0.8) + 0.5 * logit(0.3) - 0.2)
    assert joint.calibrated(0.8, 0.3, distance=9.0) == joint.calibrated(0.8, 0.3)  # not measured
    far = ExtractiveSettings(joint=Joint(reader=1.5, completeness=0.5, offset=-0.2, distance=-0.1))
    assert logit(far.calibrated(0.8, 0.3, distance=9.0)) == pytest.approx(logit(joint.calibrated(0.8, 0.3)) - 0.9)
    assert joint.calibrated(0.8) == pytest.approx(0.8)
    assert 0 <= joint.calibrated(0.0, 0.0) < joint.calibrated(1.0, 1.0) <= 1


def test_a_t5_takes_no_retriever(toy_data, tmp_path, capsys):
    words = ["--config", "reader_t5", "--data", str(toy_data), "--out", str(tmp_path / "x"), "--retriever", "y"]
    assert main(["train", "reader", *words]) == 1
    assert "--retriever: only for an extractive reader" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_retriever_that_is_none_leaves_nothing_behind(write_config, toy_data, tmp_path, capsys):
    words = ["--config", str(write_config("reader", MODEL, 1)), "--data", str(toy_data), "--out", str(tmp_path / "x")]
    assert main(["train", "reader", *words, "--retriever", str(tmp_path / "none")]) == 1
    assert "none/bgr.json: no such file" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_graphs_of_another_checkpoint_are_not_those_that_were_kept(small_checkpoint, toy_data, tmp_path):
    asked, kept = list(read_split(toy_data, "dev"))[:2], tmp_path / "graphs.jsonl"
    retrieve(small_checkpoint, asked, kept, device="cpu", progress=False)
    other = shutil.copytree(small_checkpoint, tmp_path / "other")
    settings = json.loads((other / "bgr.json").read_text()) | {"fused_threshold": 9.0}
    (other / "bgr.json").write_text(json.dumps(settings))
    complete_folder(other)
    retrieve(other, asked, kept, device="cpu", progress=False)
    assert len(list(tmp_path.glob("graphs-*.jsonl"))) == 2
    with pytest.raises(CheckpointError, match=r"none/bgr\.json: cannot be read"):
        retrieve(tmp_path / "none", asked, kept)
