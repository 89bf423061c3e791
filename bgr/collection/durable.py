"""What survives a power failure: files, and the names in a folder, that are on the disk and not only in memory."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk; OSError if it cannot be written there."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk; OSError if they cannot be written there. Where the system
    cannot do this for a folder, nothing is done."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(handle)
