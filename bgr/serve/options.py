"""Options of `bgr serve`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bgr.retrievers.graph_hop.options import MAX_FACTS, CheckpointOptions, Pool
from bgr.serve.limits import is_loopback
from bgr.utils.options import Folder, Metavar, Positive, Range

Named = Annotated[str, Metavar("NAME=DIR")]

TOKEN = "BGR_TOKEN"
"""Environment variable of the token: arguments of a process can be read by all users of a machine."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions(CheckpointOptions):
    """Options of `bgr serve`. The token that clients must send is read from the environment variable BGR_TOKEN.

    Args:
        collection: collections that can be asked, the first by default (default: atlas, the released one).
        system: further checkpoints, to compare with.
        examples: dataset whose test questions are shown with their gold graphs (default: a few of Atlas).
        pool: number of candidates from a collection (default: 200, or 20 from a checkpoint without a pruner).
        verify: do not compare the files of the collections with their hashes.
        host: address to listen on; other machines reach it only through one that is not a loopback address.
        port: port to listen on; 0 for any that is free.
        open: allow an address that other machines reach without a token.
        max_facts: maximum candidates of one question.
        max_bytes: maximum bytes of a request.
        max_queue: questions that may wait or be answered at the same time; further ones get status 429.
        timeout: seconds until a request gets status 504.
        batch_size: maximum questions that are answered together.
        batch_wait: milliseconds to wait for further questions before a batch begins, if the batch before had several.
    """

    collection: tuple[Named, ...] = ()
    system: tuple[Named, ...] = ()
    examples: Folder | None = None
    pool: Pool | None = None
    verify: bool = True
    host: str = "127.0.0.1"
    port: Annotated[int, Range(0, 65_535)] = 8756
    open: bool = False
    max_facts: Annotated[int, Range(1, MAX_FACTS)] = MAX_FACTS
    max_bytes: Annotated[int, Range(1_000, 1_000_000_000)] = 10_000_000
    max_queue: Positive = 128
    timeout: Annotated[float, Range(0.1, 3_600)] = 60.0
    batch_size: Annotated[int, Range(1, 1_024)] = 16
    batch_wait: Annotated[float, Range(0, 1_000)] = 50.0

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        for option, values in (("collection", self.collection), ("system", self.system)):
            names = [value.partition("=")[0] for value in values]
            for value, name in zip(values, names, strict=True):
                if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}=.+", value):
                    yield f"--{option}: {value!r}: allowed: NAME=DIR, a name of letters, digits, '.', '_' and '-'"
                elif names.count(name) > 1 or (option == "system" and name in ("bgr", "bm25")):
                    yield f"--{option}: {value!r}: the name {name!r} is taken"
        if not self.is_local and not self.token and not self.open:
            yield (
                f"--host {self.host} can be reached by other machines; set {TOKEN} to a secret that clients send, or "
                f"allow all with --open"
            )

    @property
    def token(self) -> str:
        # without the line break at the end of a secret from a file; what clients send is stripped, too
        return os.environ.get(TOKEN, "").strip()

    @property
    def is_local(self) -> bool:
        """Whether the host is a loopback address."""
        return is_loopback(self.host)


def named_folders(values: tuple[str, ...]) -> dict[str, Path]:
    """Name to folder of each ``NAME=DIR``."""
    parts = (value.partition("=") for value in values)
    return {name: Path(folder) for name, _, folder in parts}
