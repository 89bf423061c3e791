"""Single training steps without a trainer, for benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import yaml
from torch import Tensor, nn
from torch.optim import Optimizer

from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph
from training.data_module import BgrDataModule
from training.loader import SimilarLengths
from training.retriever.module import BgrModule
from training.search.pools import fewer_candidates


class TimedSteps:
    """The model of a training config (its sections ``model`` and ``data`` and the trainer's gradient clipping) with
    batches of real questions, sampled and sorted as in training. `encoder` replaces that of the config, and its weights
    are loaded if it is `pretrained`; a `batch_size` of 0 is that of the config, and `dtype` is that of autocast, if
    any. `tokens` are the token ids of each batch, even if their `states` are cached in a folder."""

    def __init__(
        self,
        config: Path,
        encoder: str,
        examples: Sequence[Example],
        tokenizer: Any,
        states: Path,
        *,
        pretrained: bool = True,
        batch_size: int = 0,
        device: torch.device | str = "cpu",
        dtype: torch.dtype | None = None,
        seed: int = 0,
    ) -> None:
        sections = yaml.safe_load(config.read_text(encoding="utf-8"))
        torch.manual_seed(seed)
        self.module = BgrModule(**sections["model"] | {"encoder": encoder, "pretrained": pretrained})
        self.model = self.module.model
        self.clip = float(sections.get("trainer", {}).get("gradient_clip_val") or 0.0)
        self.device, self.dtype = torch.device(device), dtype
        settings = sections.get("data", {})
        candidates = int(settings.get("candidates", 0))
        drawn = [fewer_candidates(e, candidates, f"{seed} {e.id}") if candidates else e for e in examples]
        rows = SimilarLengths([len(e.question) for e in drawn], batch_size or settings["batch_size"], seed=seed)
        groups = [[drawn[row] for row in batch] for batch in rows]
        self.module.to(self.device).train()
        data = BgrDataModule("")
        data.splits = {"train": drawn}
        data.tokenize(tokenizer, self.model)
        self.tokens = [data.collate(group).batch.to(self.device) for group in groups]
        data.cache_lower_states(self.model.encoder, states)
        self.batches = [data.collate(group).to(self.device) for group in groups]
        # there is no trainer to log metrics
        self.module.log = lambda *_, **__: None  # type: ignore[method-assign]
        self.trained = [p for p in self.module.parameters() if p.requires_grad]
        # the schedule has not started, so the learning rates are 0
        self.module.trainer = SimpleNamespace(estimated_stepping_batches=1000)  # type: ignore[assignment]
        optimizers: Any = self.module.configure_optimizers()
        self.optimizer: Optimizer = optimizers["optimizer"]

    def graphs(self, number: int) -> list[EvidenceGraph]:
        """Gold graphs of a batch."""
        return self.batches[number].graphs

    def loss(self, number: int, computed_by: nn.Module | None = None) -> Tensor:
        """The training loss of one batch, computed by another form of the model if one is given."""
        self.module.model = computed_by or self.model  # type: ignore[assignment]
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype is not None):
            loss = self.module.training_step(self.batches[number], number)
        self.module.model = self.model
        return loss

    def step(self, number: int, computed_by: nn.Module | None = None) -> None:
        """One optimizer step on one batch: loss, gradients, clipping, optimizer. The learning rates are 0, so every
        step takes the same time but starts from the same weights."""
        self.optimizer.zero_grad()
        self.loss(number, computed_by).backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.trained, self.clip)
        self.optimizer.step()
