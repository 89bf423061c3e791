"""Resources that systems on passages share (collection, language models, reader, budget), each built when needed."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bgr.data.multihop.assemble import MultihopData
from bgr.errors import BgrError, DataError
from bgr.utils.cache import cache_folder, writable_folder
from bgr.utils.json_utils import repr_short
from eval.systems.options import ResourceOptions

if TYPE_CHECKING:
    from bgr.collection.collection import Collection
    from bgr.collection.embedding import SentenceEncoder
    from bgr.collection.embedding_server import EmbeddingServer
    from bgr.collection.triples.triple import Triple
    from bgr.llm.interface import Backend
    from bgr.llm.language_model import Llm
    from bgr.llm.replay import Replay
    from bgr.llm.usage import Budget, Price
    from bgr.reader.reader import Reader
    from eval.run.passage_answers import Answers


class Resources:
    """Resources over the corpus of `data`. The attribute `about` describes what was read, for the report."""

    def __init__(self, options: ResourceOptions, data: MultihopData) -> None:
        self.options = options
        self.corpus = data.corpus
        self.sentences = data.sentences
        self.about: dict[str, Any] = {}
        self._backends: dict[str, Backend] = {}

    @cached_property
    def encoder(self) -> SentenceEncoder | EmbeddingServer:
        from bgr.collection.embedding import load_encoder

        spec = self.options.encoder_spec
        self.about["encoder"] = str(spec.place) if spec is not None and spec.place else "all-MiniLM-L6-v2 (packaged)"
        self.about |= {"query_prefix": spec.query_prefix} if spec is not None and spec.query_prefix else {}
        return load_encoder(spec, precision="32")  # published ranks, and replies to them, hold on every processor

    @cached_property
    def collection(self) -> Collection:
        """The corpus with its searches and triples: from a folder, or in memory with its vectors in the cache of all
        runs (`_vectors_folder`), where an interrupted encoding resumes.

        Raises:
            DataError: the folder lacks a passage, or was built with another encoder.
        """
        from bgr.collection.collection import Collection

        if self.options.collection is not None:
            return self._open_collection(self.options.collection)
        return Collection.in_memory(
            self.corpus,
            encoder=self.encoder,
            triples=lambda: self.triples,
            vectors_cache=self._vectors_folder,
            progress=True,
        )

    @property
    def _vectors_folder(self) -> Path:
        """The folder for vectors of passages and triples: ``vectors/`` of `cache_folder`, so that a corpus is encoded
        once; that of the output if the cache cannot be written, or for a server, whose model nothing but its name tells
        from another.

        Raises:
            BgrError: a cache that was chosen by ``BGR_CACHE`` cannot be written.
        """
        own, shared = self.options.out / "vectors", cache_folder()
        if shared is None or not hasattr(self.encoder, "fingerprint"):
            return own
        problem = writable_folder(shared / "vectors")
        if problem and "BGR_CACHE" in os.environ:
            raise BgrError(f"BGR_CACHE={shared}: vectors/ cannot be written: {problem}; choose another folder")
        return own if problem else shared / "vectors"

    def _open_collection(self, folder: Path) -> Collection:
        from bgr.collection.collection import Collection

        self.about["collection"] = str(folder)
        found = Collection.open(folder, encoder=self.encoder, progress=True)
        if found.hash == self.corpus.hash:
            return found
        index_of = found.corpus.index_of
        for passage in self.corpus:
            if passage.id not in index_of or found.corpus[index_of[passage.id]] != passage:
                raise DataError(f"{folder}: does not hold passage {repr_short(passage.id)} of {self.options.data}")
        return found.subset([index_of[passage.id] for passage in self.corpus])

    @property
    def half(self) -> bool:
        """True if the collection has vectors of half precision, which changes results."""
        if self.options.collection is None:
            return False
        return any(part.dtype == np.float16 for part in self.collection.vectors.parts)

    def close(self) -> None:
        """Close the replay cache, so that its file is whole."""
        if (replay := self.__dict__.get("_replay")) is not None:
            replay.close()

    def check(self) -> None:
        """Load what may be damaged before anything is written: budget, replies of an earlier run, triples, collection.

        Raises:
            BgrError: one of them cannot be used.
        """
        options = self.options
        _ = self.price, self.budget
        if options.replay is not None and (options.replay.exists() or options.replay_only):
            _ = self._replay
        if options.openie is not None:
            _ = self.triples
        if options.collection is not None:
            _ = self.collection

    def prepare(self, *, vectors: bool, triples: bool) -> None:
        """Encode and index now, because otherwise it would count as time of the first question."""
        if vectors:
            _ = self.collection.vectors
        if triples:
            _ = self.collection.triple_index

    @cached_property
    def triples(self) -> tuple[Triple, ...]:
        """The triples of the collection, of an OpenIE file, or of the dataset, whose facts were made from triples."""
        if self.options.collection is not None:
            return tuple(self.collection.triples)
        if self.options.openie is not None:
            from bgr.collection.triples.openie import read_openie

            found = read_openie(self.options.openie, self.corpus)
            self.about |= {"openie": str(self.options.openie), "triples": found.report}
            print(f"{self.options.openie}: {found.report}", file=sys.stderr)
            return found.triples
        from bgr.data.reasongraphqa.io.fact_records import fact_corpus, read_facts

        index_of = {passage.whole: index for index, passage in enumerate(self.corpus)}
        records = (one for one in read_facts(self.options.data, progress=True) if one.sentence in index_of)
        facts, triples = fact_corpus(records)
        self.about["triples"] = f"{len(triples)} of {len(facts)} facts, from the knowledge base"
        return tuple(one._replace(passage=index_of[facts[one.passage].text]) for one in triples)

    @cached_property
    def triples_hash(self) -> str:
        return hashlib.sha256(json.dumps(self.triples).encode()).hexdigest()

    @cached_property
    def llm(self) -> Llm:
        """The language model of ``--llm``; see `llm_spec` and `backend`."""
        return self._llm(self.llm_spec)

    @property
    def llm_spec(self) -> str:
        """The option ``--llm``.

        Raises:
            BgrError: it is missing.
        """
        if self.options.llm is None:
            raise BgrError("a language model is needed: give --llm SPEC")
        return self.options.llm

    @cached_property
    def reader_settings(self) -> dict[str, Any]:
        """Everything that the answers of ``--reader`` depend on."""
        from bgr.llm.prompts import prompts_hash
        from bgr.utils.hashing import hash_files
        from eval.run.passage_answers import PASSAGES

        spec, precision = str(self.options.reader), self.options.precision
        if self._trained_reader:
            _ = self._reader
            files = hash_files(Path(spec), ["config.json", "model.safetensors", "reader.json"])
            return {"files": files} | ({"precision": precision} if precision is not None else {})
        return {"llm": self.backend(spec).name, "passages": PASSAGES, "prompts": prompts_hash("bgr.multihop")}

    def answers(self, *, alone: bool = False) -> Answers:
        """The reader of ``--reader``; with `alone`, a trained one answers from the question alone."""
        from eval.run.passage_answers import LlmAnswers, PassageReader, TrainedAnswers

        if self._trained_reader:
            return TrainedAnswers(self._reader, self.corpus, alone=alone)
        return LlmAnswers(PassageReader(self._reading_llm), self.corpus)

    @property
    def _trained_reader(self) -> bool:
        from bgr.reader.reader import SETTINGS

        return self.options.reader is not None and (Path(self.options.reader) / SETTINGS).is_file()

    @cached_property
    def _reader(self) -> Reader:
        from bgr.reader.loading import load_reader

        machine = {"device": self.options.device, "precision": self.options.precision}
        return load_reader(str(self.options.reader), **machine)

    @cached_property
    def _reading_llm(self) -> Llm:
        return self.llm if self.options.reader == self.options.llm else self._llm(str(self.options.reader))

    @cached_property
    def _replay(self) -> Replay | None:
        from bgr.llm.replay import Replay

        path = self.options.replay
        return Replay(path, replay_only=self.options.replay_only) if path is not None else None

    def backend(self, spec: str) -> Backend:
        """A language model, loaded once, without the replay file.

        Raises:
            BgrError: it cannot be loaded.
        """
        from bgr.llm.backends.loading import load_backend

        if spec not in self._backends:
            # a server decides for itself what it runs on
            machine = {"device": self.options.device, "precision": self.options.precision}
            settings: dict[str, Any] = self.options.server if "://" in spec else machine
            self._backends[spec] = load_backend(spec, **settings)
        return self._backends[spec]

    def _llm(self, spec: str) -> Llm:
        from bgr.llm.language_model import Llm

        return Llm(self.backend(spec), replay=self._replay, budget=self.budget)

    @cached_property
    def budget(self) -> Budget | None:
        """The budget of each language model.

        Raises:
            BgrError: the cost is limited without a price.
        """
        from bgr.llm.usage import Budget

        calls, tokens, cost = self.options.max_calls, self.options.max_tokens, self.options.max_cost
        return None if calls is tokens is cost is None else Budget(calls, tokens, cost, self.price)

    @cached_property
    def price(self) -> Price | None:
        """The price of the language model.

        Raises:
            BgrError: there are two models.
        """
        from bgr.llm.usage import Price

        options = self.options
        if options.price is None:
            return None
        if options.llm is not None and options.reader not in (None, options.llm) and not self._trained_reader:
            raise BgrError(
                f"--price is of one model, and --reader {options.reader} is another than --llm {options.llm}; "
                "allowed with it: the same model for both, or a trained reader"
            )
        return Price(*options.price)
