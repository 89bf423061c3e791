"""Training of a verbalizer: pairs, tokenizer, copy heads, and the command from end to end."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from bgr.cli import main
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator
from bgr.data.reasongraphqa.verbalize.templates import value_text
from bgr.data.reasongraphqa.verbalize.verbalizer import missing_parts
from bgr.errors import DataError
from bgr.models.seq2seq import load_seq2seq
from training.seq2seq.data import train_tokenizer
from training.seq2seq.verbalizer import make_pairs

PEOPLE = "Ada Bo Cai Dora Emil Fay Gus Hal Ida Jon Kai Lea".split()
TOWNS = "Norhaven Portsud Eastwick Weston Milford Redhill".split()

CONFIG = """
seed_everything: 3
model: {{vocabulary: 400, width: 32, layers: 1, heads: 2, feed_forward: 64, learning_rate: 1.0e-2}}
data: {{pairs: 200, dev_pairs: 20, batch_size: 20}}
trainer:
  max_epochs: {epochs}
  accelerator: cpu
  num_sanity_val_steps: 0
  enable_model_summary: false
  enable_progress_bar: false
"""


def records():
    """Cities and the people who live there."""
    concepts = {"Q1": {"name": "city", "subclassOf": []}, "Q2": {"name": "human", "subclassOf": []}}
    entities = {}
    for n, town in enumerate(TOWNS):
        people = {"key": "population", "value": {"type": "quantity", "value": 61_000 + 777 * n, "unit": "1"}}
        entities[f"T{n}"] = {"name": town, "instanceOf": ["Q1"], "attributes": [people], "relations": []}
    for n in range(120):
        name = f"{PEOPLE[n % 12]} {TOWNS[n % 5]}{n}"
        born = {"key": "date of birth", "value": {"type": "date", "value": f"19{10 + n % 80}-0{1 + n % 9}-1{n % 9}"}}
        lives = {"relation": "residence", "object": f"T{n % 6}", "direction": "forward", "qualifiers": {}}
        entities[f"P{n}"] = {"name": name, "instanceOf": ["Q2"], "attributes": [born], "relations": [lives]}
    return {"concepts": concepts, "entities": entities}


@pytest.fixture(scope="module")
def kb():
    return KnowledgeBase(records())


@pytest.fixture
def kqapro(tmp_path):
    folder = tmp_path / "kqapro"
    folder.mkdir()
    (folder / "kb.json").write_text(json.dumps(records()))
    return folder


@pytest.fixture
def train(tmp_path, kqapro):
    def run(out, *more, epochs=1):
        (tmp_path / "config.yaml").write_text(CONFIG.format(epochs=epochs))
        arguments = ["--config", str(tmp_path / "config.yaml"), "--kqapro", str(kqapro), "--out", str(tmp_path / out)]
        return main(["train", "verbalizer", *arguments, *more])

    return run


def test_pairs_are_complete_and_write_values_alike(kb):
    pairs = make_pairs(kb, train=100, dev=20, joined_probability=0.5, seed=0)
    assert (len(pairs["train"]), len(pairs["dev"])) == (100, 20)
    for pair in [*pairs["train"], *pairs["dev"]]:
        assert missing_parts(kb, pair.target, pair.facts) == []
        for value in (fact.value for fact in pair.facts if fact.value is not None):
            assert any(value_text(value, s) in pair.source and value_text(value, s) in pair.target for s in range(6))
    assert {len(pair.facts) for pair in pairs["train"]} >= {1, 2}
    heads = [{pair.facts[0].head for pair in part} for part in (pairs["train"], pairs["dev"])]
    assert not heads[0] & heads[1]
    assert make_pairs(kb, train=100, dev=20, joined_probability=0.5, seed=0) == pairs
    assert make_pairs(kb, train=100, dev=20, joined_probability=0.5, seed=1) != pairs


def test_too_small_a_base_is_an_error(kb):
    with pytest.raises(DataError, match="none for train"):
        make_pairs(kb, train=10, dev=10_000, joined_probability=0.0, seed=0)


def test_the_tokenizer_knows_every_text_and_is_the_same_each_time(tmp_path):
    texts = [f"{person} lives in {town}." for person in PEOPLE for town in TOWNS]
    first, second = train_tokenizer(texts, 300), train_tokenizer(texts, 300)
    assert first.get_vocab() == second.get_vocab()
    assert len(first) == 300
    for text in ["Ångström, 東京 & <x> 1,234.5 km²", "Ada lives in Weston.", " "]:
        ids = first(text)["input_ids"]
        assert ids[-1] == first.eos_token_id == 1
        assert first.unk_token_id not in ids
        assert first.decode(ids, skip_special_tokens=True).strip() == text.strip()
    assert first.pad_token_id == 0
    # a name has the same tokens at any position
    name, inside = first.tokenize("Dora"), first.tokenize("by Dora, film")
    assert any(inside[start : start + len(name)] == name for start in range(len(inside)))


def test_a_fresh_model_already_leans_to_copying():
    """The token that follows the last one in the input is more likely."""
    from transformers import T5Config, T5ForConditionalGeneration

    from training.seq2seq.module import init_copy_heads

    torch.manual_seed(0)
    sizes = {"d_model": 128, "d_kv": 32, "d_ff": 64, "num_layers": 2, "num_heads": 4, "dropout_rate": 0.0}
    plain = T5ForConditionalGeneration(T5Config(vocab_size=200, decoder_start_token_id=0, **sizes)).eval()
    ready = T5ForConditionalGeneration(T5Config(vocab_size=200, decoder_start_token_id=0, **sizes)).eval()
    init_copy_heads(ready)
    source = torch.stack([torch.randperm(197)[:12] + 3 for _ in range(64)])  # [n, t]
    start = torch.zeros(64, 1, dtype=torch.long)
    ranks = []
    for model in (plain, ready):
        with torch.no_grad():
            logits = model(input_ids=source, decoder_input_ids=torch.cat([start, source[:, :6]], 1)).logits[:, -1]
        wanted = logits.gather(1, source[:, 6:7])
        ranks.append(float((logits > wanted).sum(1).float().median()))
    assert ranks[1] < 50 < ranks[0]


@pytest.mark.workflow
def test_a_run_is_a_checkpoint_with_card_and_measure(train, tmp_path, capsys):
    assert train("out", "--json") == 0
    metrics = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert metrics["facts"] == 20
    assert 0 <= metrics["complete_candidates"] <= metrics["facts_by_the_model"] <= 1
    assert json.loads((tmp_path / "out" / "metrics.json").read_text()) == metrics
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers")
    assert f"{metrics['complete_candidates']:.1%}" in card
    assert Seq2seqGenerator(str(tmp_path / "out"), max_tokens=20)(["Weston (city), population 5"])
    assert train("out") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert train("more", "--init", str(tmp_path / "out")) == 0
    old, new = (load_seq2seq(str(tmp_path / name))[1].get_vocab() for name in ("out", "more"))
    assert old == new
    weights = tmp_path / "out" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-2] + b"!?")  # another number
    capsys.readouterr()
    assert train("again", "--init", str(tmp_path / "out")) == 1
    assert "out/model.safetensors: is damaged or was changed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--model.colour=red"], "colour"),
        (["--model.heads=1"], "1 heads of width 32"),
        (["--model.dropout=1.5"], "dropout is 1.5, allowed: 0 to 1"),
        (["--data.pairs=0"], "pairs is 0, allowed: 1 or more"),
        (["--init", "/no/such/t5"], "/no/such/t5: no such folder"),
        (["--kqapro", "/no/such/base"], "/no/such/base/kb.json: no such file"),
    ],
)
def test_bad_settings_are_one_line_and_write_nothing(train, refused, more, said):
    refused(train("out", *more), said, "out")


def weights(folder):
    return load_file(folder / "model.safetensors")


@pytest.mark.workflow
def test_it_learns_and_resumes_as_if_never_stopped(train, tmp_path, capsys, monkeypatch):
    from training.run import Run
    from training.seq2seq.verbalizer import train_verbalizer

    assert train("long", "--json", epochs=12) == 0
    metrics = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert train("short", "--json", epochs=1) == 0
    assert metrics["dev_loss"] < 0.6 * json.loads(capsys.readouterr().out.strip().splitlines()[-1])["dev_loss"]

    class Stopped(Exception):
        pass

    def stop(self):
        if self.current_epoch == 4:
            raise Stopped

    from training.seq2seq.module import Seq2seqModule

    job = Run(tmp_path / "config.yaml", tmp_path / "kqapro", tmp_path / "parts", ["--trainer.max_epochs=12"])
    with monkeypatch.context() as patch:
        patch.setattr(Seq2seqModule, "on_train_epoch_start", stop)
        with pytest.raises(Stopped):
            train_verbalizer(job)
    train_verbalizer(replace(job, resume=True))
    one, other = weights(tmp_path / "long"), weights(tmp_path / "parts")
    assert all(torch.equal(one[name], other[name]) for name in one)
