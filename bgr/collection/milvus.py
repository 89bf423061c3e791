"""Search in Milvus, in a local database of milvus-lite or on a server."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from tqdm import tqdm

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, Search, ordered
from bgr.collection.vectors import Encoder, VectorRows, check_unit, encode_queries
from bgr.errors import BgrError, DataError
from bgr.utils.json_utils import one_line, repr_short

ROWS, QUERIES = 1000, 256
"""Number of vectors and of queries in one message, which Milvus limits to 64 MB."""

ID_BYTES = 1024
"""Maximum length of an id."""

MAX_WIDTH = 32_768
"""Maximum number of dimensions of a vector."""


class MilvusCollection:
    """A collection of ids and unit vectors in Milvus, which need not exist yet; its properties name its origin.

    It has an index ``FLAT``, inner product, and strong consistency.

    Args:
        uri: a path that ends in ``.db`` (milvus-lite), or ``http://host:port`` of a server.
        name: letters, digits and underscores.
        token: ``user:password``, if the server requires it.
        timeout: seconds to wait for a server.

    Raises:
        BgrError: pymilvus is not installed.
        DataError: Milvus does not answer or reports an error; all methods raise it as well.
    """

    def __init__(self, uri: str, name: str, *, token: str = "", timeout: float = 10.0) -> None:
        self.name = name
        self.where = f"{re.sub('//[^/]*@', '//', uri)}, collection {name}"  # without a password
        # the client's gRPC may kill a process that forks, as Ray and a training do, while another thread asks
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
        try:
            from pymilvus import MilvusClient, MilvusException
        except ImportError:
            raise BgrError("Milvus needs its client: pip install pymilvus milvus-lite") from None
        self._errors = MilvusException
        with self._one_line_errors():
            self._client = MilvusClient(uri, token=token, timeout=timeout)

    def exists(self) -> bool:
        """True if the collection exists."""
        with self._one_line_errors():
            return bool(self._client.has_collection(self.name))

    def create(self, width: int, properties: Mapping[str, str]) -> None:
        """Create the collection, without rows, for vectors of `width` dimensions."""
        from pymilvus import DataType

        with self._one_line_errors():
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=ID_BYTES)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=width)
            index = self._client.prepare_index_params()
            index.add_index(field_name="vector", index_type="FLAT", metric_type="IP")
            about = {"properties": dict(properties), "consistency_level": "Strong"}
            self._client.create_collection(self.name, schema=schema, index_params=index, **about)

    def drop(self) -> None:
        """Remove the collection with all rows."""
        with self._one_line_errors():
            self._client.drop_collection(self.name)

    def open(self) -> dict[str, str]:
        """Load the collection for search, and return its properties."""
        with self._one_line_errors():
            self._client.load_collection(self.name)
            return dict(self._client.describe_collection(self.name).get("properties") or {})

    def mark(self, properties: Mapping[str, str]) -> None:
        """Set some properties."""
        with self._one_line_errors():
            self._client.alter_collection_properties(self.name, dict(properties))

    def insert(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Add rows, ``float32 [n, d]``."""
        for start in range(0, len(ids), ROWS):
            part = zip(ids[start : start + ROWS], vectors[start : start + ROWS], strict=True)
            with self._one_line_errors():
                self._client.insert(self.name, [{"id": name, "vector": vector} for name, vector in part])

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows."""
        for start in range(0, len(ids), ROWS):
            with self._one_line_errors():
                self._client.delete(self.name, ids=list(ids[start : start + ROWS]))

    def count(self) -> int:
        """Number of rows, as Milvus counts them."""
        with self._one_line_errors():
            found = self._client.query(self.name, filter="", output_fields=["count(*)"])
        return int(found[0]["count(*)"])

    def search(
        self, queries: np.ndarray, k: int, ids: Sequence[str] | None = None
    ) -> Iterator[list[tuple[str, float]]]:
        """Id and score of the `k` nearest rows (of all or some ids), best first, for queries ``float32 [q, d]``."""
        # quoted as JSON, since milvus-lite has no parameters of a filter
        chosen = {} if ids is None else {"filter": f"id in {json.dumps(list(ids), ensure_ascii=False)}"}
        for start in range(0, len(queries), QUERIES):
            part = list(queries[start : start + QUERIES])
            with self._one_line_errors():
                answers = self._client.search(
                    self.name, data=part, limit=k, search_params={"metric_type": "IP"}, **chosen
                )
            for answer in answers:
                yield [(str(hit["id"]), float(hit["distance"])) for hit in answer]

    def close(self) -> None:
        """Close the database."""
        self._client.close()

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise DataError(f"{self.where}: {one_line(Exception(error.message))}") from None


CORPUS, ENCODER = "bgr.corpus", "bgr.encoder"
"""Properties of a collection: hash of its corpus, empty while that changes, and key of its encoder."""


class MilvusSearch(Search):
    """Exact search over vectors in Milvus, one for each passage of a corpus.

    Milvus holds ids and vectors; the corpus with indices and texts stays in memory. The collection is marked while it
    changes, so that an interrupted change is refused when it is opened; then build it again.

    Args:
        collection: one for each corpus, such as ``MilvusCollection(uri, "passages")``.
        corpus: the texts.
        encoder: of queries and of inserted passages.
        key: name of the encoder, `SentenceEncoder.identity` or any text.

    Raises:
        DataError: no such collection, or one of another corpus or encoder, or Milvus does not answer.
    """

    def __init__(self, collection: MilvusCollection, corpus: Corpus, encoder: Encoder, *, key: str) -> None:
        if not collection.exists():
            raise DataError(f"{collection.where}: no such collection; build it first")
        self.collection, self.corpus, self.encoder, self.key = collection, corpus, encoder, key
        self._check(collection.open())

    @classmethod
    def build(
        cls,
        collection: MilvusCollection,
        corpus: Corpus,
        encoder: Encoder,
        *,
        key: str,
        vectors: VectorRows | None = None,
        overwrite: bool = False,
        progress: bool = False,
    ) -> MilvusSearch:
        """Create the collection and insert the corpus.

        An existing collection is removed only after ids, vectors and width were checked, and the new one is marked as
        complete when all rows are in.

        Args:
            collection, corpus, encoder, key: as for the class.
            vectors: of the corpus, if it is encoded already.
            overwrite: replace an existing collection.

        Raises:
            DataError: the collection exists already, an id is too long, or Milvus does not answer.
            ValueError: there is not one unit vector for each passage.
        """
        there = collection.exists()
        if there and not overwrite:
            raise DataError(f"{collection.where}: is there already; open it, or build with overwrite to replace it")
        _check_rows(collection, corpus.passages, vectors)
        width = encoder([""]).shape[1] if vectors is None or not vectors.parts else vectors.width
        if not 0 < width <= MAX_WIDTH:
            raise DataError(f"{collection.where}: vectors of {width} dimensions, allowed: 1 to {MAX_WIDTH:,}")
        if there:
            collection.drop()
        collection.create(width, {CORPUS: "", ENCODER: key})
        collection.open()
        _insert(collection, corpus.passages, encoder, vectors, progress=progress)
        collection.mark({CORPUS: corpus.hash, ENCODER: key})
        return cls(collection, corpus, encoder, key=key)

    def __len__(self) -> int:
        return len(self.corpus)

    def count(self) -> int:
        """Number of rows, as Milvus counts them."""
        return self.collection.count()

    def insert(self, passages: Sequence[Passage], vectors: VectorRows | None = None, *, progress: bool = False) -> None:
        """Append passages, which are encoded unless their vectors are given.

        Raises:
            DataError: an id is taken or too long, or Milvus reports an error.
            ValueError: there is not one unit vector for each passage.
        """
        try:
            corpus = self.corpus.extended(passages)
        except ValueError as error:
            raise DataError(f"{self.collection.where}: {error}; nothing was inserted") from None
        _check_rows(self.collection, passages, vectors)
        with self._changing(corpus):
            _insert(self.collection, passages, self.encoder, vectors, progress=progress)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete passages by id; DataError if no passage has one of the ids. The indices of later passages decrease."""
        gone = set(ids)
        unknown = sorted(gone - self.corpus.index_of.keys())
        if unknown:
            raise DataError(
                f"{self.collection.where}: no passage has the id {repr_short(unknown[0])}; nothing was deleted"
            )
        with self._changing(Corpus(passage for passage in self.corpus if passage.id not in gone)):
            self.collection.delete(sorted(gone))

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`; scores are cosines as Milvus computes them.

        Milvus decides which of several equal ones are among the `k` best; a server returns at most 16,384.
        """
        return self.search_ids(queries, k)

    def search_ids(self, queries: Sequence[str], k: int, ids: Sequence[str] | None = None) -> list[Hits]:
        """As `search_all`, among some ids."""
        k = max(min(k, len(self) if ids is None else len(ids)), 0)
        if not k or not queries:
            return [Hits(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in queries]
        vectors = encode_queries(self.encoder, queries).astype(np.float32, copy=False)
        return [self._hits(answer) for answer in self.collection.search(vectors, k, ids)]

    def subset(self, indices: np.ndarray) -> MilvusSubset:
        """See `Search`; Milvus searches only the rows of these ids."""
        return MilvusSubset(self, indices)

    def _hits(self, answer: list[tuple[str, float]]) -> Hits:
        unknown = next((name for name, _ in answer if name not in self.corpus.index_of), None)
        if unknown is not None:
            what = f"holds the id {repr_short(unknown)}, the corpus does not; build it again with overwrite"
            raise DataError(f"{self.collection.where}: {what}")
        indices = np.array([self.corpus.index_of[name] for name, _ in answer], dtype=np.int64)
        return ordered(indices, np.array([score for _, score in answer], dtype=np.float32))

    def _check(self, properties: dict[str, str]) -> None:
        problems, made_of, made_with = [], properties.get(CORPUS), properties.get(ENCODER)
        if made_of != self.corpus.hash:
            made = (
                f"built from a corpus with hash {made_of[:12]}" if made_of else "left by a change that was interrupted"
            )
            problems.append(f"{made}, not of the {len(self)} passages, hash {self.corpus.hash[:12]}, given")
        if made_with != self.key:
            problems.append(f"built with encoder {repr_short(made_with)}, not with {repr_short(self.key)}")
        if problems:
            todo = "build it again with overwrite, or open it with what it was built from"
            raise DataError(f"{self.collection.where}: {'; '.join(problems)}; {todo}")

    @contextmanager
    def _changing(self, corpus: Corpus) -> Iterator[None]:
        """Mark the collection as changing until it holds the new corpus."""
        self.collection.mark({CORPUS: "", ENCODER: self.key})
        yield
        self.collection.mark({CORPUS: corpus.hash, ENCODER: self.key})
        self.corpus = corpus
        self.__dict__.pop("_subsets", None)  # those of the last corpus


def _check_rows(collection: MilvusCollection, passages: Sequence[Passage], vectors: VectorRows | None) -> None:
    """Check what can be checked before Milvus changes.

    Raises:
        DataError: an id is too long.
        ValueError: there is not one vector for each passage.
    """
    if vectors is not None and len(vectors) != len(passages):
        raise ValueError(f"{len(vectors)} vectors for {len(passages)} passages")
    long = next((p.id for p in passages if not 0 < len(p.id.encode(errors="replace")) <= ID_BYTES), None)
    if long is not None:
        what = f"the id {repr_short(long)} must have 1 to {ID_BYTES} bytes"
        raise DataError(f"{collection.where}: {what}; nothing was inserted")


def _insert(
    collection: MilvusCollection,
    passages: Sequence[Passage],
    encoder: Encoder,
    vectors: VectorRows | None,
    *,
    progress: bool,
) -> None:
    """Add the rows of passages, which are encoded unless their vectors are given."""
    with tqdm(total=len(passages), desc="insert", unit=" vectors", disable=not progress, delay=1) as bar:
        for start in range(0, len(passages), ROWS):
            part = passages[start : start + ROWS]
            if vectors is None:
                rows = check_unit(encoder([passage.whole for passage in part]), len(part), collection.where)
            else:
                rows = vectors.take(np.arange(start, start + len(part)))
            collection.insert([passage.id for passage in part], rows.astype(np.float32, copy=False))
            bar.update(len(part))


class MilvusSubset(Search):
    """Search over some texts of a `MilvusSearch`."""

    def __init__(self, whole: MilvusSearch, indices: np.ndarray) -> None:
        self.whole = whole
        self.ids = [whole.corpus[index].id for index in indices.tolist()]
        self.position = {index: number for number, index in enumerate(indices.tolist())}

    def __len__(self) -> int:
        return len(self.ids)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`."""
        found = self.whole.search_ids(queries, k, self.ids)
        return [
            ordered(np.array([self.position[n] for n in one.indices.tolist()], np.int64), one.scores) for one in found
        ]
