"""Where a checkpoint comes from: a folder, the Hugging Face Hub, or the package."""

from __future__ import annotations

from pathlib import Path

from bgr.errors import CheckpointError
from bgr.pipeline.hub import download, is_hub_id
from bgr.released import checkpoint_folder
from bgr.utils.json_utils import repr_short


def find_checkpoint(
    source: str | Path | None,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
) -> Path:
    """The folder of a checkpoint; the released weights by default.

    A path, and a string that names an existing folder, is a folder; any other string is ``owner/name`` on the Hub
    (`bgr.pipeline.hub.download`, which describes the other arguments).

    Raises:
        CheckpointError: the string is neither, a folder is given with a revision, or as `download`.
    """
    if isinstance(source, str) and not Path(source).is_dir():
        if not is_hub_id(source):
            raise CheckpointError(f"{repr_short(source)}: no such folder, allowed: a folder, or owner/name on the Hub")
        return download(source, revision=revision, token=token, cache_dir=cache_dir, local_files_only=local_files_only)
    folder = checkpoint_folder() if source is None else Path(source)
    if revision is not None:
        raise CheckpointError(f"{folder}: is a folder, and revision is {revision!r}; only the Hub has revisions")
    return folder
