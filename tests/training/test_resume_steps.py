"""A training that is stopped at any step and resumed ends with the weights of an uninterrupted one."""

import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from transformers import AutoTokenizer

from training.data_module import BgrDataModule
from training.retriever.module import BgrModule

EPOCHS = 2
STEPS = 4  # an epoch: 29 questions, 8 a step
BATCHES = 2 * STEPS


class Stopped(Exception):
    pass


class Watch(Callback):
    """Record the contents of each batch; save and stop after `stop` batches or at the end of an epoch."""

    def __init__(self, checkpoint=None, stop=0):
        self.seen = []
        self.checkpoint = checkpoint
        self.stop = stop

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.seen.append([(e.id, e.facts) for e in batch.examples])
        if len(self.seen) == self.stop:
            self.save(trainer)

    def on_train_epoch_end(self, trainer, pl_module):
        if self.stop == "end":
            self.save(trainer)

    def save(self, trainer):
        trainer.save_checkpoint(self.checkpoint)
        raise Stopped


@pytest.fixture
def fit(encoder_folder, short_data, bare_trainer, tmp_path):
    def run(watch, resume=None):
        seed_everything(5, verbose=False)
        settings = {"frozen_layers": 1, "width": 16, "dropout": 0.2, "learning_rate": 1e-2}
        module = BgrModule(str(encoder_folder), encoder_learning_rate=1e-2, **settings)
        data = BgrDataModule(str(short_data), batch_size=4, candidates=3, limit=29)
        data.prepare(AutoTokenizer.from_pretrained(encoder_folder), module.model, tmp_path / "states")
        trainer = bare_trainer(
            max_epochs=EPOCHS,
            accumulate_grad_batches=2,
            gradient_clip_val=1.0,
            deterministic=True,
            callbacks=[watch],
            limit_val_batches=1,
        )
        trainer.fit(module, datamodule=data, ckpt_path=resume, weights_only=True)
        assert trainer.global_step == EPOCHS * STEPS
        return {name: value.clone() for name, value in module.state_dict().items()}

    return run


@pytest.mark.workflow
@pytest.mark.filterwarnings("ignore")
def test_stopped_at_any_step(fit, tmp_path):
    whole = Watch()
    weights = fit(whole)
    assert len(whole.seen) == EPOCHS * BATCHES
    assert whole.seen[:BATCHES] != whole.seen[BATCHES:]
    # after the first step, before the last one, after the last one, at the epoch's end, after the next epoch's first
    # step; and several times
    for stops in ([2], [6], [8], ["end"], [10], [2, 4, "end", 4]):
        seen, checkpoint = [], None
        for number, stop in enumerate(stops):
            watch = Watch(tmp_path / f"{number}.ckpt", stop)
            with pytest.raises(Stopped):
                fit(watch, checkpoint)
            seen, checkpoint = seen + watch.seen, watch.checkpoint
        last = Watch()
        resumed = fit(last, checkpoint)
        assert seen + last.seen == whole.seen, stops
        assert all(torch.equal(weights[name], resumed[name]) for name in weights), stops
