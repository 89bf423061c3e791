"""Cards are read by `huggingface_hub`, and the double of the Hub accepts their metadata (conftest.py)."""

import pytest
from huggingface_hub import DatasetCard, ModelCard

from bgr.pipeline import BgrPipeline
from bgr.released import checkpoint_folder


def test_the_released_card(hub):
    card = ModelCard.load(checkpoint_folder() / "README.md")
    card.validate()
    assert (card.data.library_name, card.data.license, card.data.language) == ("bgr", "apache-2.0", "en")
    assert card.data.pipeline_tag == "question-answering"


def test_the_card_of_an_export(hub, random_checkpoint, tmp_path):
    saved = BgrPipeline.from_pretrained(random_checkpoint, precision="32").save_pretrained(tmp_path / "saved")
    card = ModelCard.load(saved / "README.md")
    card.validate()
    assert card.data.to_dict() == ModelCard.load(checkpoint_folder() / "README.md").data.to_dict()
    assert "| dev | forward | 0.500 |" in card.text


def test_the_card_of_a_dataset(hub, toy_data):
    card = DatasetCard.load(toy_data / "README.md")
    card.validate()
    [config] = card.data.configs
    assert [one["split"] for one in config["data_files"]] == ["train", "dev", "test"]


@pytest.mark.parametrize(
    "metadata",
    ["license: mine", "license: other", "pretty_name: 3", "pipeline_tag: guessing", "language: English", "x: 1"],
)
def test_the_double_can_refuse(hub, metadata):
    with pytest.raises(ValueError, match="is not valid"):
        ModelCard(f"---\n{metadata}\n---\n").validate()
