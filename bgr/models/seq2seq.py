"""Safe loading and greedy decoding of encoder-decoder checkpoints such as T5."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
)

from bgr.errors import CheckpointError
from bgr.models.loading import check_objects, check_published_names, check_types, without_bars
from bgr.utils.atomic_io import read_json
from bgr.utils.checksums import check_folder
from bgr.utils.json_utils import one_line, repr_short

_KEPT = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id")


def load_seq2seq(source: str) -> tuple[PreTrainedModel, Any]:
    """Load model and tokenizer from a hub id or a local folder, with safetensors weights only and no remote code.

    Raises:
        DataError: a file is missing or not JSON.
        CheckpointError: transformers cannot load or run it, it is not an encoder-decoder, weights are missing, or a
            file is not as it was written (`bgr.utils.checksums`).
    """
    folder = Path(source).expanduser()
    if not folder.is_dir() and (source.startswith((".", "/", "~")) or source.count("/") > 1):
        raise CheckpointError(f"{source}: no such folder; give a folder or a hub id")
    if folder.is_dir():
        check_folder(folder)
        check_objects(folder)
        _check_config(folder)
    where: dict[str, Any] = {"local_files_only": folder.is_dir(), "trust_remote_code": False}
    name = str(folder) if folder.is_dir() else source
    try:
        config = AutoConfig.from_pretrained(name, **where)
        if not config.is_encoder_decoder:
            raise CheckpointError(f"{source}: a {config.model_type} model, allowed: an encoder-decoder such as t5")
        tokenizer = AutoTokenizer.from_pretrained(name, **where)
        with without_bars():
            model, report = AutoModelForSeq2SeqLM.from_pretrained(
                name, use_safetensors=True, output_loading_info=True, **where
            )
    except CheckpointError:
        raise
    except Exception as error:  # damaged files raise all kinds of errors
        text = f"{source}: not an encoder-decoder that transformers can load: {one_line(error)}"
        raise CheckpointError(text) from error
    if report["missing_keys"]:
        missing = sorted(report["missing_keys"])
        raise CheckpointError(f"{source}: the weights lack {len(missing)} parts, the first: {missing[0]}")
    _check_special_tokens(source, model)
    _check_runs(source, model, tokenizer)
    return model, tokenizer


def _check_special_tokens(source: str, model: PreTrainedModel) -> None:
    """Check the numbers of special tokens, which transformers reads from ``generation_config.json`` unchecked."""
    settings, words = model.generation_config, model.config.vocab_size
    for name in _KEPT:
        value = getattr(settings, name, None)
        numbers = value if isinstance(value, list) else [value]
        valid = all(isinstance(n, int) and not isinstance(n, bool) and -1 <= n < words for n in numbers)
        if value is not None and not (numbers and valid):
            raise CheckpointError(
                f"{source}: {name} of its generation settings is {repr_short(value)}, allowed: a number of one of its "
                f"{words:,} tokens"
            )
    if settings.eos_token_id is None:
        raise CheckpointError(f"{source}: its generation settings have no eos_token_id, the end of a text")


@torch.inference_mode()
def _check_runs(source: str, model: Any, tokenizer: Any) -> None:
    """Generate one token, since weights may fit settings that cannot be run."""
    try:
        model.generate(**tokenizer(["?"], return_tensors="pt"), generation_config=greedy(model, 1))
    except Exception as error:  # contradictory settings raise all kinds of errors
        raise CheckpointError(f"{source}: the model cannot be run: {one_line(error)}") from None


def _check_config(folder: Path) -> None:
    """Check the ``config.json`` of an encoder-decoder before a model of that size is made.

    Raises:
        DataError: the file is missing or not JSON.
        CheckpointError: a field has the wrong type, or the model has far more weights than the folder.
    """
    path = folder / "config.json"
    record = read_json(path)
    if not isinstance(record, dict):
        raise CheckpointError(f"{path}: is {repr_short(record)}, allowed: an object")
    name = record.get("model_type")
    if not isinstance(name, str) or name not in CONFIG_MAPPING:
        raise CheckpointError(f"{path}: model_type is {repr_short(name)}, allowed: an encoder-decoder such as 't5'")
    usual = CONFIG_MAPPING[name]().to_dict()
    check_types(path, record, usual)
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if not config.is_encoder_decoder:
            raise CheckpointError(f"{path}: a {config.model_type} model, allowed: an encoder-decoder such as t5")
        with torch.device("meta"):
            model = AutoModelForSeq2SeqLM.from_config(config)
    except CheckpointError:
        raise
    except Exception as error:  # contradictory sizes raise all kinds of errors
        raise CheckpointError(f"{path}: does not describe a valid encoder-decoder: {one_line(error)}") from None
    check_published_names(path, record, usual)
    size, stored = sum(weight.numel() for weight in model.parameters()), _stored(folder)
    # embeddings that up to four parts share are stored once
    if size > 4 * stored:
        raise CheckpointError(f"{path}: describes {size:,} weights, model.safetensors holds {stored:,}")


def _stored(folder: Path) -> int:
    """Number of weights in the folder's safetensors files."""
    count = 0
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt") as file:
                count += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path}: not a complete safetensors file: {error}") from None
    return count


def greedy(model: PreTrainedModel, max_tokens: int, *, scored: bool = False) -> GenerationConfig:
    """Settings for greedy decoding with the checkpoint's special tokens, without its other defaults (beams, lengths).

    With `scored`, `generate` returns logits too.
    """
    own = {name: getattr(model.generation_config, name, None) for name in _KEPT}
    if scored:
        own |= {"return_dict_in_generate": True, "output_logits": True}
    return GenerationConfig(**own, max_new_tokens=max_tokens, do_sample=False, num_beams=1)
