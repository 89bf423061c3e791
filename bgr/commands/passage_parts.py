"""What retrievers of passages share: encoder, vectors, triples, language models; each is made when first asked for."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bgr.multihop.data import MultihopData
from bgr.search.interface import Search

if TYPE_CHECKING:
    from bgr.llm.llm import Llm
    from bgr.llm.replay import Replay
    from bgr.search.embedding import SentenceEncoder
    from bgr.search.vector_store import VectorStore
    from bgr.triples.index import TripleIndex
    from bgr.triples.triple import Triple

ENCODER_TOKENS = 256
"""Passages are cut here: what all-MiniLM-L6-v2 was made for."""


class PassageParts:
    """Parts over one corpus.

    Args:
        args: ``encoder``, ``openie``, ``llm``, ``reader``, ``replay``, ``replay_only`` and ``out``.
        data: the corpus.
    """

    def __init__(self, args: argparse.Namespace, data: MultihopData) -> None:
        self.args = args
        self.corpus = data.corpus
        self.texts = [passage.whole for passage in data.corpus]
        self.about: dict[str, Any] = {}
        """What was read, for the report."""

    @cached_property
    def encoder(self) -> SentenceEncoder:
        from bgr.offline import packaged_minilm
        from bgr.search.embedding import SentenceEncoder

        self.about["encoder"] = str(self.args.encoder or "all-MiniLM-L6-v2 (packaged)")
        return SentenceEncoder(self.args.encoder or packaged_minilm(), max_tokens=ENCODER_TOKENS)

    @cached_property
    def store(self) -> VectorStore:
        """Vectors of passages and triples, kept in the output folder: an interrupted encoding goes on."""
        from bgr.search.vector_store import VectorStore

        folder = self.args.out / "vectors"
        return VectorStore(self.encoder, folder, key=self.encoder.fingerprint(), chunk=1024, progress=True)

    @cached_property
    def bm25(self) -> Search:
        from bgr.search.bm25 import Bm25Search

        return Bm25Search(self.texts)

    @cached_property
    def dense(self) -> Search:
        from bgr.search.dense import DenseSearch

        search = DenseSearch.of_texts(self.texts, self.store)
        search.encoder = self.encoder  # queries come in any grouping and are not worth a file
        return search

    @cached_property
    def hybrid(self) -> Search:
        from bgr.search.hybrid import HybridSearch

        return HybridSearch([self.bm25, self.dense])

    @cached_property
    def triples(self) -> tuple[Triple, ...]:
        from bgr.triples.openie import read_openie

        found = read_openie(self.args.openie, self.corpus)
        self.about |= {"openie": str(self.args.openie), "triples": found.report}
        print(f"{self.args.openie}: {found.report}", file=sys.stderr)
        return found.triples

    @cached_property
    def triples_hash(self) -> str:
        return hashlib.sha256(json.dumps(self.triples).encode()).hexdigest()

    @cached_property
    def index(self) -> TripleIndex:
        from bgr.triples.index import TripleIndex

        return replace(TripleIndex.build(self.triples, self.store), encoder=self.encoder)

    @cached_property
    def llm(self) -> Llm:
        return self._llm(self.args.llm)

    @cached_property
    def reader(self) -> Llm:
        return self.llm if self.args.reader == self.args.llm else self._llm(self.args.reader)

    @cached_property
    def _replay(self) -> Replay | None:
        from bgr.llm.replay import Replay

        return Replay(self.args.replay, replay_only=self.args.replay_only) if self.args.replay is not None else None

    def _llm(self, spec: str) -> Llm:
        from bgr.llm.backends import load_backend
        from bgr.llm.llm import Llm

        return Llm(load_backend(spec), replay=self._replay)
