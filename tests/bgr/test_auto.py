import shutil

import pytest
import torch
from transformers import AutoConfig, AutoModel

import bgr.auto
from bgr.errors import CheckpointError
from bgr.models.batching import Sentences, make_batch
from bgr.models.checkpoint import load_tokenizer
from bgr.models.config import BgrConfig
from bgr.pipeline import BgrPipeline
from bgr.released import checkpoint_folder
from bgr.retrievers.graph_hop.checkpoint import load_retriever

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden ."]
QUESTION = "In which country was Persona made ?"


def outputs(model, folder):
    tokenizer = load_tokenizer(folder)
    questions, facts = (Sentences(texts, tokenizer, max_tokens=64) for texts in ([QUESTION], FACTS))
    batch = make_batch(questions, facts, [(QUESTION, FACTS)], states=False)
    with torch.inference_mode():
        found = model(batch.questions, batch.facts, batch.candidates)
        return found, model.match(found, model.start(found))


def equal(model, other, folder):
    other.forward = other.encode_batch
    (one, logits), (two, expected) = outputs(model, folder), outputs(other, folder)
    assert torch.equal(logits, expected)
    assert torch.equal(one.fact_states, two.fact_states)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_released_weights(direction):
    folder = checkpoint_folder()
    model = AutoModel.from_pretrained(folder / direction)
    assert isinstance(model, bgr.auto.BgrAutoModel)
    assert not model.training
    equal(model, load_retriever(folder, direction), folder)


def test_the_configuration():
    config = AutoConfig.from_pretrained(checkpoint_folder() / "backward")
    assert isinstance(config, BgrConfig)
    assert config.direction == "backward"


def test_shared_layers_are_those_of_the_checkpoint(small_checkpoint, tmp_path):
    saved = BgrPipeline.from_pretrained(small_checkpoint, precision="32").save_pretrained(tmp_path / "saved")
    equal(AutoModel.from_pretrained(saved / "forward"), load_retriever(saved, "forward"), saved)
    equal(AutoModel.from_pretrained(saved, subfolder="backward"), load_retriever(saved, "backward"), saved)
    shutil.copytree(saved / "forward", tmp_path / "alone" / "forward")
    with pytest.raises(CheckpointError, match=r"tensor encoder\..* is missing"):
        AutoModel.from_pretrained(tmp_path / "alone" / "forward")


def test_what_auto_model_saves_it_loads(small_checkpoint, tmp_path):
    model = AutoModel.from_pretrained(small_checkpoint / "forward")
    model.save_pretrained(tmp_path / "elsewhere")
    equal(
        AutoModel.from_pretrained(tmp_path / "elsewhere"), load_retriever(small_checkpoint, "forward"), small_checkpoint
    )


def test_a_damaged_file_and_unknown_options(small_checkpoint):
    with pytest.raises(CheckpointError, match="unknown option device_map, allowed: subfolder, revision"):
        AutoModel.from_pretrained(small_checkpoint / "forward", device_map="auto")
    path = small_checkpoint / "forward" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="not a complete safetensors file"):
        AutoModel.from_pretrained(small_checkpoint / "forward")
