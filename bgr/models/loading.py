"""Loading of models from untrusted folders: ``config.json`` and ``model.safetensors`` are checked before use.

A model may share some of its tensors with others of the same checkpoint. They are then in a file of their own, or in
that of a published encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from transformers import PretrainedConfig, PreTrainedModel
from transformers.utils import logging

from bgr.errors import CheckpointError
from bgr.utils.atomic_io import check_regular, new_file, read_json
from bgr.utils.checksums import check_file
from bgr.utils.json_utils import one_line, repr_short

MAX_LAYERS = 1_000
"""Maximum number of layers of an encoder: they are built before their weights are compared."""

_OTHER_FIELDS = {"torch_dtype", "attn_implementation", "_attn_implementation_autoset"}
"""Fields that other versions of `transformers` write."""


_READ_BY_TRANSFORMERS = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)


class Shared(NamedTuple):
    """A safetensors file with tensors that the model's own file lacks. Without a `prefix` all of them are the model's,
    by their own names; with one, the file is that of a whole encoder, whose names it precedes in the model."""

    path: Path
    prefix: str = ""


@contextmanager
def without_bars() -> Iterator[None]:
    """No progress bars of `transformers`: weights load in a moment."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def load_weights(
    home: Path, kind: type[PreTrainedModel], config: PretrainedConfig, *, shared: Shared | None = None
) -> Any:
    """Load a model in evaluation mode and float32 after checking every tensor against the configuration.

    A model that has all of its tensors does not need the `shared` ones.

    Raises:
        CheckpointError: a file is damaged or not as it was written (`bgr.utils.checksums`), or a tensor is missing,
            unexpected, of the wrong shape or not finite.
    """
    files = _checked_files(kind, config, home, shared)
    try:
        tensors: dict[str, Tensor] = {}
        for path, names in files.items():
            with safe_open(path, framework="pt") as file:
                tensors |= {name: file.get_tensor(there) for name, there in names.items()}
        with without_bars():
            model = kind.from_pretrained(None, config=config, state_dict=tensors, dtype=torch.float32)
    except Exception as error:  # an invalid configuration with plausible sizes raises all kinds of errors
        raise CheckpointError(f"{home}: cannot be loaded: {one_line(error)}") from None
    weights = dict(model.named_parameters())
    for path, names in files.items():
        for name in names:
            if name in weights and not torch.isfinite(weights[name]).all():
                raise CheckpointError(f"{path}: tensor {name} holds values that are not finite")
    for path in files:
        check_file(path)
    return model.eval()


def save_shared(tensors: dict[str, Tensor], path: Path) -> bool:
    """Write tensors to a safetensors file that several models share.

    Returns:
        True if the file now holds exactly these tensors; false if it existed with others, which are kept.
    """
    if not path.exists():
        with new_file(path, parents=True) as part:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, part, {"format": "pt"})
        return True
    try:
        with safe_open(path, framework="pt") as file:
            if set(file.keys()) != tensors.keys():
                return False
            found = {name: file.get_tensor(name) for name in tensors}
    except (SafetensorError, OSError):
        return False
    return all(found[name].dtype == t.dtype and torch.equal(found[name], t.cpu()) for name, t in tensors.items())


def check_objects(folder: Path) -> None:
    """Check that the JSON files that `transformers` reads from a folder hold objects, which it takes for granted.

    Raises:
        DataError: a file is not JSON.
        CheckpointError: a file holds something else.
    """
    for path in (folder / name for name in _READ_BY_TRANSFORMERS):
        if path.exists() and not isinstance(record := read_json(path), dict):
            raise CheckpointError(f"{path}: is {repr_short(record)}, allowed: an object")


def read_config(path: Path, kind: type[PretrainedConfig]) -> Any:
    """Read a ``config.json`` as a configuration of the given class after checking the type of each field.

    Raises:
        DataError: the file is not JSON.
        CheckpointError: a field is unknown, has the wrong type or is out of range, or the file is not as it was
            written.
    """
    record = read_json(path)
    if not isinstance(record, dict):
        raise CheckpointError(f"{path}: is {repr_short(record)}, allowed: an object")
    usual = kind().to_dict()
    check_names(path, record, usual)
    check_types(path, record, usual)
    try:
        config = kind.from_dict(record)
    except Exception as error:  # the validators of transformers raise many types
        raise CheckpointError(f"{path}: {one_line(error)}") from None
    check_file(path)
    return config


