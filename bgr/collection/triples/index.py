"""The triple index: dense search over triples, and the graph of those that share entities (GEAR, sections 3 and 4).

On disk it is one ``.npy`` file for each array, and ``index.json``, which says what it was built from.
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

from bgr.collection.approximate import Approximate, is_exact
from bgr.collection.arrays import open_array
from bgr.collection.search import Hits, Search
from bgr.collection.triples.triple import Triple, TripleList, members_of, pack
from bgr.collection.vectors import Encoder, VectorRows, encode_queries
from bgr.errors import DataError
from bgr.utils.atomic_io import is_empty, output_folder, read_json, writing
from bgr.utils.hashing import hash_files
from bgr.utils.json_utils import repr_short

BLOCK = 16384
"""Number of texts that the encoder gets in one call."""

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
"""Types of the arrays on disk other than the vectors. Their hash is checked whenever an index is opened; the vectors,
which may be gigabytes, are checked by `Collection.verify`."""


@dataclass(frozen=True, eq=False)
class TripleIndex(Search):
    """Triples with their vectors and their entities; `n` triples, `e` entities.

    Args:
        triples: indexing gives a `Triple`.
        vectors: ``float16 or float32 [n, d]``, unit vectors of ``Triple.text``; may be memory-mapped.
        head, tail: ``int32 [n]``, entity of each triple's subject and object. Names with the same `entity_key` are one
            entity.
        starts, members: ``int64 [e + 1]``, ``int32 [m]``, triples of each entity (`members_of`).
        encoder: texts to unit vectors ``[q, d]``.
        near: proposes the nearest triples, if there are millions (`save` makes it).
    """

    triples: TripleList
    vectors: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    encoder: Encoder
    near: Approximate | None = None

    def __len__(self) -> int:
        return len(self.triples)

    @property
    def passages(self) -> np.ndarray:
        """``int64 [n]``, index of each triple's passage in the corpus."""
        return self.triples.passages

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` triples nearest to each query by inner product; ValueError if its vector does not fit theirs."""
        return self._rows.nearest(np.asarray(encode_queries(self.encoder, queries)), k) if len(queries) else []

    def neighbors(self, number: int) -> np.ndarray:
        """The other triples that share an entity with one (GEAR, section 4.2): ``int32``, ascending, each once."""
        a, b = int(self.head[number]), int(self.tail[number])
        found = self.members[self.starts[a] : self.starts[a + 1]]
        if b != a:
            found = np.concatenate([found, self.members[self.starts[b] : self.starts[b + 1]]])
            found.sort()
            found = found[np.diff(found, prepend=-1) > 0]  # sorted, so equal ones are adjacent
        return found[found != number]

    def of_passage(self, index: int) -> np.ndarray:
        """The triples of a passage: ``int64``, ascending; empty if it has none."""
        order, passages = self._by_passage
        start, end = np.searchsorted(passages, [index, index + 1])
        return order[start:end]

    def of_passages(self, indices: np.ndarray) -> TripleIndex:
        """The index of the triples of some passages, in memory; nothing is encoded.

        Passage `i` of the result is ``indices[i]`` (``int64 [n]``, each once); triples keep their order and are
        renumbered.
        """
        position = {index: number for number, index in enumerate(np.asarray(indices).tolist())}
        kept = np.sort(np.concatenate([np.zeros(0, np.int64), *map(self.of_passage, position)]))
        return self._part(kept, np.array([position[one] for one in self.passages[kept].tolist()], dtype=np.int64))

    def moved(self, passages: np.ndarray) -> TripleIndex:
        """The same triples, whose passages have other indices, ``int64 [n]``; nothing is copied."""
        return replace(self, triples=TripleList(self.triples.text, self.triples.offsets, passages))

    @cached_property
    def _rows(self) -> VectorRows:
        return VectorRows([self.vectors], near=self.near)

    @cached_property
    def _by_passage(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.passages, kind="stable")
        return order, self.passages[order]

    @classmethod
    def build(cls, triples: Iterable[Triple], encoder: Encoder, *, progress: bool = False) -> TripleIndex:
        """Number the entities and encode the triples, all in memory.

        Args:
            encoder: texts to unit vectors, called for `BLOCK` texts at a time. Vectors of float16 are kept as they are,
                all others as float32.

        Raises:
            DataError: a subject or object is empty, or has characters that UTF-8 cannot write.
            ValueError: the encoder does not give one row of finite numbers for each text.
        """
        return _built(triples, encoder, np.empty((0, 0), dtype=np.float32), progress)

    def changed(self, indices: np.ndarray, added: Iterable[Triple], *, progress: bool = False) -> TripleIndex:
        """The index after passages were added, deleted or moved, in memory; only new triples are encoded.

        Args:
            indices: ``int64 [passages before]``, the new index of each passage in the corpus; -1 for a passage that was
                deleted together with its triples.
            added: new triples, numbered after those that are kept; `Triple.passage` is in the new corpus.

        Raises:
            DataError, ValueError: as `build`; `ValueError` also if the encoder's vectors have another width.
        """
        moved = np.asarray(indices, dtype=np.int64)[self.passages]
        kept = np.flatnonzero(moved >= 0)
        return self._part(kept, moved[kept], added, progress=progress)

    def _part(
        self, kept: np.ndarray, passages: np.ndarray, added: Iterable[Triple] = (), *, progress: bool = False
    ) -> TripleIndex:
        pairs = zip(kept.tolist(), passages.tolist(), strict=True)
        before = (self.triples[number]._replace(passage=index) for number, index in pairs)
        return _built(chain(before, added), self.encoder, self.vectors[kept], progress)

    def save(self, folder: Path, *, corpus_hash: str, encoder_key: str, progress: bool = False) -> None:
        """Write the index; an older index in the folder is replaced when the new one is complete.

        Raises:
            DataError: the folder holds something else, or cannot be written.
        """
        ours = (folder / SHEET).is_file()
        if folder.exists() and not ours and not is_empty(folder):
            raise DataError(f"{folder}: exists and is not a triple index; name another folder")
        named = {"text": self.triples.text, "offsets": self.triples.offsets, "places": self.passages}
        arrays = {name: named[name] if name in named else getattr(self, name) for name in (*KINDS, "vectors")}
        with writing(folder), output_folder(folder, overwrite=ours, sums=False) as work:
            for name, array in arrays.items():
                np.save(work / f"{name}.npy", array.astype(KINDS.get(name, array.dtype), copy=False))
            if not is_exact(len(self)):
                (self.near or Approximate.build(self.vectors, progress=progress)).save(work)
            sheet = {
                "version": VERSION,
                "corpus": corpus_hash,
                "encoder": encoder_key,
                "shapes": {name: list(array.shape) for name, array in arrays.items()},
                "kind": self.vectors.dtype.name,
                "sha256": _hash(work),
                "vectors_sha256": hash_files(work, ["vectors.npy"]),
            }
            (work / SHEET).write_text(json.dumps(sheet, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, folder: Path, encoder: Encoder, *, corpus_hash: str | None, encoder_key: str) -> TripleIndex:
        """Open what `save` wrote, memory-mapped; ``None`` accepts any corpus.

        Raises:
            DataError: no index, a damaged one, one of another version, or one of another corpus or encoder.
        """
        if not (folder / SHEET).is_file():
            raise DataError(f"{folder}: no triple index there (it lacks {SHEET}); build one first")
        sheet = read_json(folder / SHEET)
        version = sheet.get("version") if isinstance(sheet, dict) else None
        if version != VERSION:
            raise DataError(f"{folder}: a triple index of version {repr_short(version)}; build it again")
        for field, wanted in (("corpus", corpus_hash), ("encoder", encoder_key)):
            if wanted is not None and sheet.get(field) != wanted:
                raise DataError(
                    f"{folder}: the triple index is of another {field} ({repr_short(sheet.get(field))}, wanted: "
                    f"{repr_short(wanted)}); build it again, or give the {field} that it was built with"
                )
        arrays = _open_arrays(folder, sheet)
        triples = TripleList(arrays.pop("text"), arrays.pop("offsets"), arrays.pop("places"))
        near = Approximate.open(folder, *arrays["vectors"].shape)
        return cls(triples=triples, encoder=encoder, near=near, **arrays)


def _built(triples: Iterable[Triple], encoder: Encoder, known: np.ndarray, progress: bool) -> TripleIndex:
    """The index of triples, the first of which have `known` vectors."""
    packed, head, tail = pack(triples, progress=progress)
    vectors = _encoded(packed, encoder, first=len(known), progress=progress)
    if not len(vectors):
        vectors = known
    elif len(known):
        vectors = np.concatenate([known, vectors.astype(known.dtype, copy=False)])
    return TripleIndex(packed, vectors, head, tail, *members_of(head, tail), encoder)


def _encoded(triples: TripleList, encoder: Encoder, *, progress: bool, first: int) -> np.ndarray:
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


def _open_arrays(folder: Path, sheet: Mapping[str, Any]) -> dict[str, np.ndarray]:
    kind = sheet.get("kind")
    if kind not in ("float16", "float32"):
        raise DataError(f"{folder / SHEET}: kind is {repr_short(kind)}; build the collection again")
    arrays = {}
    for name in (*KINDS, "vectors"):
        shape = (None, None) if name == "vectors" else (None,)
        mapped = open_array(folder / f"{name}.npy", np.dtype(KINDS.get(name, kind)).type, shape)
        arrays[name] = np.asarray(mapped)  # slices of a plain view are made ten times as fast as those of a memmap
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    if sheet.get("shapes") != shapes:
        raise DataError(f"{folder / SHEET}: shapes are not {repr_short(shapes)}; build the collection again")
    if sheet.get("sha256") != _hash(folder):
        raise DataError(f"{folder}: a file was damaged or changed since it was written; build the collection again")
    return arrays


def _hash(folder: Path) -> str:
    return hash_files(folder, [f"{name}.npy" for name in KINDS])
