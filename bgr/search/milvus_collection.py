"""One collection of ids and unit vectors in Milvus, with what it was made of in its properties."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from bgr.errors import BgrError, DataError
from bgr.json_text import one_line

ROWS, QUERIES = 1000, 256
"""Vectors and queries in one message; Milvus takes 64 MB a message."""

ID_BYTES = 1024
"""The longest id that a collection holds."""


class MilvusCollection:
    """A collection, whether it exists yet or not; index ``FLAT``, inner product, strong consistency.

    Args:
        uri: a path that ends in ``.db`` (milvus-lite), or ``http://host:port`` of a server.
        name: letters, digits and underscores.
        token: of a server that asks for one, ``user:password``.
        timeout: seconds to wait for a server.

    Raises:
        BgrError: pymilvus is not installed.
        DataError: no answer; so do all methods.
    """

    def __init__(self, uri: str, name: str, *, token: str = "", timeout: float = 10.0) -> None:
        self.name = name
        self.where = f"{re.sub('//[^/]*@', '//', uri)}, collection {name}"  # without a password
        try:
            from pymilvus import MilvusClient, MilvusException
        except ImportError:
            raise BgrError("Milvus needs its client: pip install pymilvus milvus-lite") from None
        self._errors = MilvusException
        with self._told():
            self._client = MilvusClient(uri, token=token, timeout=timeout)

    def exists(self) -> bool:
        """Whether there is such a collection."""
        with self._told():
            return bool(self._client.has_collection(self.name))

    def create(self, width: int, properties: Mapping[str, str]) -> None:
        """Make it, without rows, for vectors of `width` dimensions."""
        from pymilvus import DataType

        with self._told():
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=ID_BYTES)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=width)
            index = self._client.prepare_index_params()
            index.add_index(field_name="vector", index_type="FLAT", metric_type="IP")
            self._client.create_collection(
                self.name,
                schema=schema,
                index_params=index,
                properties=dict(properties),
                consistency_level="Strong",
            )

    def drop(self) -> None:
        """Remove it with all rows."""
        with self._told():
            self._client.drop_collection(self.name)

    def open(self) -> dict[str, str]:
        """Make it ready to be searched; gives its properties."""
        with self._told():
            self._client.load_collection(self.name)
            return dict(self._client.describe_collection(self.name).get("properties") or {})

    def mark(self, properties: Mapping[str, str]) -> None:
        """Set some of its properties."""
        with self._told():
            self._client.alter_collection_properties(self.name, dict(properties))

    def insert(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Add rows, ``float32 [n, d]``."""
        for start in range(0, len(ids), ROWS):
            part = zip(ids[start : start + ROWS], vectors[start : start + ROWS], strict=True)
            with self._told():
                self._client.insert(self.name, [{"id": name, "vector": vector} for name, vector in part])

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows."""
        for start in range(0, len(ids), ROWS):
            with self._told():
                self._client.delete(self.name, ids=list(ids[start : start + ROWS]))

    def count(self) -> int:
        """Rows, as Milvus counts them."""
        with self._told():
            found = self._client.query(self.name, filter="", output_fields=["count(*)"])
        return int(found[0]["count(*)"])

    def search(self, queries: np.ndarray, k: int) -> Iterator[list[tuple[str, float]]]:
        """Id and score of the `k` nearest rows, best first, for each query of ``float32 [q, d]``."""
        for start in range(0, len(queries), QUERIES):
            part = list(queries[start : start + QUERIES])
            with self._told():
                answers = self._client.search(self.name, data=part, limit=k, search_params={"metric_type": "IP"})
            for answer in answers:
                yield [(str(hit["id"]), float(hit["distance"])) for hit in answer]

    def close(self) -> None:
        """Let go of the database."""
        self._client.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns what Milvus says into one line."""
        try:
            yield
        except self._errors as error:
            raise DataError(f"{self.where}: {one_line(Exception(error.message))}") from None
