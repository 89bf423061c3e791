"""The commands of `bgr collection`: collections of corpus files in any form, ours or published."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.collection import options as opt
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage, load_corpus, sentence_corpus
from bgr.collection.folder import NAME, check_free
from bgr.collection.memory import MINILM
from bgr.collection.options import EncoderSpec
from bgr.collection.search import HybridSearch, Search
from bgr.collection.segments import Verified
from bgr.data.multihop.load import read_corpus
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE
from bgr.data.reasongraphqa.io.fact_records import read_facts
from bgr.errors import DataError
from bgr.models.truncation import truncation_text
from bgr.utils.error_text import problem
from bgr.utils.json_utils import repr_short
from bgr.utils.ray_map import RayOptions

if TYPE_CHECKING:
    from bgr.collection.milvus import MilvusCollection


def read_passages(path: Path) -> Corpus:
    """The texts of a collection, of a corpus file, of a dataset of `bgr data build` (its facts), or of a published
    corpus, in which title and text give the id. A file may be a pipe.

    Raises:
        DataError: the file is missing, damaged or of another form; the message names the location.
    """
    if (path / NAME).is_file():
        return Collection.open(path, encoder=None).corpus
    if (path / FACTS_FILE).is_file():
        try:
            return Corpus(Passage(one.id, "", one.sentence) for one in read_facts(path, progress=True))
        except ValueError as error:
            raise DataError(f"{path / FACTS_FILE}: {error}; ids are unique") from None
    with _rereadable(path) as file:
        return load_corpus(file) if _has_ids(file) else read_corpus(file, with_ids=False).corpus()


def build(options: opt.BuildOptions) -> Collection:
    """Make a collection. See `_new_texts` and `Collection.build` for the errors."""
    check_free(options.out, options.overwrite)  # before a large file is read
    return Collection.build(
        _new_texts(options),
        options.out,
        encoder=None if options.words_only else options.encoder_spec or MINILM,
        triples=options.triples or (),
        half=options.half,
        overwrite=options.overwrite,
        progress=True,
        ray=options,
    )


def add(options: opt.AddOptions) -> tuple[Collection, int]:
    """Append texts. Returns the collection and the number of new texts; see `Collection.add` for the errors.

    Raises:
        DataError: workers are given, and the collection has no vectors; or as `_new_texts`.
    """
    new = _new_texts(options)
    collection = open_folder(options.folder, options.encoder_spec, options)
    if options.ray is not None and collection.manifest.encoder is None:
        raise DataError(f"{options.folder}: holds words alone, and nothing is encoded: leave out --ray")
    collection.add(new, options.triples or ())
    return collection, len(new)


def delete(options: opt.DeleteOptions) -> Collection:
    """Delete texts by id, all or none. See `Collection.delete` for the errors."""
    collection = Collection.open(options.folder, encoder=None)
    collection.delete(options.ids)
    return collection


def compact(options: opt.FolderOptions) -> Collection:
    """Drop what was deleted. See `Collection.compact` for the errors."""
    collection = Collection.open(options.folder, encoder=None, progress=True)
    collection.compact()
    return collection


def verify(options: opt.VerifyOptions) -> tuple[Collection, Verified]:
    """Compare all files with their hashes. See `Collection.verify` for the errors."""
    corpus = read_passages(options.corpus) if options.corpus is not None else None
    collection = Collection.open(options.folder, encoder=None, corpus=corpus, progress=True)
    return collection, collection.verify()


def show(options: opt.FolderOptions) -> tuple[Collection, dict[str, Any]]:
    """The description of a collection, without reading its texts. See `Collection.open` for the errors."""
    collection = Collection.open(options.folder, encoder=None)
    own = collection.manifest
    return collection, {
        "passages": own.passages,
        "deleted": own.rows - own.passages,
        "corpus": own.corpus,
        "encoder": own.encoder,
        "dimensions": own.dimensions,
        "half": own.half,
        "triples": own.triples.passages if own.triples is not None else 0,
        "segments": {piece.name: piece.passages for piece in own.segments},
        "bytes": sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file()),
    }


def search(options: opt.SearchOptions) -> list[dict[str, Any]]:
    """The best texts for each question: ``{question, method, passages: [{score, id, title, text}, …]}``.

    In a search by words, texts without a word of the question are left out; a question without any text is reported.

    Raises:
        DataError: no collection, a damaged one, or one of another encoder; or Milvus does not answer.
    """
    collection = open_folder(options.folder, options.encoder_spec if options.method != "bm25" else None)
    method = options.method or ("hybrid" if collection.manifest.encoder else "bm25")
    with _search(options, collection, method) as one:
        found = one.search(options.questions, options.k)
    if collection.truncation.truncated:
        print(truncation_text({"questions": collection.truncation}), file=sys.stderr)
    rows = []
    for question, hits in zip(options.questions, found, strict=True):
        pairs = list(zip(hits.scores.tolist(), hits.indices.tolist(), strict=True))
        if method == "bm25":
            pairs = [(score, index) for score, index in pairs if score > 0]
            if not pairs:
                print(f"{repr_short(question)}: no text shares a word with the question", file=sys.stderr)
        passages = [{"score": score, **vars(collection.corpus[index])} for score, index in pairs]
        rows.append({"question": question, "method": method, "passages": passages})
    return rows


def upload(options: opt.UploadOptions) -> tuple[str, int]:
    """Put a collection's vectors into Milvus. Returns their location there, and their number.

    Raises:
        DataError: as `search`, or there is such a collection in Milvus already.
    """
    from bgr.collection.milvus import MilvusSearch

    collection = open_folder(options.folder, options.encoder_spec)
    dense, key = collection.dense, str(collection.manifest.encoder)
    with closing(_milvus(options)) as store:
        made = MilvusSearch.build(
            store,
            collection.corpus,
            dense.encoder,
            key=key,
            vectors=dense.vectors,
            overwrite=options.overwrite,
            progress=True,
        )
        return store.where, made.count()


def summary(collection: Collection) -> str:
    """The content of a collection, in one line."""
    own = collection.manifest
    numbers = f"{own.dimensions} numbers of {'half' if own.half else 'single'} precision"
    kind = f"vectors of {numbers}" if own.encoder else "words alone"
    gone = f", {own.rows - own.passages:,} deleted" if own.deleted else ""
    triples = f", {own.triples.passages:,} triples" if own.triples is not None else ""
    encoded = collection.truncation
    cut = f"; {truncation_text({'encoded texts': encoded})}" if encoded.truncated else ""
    return f"{collection.folder}: {own.passages:,} passages{gone}, {kind}{triples}; corpus {own.corpus[:12]}{cut}"


def open_folder(folder: Path, encoder: EncoderSpec | None, ray: RayOptions | None = None) -> Collection:
    """A collection with the encoder that its vectors need; the packaged one is loaded when it is first used."""
    return Collection.open(folder, encoder=encoder or MINILM, progress=True, ray=ray)


@contextmanager
def _search(options: opt.SearchOptions, collection: Collection, method: str) -> Iterator[Search]:
    if options.milvus is None:
        yield collection.bm25 if method == "bm25" else collection.dense if method == "dense" else collection.hybrid
        return
    from bgr.collection.milvus import MilvusSearch

    dense = collection.dense  # its error says what is missing
    with closing(_milvus(options)) as store:
        vectors = MilvusSearch(store, collection.corpus, dense.encoder, key=str(collection.manifest.encoder))
        yield vectors if method == "dense" else HybridSearch([collection.bm25, vectors])


def _milvus(options: opt.MilvusOptions) -> MilvusCollection:
    from bgr.collection.milvus import MilvusCollection

    return MilvusCollection(str(options.milvus), options.milvus_collection)


def _new_texts(options: opt.BuildOptions | opt.AddOptions) -> Corpus:
    """The texts that a command puts into a collection, whole or by the sentence.

    Raises:
        DataError: as `read_passages`, or there is no text: an empty collection would take the place of a full one.
    """
    corpus = read_passages(options.corpus)
    if not len(corpus):
        raise DataError(f"{options.corpus}: no texts, allowed: one or more")
    return sentence_corpus(corpus) if options.sentences else corpus


@contextmanager
def _rereadable(path: Path) -> Iterator[Path]:
    """The file, or a copy of a pipe, which is empty when it is read again; a DataError names the pipe."""
    if not path.exists() or path.is_file() or path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "corpus"
        try:
            with path.open("rb") as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target)
        except OSError as error:
            raise DataError(f"{path}: cannot be copied to {folder}: {problem(error)}") from None
        try:
            yield copy
        except DataError as error:
            raise DataError(str(error).replace(str(copy), str(path))) from None


def _has_ids(path: Path) -> bool:
    """True if the first line is a passage with an id."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            first = next((line for line in file if line.strip()), "")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        row = json.loads(first) if first.lstrip().startswith("{") else None
    except (ValueError, RecursionError):  # the reader reports the error
        return False
    return isinstance(row, dict) and "id" in row and ("text" in row or not {"title", "body"} <= row.keys())
