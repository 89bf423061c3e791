"""Loading of models from untrusted folders: ``config.json`` and ``model.safetensors`` are checked before use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import PretrainedConfig, PreTrainedModel

from bgr.errors import CheckpointError
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import one_line, repr_short


def load_weights(home: Path, kind: type[PreTrainedModel], config: PretrainedConfig) -> Any:
    """Load a model in evaluation mode and float32 after checking every tensor against the configuration.

    Raises:
        CheckpointError: a file is damaged, or a tensor is missing, unexpected, of the wrong shape or not finite.
    """
    _check_sizes(kind, config, home)
    try:
        model = kind.from_pretrained(
            home, config=config, dtype=torch.float32, local_files_only=True, use_safetensors=True
        )
    except Exception as error:  # an invalid configuration with plausible sizes raises all kinds of errors
        raise CheckpointError(f"{home}: cannot be loaded: {one_line(error)}") from None
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise CheckpointError(f"{home / 'model.safetensors'}: tensor {name} holds values that are not finite")
    return model.eval()


def read_config(path: Path, kind: type[PretrainedConfig]) -> Any:
    """Read a ``config.json`` as a configuration of the given class after checking the type of each field.

    Raises:
        DataError: the file is not JSON.
        CheckpointError: a field has the wrong type or is out of range.
    """
    record = read_json(path)
    if not isinstance(record, dict):
        raise CheckpointError(f"{path}: is {repr_short(record)}, allowed: an object")
    check_types(path, record, kind().to_dict())
    try:
        return kind.from_dict(record)
    except Exception as error:  # the validators of transformers raise many types
        raise CheckpointError(f"{path}: {one_line(error)}") from None


def check_types(path: Path, record: dict[str, Any], usual: dict[str, Any]) -> None:
    """Check that each field has its usual type. Fields that are usually empty are left to `transformers`."""
    for name, value in record.items():
        default = usual.get(name)
        if name == "dtype":
            sound = value is None or isinstance(getattr(torch, str(value), None), torch.dtype)
        elif isinstance(default, int | float) and not isinstance(default, bool):
            sound = isinstance(value, int | float) and not isinstance(value, bool)
        else:
            sound = default is None or isinstance(value, type(default))
        if not sound:
            raise CheckpointError(f"{path}: {name} is {repr_short(value)}, usually it is {repr_short(default)}")
        if name == "encoder":
            check_types(path, value, usual["encoder"])


def _check_sizes(kind: type[PreTrainedModel], config: PretrainedConfig, home: Path) -> None:
    """Compare shapes before any memory is allocated, since a damaged configuration may ask for too much."""
    path = home / "model.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not a complete safetensors file: {error}") from None
    try:
        with torch.device("meta"):
            expected = {name: list(tensor.shape) for name, tensor in kind(config).state_dict().items()}
    except Exception as error:  # contradictory sizes raise all kinds of errors
        raise CheckpointError(f"{home / 'config.json'}: does not describe a valid model: {one_line(error)}") from None
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise CheckpointError(f"{path}: tensor {name} is missing")
        if name not in expected:
            raise CheckpointError(f"{path}: tensor {name} is not in the configuration")
        if expected[name] != found[name]:
            raise CheckpointError(f"{path}: tensor {name} is {found[name]}, the configuration says {expected[name]}")
