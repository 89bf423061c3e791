"""Building of a ReasonGraphQA folder from a folder of KQA Pro files, as by `bgr data build`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.collection.embedding import SentenceEncoder, VectorStore
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.options import PACKAGED, BuildOptions
from bgr.data.reasongraphqa.construction.construct import Built, Settings, build
from bgr.data.reasongraphqa.construction.interference import HARD, THIRDS, Mixture
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.errors import DataError
from bgr.models.packaged import packaged_minilm

if TYPE_CHECKING:
    from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator
    from bgr.data.reasongraphqa.verbalize.seq2seq import Seq2seqVerbalizer


def build_dataset(options: BuildOptions) -> dict[str, Any]:
    """Build a dataset and write it to a folder. An interrupted build resumes with the sentences and vectors it has.

    Returns:
        The content of the folder's ``dataset.json``: settings, counts, questions left out, hash.

    Raises:
        DataError: the source is damaged, a setting is out of range, or the folder exists.
        CheckpointError: the verbalizer or the encoder cannot be loaded.
    """
    settings, out = _settings(options), options.out
    if out.exists() and not options.overwrite and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out}: exists already; give --overwrite to replace it")
    generator = _load_generator(options)
    print(f"reading {options.kqapro}", file=sys.stderr)
    kb = KnowledgeBase.load(options.kqapro / "kb.json", progress=True)
    source = read_questions(options.kqapro, skip_bad=options.skip_bad, progress=True)
    encoder = load_encoder(options.similarity)
    folder = out.absolute().with_name(f"{out.absolute().name}.part")
    vectors = VectorStore(encoder, folder, key=encoder.fingerprint(), progress=True)
    verbalizer = _make_verbalizer(generator, kb, encoder, folder) if generator is not None else None
    built = build(
        kb, source.questions, vectors, settings, verbalizer=verbalizer, malformed=source.malformed, progress=True
    )
    metadata = _metadata(built, settings, options, source.without_program)
    if generator is not None and verbalizer is not None:
        metadata["wording"] = _verbalizer_metadata(str(options.verbalizer), generator, verbalizer, built)
    facts = (unit.to_json(kb) for unit in built.database.units)
    full = write_dataset(out, built.splits, facts, metadata, overwrite=options.overwrite)
    if verbalizer is not None:
        verbalizer.clear()
    vectors.clear()
    return full


def _settings(options: BuildOptions) -> Settings:
    candidates_min = min(20, options.candidates) if options.candidates_min is None else options.candidates_min
    mixture = HARD if options.hard else Mixture(*options.mixture) if options.mixture else THIRDS
    return Settings(
        options.seed,
        candidates_min,
        options.candidates,
        options.joined_probability,
        options.limit,
        options.split,
        options.skip_bad,
        mixture,
    )


def load_encoder(similarity: str) -> SentenceEncoder:
    """The packaged sentence encoder, or the one in a folder."""
    return SentenceEncoder(packaged_minilm() if similarity == PACKAGED else similarity)


def _load_generator(options: BuildOptions) -> Seq2seqGenerator | None:
    """The model of the verbalizer, loaded first, so that a wrong name fails at once; ``None`` for templates."""
    if options.verbalizer is None:
        return None
    from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator

    return Seq2seqGenerator(options.verbalizer, candidates=options.verbalizer_candidates, seed=options.seed)


def _make_verbalizer(
    generator: Seq2seqGenerator, kb: KnowledgeBase, encoder: SentenceEncoder, folder: Path
) -> Seq2seqVerbalizer:
    """A verbalizer that selects candidates by the encoder's BERTScore and caches sentences in the folder."""
    from bgr.data.reasongraphqa.verbalize.selection import BertScorer
    from bgr.data.reasongraphqa.verbalize.seq2seq import OutcomeStore, Seq2seqVerbalizer
    from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer

    store = OutcomeStore(folder, key=f"{generator.fingerprint()} {encoder.fingerprint()}")
    templates = Verbalizer(kb, generator.seed)
    return Seq2seqVerbalizer(templates, generator, BertScorer(encoder), store=store, progress=True)


def _verbalizer_metadata(
    source: str, generator: Seq2seqGenerator, verbalizer: Seq2seqVerbalizer, built: Built
) -> dict[str, Any]:
    """The part of ``dataset.json`` about the verbalizer."""
    return {
        "model": Path(source).name if Path(source).expanduser().is_dir() else source,
        "candidates_per_unit": generator.candidates,
        "most_tokens": generator.max_tokens,
        **verbalizer.counts(unit.facts for unit in built.database.units),
    }


def _metadata(built: Built, settings: Settings, options: BuildOptions, without: int) -> dict[str, Any]:
    atlas = options.kqapro / "atlas.json"
    return {
        "name": "ReasonGraphQA",
        "source": "Atlas" if atlas.exists() else "KQA Pro",
        "licence": "of the data packages named in the source's atlas.json"
        if atlas.exists()
        else "CC BY-SA 4.0 (KQA Pro 1.0), if the files are KQA Pro's",
        "settings": asdict(settings),
        "similarity": PACKAGED if options.similarity == PACKAGED else Path(options.similarity).name,
        "counts": {name: len(examples) for name, examples in built.splits.items()},
        "facts": {"units": len(built.database.units), "gold": sum(unit.gold for unit in built.database.units)},
        "distractors": built.distractors,
        "tried": built.tried,
        "without_program": without,
        "dropped": built.drop_report(),
    }
