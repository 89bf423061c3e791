"""Batches made ahead by other processes, narrow until they are on their device."""

import os
import signal
from dataclasses import fields, is_dataclass

import pytest
import torch
from transformers import AutoTokenizer

from bgr.cli import main
from bgr.errors import BgrError
from training.data_module import BgrDataModule
from training.loader import Part, SimilarLengths, StepLoader
from training.retriever.module import BgrModule
from training.transfer import Packed, made_ahead, map_tensors, pack


@pytest.fixture
def data(toy_data, encoder_folder, make_retriever, tmp_path):
    """``data(workers=2, frozen=1)``: a prepared data module with candidates drawn at random."""

    def make(frozen=1, **settings):
        found = BgrDataModule(str(toy_data), batch_size=4, candidates=4, **settings)
        found.prepare(AutoTokenizer.from_pretrained(encoder_folder), make_retriever(frozen_layers=frozen), tmp_path)
        return found

    return make


def tensors(item):
    """All tensors of a batch by their path."""
    if isinstance(item, torch.Tensor):
        return {"": item}
    if not is_dataclass(item):
        return {}
    parts = {one.name: tensors(getattr(item, one.name)) for one in fields(item)}
    return {f"{name}.{path}": tensor for name, part in parts.items() for path, tensor in part.items()}


def same(one, other):
    a, b = tensors(one), tensors(other)
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        assert torch.equal(a[name].nan_to_num(7.0), b[name].nan_to_num(7.0)), name
    assert [e.id for e in one.examples] == [e.id for e in other.examples]


@pytest.mark.parametrize("frozen", [0, 1])
def test_a_batch_is_narrow_on_its_way_and_the_same_afterwards(data, frozen):
    found = data(frozen)
    batch = found.collate(found.splits["train"][:4])
    packed = pack(batch)
    narrow = tensors(packed.batch)
    assert {tensor.dtype for tensor in narrow.values()} <= {torch.int32, torch.float16, torch.float32}
    assert narrow["batch.facts.flat."].dtype == (torch.float16 if frozen else torch.int32)
    size, wide = (sum(t.nbytes for t in each.values()) for each in (narrow, tensors(batch)))
    assert size < 0.65 * wide
    same(packed.to("cpu"), batch)


def test_what_does_not_fit_stays_wide():
    values = {
        "large": torch.tensor([1 << 40, 2]),
        "fine": torch.tensor([0.1]),
        "nan": torch.tensor([float("nan")]),
        "bool": torch.tensor([True]),
    }
    for value in values.values():
        batch = Packed(value)
        assert pack(batch).batch.batch is value


def test_a_tensor_that_occurs_twice_is_moved_once(data):
    found = data(0)
    batch, moved = found.collate(found.splits["train"][:2]), []
    changed = map_tensors(batch, lambda one: moved.append(one) or one.clone())
    assert changed.batch.facts.flat is changed.batch.facts.ids
    assert len(moved) == 7  # of questions and facts the ids, lengths and numbers each, and the candidates


@pytest.mark.workflow
@pytest.mark.parametrize("part", [Part(), Part(1, 2, 2)])
def test_processes_make_the_same_batches_in_the_same_order(data, part):
    found = data()
    train = found.splits["train"]
    order = SimilarLengths([len(e.question) for e in train], 4 * part.batches, seed=3)

    def make(rows, weight):
        return found.training_batch([train[row] for row in rows], f"3 {order.epoch}", rows)

    def ahead(make, numbers):
        return made_ahead(make, numbers, workers=2)

    for epoch in (0, 1):
        order.set_epoch(epoch)
        loader = StepLoader(order, make, part, ahead)
        state = torch.get_rng_state()
        pairs = list(zip(loader, StepLoader(order, make, part), strict=True))
        assert torch.equal(torch.get_rng_state(), state)
        assert len(pairs) == len(order) * part.accumulate
        for packed, batch in pairs:
            same(packed.to("cpu"), batch)
        assert loader.waited > 0


def test_an_epoch_goes_on_behind_a_batch_that_was_made_ahead():
    order = SimilarLengths(list(range(20)), 2, seed=0)

    def loader():
        return StepLoader(order, lambda rows, weight: rows, ahead=lambda make, n: made_ahead(make, n, workers=1))

    whole = [packed.batch for packed in loader()]
    first = loader()
    begun = iter(first)
    assert [next(begun).batch for _ in range(3)] == whole[:3]
    assert first.state_dict()["given"] == 3  # not those that were made ahead
    begun.close()
    second = loader()
    second.load_state_dict(first.state_dict())
    assert [packed.batch for packed in second] == whole[3:]


def test_a_process_that_is_killed_is_an_error_of_one_line():
    def make(number):
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(BgrError, match=r"a process that prepares batches has ended .*--resume continues"):
        list(made_ahead(make, range(4), workers=1))


@pytest.mark.workflow
@pytest.mark.filterwarnings("ignore")
def test_training_gives_the_same_weights_with_and_without_processes(data, encoder_folder, bare_trainer):
    def weights(workers):
        torch.manual_seed(5)
        module = BgrModule(str(encoder_folder), frozen_layers=1, width=32, learning_rate=1e-3, loss="zlpr")
        trainer = bare_trainer(max_epochs=2)
        trainer.fit(module, datamodule=data(workers=workers))
        return module.state_dict(), dict(trainer.callback_metrics)

    (one, scores), (two, others) = weights(None), weights(2)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert scores == others


@pytest.mark.workflow
def test_commands_with_processes(train, write_config, short_data, tmp_path, one_thread):
    """Training, and the choices on dev afterwards."""
    assert train(tmp_path / "run", "--data.workers=1", "--direction=forward", epochs=1) == 0
    config = str(write_config("dpr", "kind: dpr", 1))
    words = ["--config", config, "--data", str(short_data), "--out", str(tmp_path / "dpr"), "--data.workers=1"]
    assert main(["train", "baseline", *words]) == 0
