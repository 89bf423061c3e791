"""What comes with the package: weights and a collection, the defaults of `bgr ask`, `bgr predict` and `bgr serve`, and
configurations by name.

```python
pipeline = BgrPipeline.from_pretrained(checkpoint_folder())
answer = pipeline.answer("Who directed Fargo?", Collection.open(collection_folder()))
```
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bgr.errors import BgrError
from bgr.utils.cache import cache_folder, writable_folder
from bgr.utils.error_text import did_you_mean, did_you_mean_path
from bgr.utils.hashing import hash_files

RELEASED = Path(__file__).parents[1] / "checkpoints"
"""The folder `checkpoints`, which a wheel and a checkout have beside `bgr`."""

SENTENCES = "atlas-collection/sentences.txt.gz"
"""Atlas in sentences, one a line, within the folder."""


def checkpoint_folder() -> Path:
    """The folder of the released weights, trained on Atlas."""
    return RELEASED / "atlas"


def collection_folder(*, progress: bool = False) -> Path:
    """The collection of Atlas' sentences, made in the user's cache when it is first needed (some seconds).

    Args:
        progress: say that it is made, and show bars meanwhile.

    Raises:
        BgrError: the cache cannot be written (`bgr.utils.cache.cache_folder`).
    """
    cache = cache_folder()
    if cache is None:
        raise BgrError("there is no home folder for the collection of Atlas; set BGR_CACHE to a folder")
    cache /= "collections"
    folder = cache / f"atlas-{hash_files(RELEASED, [SENTENCES])[:12]}"
    if (folder / "manifest.json").is_file():
        return folder
    if problem := writable_folder(cache):
        raise BgrError(f"{cache}: cannot be written: {problem}; set BGR_CACHE to another folder")
    _build(RELEASED / SENTENCES, folder, progress)
    return folder


def _build(source: Path, folder: Path, progress: bool) -> None:
    from filelock import FileLock

    from bgr.collection.collection import Collection

    with FileLock(folder.with_suffix(".lock")):
        if (folder / "manifest.json").is_file():  # another process has made it in the meantime
            return
        if progress:
            print(f"preparing the collection of Atlas in {folder}, once", file=sys.stderr, flush=True)
        with gzip.open(source, "rt", encoding="utf-8") as file:
            documents = [{"id": f"A{number:06}", "text": line.rstrip("\n")} for number, line in enumerate(file)]
        Collection.build(documents, folder, encoder=None, progress=progress)


def shipped_configs() -> list[str]:
    """Names of the shipped configurations, sorted."""
    return sorted(path.stem for path in Path(str(files("configs"))).glob("*.yaml"))


def find_config(name: str) -> Path:
    """The file `name`, or the shipped configuration ``demo``, ``demo.yaml`` or ``configs/demo.yaml``; else BgrError."""
    path = Path(name)
    if path.is_file():
        return path
    folder = Path(str(files("configs")))
    shipped = folder / f"{path.stem}.yaml"
    if shipped.is_file() and str(path.parent) in (".", "configs"):
        return shipped
    known = shipped_configs()
    raise BgrError(f"{name}: no such config; give a file or one of: {', '.join(known)}{_hint(path, known)}")


def _hint(path: Path, known: Sequence[str]) -> str:
    if path.suffix or path.parent != Path():
        return did_you_mean_path(path)
    # baselines' configs are also looked for by the name of the baseline alone
    return did_you_mean(path.name, known) or did_you_mean(f"baseline-{path.name}", known)
