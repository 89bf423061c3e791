"""The commands of `bgr collection triples`: import, check and extraction of the triples of texts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bgr.collection import options as opt
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, save_corpus
from bgr.collection.triples.extraction import Answered, Batch, Each, Extracted, extract_batch, extract_triples
from bgr.collection.triples.openie import Imported, read_openie, write_openie
from bgr.collection.triples.triple import entity_key
from bgr.data.collections import open_folder, read_passages
from bgr.data.reasongraphqa.io.fact_records import fact_corpus, read_facts
from bgr.errors import DataError
from bgr.llm.backends.loading import load_llm, load_with_replay
from bgr.llm.language_model import Llm
from bgr.llm.replay import Replay
from bgr.llm.worker_replay import WorkerReplay, shared_replay
from bgr.utils.atomic_io import writing
from bgr.utils.ray_map import anywhere, map_work


def import_triples(options: opt.ImportOptions) -> tuple[Collection, Imported]:
    """Replace a collection's triples by those of a file. See `Collection.import_triples` for the errors."""
    collection = open_folder(options.folder, options.encoder_spec)
    return collection, collection.import_triples(options.file)


def check_triples(options: opt.CheckOptions) -> tuple[Imported, dict[str, Any]]:
    """The triples that a file holds for a corpus, and their counts, with those of the texts and entities.

    Raises:
        DataError: the file is missing or not valid, or none of its texts is in the corpus.
    """
    corpus = read_passages(options.corpus)
    found = read_openie(options.file, corpus)
    passages: dict[str, set[int]] = {}
    for triple in found.triples:
        for end in (triple.subject, triple.object):
            passages.setdefault(entity_key(end), set()).add(triple.passage)
    return found, {
        "passages": len(corpus),
        "triples": len(found.triples),
        "rows": found.rows,
        "malformed": dict(found.malformed),
        "passages that the corpus lacks": found.unmatched,
        "passages that the file lacks": len(found.bare),
        "passages without triples": len(corpus) - len({triple.passage for triple in found.triples}),
        "entities": len(passages),
        "shared entities": sum(len(where) > 1 for where in passages.values()),
    }


def extract(options: opt.ExtractOptions) -> Extracted:
    """Ask a language model for the triples of every text, and write them into a collection or a file.

    Work that is done is kept, text by text, in ``extractions.db`` of the collection or beside the file; replies
    are kept besides, those of Ray's workers too (`bgr.llm.worker_replay`).

    Raises:
        DataError: the collection or a file cannot be used, or exists already.
        BgrError: as the language model raises.
    """
    if options.folder is not None:
        collection = open_folder(options.folder, options.encoder_spec)
        with _asked(options, options.folder / "replies.db") as (llm, each):
            if options.overwrite:
                _remove(options.folder / "extractions.db")
            return collection.extract_triples(
                llm, model=llm.backend.name, batch=options.batch, each=each, max_failure_share=options.max_failure_share
            )
    assert options.out is not None
    assert options.corpus is not None
    out, kept = options.out, options.out.with_name(f"{options.out.name}.db")
    if out.is_dir():
        raise DataError(f"{out}: is a folder; name a file")
    if out.exists() and not kept.exists() and not options.overwrite:
        raise DataError(f"{out}: exists already, and no {kept.name} to resume from; give --overwrite to replace it")
    corpus = Corpus(read_passages(options.corpus)[: options.limit])
    with _asked(options, out.with_name(f"{out.name}.replies.db")) as (llm, each):
        if options.overwrite:  # after everything that may be wrong was checked
            _remove(kept)
        found = extract_triples(
            corpus,
            llm,
            kept,
            model=llm.backend.name,
            batch=options.batch,
            progress=True,
            each=each,
            max_failure_share=options.max_failure_share,
        )
    write_openie(out, corpus, found.triples, entities=found.entities, without=found.failures)
    return found


def facts(options: opt.FactsOptions) -> tuple[int, int]:
    """Write the triples that ReasonGraphQA's facts were made from. Returns the numbers of triples and of facts.

    Raises:
        DataError: a file exists already, or the dataset names no triples.
    """
    for path in (options.out, options.corpus_out):
        if path is not None and path.exists() and not (options.overwrite and path.is_file()):
            raise DataError(f"{path}: exists already; " + ("give --overwrite" if path.is_file() else "name a file"))
    corpus, triples = fact_corpus(read_facts(options.dataset, progress=True))
    if options.corpus_out is not None:
        save_corpus(corpus, options.corpus_out)
    write_openie(options.out, corpus, triples)
    return len(triples), len(corpus)


@contextmanager
def _asked(options: opt.ExtractOptions, replies: Path) -> Iterator[tuple[Llm, Each | None]]:
    """The model with its replay cache, and the workers that ask it, if there are any: then it only gives its name."""
    if options.ray is None:
        with closing(load_with_replay(options, replies)) as llm:
            yield llm, None
        return
    path = (options.replay or replies).absolute()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    load = partial(_load_extraction, replace(options, llm=anywhere(options.llm)), path)

    def each(batches: Sequence[Batch]) -> Generator[Answered, None, None]:
        yield from map_work(load, batches, options)

    llm = load_llm(options)
    with shared_replay(path, replay_only=options.replay_only):
        yield llm, each


def _load_extraction(options: opt.ExtractOptions, path: Path) -> Callable[[Batch], Answered]:
    replay = Replay(path, replay_only=True) if options.replay_only else WorkerReplay(path)
    return partial(extract_batch, Llm(load_llm(options).backend, replay=replay))


def _remove(path: Path) -> None:
    with writing(path):
        for suffix in ("", "-wal", "-shm"):  # SQLite's, of a process that was killed
            path.with_name(path.name + suffix).unlink(missing_ok=True)
