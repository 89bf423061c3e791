"""All digits of a pipeline's weights, to save them."""

from __future__ import annotations

import copy
from pathlib import Path

import torch

from bgr.errors import CheckpointError
from bgr.models.retriever import BgrRetriever
from bgr.retrievers.graph_hop.checkpoint import load_retriever

_ADVICE = "load the pipeline with precision='32' to save it"


def exact_model(model: BgrRetriever, source: Path | None) -> BgrRetriever:
    """A copy of one direction that may be changed, with the weights as they were before `bgr.utils.devices.hold_in`
    rounded them: those of its checkpoint folder, if the model still has the same.

    Raises:
        CheckpointError: the weights are rounded, and there is no folder, it is damaged, or it has others.
    """
    if all(weight.dtype != torch.bfloat16 for weight in model.parameters()):
        return copy.deepcopy(model)
    direction = model.config.direction
    if source is None:
        raise CheckpointError(f"the {direction} weights are rounded to bfloat16; {_ADVICE}")
    exact = load_retriever(source, direction)
    held = model.state_dict()
    for name, weight in exact.state_dict().items():
        if not torch.equal(weight.to(held[name].dtype), held[name].cpu()):
            raise CheckpointError(f"{direction}: {name} is rounded to bfloat16 and differs from {source}; {_ADVICE}")
    exact.config = copy.deepcopy(model.config)
    return exact
