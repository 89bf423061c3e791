"""One replay cache for workers on several machines.

The workers of each machine write to a file of their own beside the cache, since SQLite's locks are sure between
processes of one machine alone. These files are joined to the cache before and after the work: a run that was killed
leaves them, and the next one joins them first.
"""

from __future__ import annotations

import glob
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bgr.llm.interface import Completion
from bgr.llm.replay import Replay

SUFFIX = ".worker"


class WorkerReplay(Replay):
    """The cache as a worker uses it: replies of `path`, which does not change meanwhile, and those of its machine's
    file, which it writes.

    Raises:
        DataError: as `Replay`.
    """

    def __init__(self, path: Path) -> None:
        self._before = Replay(path, replay_only=True)
        machine = re.sub(r"[^\w-]", "-", socket.gethostname())
        super().__init__(path.with_name(f"{path.name}.{machine}{SUFFIX}"))

    def get(self, key: str) -> Completion | None:
        """As `Replay.get`."""
        return self._before.get(key) or super().get(key)

    def close(self) -> bool:
        """As `Replay.close`."""
        self._before.close()
        return super().close()


@contextmanager
def shared_replay(path: Path, *, replay_only: bool = False) -> Iterator[None]:
    """Join the workers' files to the cache before and after the work of the `with` statement, also if it fails.

    Raises:
        DataError: a file cannot be used, or with `replay_only` the cache does not exist.
    """
    if replay_only:
        Replay(path, replay_only=True).close()
        yield
        return
    _join(path)
    try:
        yield
    finally:
        _join(path)


def _join(path: Path) -> None:
    with Replay(path) as replay:
        for file in sorted(path.parent.glob(f"{glob.escape(path.name)}.*{SUFFIX}")):
            unused = Replay(file).close()
            with Replay(file) as part:
                replay.add_all(part)
            if unused:  # otherwise a worker still writes to it, and the next run takes the rest
                file.unlink()
