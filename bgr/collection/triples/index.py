"""The triple index: dense search over triples, and the graph of those that share entities (GEAR, sections 3 and 4).

On disk it is one ``.npy`` file for each array, and a sheet about what it was built from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from bgr.collection.arrays import DAMAGED
from bgr.collection.search import Hits, Search
from bgr.collection.triples.triple import Triple, TripleList, members_of, neighbors_of, pack
from bgr.collection.vectors import Encoder, VectorRows
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder, read_json
from bgr.utils.hashing import hash_files
from bgr.utils.json_utils import one_line, shown

BLOCK = 16384
"""Texts that the encoder gets in one call."""


@dataclass(frozen=True, eq=False)
class TripleIndex(Search):
    """Triples with their vectors and their entities; `n` triples, `e` entities.

    Args:
        triples: indexing gives a `Triple`.
        vectors: ``float16 or float32 [n, d]``, of ``Triple.text``, unit rows; may lie on disk.
        passages: ``int64 [n]``, index of each triple's passage in the corpus.
        head, tail: ``int32 [n]``, entity of each triple's subject and object. Names are one entity where
            `entity_key` is the same.
        starts, members: ``int64 [e + 1]``, ``int32 [m]``, triples of each entity (`members_of`).
        encoder: texts to unit vectors ``[q, d]``.
    """

    triples: TripleList
    vectors: np.ndarray
    passages: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    encoder: Encoder

    def __len__(self) -> int:
        return len(self.passages)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` triples nearest to each query, by inner product, exact; indices are those of triples."""
        return self.search_vectors(np.asarray(self.encoder(queries)), k) if len(queries) else []

    def search_vectors(self, vectors: np.ndarray, k: int) -> list[Hits]:
        """As `search_all`, for queries that are encoded already, ``[q, d]``.

        Raises:
            ValueError: they have another width than the triples, or a number that is not finite.
        """
        return self._rows.nearest(vectors, k)

    def neighbors(self, number: int) -> np.ndarray:
        """The other triples that share subject or object with one, as either: ``int32``, ascending."""
        return neighbors_of(number, self.head, self.tail, self.starts, self.members)

    def of_passage(self, index: int) -> np.ndarray:
        """A passage's triples: ``int64``, ascending; empty where it has none."""
        order, passages = self._by_passage
        start, end = np.searchsorted(passages, [index, index + 1])
        return order[start:end]

    def of_passages(self, indices: np.ndarray) -> TripleIndex:
        """The index of the triples of some passages, in memory; nothing is encoded.

        Args:
            indices: ``int64 [n]`` of passages, each once. In the result, passage `i` is ``indices[i]``; triples keep
                their order and are numbered anew.
        """
        position = {index: number for number, index in enumerate(np.asarray(indices).tolist())}
        kept = np.sort(np.concatenate([np.zeros(0, np.int64), *map(self.of_passage, position)]))
        return self._part(kept, np.array([position[one] for one in self.passages[kept].tolist()], dtype=np.int64))

    def within(self, indices: np.ndarray) -> TripleIndex:
        """As `of_passages`, but passages keep their indices in the corpus."""
        part = self.of_passages(indices)
        return part.moved(np.asarray(indices, dtype=np.int64)[part.passages])

    def moved(self, passages: np.ndarray) -> TripleIndex:
        """The same triples, whose passages have other indices, ``int64 [n]``; nothing is copied."""
        triples = TripleList(self.triples.text, self.triples.offsets, passages)
        return replace(self, triples=triples, passages=passages)

    @cached_property
    def _rows(self) -> VectorRows:
        return VectorRows([self.vectors])

    @cached_property
    def _by_passage(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.passages, kind="stable")
        return order, self.passages[order]

    @classmethod
    def build(cls, triples: Iterable[Triple], encoder: Encoder, *, progress: bool = False) -> TripleIndex:
        """Number the entities and encode the triples, all in memory.

        Args:
            triples: in the order in which they are numbered.
            encoder: texts to unit vectors; called for `BLOCK` texts at a time (with a `VectorStore`, an interrupted
                build resumes where it stopped). Rows of float16 are kept so, all others as float32.
            progress: show bars on standard error.

        Raises:
            DataError: an empty subject or object, or characters that UTF-8 cannot write.
            ValueError: the encoder gives something other than one row of finite numbers a text.
        """
        packed, head, tail = pack(triples, progress=progress)
        starts, members = members_of(head, tail)
        vectors = _encoded(packed, encoder, progress=progress)
        return cls(packed, vectors, packed.passages, head, tail, starts, members, encoder)

    def changed(self, indices: np.ndarray, added: Iterable[Triple], *, progress: bool = False) -> TripleIndex:
        """The index after passages were added, deleted or moved, in memory; only what is new is encoded.

        Args:
            indices: ``int64 [passages before]``, the index of each passage in the corpus now; -1 for one that was
                deleted, with its triples.
            added: new triples, numbered after those that are kept; `Triple.passage` is in the corpus as it is now.
            progress: show bars on standard error.

        Raises:
            DataError, ValueError: as `build`; `ValueError` too where the encoder's vectors have another width.
        """
        moved = np.asarray(indices, dtype=np.int64)[self.passages]
        kept = np.flatnonzero(moved >= 0)
        return self._part(kept, moved[kept], added, progress=progress)

    def _part(
        self, kept: np.ndarray, passages: np.ndarray, added: Iterable[Triple] = (), *, progress: bool = False
    ) -> TripleIndex:
        """Some of the triples, whose passages have new indices, and new ones behind them."""
        pairs = zip(kept.tolist(), passages.tolist(), strict=True)
        before = (self.triples[number]._replace(passage=index) for number, index in pairs)
        packed, head, tail = pack(chain(before, added), progress=progress)
        starts, members = members_of(head, tail)
        vectors = self.vectors[kept]
        new = _encoded(packed, self.encoder, first=len(kept), progress=progress)
        if len(new) and len(kept):
            vectors = np.concatenate([vectors, new.astype(vectors.dtype, copy=False)])
        elif len(new):
            vectors = new
        return TripleIndex(packed, vectors, packed.passages, head, tail, starts, members, self.encoder)

    def save(self, folder: Path, *, corpus_hash: str, encoder_key: str) -> None:
        """Write the index; an older index in the folder is replaced once the new one is whole.

        Args:
            folder: where to.
            corpus_hash: `Corpus.hash` of the passages.
            encoder_key: all that decides the vectors, as `SentenceEncoder.fingerprint` says it.

        Raises:
            DataError: the folder holds something else, or cannot be written.
        """
        arrays = {"text": self.triples.text, "offsets": self.triples.offsets, "places": self.passages}
        arrays |= {name: getattr(self, name) for name in ("vectors", "head", "tail", "starts", "members")}
        write_index(folder, arrays, corpus_hash=corpus_hash, encoder_key=encoder_key)

    @classmethod
    def open(cls, folder: Path, encoder: Encoder, *, corpus_hash: str | None, encoder_key: str) -> TripleIndex:
        """Read what `save` wrote; the files are mapped into memory, not loaded. Without `corpus_hash`, of any corpus.

        Raises:
            DataError: no index, a damaged one, one of another version, or one of another corpus or encoder.
        """
        arrays = read_index(folder, corpus_hash=corpus_hash, encoder_key=encoder_key)
        passages = arrays.pop("places")
        triples = TripleList(arrays.pop("text"), arrays.pop("offsets"), passages)
        return cls(triples=triples, passages=passages, encoder=encoder, **arrays)


