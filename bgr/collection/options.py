"""Options of `bgr collection`, and the choice of an encoder on any command line. This module imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from bgr.llm.options import LlmOptions
from bgr.utils.options import File, Folder, Metavar, Options, OutFile, OutFolder, Positive, positional
from bgr.utils.ray_map import RayOptions

CorpusPath = Annotated[Path, Metavar("FILE|DIR")]


Pooling = Literal["mean", "cls", "last"]
"""The vector of a text: the mean of its token states, the first one, or the last one."""


@dataclass(frozen=True)
class EncoderSpec:
    """A folder or a server with an encoder, and what differs from what the folder says.

    Args:
        place: folder in the format of `transformers` (of sentence-transformers, also its pooling and its prompt for
            queries are taken), or ``http://host/v1#model``; ``None`` for the packaged MiniLM.
        query_prefix: text before each query.
    """

    place: str | Path | None = None
    query_prefix: str | None = None
    pooling: Pooling | None = None

    @property
    def is_server(self) -> bool:
        return str(self.place).startswith(("http://", "https://"))


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(Options):
    """The encoder of texts and questions, also that of a collection.

    Args:
        encoder: local folder of the encoder, or http://host/v1#model for a server of embeddings (default: the packaged
            MiniLM).
        query_prefix: text before each question, for encoders that were trained with an instruction (default: as the
            folder of a sentence-transformers model says).
        pooling: vector of a text: mean of its token states, the first one (cls) or the last one (default: as the folder
            says, else mean).
    """

    encoder: Annotated[str, Metavar("DIR|URL")] | None = None
    query_prefix: str | None = None
    pooling: Pooling | None = None

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.pooling is not None and self.encoder_spec is not None and self.encoder_spec.is_server:
            yield "--pooling is of a local encoder: leave it out with a server"

    @property
    def encoder_spec(self) -> EncoderSpec | None:
        """The encoder; ``None`` if no option is given."""
        if self.encoder is self.query_prefix is self.pooling is None:
            return None
        return EncoderSpec(self.encoder, self.query_prefix, self.pooling)


@dataclass(frozen=True, kw_only=True)
class FolderOptions(Options):
    """A collection.

    Args:
        folder: a collection.
    """

    folder: Folder = positional(metavar="DIR")


@dataclass(frozen=True, kw_only=True)
class MilvusOptions(Options):
    """A collection of vectors in Milvus.

    Args:
        milvus: a file that ends in .db (milvus-lite), or the address of a server.
        milvus_collection: name of the collection in Milvus.
    """

    milvus: Annotated[str, Metavar("FILE|URL")] | None = None
    milvus_collection: Annotated[str, Metavar("NAME")] = "passages"


@dataclass(frozen=True, kw_only=True)
class BuildOptions(EncoderOptions, RayOptions):
    """Options of `bgr collection build`.

    Args:
        corpus: the texts: lines {"id", "title", "text"}, a published corpus (HippoRAG, MultiHop-RAG), or a dataset of
            `bgr data build`, whose facts are the texts.
        sentences: split the texts into sentences, each with the title of its text.
        out: folder of the collection.
        triples: triples of the texts: an OpenIE file in HippoRAG's form.
        words_only: make no vectors, for BM25 alone.
        half: keep vectors in half precision, at half the size.
        overwrite: replace the collection that is there.
    """

    corpus: CorpusPath
    out: OutFolder
    sentences: bool = False
    triples: File | None = None
    words_only: bool = False
    half: bool = False
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.words_only and (self.encoder_spec is not None or self.half or self.ray is not None):
            yield "--words-only makes no vectors: leave out --encoder, --half and --ray"
        yield from _whole_texts(self.sentences, self.triples)


@dataclass(frozen=True, kw_only=True)
class AddOptions(FolderOptions, EncoderOptions, RayOptions):
    """Options of `bgr collection add`.

    Args:
        corpus: the new texts, in a form that `bgr collection build` takes.
        sentences: split them into sentences, each with the title of its text.
        triples: triples of the new texts: an OpenIE file in HippoRAG's form.
    """

    corpus: CorpusPath
    sentences: bool = False
    triples: File | None = None

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        yield from _whole_texts(self.sentences, self.triples)


def _whole_texts(sentences: bool, triples: Path | None) -> Iterator[str]:
    if sentences and triples is not None:
        yield "--triples belong to whole texts: leave out --sentences"


@dataclass(frozen=True, kw_only=True)
class DeleteOptions(FolderOptions):
    """Options of `bgr collection delete`.

    Args:
        ids: ids of the texts, as `bgr collection search` shows them.
    """

    ids: tuple[str, ...] = positional(metavar="ID")


@dataclass(frozen=True, kw_only=True)
class SearchOptions(FolderOptions, EncoderOptions, MilvusOptions):
    """Options of `bgr collection search`.

    Args:
        questions: texts to search for.
        method: search by words, by vectors, or both (default: hybrid, or bm25 where the collection has no vectors).
        k: number of texts for each question.
        verify: do not compare the files that are searched with their hashes.
    """

    questions: tuple[str, ...] = positional(metavar="QUESTION")
    method: Literal["bm25", "dense", "hybrid"] | None = None
    k: Positive = 10
    verify: bool = True

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if any(not question.strip() for question in self.questions):
            yield "a question is empty"
        if self.milvus is not None and self.method == "bm25":
            yield "--milvus holds vectors, bm25 searches words: give dense or hybrid to --method"


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(FolderOptions):
    """Options of `bgr collection verify`.

    Args:
        corpus: texts that the collection must hold, in a form that `bgr collection build` takes.
    """

    corpus: File | None = None


@dataclass(frozen=True, kw_only=True)
class UploadOptions(FolderOptions, EncoderOptions, MilvusOptions):
    """Options of `bgr collection upload`.

    Args:
        overwrite: replace the collection that is in Milvus.
    """

    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.milvus is None:
            yield "--milvus is required: a file that ends in .db, or the address of a server"


@dataclass(frozen=True, kw_only=True)
class ImportOptions(EncoderOptions):
    """Options of `bgr collection triples import`.

    Args:
        folder: a collection.
        file: an OpenIE file in HippoRAG's form.
    """

    folder: Folder = positional(metavar="DIR")
    file: File = positional(metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """Options of `bgr collection triples check`.

    Args:
        file: an OpenIE file in HippoRAG's form.
        corpus: the texts: a collection, or a corpus file.
    """

    file: File = positional(metavar="FILE")
    corpus: File


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(EncoderOptions, LlmOptions, RayOptions):
    """Options of `bgr collection triples extract`.

    Args:
        folder: a collection, whose triples are replaced; or give --corpus and --out.
        corpus: the texts, in a form that `bgr collection build` takes.
        out: OpenIE file to write.
        limit: extract from the first texts only (default: all).
        overwrite: start again; replies that are kept stay.
    """

    folder: Folder | None = positional(None, metavar="DIR")
    corpus: File | None = None
    out: OutFile | None = None
    limit: Positive | None = None
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.folder is None and (self.corpus is None or self.out is None):
            yield "give a collection, or --corpus and --out"
        elif self.folder is not None and (self.corpus, self.out, self.limit) != (None, None, None):
            yield "a collection takes neither --corpus nor --out nor --limit"


@dataclass(frozen=True, kw_only=True)
class FactsOptions(Options):
    """Options of `bgr collection triples facts`.

    Args:
        dataset: a dataset of `bgr data build`.
        out: OpenIE file to write.
        corpus_out: file for the facts as a corpus.
        overwrite: replace files that exist.
    """

    dataset: Folder = positional(metavar="DATASET")
    out: OutFile
    corpus_out: OutFile | None = None
    overwrite: bool = False
