"""The option `--verbalizer`: a model that words the facts in place of the templates."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgr.collection.embedding import SentenceEncoder
    from bgr.data.kb.knowledge_base import KnowledgeBase
    from bgr.data.reasongraphqa.build.construct import Built
    from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator
    from bgr.data.reasongraphqa.verbalize.seq2seq import Seq2seqVerbalizer


def add_verbalizer_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--verbalizer",
        metavar="FOLDER|ID",
        help="an encoder-decoder such as T5 that words the facts, e.g. of `bgr train verbalizer` (default: templates)",
    )
    parser.add_argument(
        "--verbalizer-candidates", type=int, default=4, metavar="N", help="sentences it draws for a fact (default: 4)"
    )


def load_generator(args: argparse.Namespace) -> Seq2seqGenerator | None:
    """The model; ``None`` for templates. Nothing else is needed, so that a wrong name fails at once."""
    if args.verbalizer is None:
        return None
    from bgr.data.reasongraphqa.verbalize.generator import Seq2seqGenerator

    return Seq2seqGenerator(args.verbalizer, candidates=args.verbalizer_candidates, seed=args.seed)


def make_verbalizer(
    generator: Seq2seqGenerator, kb: KnowledgeBase, encoder: SentenceEncoder, folder: Path
) -> Seq2seqVerbalizer:
    """Selects by BERTScore of the encoder; keeps what is worded in the folder until the dataset is written."""
    from bgr.data.reasongraphqa.verbalize.selection import BertScorer
    from bgr.data.reasongraphqa.verbalize.seq2seq import OutcomeStore, Seq2seqVerbalizer
    from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer

    store = OutcomeStore(folder, key=f"{generator.fingerprint()} {encoder.fingerprint()}")
    templates = Verbalizer(kb, generator.seed)
    return Seq2seqVerbalizer(templates, generator, BertScorer(encoder), store=store, progress=True)


def wording_sheet(source: str, generator: Seq2seqGenerator, words: Seq2seqVerbalizer, built: Built) -> dict[str, Any]:
    """What the dataset's sheet says of the model, and of the textual database's units."""
    return {
        "model": Path(source).name if Path(source).expanduser().is_dir() else source,
        "candidates_per_unit": generator.candidates,
        "most_tokens": generator.max_tokens,
        **words.counts(unit.facts for unit in built.database.units),
    }


def wording_line(sheet: dict[str, Any]) -> str:
    """The same for the terminal."""
    return (
        f"worded by {sheet['model']}: {sheet['by_the_model']:,} of {sheet['units']:,} sentences, the others by "
        f"templates; of {sheet['candidates']:,} candidates {sheet['candidates_incomplete']:,} lacked a part, "
        f"{sheet['candidates_unfinished']:,} did not end"
    )