def _encoded(triples: TripleList, encoder: Encoder, *, progress: bool, first: int = 0) -> np.ndarray:
    """Vectors of the triples from the number `first` on."""
    vectors = np.empty((0, 0), dtype=np.float32)
    with tqdm(total=len(triples) - first, desc="encode", unit=" triples", disable=not progress, delay=1) as bar:
        for start in range(first, len(triples), BLOCK):
            texts = [triple.text for triple in triples[start : start + BLOCK]]
            rows = np.asarray(encoder(texts))
            width = rows.shape[-1] if start == first else vectors.shape[1]
            if rows.shape != (len(texts), width) or not np.isfinite(rows).all():
                raise ValueError(f"the encoder gave {list(rows.shape)} for {len(texts)} texts, or no finite numbers")
            if start == first:
                kind = np.float16 if rows.dtype == np.float16 else np.float32
                vectors = np.empty((len(triples) - first, width), dtype=kind)
            vectors[start - first : start - first + len(texts)] = rows
            bar.update(len(texts))
    return vectors


VERSION = 1
SHEET = "index.json"

KINDS = {
    "text": "uint8",
    "offsets": "int64",
    "places": "int64",
    "head": "int32",
    "tail": "int32",
    "starts": "int64",
    "members": "int32",
}
"""All arrays but the vectors. These are compared with their hash when an index is opened; vectors, which may be
gigabytes, when `verify_vectors` is asked for it."""


