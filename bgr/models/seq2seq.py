"""Safe loading and greedy decoding of encoder-decoder checkpoints such as T5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig, PreTrainedModel
from transformers.utils import logging

from bgr.errors import CheckpointError

_KEPT = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id")


def load_seq2seq(source: str) -> tuple[PreTrainedModel, Any]:
    """Load model and tokenizer from a hub id or a local folder, with safetensors weights only and no remote code.

    Raises:
        CheckpointError: transformers cannot load it, it is not an encoder-decoder, or weights are missing.
    """
    folder = Path(source).expanduser()
    if not folder.is_dir() and (source.startswith((".", "/", "~")) or source.count("/") > 1):
        raise CheckpointError(f"{source}: no such folder; give a folder or a hub id")
    where: dict[str, Any] = {"local_files_only": folder.is_dir(), "trust_remote_code": False}
    name = str(folder) if folder.is_dir() else source
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(name, **where)
        if not config.is_encoder_decoder:
            raise CheckpointError(f"{source}: a {config.model_type} model, allowed: an encoder-decoder such as t5")
        tokenizer = AutoTokenizer.from_pretrained(name, **where)
        model, report = AutoModelForSeq2SeqLM.from_pretrained(
            name, use_safetensors=True, output_loading_info=True, **where
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise CheckpointError(f"{source}: not an encoder-decoder that transformers can load: {error}") from error
    finally:
        if bars:
            logging.enable_progress_bar()
    if report["missing_keys"]:
        missing = sorted(report["missing_keys"])
        raise CheckpointError(f"{source}: the weights lack {len(missing)} parts, the first: {missing[0]}")
    return model, tokenizer


def greedy(model: PreTrainedModel, max_tokens: int, *, scored: bool = False) -> GenerationConfig:
    """Settings for greedy decoding with the checkpoint's special tokens, without its other defaults (beams, lengths).

    With `scored`, `generate` returns logits too.
    """
    own = {name: getattr(model.generation_config, name, None) for name in _KEPT}
    if scored:
        own |= {"return_dict_in_generate": True, "output_logits": True}
    return GenerationConfig(**own, max_new_tokens=max_tokens, do_sample=False, num_beams=1)
