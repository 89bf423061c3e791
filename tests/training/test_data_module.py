import json
from dataclasses import replace

import pytest

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE, load_split, write_dataset
from bgr.graph.evidence_graph import EvidenceGraph
from training.data_module import BgrDataModule
from training.loader import SimilarLengths

LENGTHS = [5, 50, 7, 48, 6, 52, 8, 47, 9, 51]


def test_every_row_once_in_batches_of_similar_length():
    batches = list(SimilarLengths(LENGTHS, 5, seed=0))
    assert sorted(row for batch in batches for row in batch) == list(range(10))
    assert {frozenset(LENGTHS[row] for row in batch) for batch in batches} == {
        frozenset([5, 6, 7, 8, 9]),
        frozenset([47, 48, 50, 51, 52]),
    }


def test_the_order_depends_on_seed_and_epoch_alone():
    def order(seed, epoch):
        sampler = SimilarLengths([i % 13 for i in range(100)], 8, seed=seed, pool=2)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3)
    assert order(1, 2) != order(2, 2)
    assert len(order(1, 2)) == len(SimilarLengths([0] * 100, 8, seed=1))


def test_each_epoch_of_a_run_has_its_own_order(bare_trainer, toy_data, make_retriever, tokenizer, tmp_path):
    """Lightning tells the epoch only to samplers it finds."""
    from lightning.pytorch import LightningModule

    seen = []

    class Watcher(LightningModule):
        def training_step(self, batch, _):
            seen.append([e.id for e in batch.examples])

        def configure_optimizers(self):
            return None

    data = BgrDataModule(str(toy_data), batch_size=15)
    data.prepare(tokenizer, make_retriever(frozen_layers=1), tmp_path)
    trainer = bare_trainer(max_epochs=2, limit_val_batches=0)
    trainer.fit(Watcher(), datamodule=data)
    assert sorted(seen[0] + seen[1]) == sorted(seen[2] + seen[3])
    assert seen[:2] != seen[2:]


@pytest.mark.parametrize("frozen", [0, 1])
def test_kept_states_stand_for_the_sentences(toy_data, make_retriever, tokenizer, tmp_path, frozen):
    model = make_retriever(frozen_layers=frozen)
    data = BgrDataModule(str(toy_data))
    data.prepare(tokenizer, model, tmp_path)
    assert len(list(tmp_path.glob("*/states.bin"))) == frozen
    batch = data.collate(data.splits["dev"][:4]).batch
    fresh = tokenizer(data.splits["dev"][0].question)["input_ids"]
    direct = model.encoder.lower(type(batch.questions).from_lists([fresh]))
    kept = batch.questions.flat[: len(fresh)]
    assert kept.shape == direct.flat.shape
    assert (kept - direct.flat).abs().max() < 3e-2  # computed and kept in 16 bits
    again = BgrDataModule(str(toy_data))
    again.prepare(tokenizer, model, tmp_path)
    assert again.cache_use is None if not frozen else again.cache_use.computed == 0
    assert (again.collate(data.splits["dev"][:4]).batch.facts.flat == batch.facts.flat).all()


def test_fewer_candidates_keep_the_gold_graph(toy_data):
    from bgr.data.reasongraphqa.io.dataset import load_split
    from training.search.pools import fewer_candidates

    for example in load_split(toy_data, "train"):
        small = fewer_candidates(example, 3, "0 0 a")
        assert len(small.facts) == 3
        assert [f for f in example.facts if f in small.facts] == list(small.facts)
        texts = {(example.facts[a] if a >= 0 else "", example.facts[b]) for a, b in example.graph.edges}
        assert {(small.facts[a] if a >= 0 else "", small.facts[b]) for a, b in small.graph.edges} == texts
        assert fewer_candidates(example, 1, "x").facts == tuple(
            f for i, f in enumerate(example.facts) if i in example.graph.nodes
        )
        assert fewer_candidates(example, 99, "x") == example
    assert len({fewer_candidates(example, 3, f"{epoch}").facts for epoch in range(9)}) > 1


@pytest.mark.parametrize(("split", "said"), [("train", "no question to learn from"), ("dev", "no question with evid")])
def test_a_split_that_teaches_nothing_is_told_before_anything_is_written(
    toy_data, config, tmp_path, capsys, split, said
):
    splits = {name: load_split(toy_data, name) for name in ("train", "dev")}
    kept = [] if split == "train" else [replace(one, graph=EvidenceGraph(), answer="") for one in splits[split]]
    facts = [json.loads(line) for line in (toy_data / FACTS_FILE).read_text().splitlines()]
    write_dataset(tmp_path / "data", {**splits, split: kept, "test": []}, facts, {})
    words = ["train", "retriever", "--config", str(config(1)), "--data", str(tmp_path / "data"), "--out"]
    assert main([*words, str(tmp_path / "run")]) == 1
    assert f"{split} has {said}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
