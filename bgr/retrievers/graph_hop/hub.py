"""Where a checkpoint comes from: a folder, the package, or the Hugging Face Hub (a folder with its history under
``owner/name``).

Only files of known names are downloaded (`NAMES`), none of which runs code when it is read, and all of them are
compared with the hashes of the repository's ``SHA256SUMS``. The server is that of ``HF_ENDPOINT``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bgr.errors import CheckpointError
from bgr.released import checkpoint_folder
from bgr.retrievers.graph_hop.options import RANKER
from bgr.utils.checksums import SUMS, read_sums
from bgr.utils.hashing import hash_file
from bgr.utils.json_utils import one_line, repr_short

PLACES = ("", "forward/", "backward/", "encoder/", "reader/", f"{RANKER}/")
NAMES = (
    *("bgr.json", "config.json", "encoder.json", "generation_config.json", "model.safetensors", "reader.json"),
    *("added_tokens.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"),
    *("vocab.txt", "words.txt"),
)
HASHED = tuple(place + name for place in PLACES for name in NAMES)
"""Every file that a checkpoint may have, besides its model card and its hashes."""

FILES = ("README.md", SUMS, *HASHED)

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def is_hub_id(source: str) -> bool:
    """True for ``owner/name``."""
    return _HUB_ID.fullmatch(source) is not None


def download(
    repo_id: str,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
) -> Path:
    """The folder of a checkpoint in the local cache of the Hub, downloaded where it is missing.

    Args:
        revision: branch, tag or commit; default: ``main``.
        token: for private repositories; default: that of ``hf auth login`` or ``HF_TOKEN``; false for none.
        cache_dir: default: ``HF_HUB_CACHE``.
        local_files_only: use what the cache has, without network access.

    Raises:
        CheckpointError: there is no such repository or revision, or the token may not read it; the Hub cannot be
            reached and the cache has no whole copy; or a file is not as it was written.
    """
    from huggingface_hub import snapshot_download

    with _hub_errors(repo_id, revision):
        folder = Path(
            snapshot_download(
                repo_id,
                revision=revision,
                token=token,
                cache_dir=cache_dir,
                local_files_only=local_files_only,
                allow_patterns=list(FILES),
            )
        )
    _check_hashes(repo_id, folder)
    return folder


def upload(
    folder: Path,
    repo_id: str,
    *,
    private: bool | None = None,
    token: str | bool | None = None,
    revision: str | None = None,
    commit_message: str = "Upload a BGR checkpoint",
) -> str:
    """Upload a checkpoint folder in one commit, and create repository and branch where they are missing. Files of an
    earlier checkpoint that this one lacks are deleted.

    Returns:
        The address of the commit.

    Raises:
        CheckpointError: the name is not ``owner/name``, the token may not write, or the Hub cannot be reached.
    """
    from huggingface_hub import HfApi

    if not is_hub_id(repo_id):
        raise CheckpointError(f"{repr_short(repo_id)}: not the name of a repository, allowed: owner/name")
    api = HfApi(token=token)
    with _hub_errors(repo_id, revision):
        api.create_repo(repo_id, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(repo_id, branch=revision, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repo_id,
            folder_path=folder,
            revision=revision,
            commit_message=commit_message,
            allow_patterns=list(FILES),
            delete_patterns=list(FILES),
        )
    return str(commit.commit_url)


def _check_hashes(repo_id: str, folder: Path) -> None:
    if not (folder / "bgr.json").is_file():
        raise CheckpointError(f"{repo_id}: holds no BGR checkpoint: there is no bgr.json")
    sums = read_sums(folder)
    if not sums:
        raise CheckpointError(f"{repo_id}: has no {SUMS} to verify the download with")
    if unlisted := [name for name in HASHED if (folder / name).exists() and name not in sums]:
        raise CheckpointError(f"{repo_id}: {unlisted[0]} is not in {SUMS}, so it cannot be verified")
    for name, expected in sums.items():
        if name in HASHED and (not (folder / name).is_file() or hash_file(folder / name) != expected):
            raise CheckpointError(
                f"{repo_id}: {name} is damaged, here or on the Hub: its SHA-256 is not that in {SUMS}; delete {folder} "
                "and load it again"
            )


@contextmanager
def _hub_errors(repo_id: str, revision: str | None) -> Iterator[None]:
    """Turn an error of the Hub or on the way to it into a CheckpointError of one line."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError:
        raise CheckpointError(f"{repo_id}: the owner of this repository has to grant access to it first") from None
    except errors.RepositoryNotFoundError:
        raise CheckpointError(
            f"{repo_id}: no such folder, and no such repository on the Hub, or a private one that the token may not "
            "read; set HF_TOKEN or run `hf auth login`"
        ) from None
    except errors.RevisionNotFoundError:
        raise CheckpointError(f"{repo_id}: has no revision {repr_short(revision)}") from None
    except errors.LocalEntryNotFoundError:
        raise CheckpointError(
            f"{repo_id}: no such folder, and not in the Hub's local cache, and the Hub was not or could not be asked"
        ) from None
    except Exception as error:  # the client raises errors of its own, of the HTTP library, and of the system
        raise CheckpointError(f"{repo_id}: the Hub refused or could not be reached: {one_line(error)}") from None


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
    (`download`, which describes the other arguments).

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
