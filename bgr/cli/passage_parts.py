"""What retrievers of passages share: encoder, vectors, triples, language models; each is made when first asked for."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.collection.search import Search
from bgr.data.multihop.assemble import MultihopData
from bgr.errors import BgrError

if TYPE_CHECKING:
    import numpy as np

    from bgr.collection.embedding import SentenceEncoder, VectorStore
    from bgr.collection.triples.index import TripleIndex
    from bgr.collection.triples.triple import Triple
    from bgr.llm.interface import Backend
    from bgr.llm.language_model import Llm
    from bgr.llm.replay import Replay
    from bgr.llm.usage import Budget, Price
    from bgr.reader.reader import Reader
    from eval.passages.answers import Answers

ENCODER_TOKENS = 256
"""Passages are cut here: what all-MiniLM-L6-v2 was made for."""


class PassageParts:
    """Parts over one corpus.

    Args:
        args: ``data``, ``encoder``, ``openie``, ``llm``, ``reader``, ``replay``, ``replay_only`` and ``out``.
        data: the corpus.
    """

    def __init__(self, args: argparse.Namespace, data: MultihopData) -> None:
        self.args = args
        self.corpus = data.corpus
        self.texts = [passage.whole for passage in data.corpus]
        self.about: dict[str, Any] = {}
        """What was read, for the report."""
        self._backends: dict[str, Backend] = {}

    @cached_property
    def encoder(self) -> SentenceEncoder:
        from bgr.collection.embedding import SentenceEncoder
        from bgr.models.packaged import packaged_minilm

        self.about["encoder"] = str(self.args.encoder or "all-MiniLM-L6-v2 (packaged)")
        return SentenceEncoder(self.args.encoder or packaged_minilm(), max_tokens=ENCODER_TOKENS)

    @cached_property
    def store(self) -> VectorStore:
        """Vectors of passages and triples, kept in the output folder: an interrupted encoding goes on."""
        from bgr.collection.embedding import VectorStore

        folder = self.args.out / "vectors"
        return VectorStore(self.encoder, folder, key=self.encoder.fingerprint(), chunk=1024, progress=True)

    def check(self) -> None:
        """Read what may be wrong before anything is written: price and budget, replies of an earlier run, the triples.

        Raises:
            BgrError: of what is wrong.
        """
        _ = self.price, self.budget
        if self.args.replay is not None and (self.args.replay.exists() or self.args.replay_only):
            _ = self._replay
        if self.args.openie is not None:
            _ = self.triples

    def prepare(self, *, vectors: bool, triples: bool) -> None:
        """Encode and index now what would else count to the time of the first question."""
        if vectors:
            _ = self.vectors
        if triples:
            _ = self.index

    @cached_property
    def bm25(self) -> Search:
        from bgr.collection.bm25 import Bm25Search

        return Bm25Search(self.texts)

    @cached_property
    def dense(self) -> Search:
        from bgr.collection.vectors import DenseSearch, VectorRows

        # queries come in any grouping and are not worth a file: they go to the encoder itself
        return DenseSearch(self.encoder, VectorRows([self.vectors]))

    @cached_property
    def vectors(self) -> np.ndarray:
        """Of the passages, ``float32 [n, d]``, unit rows."""
        from bgr.collection.vectors import check_unit

        return check_unit(self.store(self.texts), len(self.texts), "passages")

    @cached_property
    def hybrid(self) -> Search:
        from bgr.collection.search import HybridSearch

        return HybridSearch([self.bm25, self.dense])

    @cached_property
    def triples(self) -> tuple[Triple, ...]:
        """Of the file that was named, else those that a dataset's facts were made from."""
        if self.args.openie is None:
            return self._triples_of_facts()
        from bgr.collection.triples.openie import read_openie

        found = read_openie(self.args.openie, self.corpus)
        self.about |= {"openie": str(self.args.openie), "triples": found.report}
        print(f"{self.args.openie}: {found.report}", file=sys.stderr)
        return found.triples

    def _triples_of_facts(self) -> tuple[Triple, ...]:
        from bgr.data.reasongraphqa.io.fact_records import read_facts
        from bgr.data.reasongraphqa.io.fact_triples import fact_corpus

        place = {text: number for number, text in enumerate(self.texts)}
        records = (one for one in read_facts(self.args.data, progress=True) if one.sentence in place)
        facts, triples = fact_corpus(records)
        self.about["triples"] = f"{len(triples)} of {len(facts)} facts, from the knowledge base"
        return tuple(one._replace(passage=place[facts[one.passage].text]) for one in triples)

    @cached_property
    def triples_hash(self) -> str:
        return hashlib.sha256(json.dumps(self.triples).encode()).hexdigest()

    @cached_property
    def index(self) -> TripleIndex:
        from bgr.collection.triples.index import TripleIndex

        return replace(TripleIndex.build(self.triples, self.store), encoder=self.encoder)

    @property
    def asks(self) -> Llm:
        return self.llm

    @cached_property
    def llm(self) -> Llm:
        return self._llm(self.args.llm)

    @cached_property
    def reader_settings(self) -> dict[str, Any]:
        """What decides the answers of ``--reader``."""
        from bgr.llm.prompts import prompts_hash
        from bgr.reader.passage_reader import PASSAGES
        from bgr.utils.hashing import hash_files

        if self._trained_reader:
            _ = self._reader
            files = hash_files(self.args.reader, ["config.json", "model.safetensors", "reader.json"])
            return {"files": files} | ({"precision": self.args.precision} if self.args.precision is not None else {})
        return {
            "llm": self.backend(self.args.reader).name,
            "passages": PASSAGES,
            "prompts": prompts_hash("bgr.multihop"),
        }

    def answers(self, *, alone: bool = False) -> Answers:
        """Who answers; `alone`: from the question."""
        from bgr.reader.passage_reader import PassageReader
        from eval.passages.answers import LlmAnswers, TrainedAnswers

        if self._trained_reader:
            return TrainedAnswers(self._reader, self.corpus, alone=alone)
        return LlmAnswers(PassageReader(self._reading_llm), self.corpus)

    @property
    def _trained_reader(self) -> bool:
        from bgr.reader.reader import SETTINGS

        return (Path(self.args.reader) / SETTINGS).is_file()

    @cached_property
    def _reader(self) -> Reader:
        from bgr.reader.reader import Reader

        return Reader.from_pretrained(self.args.reader, device=self.args.device, precision=self.args.precision)

    @cached_property
    def _reading_llm(self) -> Llm:
        return self.llm if self.args.reader == self.args.llm else self._llm(self.args.reader)

    @cached_property
    def _replay(self) -> Replay | None:
        from bgr.llm.replay import Replay

        return Replay(self.args.replay, replay_only=self.args.replay_only) if self.args.replay is not None else None

    def backend(self, spec: str) -> Backend:
        """A language model, loaded once; no file of replies is opened for it.

        Raises:
            BgrError: it cannot be loaded.
        """
        from bgr.llm.backends.loading import load_backend

        if spec not in self._backends:
            # a server decides for itself what it runs on
            machine = {"device": self.args.device, "precision": self.args.precision} if "://" not in spec else {}
            self._backends[spec] = load_backend(spec, **machine)
        return self._backends[spec]

    def _llm(self, spec: str) -> Llm:
        from bgr.llm.language_model import Llm

        return Llm(self.backend(spec), replay=self._replay, budget=self.budget)

    @cached_property
    def budget(self) -> Budget | None:
        """Of each language model.

        Raises:
            BgrError: a number below 0, or a limit on the cost without a price.
        """
        from bgr.llm.usage import Budget

        calls, tokens, cost = (getattr(self.args, f"most_{name}", None) for name in ("calls", "tokens", "cost"))
        return None if calls is tokens is cost is None else Budget(calls, tokens, cost, self.price)

    @cached_property
    def price(self) -> Price | None:
        """Of the one language model that is asked.

        Raises:
            BgrError: there are two.
        """
        from bgr.llm.usage import Price

        price = getattr(self.args, "price", None)
        if price is None:
            return None
        if self.args.llm is not None and self.args.reader not in (None, self.args.llm) and not self._trained_reader:
            raise BgrError(
                f"--price is of one model, and --reader {self.args.reader} is another than --llm {self.args.llm}; "
                "allowed with it: the same model for both, or a trained reader"
            )
        return Price(*price)
