"""The choice of an encoder on the command line. This module imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from bgr.utils.options import Metavar, Options

Pooling = Literal["mean", "cls", "last"]
"""The vector of a text: the mean of its token states, the first one, or the last one."""


@dataclass(frozen=True)
class EncoderSpec:
    """A folder or a server with an encoder, and what differs from what the folder says.

    Args:
        place: folder in the format of `transformers` (of sentence-transformers, also its pooling and its prompt for
            queries are taken), or ``http://host/v1#model``; ``None`` for the packaged MiniLM.
        query_prefix: text before each query.
    """

    place: str | Path | None = None
    query_prefix: str | None = None
    pooling: Pooling | None = None

    @property
    def is_server(self) -> bool:
        return str(self.place).startswith(("http://", "https://"))


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(Options):
    """The encoder of texts and questions, also that of a collection.

    Args:
        encoder: local folder of the encoder, or http://host/v1#model for a server of embeddings (default: the packaged
            MiniLM).
        query_prefix: text before each question, for encoders that were trained with an instruction (default: as the
            folder of a sentence-transformers model says).
        pooling: vector of a text: mean of its token states, the first one (cls) or the last one (default: as the folder
            says, else mean).
    """

    encoder: Annotated[str, Metavar("DIR|URL")] | None = None
    query_prefix: str | None = None
    pooling: Pooling | None = None

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.pooling is not None and self.encoder_spec is not None and self.encoder_spec.is_server:
            yield "--pooling is of a local encoder: leave it out with a server"

    @property
    def encoder_spec(self) -> EncoderSpec | None:
        """The encoder; ``None`` if no option is given."""
        if self.encoder is self.query_prefix is self.pooling is None:
            return None
        return EncoderSpec(self.encoder, self.query_prefix, self.pooling)
