"""Candidates from a checkpoint: sampling that depends only on the line, lengths, and folders of other models."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from bgr.data.reasongraphqa.verbalize.generator import RowNoise, Seq2seqGenerator, _mixed, gumbel
from bgr.errors import CheckpointError

LINES = ["Nordia, capital Norhaven", "gold, melting point 1,337.33 kelvins", "The 2nd Winter (film), director Ada Berg"]


@pytest.fixture
def generate(small_t5):
    def make(**settings):
        made = Seq2seqGenerator(str(small_t5), **{"max_tokens": 48, "candidates": 3, **settings})
        made.model.generation_config.eos_token_id = list(range(1, 20))  # so that most of the nonsense ends
        return made

    return make


def test_the_same_line_gets_the_same_candidates_in_any_company(generate):
    together = generate()(LINES)
    assert [len(drawn) for drawn in together] == [3, 3, 3]
    texts = {text for drawn in together for text in drawn}
    assert len(texts) > 5
    assert generate()(LINES[::-1]) == together[::-1]
    assert [generate(batch_size=1)([line])[0] for line in LINES] == together
    assert not texts & {text for drawn in generate(seed=1)(LINES) for text in drawn if text}


def test_candidates_differ_from_each_other(generate):
    assert len(set(generate(candidates=6)([LINES[0]])[0])) > 3


def test_a_line_that_is_too_long_gets_no_candidates(generate):
    model = generate(max_tokens=30)
    assert model([LINES[2]]) == [[None] * 3]
    assert model([]) == []


def test_the_fingerprint_names_model_and_settings(generate, small_t5):
    prints = [generate(**more).fingerprint() for more in ({}, {"seed": 1}, {"candidates": 2}, {"max_tokens": 9})]
    assert len(set(prints)) == 4
    assert generate().fingerprint() == prints[0]
    other = generate()
    next(other.model.parameters()).data.mul_(2)
    assert other.fingerprint() != prints[0]


def test_noise_samples_according_to_the_probabilities():
    scores = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    seeds = torch.arange(20_000) * 7919
    noise = RowNoise(seeds, top_k=3, temperature=1.0)
    start, rows = torch.zeros(len(seeds), 1, dtype=torch.long), scores.expand(len(seeds), 4)
    noisy = noise(start, rows)
    shares = noisy.argmax(1).bincount(minlength=4) / len(seeds)
    # the fourth cannot be sampled
    assert shares.tolist() == pytest.approx([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0], abs=0.012)
    cold = RowNoise(seeds, top_k=3, temperature=0.05)(start, rows)
    assert (cold.argmax(1) == 0).float().mean() > 0.99


def test_noise_changes_with_row_step_and_token():
    row = torch.zeros(3, 50)
    draw = RowNoise(torch.tensor([1, 2, 1]), top_k=50, temperature=1.0)
    first, later = draw(torch.zeros(3, 1), row), draw(torch.zeros(3, 2), row)
    assert torch.equal(first[0], first[2])
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], later[0])
    assert len(first[0].unique()) == 50


def test_gumbel_has_its_mean_and_variance():
    drawn = gumbel(torch.arange(-50_000, 50_000))
    assert drawn.isfinite().all()
    assert float(drawn.mean()) == pytest.approx(0.5772, abs=0.015)
    assert float(drawn.var()) == pytest.approx(1.6449, abs=0.04)


def test_mixing_is_that_of_splitmix():
    """The first numbers of SplitMix64 with seed 0, as published with the algorithm."""
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(number) % (1 << 64) for number in _mixed(torch.arange(3))] == published


def without_weights(folder):
    (folder / "model.safetensors").unlink()


def pickled_weights(folder):
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    without_weights(folder)


def cut_weights(folder):
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:400])


def missing_layer(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_layers": 2}))


def other_width(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "d_ff": 24}))


def own_code(folder):
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModelForSeq2SeqLM": "mine.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text("raise SystemExit('this ran')")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without_weights, "model.safetensors holds 0"),
        (pickled_weights, "safetensors"),
        (cut_weights, "not a complete safetensors file"),
        (missing_layer, "the weights lack"),
        (other_width, "not an encoder-decoder"),
        (own_code, "model_type is 'mine'"),
    ],
)
def test_a_folder_that_cannot_be_used(small_t5, tmp_path, damage, said):
    folder = tmp_path / "t5"
    shutil.copytree(small_t5, folder)
    damage(folder)
    with pytest.raises(CheckpointError, match=said) as caught:
        Seq2seqGenerator(str(folder))
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("config.json", {"d_ff": "x"}, "d_ff is 'x', usually it is"),
        ("config.json", {"num_layers": 10**6}, "num_layers is 1000000, allowed: 1000 or less"),
        ("config.json", {"num_headz": 2, "num_heads": None}, "unknown field 'num_headz', did you mean 'num_heads'?"),
        ("config.json", [], r"is \[\], allowed: an object"),
        ("generation_config.json", {"eos_token_id": None}, "no eos_token_id"),
        ("generation_config.json", {"decoder_start_token_id": -1}, "cannot be run: "),
        ("generation_config.json", 5, "is 5, allowed: an object"),
        ("tokenizer_config.json", None, "is None, allowed: an object"),
        ("tokenizer.json", "x", "is 'x', allowed: an object"),
    ],
)
def test_settings_that_cannot_be_used(small_t5, tmp_path, name, change, said):
    """`None` in `change` removes a field."""
    path = shutil.copytree(small_t5, tmp_path / "t5") / name
    if isinstance(change, dict):
        change = {key: value for key, value in (json.loads(path.read_text()) | change).items() if value is not None}
    path.write_text(json.dumps(change))
    with pytest.raises(CheckpointError, match=said) as caught:
        Seq2seqGenerator(str(path.parent))
    assert "\n" not in str(caught.value)


def test_other_wrong_sources(small_encoder, tmp_path):
    with pytest.raises(CheckpointError, match="a bert model, allowed: an encoder-decoder"):
        Seq2seqGenerator(str(small_encoder))
    with pytest.raises(CheckpointError, match="no such folder"):
        Seq2seqGenerator(str(tmp_path / "nowhere"))
    with pytest.raises(CheckpointError, match="0 candidates"):
        Seq2seqGenerator(str(tmp_path), candidates=0)
