"""Build ReasonGraphQA: questions with programs become evidence graphs over sentences.

bgr data build --kqapro atlas --out dataset --limit 2500
bgr data build --kqapro path/to/KQAPro --out dataset --split composition --hard

bgr data build --kqapro atlas --out dataset --verbalizer path/to/t5

An interrupted build, started again, goes on with the sentences and their vectors it has.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.verbalizer_option import (
    add_verbalizer_options,
    load_generator,
    make_verbalizer,
    wording_line,
    wording_sheet,
)
from bgr.data.reasongraphqa.build.splits import SPLIT_METHODS
from bgr.errors import DataError

if TYPE_CHECKING:
    from bgr.collection.embedding import SentenceEncoder
    from bgr.data.reasongraphqa.build.construct import Built, Settings

PACKAGED = "minilm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kqapro", type=Path, required=True, metavar="DIR", help="kb.json with train.json and val.json"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--limit", type=int, metavar="N", help="a random part of N questions (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="draws everything (default: 0)")
    parser.add_argument("--candidates", type=int, default=25, metavar="N", help="most per question (default: 25)")
    parser.add_argument("--candidates-min", type=int, metavar="N", help="fewest per question (default: 20)")
    parser.add_argument(
        "--joined-probability", type=float, default=0.15, metavar="P", help="facts joined by 1 or 2 more"
    )
    mixture = parser.add_mutually_exclusive_group()
    mixture.add_argument(
        "--mixture",
        type=float,
        nargs=3,
        metavar=("A", "B", "C"),
        help="shares of distractors (a) similar to the question, (b) about the same head, (c) random "
        "(default: a third each)",
    )
    mixture.add_argument("--hard", action="store_true", help="more of (a) and (b): 0.45 0.45 0.1")
    parser.add_argument("--similarity", default=PACKAGED, metavar=f"{PACKAGED}|FOLDER", help="sentence encoder")
    add_verbalizer_options(parser)
    parser.add_argument("--split", default="random", choices=SPLIT_METHODS, help="default: random")
    parser.add_argument("--skip-bad", action="store_true", help="count malformed questions instead of stopping")
    parser.add_argument("--overwrite", action="store_true", help="replace the folder if it exists")
    parser.add_argument("--json", action="store_true", help="print the sheet as JSON")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.embedding import VectorStore
    from bgr.data.kb.knowledge_base import KnowledgeBase
    from bgr.data.reasongraphqa.build.construct import Settings, build
    from bgr.data.reasongraphqa.build.interference import HARD, THIRDS, Mixture
    from bgr.data.reasongraphqa.build.questions import read_questions
    from bgr.data.reasongraphqa.io.dataset import write_dataset

    least = min(20, args.candidates) if args.candidates_min is None else args.candidates_min
    mixture = HARD if args.hard else Mixture(*args.mixture) if args.mixture else THIRDS
    settings = Settings(
        args.seed, least, args.candidates, args.joined_probability, args.limit, args.split, args.skip_bad, mixture
    )
    if args.out.exists() and not args.overwrite and (not args.out.is_dir() or any(args.out.iterdir())):
        raise DataError(f"{args.out}: exists already; give --overwrite to replace it")
    generator = load_generator(args)
    print(f"reading {args.kqapro}", file=sys.stderr)
    kb = KnowledgeBase.load(args.kqapro / "kb.json", progress=True)
    source = read_questions(args.kqapro, skip_bad=args.skip_bad, progress=True)
    encoder = _encoder(args.similarity)
    folder = args.out.absolute().with_name(f"{args.out.absolute().name}.part")
    vectors = VectorStore(encoder, folder, key=encoder.fingerprint(), progress=True)
    words = make_verbalizer(generator, kb, encoder, folder) if generator is not None else None
    built = build(kb, source.questions, vectors, settings, verbalizer=words, malformed=source.malformed, progress=True)
    sheet = _sheet(built, settings, args.similarity, source.without_program, args.kqapro)
    if generator is not None and words is not None:
        sheet["wording"] = wording_sheet(args.verbalizer, generator, words, built)
    facts = (unit.to_json(kb) for unit in built.database.units)
    full = write_dataset(args.out, built.splits, facts, sheet, overwrite=args.overwrite)
    if words is not None:
        words.clear()
    vectors.clear()
    print(json.dumps(full, indent=2, ensure_ascii=False) if args.json else _summary(full, args.out))


def _encoder(similarity: str) -> SentenceEncoder:
    from bgr.collection.embedding import SentenceEncoder
    from bgr.models.packaged import packaged_minilm

    return SentenceEncoder(packaged_minilm() if similarity == PACKAGED else similarity)


def _sheet(built: Built, settings: Settings, similarity: str, without: int, source: Path) -> dict[str, Any]:
    atlas = source / "atlas.json"
    return {
        "name": "ReasonGraphQA",
        "source": "Atlas" if atlas.exists() else "KQA Pro",
        "licence": "of the data packages named in the source's atlas.json"
        if atlas.exists()
        else "CC BY-SA 4.0 (KQA Pro 1.0), if the files are KQA Pro's",
        "settings": asdict(settings),
        "similarity": PACKAGED if similarity == PACKAGED else Path(similarity).name,
        "counts": {name: len(examples) for name, examples in built.splits.items()},
        "facts": {"units": len(built.database.units), "gold": sum(unit.gold for unit in built.database.units)},
        "distractors": built.distractors,
        "tried": built.tried,
        "without_program": without,
        "dropped": built.drop_report(),
    }


def _summary(sheet: dict[str, Any], out: Path) -> str:
    lines = [f"{out}: " + ", ".join(f"{count:,} {name}" for name, count in sheet["counts"].items())]
    lines.append(f"facts: {sheet['facts']['units']:,} sentences, {sheet['facts']['gold']:,} of them gold")
    lines.append("distractors: " + ", ".join(f"{count:,} {kind}" for kind, count in sheet["distractors"].items()))
    if "wording" in sheet:
        lines.append(wording_line(sheet["wording"]))
    if sheet["without_program"]:
        lines.append(f"without program (test.json): {sheet['without_program']:,}")
    dropped = sum(entry["count"] for entry in sheet["dropped"].values())
    lines.append(f"dropped: {dropped:,} of {sheet['tried']:,}")
    for reason, entry in sheet["dropped"].items():
        lines.append(f"  {entry['count']:,}: {reason}, for example")
        lines += [f"    {example}" for example in entry["examples"]]
    lines.append(f"sha256: {sheet['sha256']}")
    return "\n".join(lines)
