"""What the parts of a checkpoint folder share: the encoder's frozen layers, stored once or named, and its tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import safe_open
from torch import Tensor
from transformers import AutoTokenizer, BertConfig

from bgr.errors import CheckpointError
from bgr.models.encoder import SentenceStates
from bgr.models.loading import Shared, check_objects, save_shared
from bgr.models.packaged import MINILM_SHA256, PACKAGED_MINILM, packaged_minilm
from bgr.utils.atomic_io import new_file, read_json
from bgr.utils.checksums import check_file, check_folder
from bgr.utils.json_utils import one_line, repr_short

SHARED = Path("encoder", "model.safetensors")
BY_NAME = Path("encoder", "encoder.json")
PUBLISHED = {"name": PACKAGED_MINILM, "sha256": MINILM_SHA256["model.safetensors"]}
"""The encoder that a checkpoint may name instead of holding it."""
ENCODER = "encoder.bert."
"""What precedes the names of a published encoder's tensors in a part of a checkpoint."""


class EncoderModel(Protocol):
    """A model of transformers whose pretrained encoder is `encoder`."""

    encoder: SentenceStates

    def state_dict(self) -> dict[str, Any]: ...

    def save_pretrained(self, save_directory: Path, **options: Any) -> Any: ...


def shared_tensors(folder: Path) -> Shared:
    """Where the tensors are that the parts of a checkpoint share.

    Raises:
        CheckpointError: it names an encoder that is not known or not installed.
    """
    if (folder / SHARED).exists() or not (folder / BY_NAME).exists():
        return Shared(folder / SHARED)
    if (named := read_json(folder / BY_NAME)) != PUBLISHED:
        raise CheckpointError(f"{folder / BY_NAME}: is {repr_short(named)}, allowed: {PUBLISHED}")
    check_file(folder / BY_NAME)
    return Shared(packaged_minilm() / "model.safetensors", ENCODER)


def save_part(model: EncoderModel, home: Path, folder: Path, *, by_name: bool = False) -> None:
    """Write a model to `home`, a part of the checkpoint `folder`. Its frozen layers are stored once for all parts, in
    `folder`, unless it has other ones already; or only the name of the encoder is (`by_name`).

    Raises:
        CheckpointError: the frozen layers are not those of the published encoder that should be named.
    """
    tensors = model.state_dict()
    frozen = {f"encoder.{name}" for name in model.encoder.frozen_names()}
    if by_name:
        _check_published({name: tensors[name] for name in frozen})
        with new_file(folder / BY_NAME, parents=True) as part:
            part.write_text(json.dumps(PUBLISHED, indent=1) + "\n", encoding="utf-8")
        tensors = {name: tensor for name, tensor in tensors.items() if name not in frozen}
    elif frozen and save_shared({name: tensors[name] for name in sorted(frozen)}, folder / SHARED):
        tensors = {name: tensor for name, tensor in tensors.items() if name not in frozen}
    model.save_pretrained(home, state_dict=tensors)


def _check_published(frozen: Mapping[str, Tensor]) -> None:
    with safe_open(packaged_minilm() / "model.safetensors", framework="pt") as file:
        names = set(file.keys())
        same = frozen and all(
            name.removeprefix(ENCODER) in names
            and torch.equal(file.get_tensor(name.removeprefix(ENCODER)).to(tensor.dtype), tensor.cpu())
            for name, tensor in frozen.items()
        )
    if not same:
        raise CheckpointError(f"the frozen layers are not those of {PACKAGED_MINILM}, so that it cannot be named")


def load_tokenizer(folder: Path, words: int | None = None) -> Any:
    """The tokenizer in the folder, without network access.

    `words` is the size of the encoder's vocabulary, which the tokenizer's must not exceed.

    Raises:
        CheckpointError: it is missing, damaged, or has too many words, or a file of the folder is not as it was
            written (`bgr.utils.checksums`).
    """
    if not (folder / "tokenizer.json").is_file():
        raise CheckpointError(f"{folder / 'tokenizer.json'}: no such file")
    check_folder(folder)
    check_objects(folder)
    try:
        # a config.json beside it is that of our model, which transformers does not know
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, config=BertConfig())
    except Exception as error:  # the tokenizers library raises no class of its own
        raise CheckpointError(f"{folder}: the tokenizer cannot be read: {one_line(error)}") from None
    most = max(tokenizer.get_vocab().values(), default=-1)
    if words is not None and most >= words:
        raise CheckpointError(f"{folder / 'tokenizer.json'}: a word has number {most}, the encoder knows {words} words")
    return tokenizer
