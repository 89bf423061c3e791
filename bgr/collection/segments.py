"""The files of a collection: segments of passages that were added together, and the open state that consists of them.

A segment holds its passages as JSON lines, the counts of their words, and their vectors. Searches read one state, even
if texts are added or deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from tqdm import tqdm

from bgr.collection.arrays import LiveRows, open_array, save_rows
from bgr.collection.bm25 import CountedBm25Search
from bgr.collection.corpus import Corpus, Passage, load_corpus, save_corpus
from bgr.collection.embedding import CHUNK, VectorStore
from bgr.collection.folder import ENCODED, MAX_NAMED, Manifest, Piece, digest, files_of, hashed, read_manifest
from bgr.collection.spread import SpreadEncoder
from bgr.collection.triples.index import TripleIndex
from bgr.collection.vectors import Encoder, VectorRows, check_unit
from bgr.collection.word_counts import CountsFolder, WordCounts, count_words, save_counts
from bgr.errors import DataError
from bgr.utils.atomic_io import check_regular, writing
from bgr.utils.cache import ChunkCache
from bgr.utils.error_text import problem
from bgr.utils.json_utils import repr_short

PASSAGES, VECTORS = "passages.jsonl", "vectors.npy"


class Segment:
    """An open segment, of which large files are memory-mapped; DataError if a file is missing, damaged, or has the
    wrong size."""

    def __init__(self, folder: Path, size: int, dimensions: int, half: bool) -> None:
        self.folder = folder
        self.size = size
        self.counts = CountsFolder(folder, size)
        dtype = np.float16 if half else np.float32
        self.vectors = open_array(folder / VECTORS, dtype, (size, dimensions)) if dimensions else None

    def passages(self) -> Corpus:
        """All passages, including deleted ones; DataError if the file is damaged."""
        path = self.folder / PASSAGES
        check_regular(path)
        corpus = load_corpus(path)
        if len(corpus) != self.size:
            raise DataError(f"{path}: {len(corpus)} passages of {self.size}; build the collection again")
        return corpus


def write_segment(folder: Path, passages: Sequence[Passage], counts: WordCounts | None = None) -> None:
    """Write passages (at least one) and their counts to a new folder; DataError if it cannot be written."""
    with writing(folder):
        folder.mkdir()
    save_corpus(passages, folder / PASSAGES)
    save_counts(folder, counts or count_words([passage.whole for passage in passages]))


def new_segment(
    folder: Path,
    number: str,
    passages: Sequence[Passage],
    encoder: Encoder | None,
    key: str | None,
    *,
    half: bool = False,
    progress: bool = False,
) -> tuple[Piece, int]:
    """Write a segment that the manifest does not name yet; vectors of an interrupted run are not encoded again.

    Returns:
        The segment with its size and hashes, and the dimensions of its vectors, 0 without an encoder.

    Raises:
        DataError: it cannot be written.
        ValueError: the encoder does not give unit vectors.
    """
    piece = Piece(f"segment-{number}", len(passages))
    write_segment(folder / piece.name, passages)
    if encoder is None or key is None:
        return hashed(folder, piece), 0
    store = VectorStore(encoder, folder / ENCODED, key=key)
    if isinstance(encoder, SpreadEncoder):
        store.fill(_lists(passages), encoder, progress=progress)
    blocks = _encoded(passages, store, progress)
    width = save_rows(folder / piece.name / VECTORS, blocks, len(passages), np.float16 if half else np.float32)
    return hashed(folder, piece), width


def forget_encoded(folder: Path) -> None:
    """Remove the vectors that were kept in case of an interruption."""
    ChunkCache(folder / ENCODED, "vectors").clear()


def _encoded(passages: Sequence[Passage], encoder: Encoder, progress: bool) -> Iterator[np.ndarray]:
    with tqdm(total=len(passages), desc="encode", unit="passage", disable=not progress) as bar:
        start = 0
        for texts in _lists(passages):
            yield check_unit(encoder(texts), len(texts), f"passages {start} to {start + len(texts) - 1}")
            start += len(texts)
            bar.update(len(texts))


def _lists(passages: Sequence[Passage]) -> Iterator[list[str]]:
    """The texts of passages that are encoded together."""
    for start in range(0, len(passages), CHUNK):
        yield [passage.whole for passage in passages[start : start + CHUNK]]


class FolderState:
    """The open files of a manifest; DataError if a file is missing, damaged or cut short.

    Files are compared with their hashes when they are first used, unless `verified` is false. What another process has
    removed since is a DataError that says to open the collection again.

    Args:
        last: the state before, of which open segments and the knowledge of compared files are taken over.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, *, verified: bool = True, last: FolderState | None = None
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.verified = verified
        shape = manifest.dimensions, manifest.half
        kept = set() if last is None else {piece.name for piece in _in_both(manifest, last.manifest)}
        opened = {one.folder.name: one for one in (last.segments if last else ()) if one.folder.name in kept}
        self.segments: list[Segment] = [
            opened.get(piece.name) or Segment(folder / piece.name, piece.passages, *shape)
            for piece in manifest.segments
        ]
        self.compared: set[str] = {file for file in (last.compared if last else ()) if file.partition("/")[0] in kept}
        self.live = LiveRows(manifest.rows, self._deleted())
        self.name = str(folder)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Replace an error in the block if the folder has another manifest by now: the files that this state would read
        are gone, and none is damaged."""
        try:
            yield
        except (DataError, OSError):
            if not self._is_current():
                raise DataError(f"{self.folder}: changed since it was opened; open it again") from None
            raise

    def _is_current(self) -> bool:
        """False if the folder has another manifest; one that cannot be read tells nothing."""
        try:
            return read_manifest(self.folder) == self.manifest
        except DataError:
            return True

    @cached_property
    def corpus(self) -> Corpus:
        """The passages that are left; DataError if a file is damaged."""
        with self.reading():
            return self._corpus()

    def _corpus(self) -> Corpus:
        everything = [passage for segment in self.segments for passage in segment.passages()]
        mask = self.live.mask().tolist()
        try:
            corpus = Corpus(passage for passage, live in zip(everything, mask, strict=True) if live)
        except ValueError as error:
            raise DataError(f"{self.folder}: damaged ({error}); build the collection again") from None
        if corpus.hash != self.manifest.corpus:
            raise DataError(f"{self.folder}: its passages are not those it was built from; build the collection again")
        return corpus

    @cached_property
    def bm25(self) -> CountedBm25Search:
        # texts have a hash of their own
        self._compare(self.manifest.segments, lambda file: file not in (PASSAGES, VECTORS))
        return CountedBm25Search([segment.counts for segment in self.segments], self.live)

    @cached_property
    def vectors(self) -> VectorRows:
        """The vectors of the passages that are left; DataError if the collection was built without an encoder."""
        if self.manifest.encoder is None:
            raise DataError(f"{self.folder}: the collection has no vectors; build it again with an encoder")
        self._compare(self.manifest.segments, lambda file: file == VECTORS)
        return VectorRows([part.vectors for part in self.segments if part.vectors is not None], self.live)

    @cached_property
    def row_triples(self) -> TripleIndex | None:
        """The triple index on disk, in which `Triple.passage` is a row; DataError if a file is damaged."""
        piece = self.manifest.triples
        if piece is None:
            return None
        self._compare([piece])
        key = self.manifest.encoder or ""
        with self.reading():
            index = TripleIndex.open(self.folder / piece.name, no_encoder, corpus_hash=None, encoder_key=key)
        rows, path = index.passages, self.folder / piece.name
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.manifest.rows:
            raise DataError(f"{path}: damaged (a passage beyond the last); import the triples again")
        return index

    @cached_property
    def triples(self) -> TripleIndex | None:
        """The triple index, in which `Triple.passage` is an index into the corpus; without the encoder of queries."""
        index = self.row_triples
        return None if index is None else index.moved(self.live.index_of(index.passages))

    def check(self, corpus: Corpus | None, key: str | None) -> None:
        """Check the corpus and the encoder; DataError says what differs and what to do. ``None`` accepts any."""
        own, problems = self.manifest, []
        if corpus is not None and corpus.hash != own.corpus:
            theirs = f"{len(corpus)} passages, hash {corpus.hash[:12]}"
            problems.append(f"built from {own.passages} passages, hash {own.corpus[:12]}, not from the {theirs} given")
        if key is not None and key != own.encoder:
            made = f"with encoder {repr_short(own.encoder)}" if own.encoder else "without an encoder"
            problems.append(f"built {made}, not with {repr_short(key)}")
        if problems:
            todo = "build the collection again with overwrite, or open it with what it was built from"
            raise DataError(f"{self.folder}: {'; '.join(problems)}; {todo}")

    def _deleted(self) -> np.ndarray | None:
        piece = self.manifest.deleted
        if piece is None:
            return None
        rows = open_array(self.folder / piece.name, np.int64, (piece.passages,))
        if len(rows) and (rows[0] < 0 or rows[-1] >= self.manifest.rows or not (np.diff(rows) > 0).all()):
            raise DataError(f"{self.folder / piece.name}: damaged (rows do not ascend); build the collection again")
        self._compare([piece])
        return np.asarray(rows)

    def _compare(self, pieces: Iterable[Piece], chosen: Callable[[str], bool] = lambda file: True) -> None:
        """Compare the chosen files of pieces with their hashes, once; DataError for damaged or missing ones."""
        if not self.verified:
            return
        for piece in pieces:
            files = [file for file in piece.sha256 if chosen(Path(file).name) and file not in self.compared]
            with self.reading():
                _check(self.folder, [file for file in files if _digest(self.folder / file) != piece.sha256[file]])
            self.compared.update(files)


def _in_both(one: Manifest, other: Manifest) -> list[Piece]:
    """The pieces that two manifests have in common."""
    pieces = {piece.name: piece for piece in other.pieces}
    return [piece for piece in one.pieces if pieces.get(piece.name) == piece]


def _digest(path: Path) -> str:
    """SHA-256 of a file; empty if there is none. DataError if it cannot be read."""
    try:
        return digest(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {problem(error)}") from None


def _check(folder: Path, bad: Sequence[str]) -> None:
    if bad:
        names = ", ".join(bad[:MAX_NAMED]) + (f" and {len(bad) - MAX_NAMED} more" if len(bad) > MAX_NAMED else "")
        raise DataError(f"{folder}: {names}: not what was written (damaged or changed); build the collection again")


def no_encoder(texts: Sequence[str]) -> np.ndarray:
    """Stands for the encoder of a collection without one: raises DataError."""
    raise DataError(f"{len(texts)} texts to encode, and the collection has no encoder; open or build it with one")


def no_vectors(texts: Sequence[str]) -> np.ndarray:
    """``[n, 0]``: the vectors of a collection without an encoder."""
    return np.zeros((len(texts), 0), dtype=np.float32)


@dataclass(frozen=True)
class Verified:
    """Number and size of the files that were compared, and the files without a hash (of an older version)."""

    files: int
    bytes: int
    unhashed: tuple[str, ...]


def open_state(folder: Path, *, verified: bool = True) -> FolderState:
    """The present state of a folder, see `FolderState`; DataError if there is no collection, or a damaged or
    incompatible one."""
    manifest = read_manifest(folder)
    try:
        return FolderState(folder, manifest, verified=verified)
    except DataError:
        if read_manifest(folder) == manifest:
            raise
    return open_state(
        folder, verified=verified
    )  # between two reads it was changed, and files of the old state were removed


def verify(state: FolderState, *, progress: bool = False) -> Verified:
    """Compare every file and the passages with their hashes; DataError names damaged or missing files."""
    with state.reading():
        return _verified(state, progress)


def _verified(state: FolderState, progress: bool) -> Verified:
    folder, pieces = state.folder, state.manifest.pieces
    wanted = {file: sha256 for piece in pieces for file, sha256 in piece.sha256.items()}
    try:
        sizes = {file: (folder / file).stat().st_size for piece in pieces for file in files_of(folder, piece)}
        size = sum(sizes.values())
        with tqdm(total=size, desc="verify", unit="B", unit_scale=True, disable=not progress, delay=1) as bar:
            found = {file: digest(folder / file, bar.update) for file in sizes}
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {problem(error)}") from None
    bad = [file for file, sha256 in wanted.items() if found.get(file) != sha256]
    _check(folder, bad)
    _ = state.corpus  # compares the hash of the corpus, the only one in the oldest format
    return Verified(len(wanted), sum(sizes[file] for file in wanted), tuple(sorted(sizes.keys() - wanted.keys())))
