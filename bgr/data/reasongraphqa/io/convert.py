"""Conversion of datasets: from and to the JSON released by the paper's authors, and from a file of MuSiQue."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.multihop.musique import read_decompositions
from bgr.data.multihop.records import read_records
from bgr.data.options import ConvertOptions
from bgr.data.reasongraphqa.build.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.data.reasongraphqa.io.released import lost_edges, read_released, to_released
from bgr.errors import BgrError
from bgr.utils.atomic_io import output_folder
from bgr.utils.hashing import SHARES, hash_place

Splits = dict[str, list[Example]]


@dataclass(frozen=True)
class Converted:
    """Numbers of a conversion.

    Args:
        folder: the folder that was written.
        counts: questions of each split.
        lost_edges: number of edges from the question that the released form cannot represent; ``None`` for other forms.
        left_out: reason to the ids of the questions left out for it.
    """

    folder: Path
    counts: dict[str, int]
    lost_edges: int | None = None
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)


def convert_dataset(options: ConvertOptions) -> Converted:
    """Read a dataset, then write it in another form. A folder is in the released form, a file is MuSiQue's.

    Raises:
        BgrError: shares are given without a MuSiQue file or are not valid, the source is damaged, or the folder exists.
    """
    musique = options.to == "bgr" and not options.source.is_dir()
    if options.shares is not None and not musique:
        raise BgrError("--shares is for a MuSiQue file; other forms have splits of their own")
    if musique:
        return _from_musique(options)
    return _from_released(options) if options.to == "bgr" else _to_released(options)


def _from_released(options: ConvertOptions) -> Converted:
    splits = {split: read_released(options.source / f"{split}.json", split) for split in SPLITS}
    return _write(options, splits, {"name": "ReasonGraphQA", "source": "released by the authors"})


def _from_musique(options: ConvertOptions) -> Converted:
    """Question decompositions as evidence graphs over paragraphs; the SHA-256 of its id chooses a question's split."""
    shares = options.shares or SHARES
    found = read_decompositions(read_records(options.source))
    splits: Splits = {split: [] for split in SPLITS}
    try:
        for example in found.examples:
            splits[SPLITS[hash_place(example.id, shares)]].append(example)
    except ValueError as error:
        raise BgrError(f"--shares: {error}") from None
    if not found.examples:
        reasons = ", ".join(f"{len(ids):,} {why}" for why, ids in found.dropped.items()) or "it has no question"
        raise BgrError(f"{options.source}: no question gives an evidence graph: {reasons}")
    metadata = {
        "name": "MuSiQue",
        "source": "MuSiQue",
        "licence": "CC BY 4.0",
        "file": options.source.name,
        "graphs": "of the question decompositions, over paragraphs",
        "split": {"by": "SHA-256 of the id", "shares": dict(zip(SPLITS, shares, strict=True))},
        "tried": len(found.examples) + sum(map(len, found.dropped.values())),
        "dropped": {why: {"count": len(ids), "examples": list(ids[:3])} for why, ids in found.dropped.items()},
    }
    return _write(options, splits, metadata, {why: tuple(ids) for why, ids in found.dropped.items()})


def _write(
    options: ConvertOptions,
    splits: Splits,
    metadata: dict[str, Any],
    left_out: dict[str, tuple[str, ...]] | None = None,
) -> Converted:
    sentences = dict.fromkeys(fact for part in splits.values() for example in part for fact in example.facts)
    facts = [{"id": f"F{number:06d}", "sentence": sentence} for number, sentence in enumerate(sentences)]
    counts = {split: len(part) for split, part in splits.items()}
    write_dataset(options.out, splits, facts, {**metadata, "counts": counts}, overwrite=options.overwrite)
    return Converted(options.out, counts, left_out=left_out or {})


def _to_released(options: ConvertOptions) -> Converted:
    splits = {split: load_split(options.source, split) for split in SPLITS}
    with output_folder(options.out, overwrite=options.overwrite) as work:
        for split, part in splits.items():
            text = json.dumps([to_released(example) for example in part], indent=1, ensure_ascii=False)
            (work / f"{split}.json").write_text(text + "\n", encoding="utf-8")
    lost = sum(lost_edges(example) for part in splits.values() for example in part)
    return Converted(options.out, {split: len(part) for split, part in splits.items()}, lost)
