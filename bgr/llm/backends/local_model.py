"""A causal language model and its tokenizer from a hub id, a folder or a GGUF file."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from bgr.errors import CheckpointError
from bgr.llm.backends.cpu_attention import use_cpu_attention
from bgr.utils.devices import pick_device, pick_precision
from bgr.utils.hashing import hash_file, hash_files
from bgr.utils.json_utils import one_line

_DECIDES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
"""Files of a folder that decide what its model writes."""


@dataclass(frozen=True)
class LocalModel:
    """A model ready to write.

    Args:
        name: of the model and the numbers it computes with; the same for the same files, wherever they lie.
        ends: token ids that end a reply.
        longest: tokens of prompt and reply together.
    """

    name: str
    model: Any
    tokenizer: Any
    ends: list[int]
    longest: int


def load_local_model(
    model: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> LocalModel:
    """Load a model in float32, or in bfloat16 where the device is fast at it. Only safetensors and GGUF are read, no
    code of the model's is run, and only a hub id reaches for the network.

    Args:
        model: hub id, folder, or ``.gguf`` file.
        device, precision: as `bgr.utils.devices` takes them.

    Raises:
        CheckpointError: missing, damaged, no chat template, no attention, or a library that it needs is not installed.
    """
    place = pick_device(device)
    precision = pick_precision(place, precision)
    path = Path(model)
    if path.suffix == ".gguf" and not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    source, settings = _source(path, str(model))
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **settings)
        weights: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.bfloat16 if precision == "bf16" else torch.float32, **_weights_only(settings)
        )
    except ImportError as error:
        raise CheckpointError(f"{model}: {one_line(error)} (pip install 'bgr[llm]')") from None
    except Exception as error:  # a file from anywhere, read by another library: it may fail in any way
        raise CheckpointError(f"{model}: cannot be loaded: {one_line(error)}") from None
    if not getattr(tokenizer, "chat_template", None):
        raise CheckpointError(f"{model}: its tokenizer has no chat template; name a model that is trained to chat")
    if "past_key_values" not in inspect.signature(weights.forward).parameters:
        kind = weights.config.model_type
        raise CheckpointError(f"{model}: a model of kind {kind} keeps no keys and values; name one with attention")
    ends = _ends(weights, tokenizer)
    # the folder's own settings (temperature, penalties) would mix with those of a request
    weights.generation_config = transformers.GenerationConfig(eos_token_id=ends, pad_token_id=ends[0])
    longest = int(getattr(weights.config.get_text_config(), "max_position_embeddings", None) or 1 << 30)
    if place.type == "cpu":
        use_cpu_attention(weights)
    name = f"transformers:{_identity(path, str(model), weights)}:{precision}"
    return LocalModel(name, weights.to(place).eval(), tokenizer, ends, longest)


def _source(path: Path, model: str) -> tuple[str, dict[str, Any]]:
    """What `from_pretrained` takes."""
    if path.is_file():
        return str(path.parent), {"gguf_file": path.name, "local_files_only": True}
    return model, {"local_files_only": path.is_dir()}


def _weights_only(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings for the weights. GGUF's are unpacked: to compute with them as they are, transformers would fetch
    compiled code from the hub."""
    if "gguf_file" not in settings:
        return {**settings, "use_safetensors": True}
    config = getattr(transformers, "GgufConfig", None)
    return settings if config is None else {**settings, "quantization_config": config(dequantize=True)}


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """The token ids that end a reply, from the model's settings and the tokenizer's.

    Raises:
        CheckpointError: there is none.
    """
    named = model.generation_config.eos_token_id
    ids = [tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])]
    ends = sorted({i for i in ids if i is not None})
    if not ends:
        raise CheckpointError(
            f"{model.config._name_or_path}: neither model nor tokenizer names a token that ends a reply"
        )
    return ends


def _identity(path: Path, model: str, weights: Any) -> str:
    if path.is_file():
        return f"{path.name}@{hash_file(path)[:16]}"
    if path.is_dir():
        names = sorted({file.name for pattern in _DECIDES for file in path.glob(pattern)})
        return f"{path.resolve().name}@{hash_files(path, names)[:16]}"
    return f"{model}@{getattr(weights.config, '_commit_hash', None)}"
