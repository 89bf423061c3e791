"""Loading of a causal language model and its tokenizer from a hub id, a folder or a GGUF file."""

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

_HASHED = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
"""Files of a folder that determine the output of its model."""


@dataclass(frozen=True)
class LocalModel:
    """A model that is ready to generate.

    Args:
        name: name of the model and its precision; equal files give equal names in any folder.
        ends: token ids that end a reply.
        longest: maximum tokens of prompt and reply together.
    """

    name: str
    model: Any
    tokenizer: Any
    ends: list[int]
    longest: int


def load_local_model(
    model: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> LocalModel:
    """Load a model in float32, or in bfloat16 if that is fast on the device.

    Only safetensors and GGUF files are read, no code of the model is run, and only a hub id uses the network.

    Args:
        model: hub id, folder, or ``.gguf`` file.
        device, precision: see `bgr.utils.devices`.

    Raises:
        CheckpointError: the model is missing or damaged, has no chat template or no attention, or requires a library
            that is not installed.
    """
    place = pick_device(device)
    precision = pick_precision(place, precision)
    path = Path(model)
    if path.suffix == ".gguf" and not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    source, settings = str(model), {"local_files_only": path.is_dir()}
    only_weights: dict[str, Any] = {"use_safetensors": True}
    if path.is_file():
        source, settings = str(path.parent), {"gguf_file": path.name, "local_files_only": True}
        # transformers would download compiled code from the hub to compute with GGUF weights directly
        config = getattr(transformers, "GgufConfig", None)
        only_weights = {} if config is None else {"quantization_config": config(dequantize=True)}
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **settings)
        weights: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=dtype, **settings, **only_weights
        )
    except ImportError as error:
        raise CheckpointError(f"{model}: {one_line(error)} (pip install 'bgr[llm]')") from None
    except Exception as error:  # an untrusted file read by a third-party library may raise anything
        raise CheckpointError(f"{model}: cannot be loaded: {one_line(error)}") from None
    if not getattr(tokenizer, "chat_template", None):
        raise CheckpointError(f"{model}: its tokenizer has no chat template; use a model trained for chat")
    if "past_key_values" not in inspect.signature(weights.forward).parameters:
        problem = f"a model of type {weights.config.model_type} has no cache of keys and values; use one with attention"
        raise CheckpointError(f"{model}: {problem}")
    ends = _ends(weights, tokenizer)
    # defaults of the folder (temperature, penalties) would interfere with the settings of a request
    weights.generation_config = transformers.GenerationConfig(eos_token_id=ends, pad_token_id=ends[0])
    longest = int(getattr(weights.config.get_text_config(), "max_position_embeddings", None) or 1 << 30)
    if place.type == "cpu":
        use_cpu_attention(weights)
    name = f"transformers:{_identity(path, str(model), weights)}:{precision}"
    return LocalModel(name, weights.to(place).eval(), tokenizer, ends, longest)


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """The token ids that end a reply, according to the model and the tokenizer."""
    named = model.generation_config.eos_token_id
    ids = [tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])]
    ends = sorted({i for i in ids if i is not None})
    if not ends:
        place = model.config._name_or_path
        raise CheckpointError(f"{place}: neither model nor tokenizer names a token that ends a reply")
    return ends


def _identity(path: Path, model: str, weights: Any) -> str:
    if path.is_file():
        return f"{path.name}@{hash_file(path)[:16]}"
    if path.is_dir():
        names = sorted({file.name for pattern in _HASHED for file in path.glob(pattern)})
        return f"{path.resolve().name}@{hash_files(path, names)[:16]}"
    return f"{model}@{getattr(weights.config, '_commit_hash', None)}"
