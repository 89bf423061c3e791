"""A pair of directions on disk: equal frozen layers are stored once, and every tensor is checked when it is loaded."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from bgr.errors import CheckpointError
from bgr.models.checkpoint import BY_NAME, SHARED, save_part
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.extractive_reader import ExtractiveReaderConfig
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.checkpoint import Settings, load_retriever
from bgr.retrievers.graph_hop.export import export
from bgr.retrievers.graph_hop.options import ExportOptions

LAST = "encoder.bert.encoder.layer.1.output.dense.weight"
FIRST = "encoder.bert.encoder.layer.0.output.dense.weight"


@pytest.fixture(scope="module")
def pair(make_retriever):
    """Two directions with the same embeddings and first layer."""
    forward, backward = (make_retriever(d, seed=seed, frozen_layers=1) for seed, d in enumerate(DIRECTIONS))
    backward.encoder.load_state_dict(forward.encoder.state_dict())
    with torch.no_grad():
        backward.get_parameter(LAST).add_(1)
    return forward, backward


@pytest.fixture(scope="module")
def written(build_once, pair, tokenizer):
    def make(folder):
        for model in pair:
            save_part(model, folder / model.config.direction, folder)
        tokenizer.save_pretrained(folder)
        Settings(data_hash="abc").save(folder)

    return build_once("shared-encoder", make)


@pytest.fixture
def folder(written, tmp_path):
    return shutil.copytree(written, tmp_path / "pair")


def states(folder):
    return [load_retriever(folder, direction).state_dict() for direction in DIRECTIONS]


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_frozen_layers_are_stored_once(written, pair):
    shared = load_file(written / SHARED)
    own = [load_file(written / direction / "model.safetensors") for direction in DIRECTIONS]
    assert FIRST in shared
    assert LAST not in shared
    for model, tensors, loaded in zip(pair, own, states(written), strict=True):
        assert shared.keys() == {f"encoder.{name}" for name in model.encoder.frozen_names()}
        assert shared.keys() | tensors.keys() == model.state_dict().keys()
        assert not shared.keys() & tensors.keys()
        assert same(loaded, model.state_dict())


@pytest.mark.workflow
@pytest.mark.parametrize("half", [False, True])
def test_an_export_holds_them_once_too(written, tmp_path, half):
    out = export(ExportOptions(run=written, out=tmp_path / "out", half=half))
    assert load_file(out / SHARED)[FIRST].dtype == (torch.float16 if half else torch.float32)
    assert not any(FIRST in load_file(out / direction / "model.safetensors") for direction in DIRECTIONS)
    query = Query("Where is Persona ?", ["Persona was made in Sweden .", "Rome ."])
    one, other = (BgrPipeline.from_pretrained(path).retrieve([query])[0] for path in (written, out))
    assert one.graph.edges == other.graph.edges


def test_a_loaded_pair_shares_their_memory(written):
    pipeline = BgrPipeline.from_pretrained(written, precision="bf16")
    one, other = (model.get_parameter(FIRST) for model in (pipeline.forward, pipeline.backward))
    assert one is other
    assert one.dtype == torch.bfloat16
    assert pipeline.forward.get_parameter(LAST) is not pipeline.backward.get_parameter(LAST)


@pytest.mark.parametrize("settings", [{"frozen_layers": 0}, {"frozen_layers": 1}], ids=["trained", "different"])
def test_encoders_that_differ_are_stored_twice(make_retriever, tmp_path, settings):
    models = [make_retriever(direction, seed=seed, **settings) for seed, direction in enumerate(DIRECTIONS)]
    for model in models:
        save_part(model, tmp_path / model.config.direction, tmp_path)
    assert LAST in load_file(tmp_path / "backward" / "model.safetensors")
    assert FIRST in load_file(tmp_path / "backward" / "model.safetensors")
    assert all(same(model.state_dict(), loaded) for model, loaded in zip(models, states(tmp_path), strict=True))


def test_a_folder_of_an_older_version_is_loaded(pair, folder):
    shutil.rmtree(folder / "encoder")
    for model in pair:
        model.save_pretrained(folder / model.config.direction)
    assert all(same(model.state_dict(), loaded) for model, loaded in zip(pair, states(folder), strict=True))


def edit(change):
    def harm(path):
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path)

    return harm


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda path: path.unlink(), r"forward/model.safetensors: tensor .* is missing, and there is no .*encoder/"),
        (lambda path: path.write_bytes(path.read_bytes()[:500]), r"encoder/model.safetensors: not a complete"),
        (edit(lambda tensors: tensors.pop(FIRST)), rf"tensor {FIRST} is missing"),
        (edit(lambda tensors: tensors.update({FIRST: torch.zeros(3)})), r"encoder/model.safetensors: .* is \[3\]"),
        (edit(lambda tensors: tensors.update(x=torch.zeros(3))), "encoder/model.safetensors: tensor x is not in the"),
        (edit(lambda tensors: tensors[FIRST].fill_(torch.nan)), rf"encoder/model.safetensors: tensor {FIRST} holds"),
    ],
    ids=["missing", "cut", "lacks one", "shape", "one more", "not finite"],
)
def test_a_damaged_shared_file_is_an_error_of_one_line(folder, harm, said):
    harm(folder / SHARED)
    with pytest.raises(CheckpointError, match=said) as error:
        load_retriever(folder, "forward")
    assert "\n" not in str(error.value)


@pytest.fixture
def published(pair, tmp_path, monkeypatch):
    """The encoder of the pair in place of the packaged one."""
    pair[0].encoder.bert.save_pretrained(tmp_path / "published")
    monkeypatch.setattr("bgr.models.checkpoint.packaged_minilm", lambda: tmp_path / "published")
    return tmp_path / "published" / "model.safetensors"


@pytest.mark.workflow
@pytest.mark.parametrize("half", [False, True])
def test_an_export_may_name_the_encoder(written, published, tmp_path, half):
    out = export(ExportOptions(run=written, out=tmp_path / "out", half=half, without_encoder=True))
    assert not (out / SHARED).exists()
    assert not any(FIRST in load_file(out / direction / "model.safetensors") for direction in DIRECTIONS)
    for one, other in zip(states(written), states(out), strict=True):
        assert torch.equal(one[FIRST], other[FIRST])  # in full precision
        assert same(one, other) is not half
    again = export(ExportOptions(run=out, out=tmp_path / "again"))
    assert (again / SHARED).is_file()
    assert same(states(out)[1], states(again)[1])


def test_another_encoder_cannot_be_named(written, published, tmp_path):
    edit(lambda tensors: tensors["embeddings.word_embeddings.weight"].add_(1))(published)
    with pytest.raises(CheckpointError, match="the frozen layers are not those of packaged-minilm"):
        export(ExportOptions(run=written, out=tmp_path / "out", without_encoder=True))
    assert not (tmp_path / "out").exists()


def test_a_pair_without_frozen_layers_has_no_encoder_to_name(make_retriever, published, tmp_path):
    with pytest.raises(CheckpointError, match="are not those"):
        save_part(make_retriever("forward"), tmp_path / "forward", tmp_path, by_name=True)


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"name": "other"}, {"more": 1}])
def test_a_named_encoder_must_be_the_published_one(written, published, tmp_path, change):
    out = export(ExportOptions(run=written, out=tmp_path / "out", without_encoder=True))
    record = json.loads((out / BY_NAME).read_text())
    (out / BY_NAME).write_text(json.dumps(record | change))
    with pytest.raises(CheckpointError, match=r"encoder.json: is .*, allowed: .*packaged-minilm") as error:
        load_retriever(out, "forward")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("part", [BgrConfig, ExtractiveReaderConfig])
def test_a_checkpoint_does_not_tell_where_its_encoder_was(part, make_retriever, tmp_path):
    encoder = make_retriever("forward").config.encoder.to_dict()
    part(encoder={**encoder, "_name_or_path": "/home/me/bert"}).save_pretrained(tmp_path)
    assert "/home/me" not in (tmp_path / "config.json").read_text()
