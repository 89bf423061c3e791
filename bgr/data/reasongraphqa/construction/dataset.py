"""Building of a ReasonGraphQA folder from a folder of KQA Pro files, as by `bgr data build`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.collection.embedding import SentenceEncoder, VectorStore
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.options import PACKAGED, BuildOptions
from bgr.data.reasongraphqa.checks.shortcuts import MIN_SAMPLES, find_shortcuts
from bgr.data.reasongraphqa.construction.construct import Built, Settings, build
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.construction.recipe import HARD, RECIPES, Mixture
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.data.reasongraphqa.verbalize.seq2seq import BertScorer, Seq2seqVerbalizer
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
from bgr.errors import DataError
from bgr.models.packaged import packaged_minilm
from bgr.utils.atomic_io import is_empty
from bgr.utils.cache import ChunkCache

if TYPE_CHECKING:
    from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator


def build_dataset(options: BuildOptions) -> dict[str, Any]:
    """Build a dataset and write it to a folder. An interrupted build resumes with the sentences and vectors it has.

    Returns:
        The content of the folder's ``dataset.json``: settings, counts, questions left out, hash.

    Raises:
        DataError: the source is damaged, a setting is out of range, or the folder exists.
        CheckpointError: the verbalizer or the encoder cannot be loaded.
    """
    settings, out = _settings(options), options.out
    if out.exists() and not options.overwrite and not is_empty(out):
        raise DataError(f"{out}: exists already; give --overwrite to replace it")
    generator = None
    if options.verbalizer is not None:  # loaded first, so that a wrong name fails at once
        from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator

        generator = Seq2seqGenerator(options.verbalizer, candidates=options.verbalizer_candidates, seed=options.seed)
    print(f"reading {options.kqapro}", file=sys.stderr)
    kb = KnowledgeBase.load(options.kqapro / "kb.json", progress=True)
    source = read_questions(options.kqapro, options.questions, skip_bad=options.skip_bad, progress=True)
    encoder = load_encoder(options.similarity)
    folder = out.absolute().with_name(f"{out.absolute().name}.part")
    vectors = VectorStore(encoder, folder, key=encoder.fingerprint(), progress=True)
    verbalizer = None
    if generator is not None:
        verbalizer = Seq2seqVerbalizer(
            Verbalizer(kb, generator.seed),
            generator,
            BertScorer(encoder),
            cache=ChunkCache(folder, "sentences"),
            key=f"{generator.fingerprint()} {encoder.fingerprint()}",
            progress=True,
        )
    built = build(
        kb, source.questions, vectors, settings, verbalizer=verbalizer, malformed=source.malformed, progress=True
    )
    metadata = _metadata(built, settings, options, source.without_program)
    if generator is not None and verbalizer is not None:
        counts = verbalizer.counts(unit.facts for unit in built.database.units)
        metadata["wording"] = {**_about_generator(str(options.verbalizer), generator), **counts}
    facts = (unit.to_json(kb) for unit in built.database.units)
    enough = all(sum(e.answerable for e in examples) >= MIN_SAMPLES for examples in built.splits.values())
    measure = partial(_measure_shortcuts, options.seed) if enough else None
    full = write_dataset(out, built.splits, facts, metadata, measure=measure, overwrite=options.overwrite)
    if verbalizer is not None:
        verbalizer.clear()
    vectors.clear()
    return full


def load_encoder(similarity: str) -> SentenceEncoder:
    """The packaged sentence encoder, or the one in a folder, with which every processor selects the same facts."""
    return SentenceEncoder(packaged_minilm() if similarity == PACKAGED else similarity, precision="32")


def _settings(options: BuildOptions) -> Settings:
    recipe = RECIPES[options.recipe]
    candidates = recipe.candidates if options.candidates is None else options.candidates
    least = min(recipe.candidates_min, candidates) if options.candidates_min is None else options.candidates_min
    return Settings(
        seed=options.seed,
        candidates_min=least,
        candidates=candidates,
        joined_probability=options.joined_probability,
        limit=options.limit,
        split=options.split,
        domain=options.domain or (),
        skip_bad=options.skip_bad,
        mixture=HARD if options.hard else Mixture(*options.mixture) if options.mixture else recipe.mixture,
        recipe=options.recipe,
        unanswerable=recipe.unanswerable if options.unanswerable is None else options.unanswerable,
        parts=options.parts,
        by_hand=options.by_hand,
    )


def _about_generator(model: str, generator: Seq2seqGenerator) -> dict[str, Any]:
    return {
        "model": Path(model).name if Path(model).expanduser().is_dir() else model,
        "candidates_per_unit": generator.candidates,
        "most_tokens": generator.max_tokens,
    }


def _measure_shortcuts(seed: int, folder: Path) -> dict[str, Any]:
    return {"shortcuts": find_shortcuts(folder, seed=seed, progress=True).to_json()}


def _metadata(built: Built, settings: Settings, options: BuildOptions, without: int) -> dict[str, Any]:
    source, licence = "KQA Pro", "CC BY-SA 4.0 (KQA Pro 1.0), if the files are KQA Pro's"
    if (options.kqapro / "atlas.json").exists():
        source, licence = "Atlas", "of the data packages named in the source's atlas.json"
    return {
        "name": "ReasonGraphQA",
        "source": source,
        "licence": licence,
        **({"questions": options.questions.name} if options.questions else {}),
        "recipe": str(RECIPES[settings.recipe]),
        "settings": asdict(settings),
        "similarity": PACKAGED if options.similarity == PACKAGED else Path(options.similarity).name,
        "counts": {name: len(examples) for name, examples in built.splits.items()},
        "unanswerable": sum(not example.answerable for part in built.splits.values() for example in part),
        "facts": {"units": len(built.database.units), "gold": sum(unit.gold for unit in built.database.units)},
        "distractors": built.distractors,
        "tried": built.tried,
        "without_program": without,
        "dropped": built.drop_report(),
    }
