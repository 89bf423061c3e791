"""Steps of training outside of a trainer, one at a time, so that a bench can time them."""

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
from bgr.models.batching import Batch, Sentences, make_batch
from training.data_module import TrainingBatch, fewer_candidates
from training.loader import SimilarLengths
from training.retriever.module import BgrModule
from training.retriever.state_cache import keep_lower_states


class TimedSteps:
    """A config's model and batches of real questions, drawn and sorted as in training.

    Args:
        config: a training config; its sections ``model`` and ``data`` count, and the trainer's clipping.
        encoder: takes the place of the config's.
        pretrained: whether `encoder` has weights.
        examples: the questions.
        tokenizer: of the encoder.
        direction: ``forward`` or ``backward``.
        batch_size: questions in a batch; 0 for the config's.
        states: folder for the states of frozen layers.
        device: where to compute.
        dtype: of autocast, if any.
        seed: of weights and batches.

    Attributes:
        tokens: each batch's token ids, whatever of their states is kept.
    """

    def __init__(
        self,
        config: Path,
        encoder: str,
        examples: Sequence[Example],
        tokenizer: Any,
        states: Path,
        *,
        pretrained: bool = True,
        direction: str = "forward",
        batch_size: int = 0,
        device: torch.device | str = "cpu",
        dtype: torch.dtype | None = None,
        seed: int = 0,
    ) -> None:
        sections = yaml.safe_load(config.read_text(encoding="utf-8"))
        torch.manual_seed(seed)
        settings = sections["model"] | {"encoder": encoder, "pretrained": pretrained, "direction": direction}
        self.module = BgrModule(**settings)
        self.model = self.module.model
        self.clip = float(sections.get("trainer", {}).get("gradient_clip_val") or 0.0)
        self.device, self.dtype = torch.device(device), dtype
        data = sections.get("data", {})
        most = int(data.get("candidates", 0))
        drawn = [fewer_candidates(e, most, f"{seed} {e.id}") if most else e for e in examples]
        rows = SimilarLengths([len(e.question) for e in drawn], batch_size or data["batch_size"], seed=seed)
        groups = [[drawn[row] for row in batch] for batch in rows]
        ids = self._sentences(drawn, tokenizer)
        self.tokens = [_batch(*ids, group).to(self.device) for group in groups]
        for name, sentences in zip(("questions", "facts"), ids, strict=True):
            keep_lower_states(sentences, self.model.encoder, states, name=name)
        self.batches = [TrainingBatch(_batch(*ids, group), group).to(self.device) for group in groups]
        self.module.to(self.device).train()
        # there is no trainer that would take the metrics
        self.module.log = lambda *_, **__: None  # type: ignore[method-assign]
        self.trained = [p for p in self.module.parameters() if p.requires_grad]
        # the schedule has not begun: the learning rates are 0
        self.module.trainer = SimpleNamespace(estimated_stepping_batches=1000)  # type: ignore[assignment]
        optimizers: Any = self.module.configure_optimizers()
        self.optimizer: Optimizer = optimizers["optimizer"]

    def _sentences(self, examples: Sequence[Example], tokenizer: Any) -> tuple[Sentences, Sentences]:
        config = self.model.config
        return (
            Sentences((e.question for e in examples), tokenizer, max_tokens=config.question_tokens),
            Sentences((f for e in examples for f in e.facts), tokenizer, max_tokens=config.fact_tokens),
        )

    def graphs(self, number: int) -> list[EvidenceGraph]:
        """Gold graphs of a batch."""
        return [example.graph for example in self.batches[number].examples]

    def loss(self, number: int, computed_by: nn.Module | None = None) -> Tensor:
        """Of one batch, as training has it: read, gold paths, loss; by another form of the model if one is given."""
        self.module.model = computed_by or self.model  # type: ignore[assignment]
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype is not None):
            loss = self.module.training_step(self.batches[number], number)
        self.module.model = self.model
        return loss

    def step(self, number: int, computed_by: nn.Module | None = None) -> None:
        """One optimiser step on one batch: loss, gradients, clipping, the optimiser. The learning rates are 0: the work
        is the same, and every step starts from the same weights."""
        self.optimizer.zero_grad()
        self.loss(number, computed_by).backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.trained, self.clip)
        self.optimizer.step()


def _batch(questions: Sentences, facts: Sentences, group: Sequence[Example]) -> Batch:
    return make_batch(questions, facts, [(e.question, e.facts) for e in group])
