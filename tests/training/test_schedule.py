"""The learning rate follows the optimizer steps, and so does gradient clipping."""

import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from transformers import AutoTokenizer

from training.data_module import BgrDataModule
from training.retriever.module import BgrModule

RATE, CLIP = 2e-3, 1e-2


class Watch(Callback):
    def __init__(self):
        self.rates, self.norms, self.before = [], [], []

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        self.rates.append(optimizer.param_groups[-1]["lr"])
        self.before.append(norm(pl_module))

    def on_before_zero_grad(self, trainer, pl_module, optimizer):
        if len(self.norms) < len(self.rates):  # at an accumulation's start the gradients are those of the last step
            self.norms.append(norm(pl_module))


def norm(module):
    return float(torch.nn.utils.get_total_norm([p.grad for p in module.parameters() if p.grad is not None]))


@pytest.mark.workflow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("accumulate", "precision"), [(1, "32-true"), (2, "bf16-mixed")])
def test_warm_up_counts_optimiser_steps(encoder_folder, toy_data, tmp_path, bare_trainer, accumulate, precision):
    seed_everything(0, verbose=False)
    module = BgrModule(str(encoder_folder), frozen_layers=1, width=16, learning_rate=RATE, warmup=0.25)
    data = BgrDataModule(str(toy_data), batch_size=5, limit=20)
    data.prepare(AutoTokenizer.from_pretrained(encoder_folder), module.model, tmp_path / "states")
    watch = Watch()
    trainer = bare_trainer(
        max_epochs=4,
        accumulate_grad_batches=accumulate,
        gradient_clip_val=CLIP,
        precision=precision,
        callbacks=[watch],
        limit_val_batches=0,
    )
    trainer.fit(module, datamodule=data)
    steps = 4 * 4 // accumulate
    warm = steps // 4
    up = [RATE * step / warm for step in range(warm)]
    down = [RATE * (steps - step) / (steps - warm) for step in range(warm, steps)]
    assert trainer.global_step == steps
    assert watch.rates == pytest.approx(up + down)
    assert min(watch.before) > CLIP
    assert max(watch.norms) <= CLIP * 1.001
