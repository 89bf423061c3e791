"""Training a reader from the weights of another one."""

import pytest
import torch
from transformers import BertConfig

from bgr.errors import BgrError
from bgr.models.extractive_reader import ExtractiveReaderConfig, ExtractiveReaderModel
from training.reader.module import start_from

ENCODER = BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)


def model(seed, **settings):
    torch.manual_seed(seed)
    return ExtractiveReaderModel(
        ExtractiveReaderConfig(ENCODER, **{"width": 16, "layers": 1, "units": ["m"], "frozen_layers": 1} | settings)
    )


def test_all_weights_but_the_encoder_are_those_of_the_other_one(tmp_path):
    other, own = model(1), model(2)
    before = own.encoder.bert.embeddings.word_embeddings.weight.clone()
    other.save_pretrained(tmp_path)
    copied = start_from(own, tmp_path)
    for name, weight in own.named_parameters():
        if not name.startswith("encoder."):
            assert torch.equal(weight, dict(other.named_parameters())[name]), name
            assert torch.equal(copied[name], torch.atleast_1d(weight)), name
    assert torch.equal(own.encoder.bert.embeddings.word_embeddings.weight, before)


def test_of_a_longer_list_the_rows_of_both_are_taken(tmp_path):
    other, own = model(1), model(2, units=["m", "kg"])
    new = own.pointer[2].bias[-1].clone()
    other.save_pretrained(tmp_path)
    assert len(start_from(own, tmp_path)["pointer.2.bias"]) == len(other.pointer[2].bias)
    assert torch.equal(own.pointer[2].bias[:-1], other.pointer[2].bias)
    assert own.pointer[2].bias[-1] == new


def test_weights_of_another_width_are_refused(tmp_path):
    model(1, width=32).save_pretrained(tmp_path)
    copied = start_from(model(2), tmp_path)  # what has no width is taken
    assert copied
    assert "pointer.0.weight" not in copied
    with pytest.raises(BgrError, match=r"model.safetensors: cannot be read"):
        start_from(model(2), tmp_path / "none")
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(BgrError, match=r"model.safetensors: cannot be read"):
        start_from(model(2), tmp_path)
