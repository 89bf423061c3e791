"""Loading of a backend from one string, as on the command line and in configuration files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bgr.errors import BgrError
from bgr.llm.interface import Backend
from bgr.llm.language_model import LanguageModel, Llm
from bgr.llm.options import LlmOptions
from bgr.llm.replay import Replay
from bgr.utils.atomic_io import writing

ALLOWED = "smollm2, a .gguf file, a folder, a hub id like owner/name, or a server's http://host:port/v1#model"


def load_backend(spec: str, **settings: Any) -> Backend:
    """Load the model that `spec` names.

    Args:
        spec: ``smollm2`` (see `bgr.llm.backends.fetch`), a ``.gguf`` file, a folder, a hub id, or
            ``http://host:port/v1#model`` for a server.
        settings: arguments of `TransformersBackend`, or of `OpenAIBackend` for a server.

    Raises:
        BgrError: there is no such model, or the backend does not know a setting.
    """
    is_server = spec.startswith(("http://", "https://"))
    label = "server" if is_server else spec  # its address may contain a password
    address, _, model = spec.partition("#")
    if is_server and not model:
        raise BgrError("a server requires its model after the address: http://host:port/v1#model")
    try:
        if is_server:
            from bgr.llm.backends.openai_backend import OpenAIBackend

            return OpenAIBackend(model, base_url=address, **settings)
        from bgr.llm.backends.transformers_backend import TransformersBackend

        return TransformersBackend(local_model_path(spec), **settings)
    except TypeError as error:
        raise BgrError(f"{label}: {error}") from None
    except ImportError as error:
        raise BgrError(f"{label}: {error} (pip install 'bgr[llm]')") from None


def load_llm(options: LlmOptions) -> Llm:
    """The model of ``--llm`` without a replay cache; BgrError if it cannot be used."""
    return Llm(load_backend(options.llm, **(options.server if "://" in options.llm else {})))


def load_with_replay(options: LlmOptions, replies: Path) -> Llm:
    """The model of ``--llm`` with the replay cache of ``--replay``, by default the file `replies`.

    Raises:
        BgrError: the model or the file cannot be used.
    """
    model = load_llm(options).backend
    path = options.replay or replies
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    return Llm(model, replay=Replay(path, replay_only=options.replay_only))


def local_model_path(spec: str) -> str | Path:
    """The path or hub id of a local model; BgrError if there is no such model."""
    if spec == "smollm2":
        from bgr.llm.backends.fetch import smollm2_path

        return smollm2_path()
    path = Path(spec)
    if path.exists():
        return path
    if spec.count("/") != 1 or spec.startswith((".", "/", "~")) or spec.endswith("/") or path.suffix == ".gguf":
        raise BgrError(f"{spec}: no such file or folder; allowed: {ALLOWED}")
    return spec


def language_model(llm: LanguageModel | str, **settings: Any) -> LanguageModel:
    """The language model itself, or the one that `load_backend` loads for a name, without a replay cache."""
    return Llm(load_backend(llm, **settings)) if isinstance(llm, str) else llm