def check_names(path: Path, record: dict[str, Any], usual: dict[str, Any]) -> None:
    """Check that no field is misspelled, which would silently have its default."""
    for name in sorted(record.keys() - usual.keys() - _OTHER_FIELDS):
        raise CheckpointError(f"{path}: unknown field {repr_short(name)}{_advice(name, usual)}")
    if isinstance(encoder := record.get("encoder"), dict):
        check_published_names(path, encoder, usual.get("encoder", {}), "encoder.")


def check_published_names(path: Path, record: dict[str, Any], usual: dict[str, Any], prefix: str = "") -> None:
    """`check_names` for a published model, which may have fields that `transformers` does not know: only a name is
    refused that resembles a known one which is not given."""
    for name in sorted(record.keys() - usual.keys()):
        missing = [one for one in usual.keys() - record.keys() if not one.endswith("_token_id")]
        if advice := _advice(name, missing):
            raise CheckpointError(f"{path}: unknown field {repr_short(prefix + name)}{advice}")


def _advice(name: str, known: Iterable[str]) -> str:
    # a published encoder has fields of its own that resemble others a little
    near = get_close_matches(name, known, n=1, cutoff=0.85)
    return f", did you mean {near[0]!r}?" if near else ""


def check_types(path: Path, record: dict[str, Any], usual: dict[str, Any]) -> None:
    """Check that each field has its usual type. Fields that are usually empty are left to `transformers`."""
    for name, value in record.items():
        default = usual.get(name)
        if name == "dtype":
            sound = value is None or isinstance(getattr(torch, str(value), None), torch.dtype)
        elif value is None and name.endswith("_token_id"):
            sound = True  # there is no such token
        elif isinstance(default, int | float) and not isinstance(default, bool):
            sound = isinstance(value, int | float) and not isinstance(value, bool)
        else:
            sound = default is None or isinstance(value, type(default))
        if not sound:
            raise CheckpointError(f"{path}: {name} is {repr_short(value)}, usually it is {repr_short(default)}")
        if name.endswith("layers") and isinstance(value, int | float) and value > MAX_LAYERS:
            raise CheckpointError(f"{path}: {name} is {repr_short(value)}, allowed: {MAX_LAYERS} or less")
        if name == "encoder":
            check_types(path, value, usual["encoder"])


def _checked_files(
    kind: type[PreTrainedModel], config: PretrainedConfig, home: Path, shared: Shared | None
) -> dict[Path, dict[str, str]]:
    """The tensors to read from each file, with their names in it.

    Shapes are compared before any memory is allocated, since a damaged configuration may ask for too much.
    """
    path = home / "model.safetensors"
    own = _shapes(path)
    try:
        with torch.device("meta"):
            expected = {name: list(tensor.shape) for name, tensor in kind(config).state_dict().items()}
    except Exception as error:  # contradictory sizes raise all kinds of errors
        raise CheckpointError(f"{home / 'config.json'}: does not describe a valid model: {one_line(error)}") from None
    files = {path: {name: name for name in own}}
    found = {name: (path, shape) for name, shape in own.items()}
    also = ""
    if shared is not None and expected.keys() - own.keys():
        also = f", and there is no {shared.path}"
        if shared.path.is_file():
            also, files[shared.path] = "", {}
            for there, shape in _shapes(shared.path).items():
                name = shared.prefix + there
                if name not in own and (name in expected or not shared.prefix):
                    files[shared.path][name] = there
                    found[name] = (shared.path, shape)
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise CheckpointError(f"{path}: tensor {name} is missing{also}")
        file, shape = found[name]
        if name not in expected:
            raise CheckpointError(f"{file}: tensor {name} is not in the configuration")
        if expected[name] != shape:
            raise CheckpointError(f"{file}: tensor {name} is {shape}, the configuration says {expected[name]}")
    return files


def _shapes(path: Path) -> dict[str, list[int]]:
    check_regular(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not a complete safetensors file: {error}") from None
