"""Facts that stay the same from question to question: their states behind encoder and projection, kept on disk."""

from __future__ import annotations

from pathlib import Path

import torch

from bgr.models.batching import Sentences
from bgr.models.kept_states import kept_states, states_key
from bgr.models.ragged import Encoded, Ragged
from bgr.models.retriever import BgrRetriever


def keep_encoded(facts: Sentences, model: BgrRetriever, folder: Path, *, progress: bool = False) -> None:
    """Replace token ids by what `BgrRetriever.encode` makes of them: fp16, memory-mapped, ``[total, width]``.

    The file is found again, and never used for another model or other facts (`kept_states`).

    Args:
        facts: token ids, which are replaced.
        model: one direction, in evaluation mode.
        folder: where the file is, or will be.
        progress: show a progress bar on standard error.
    """
    if not len(facts):
        return

    @torch.inference_mode()
    def compute(rows: Ragged) -> Ragged:
        return model.encode(rows.to(model.device))

    rows, direction = facts.rows, model.config.direction
    weights = [parameter.float() for part in (model.encoder, model.project) for parameter in part.parameters()]
    half = torch.is_autocast_enabled(model.device.type)
    key = states_key(f"{model.config.frozen_layers} {half}", rows, weights)
    states = kept_states(
        folder / f"{direction}-{key}.npy",
        rows,
        compute,
        width=model.config.width,
        title=f"facts, {direction}",
        progress=progress,
    )
    facts.rows = Encoded(states, rows.lengths)
