"""Trained readers by their folder."""

from __future__ import annotations

from pathlib import Path

import torch

from bgr.reader.extractive import ExtractiveReader
from bgr.reader.reader import READER, SETTINGS, Reader
from bgr.reader.seq2seq import Seq2seqReader
from bgr.utils.atomic_io import read_json


def load_reader(
    folder: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> Reader:
    """Load a trained reader of either kind from its folder, without network access.

    Raises:
        DataError: ``reader.json`` is missing.
        CheckpointError: a file is missing, damaged or inconsistent with the others.
        ValueError: the precision is unknown.
    """
    folder = Path(folder)
    record = read_json(folder / SETTINGS)
    extractive = isinstance(record, dict) and record.get("form") == "extractive"
    kind = ExtractiveReader if extractive else Seq2seqReader
    return kind.from_pretrained(folder, device=device, precision=precision)


def reader_of(
    checkpoint: Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> Reader | None:
    """Load the reader in a checkpoint folder, if there is one. Errors: see `load_reader`."""
    folder = checkpoint / READER
    return load_reader(folder, device=device, precision=precision) if folder.exists() else None