def write_index(folder: str | Path, arrays: Mapping[str, np.ndarray], *, corpus_hash: str, encoder_key: str) -> None:
    """Write the arrays of an index; what is there stays until all is written, and is replaced if it is an index.

    Raises:
        DataError: the folder holds something else, or cannot be written.
    """
    folder = Path(folder)
    ours = (folder / SHEET).is_file()
    if folder.exists() and not ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise DataError(f"{folder}: exists and is not a triple index; name another folder")
    sheet: dict[str, Any] = {"version": VERSION, "corpus": corpus_hash, "encoder": encoder_key}
    try:
        with output_folder(folder, overwrite=ours) as work:
            for name, kind in KINDS.items():
                np.save(work / f"{name}.npy", arrays[name].astype(kind, copy=False))
            np.save(work / "vectors.npy", arrays["vectors"])
            sheet |= {"shapes": {name: list(arrays[name].shape) for name in (*KINDS, "vectors")}}
            sheet |= {"kind": arrays["vectors"].dtype.name, "sha256": _hash(work)}
            sheet |= {"vectors_sha256": hash_files(work, ["vectors.npy"])}
            (work / SHEET).write_text(json.dumps(sheet, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror or one_line(error)}") from None


def read_index(folder: str | Path, *, corpus_hash: str | None, encoder_key: str) -> dict[str, np.ndarray]:
    """The arrays of an index, mapped into memory; without `corpus_hash`, of any corpus.

    Raises:
        DataError: no index, a damaged one, one of another version, or one of another corpus or encoder.
    """
    folder = Path(folder)
    if not (folder / SHEET).is_file():
        raise DataError(f"{folder}: no triple index there (it lacks {SHEET}); build one first")
    sheet = read_json(folder / SHEET)
    if not isinstance(sheet, dict):
        raise DataError(f"{folder / SHEET}: must hold an object; build the index again")
    if sheet.get("version") != VERSION:
        raise DataError(f"{folder}: a triple index of version {shown(sheet.get('version'))}; build it again")
    for field, wanted in (("corpus", corpus_hash), ("encoder", encoder_key)):
        if wanted is not None and sheet.get(field) != wanted:
            raise DataError(
                f"{folder}: the triple index is of another {field} ({shown(sheet.get(field))}, wanted: "
                f"{shown(wanted)}); build it again, or give the {field} that it was built with"
            )
    arrays = {name: _load(folder, name) for name in (*KINDS, "vectors")}
    _check(folder, sheet, arrays)
    return arrays


def verify_vectors(folder: str | Path) -> bool:
    """Read the vectors of an index and compare them with the hash that was taken when they were written.

    Returns:
        False where there is nothing to compare with, as an older version wrote the index.

    Raises:
        DataError: they are damaged, or cannot be read.
    """
    folder = Path(folder)
    sheet = read_json(folder / SHEET)
    wanted = sheet.get("vectors_sha256") if isinstance(sheet, dict) else None
    if wanted is None:
        return False
    try:
        found = hash_files(folder, ["vectors.npy"])
    except OSError as error:
        raise DataError(f"{folder / 'vectors.npy'}: cannot be read: {error.strerror or one_line(error)}") from None
    if found != wanted:
        raise DataError(f"{folder / 'vectors.npy'}: not what was written (damaged or changed); build the index again")
    return True


def _load(folder: Path, name: str) -> np.ndarray:
    file = folder / f"{name}.npy"
    try:
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    except DAMAGED as error:
        raise DataError(f"{file}: missing or damaged: {one_line(error)}; build the index again") from None
    return np.asarray(mapped)  # slices of a plain view are made ten times as fast as those of a memmap


def _check(folder: Path, sheet: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    kinds = {**KINDS, "vectors": sheet.get("kind") if sheet.get("kind") in ("float16", "float32") else None}
    shapes = sheet.get("shapes")
    for name, array in arrays.items():
        if not isinstance(shapes, dict) or list(array.shape) != shapes.get(name) or array.dtype.name != kinds[name]:
            found = f"{array.dtype.name} {list(array.shape)}"
            raise DataError(f"{folder / name}.npy: holds {found}, {SHEET} says otherwise; build the index again")
    if sheet.get("sha256") != _hash(folder):
        raise DataError(f"{folder}: a file was damaged or changed since it was written; build the index again")


def _hash(folder: Path) -> str:
    return hash_files(folder, [f"{name}.npy" for name in KINDS])
