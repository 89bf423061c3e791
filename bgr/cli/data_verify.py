"""Check a finished dataset: valid samples, unique ids, candidates of its own database, its hash, fair distractors, and
an Arrow form that holds the same.

bgr data verify dataset

A distractor must not entail a gold fact of its question: the same triple, the same head and key with the same value, or
a qualifier that tells it. The exit code is 1 when something is wrong; one line says what, and in which sample.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.errors import DataError

if TYPE_CHECKING:
    from bgr.data.reasongraphqa.checks.entailment import Entailments
    from bgr.data.reasongraphqa.checks.verify import Verified


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a dataset")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> None:
    from bgr.data.reasongraphqa.checks.arrow import check_arrow
    from bgr.data.reasongraphqa.checks.verify import verify_dataset

    verified = verify_dataset(args.folder, progress=True)
    found = verified.entailments
    if args.json:
        print(json.dumps(verified.to_json(), indent=2, ensure_ascii=False))
    if found.total:
        raise DataError(_entailing(args.folder, found))
    check_arrow(args.folder, progress=True)
    if not args.json:
        print(_summary(args.folder, verified))


def _entailing(folder: Path, found: Entailments) -> str:
    kinds = ", ".join(f"{count} {how}" for how, count in found.counts.items() if count)
    return (
        f"{folder}: {found.total} of {found.distractors} distractors entail a gold fact ({kinds}); "
        f"the first: {found.examples[0]}"
    )


def _summary(folder: Path, verified: Verified) -> str:
    found = verified.entailments
    lines = [f"{folder}: " + ", ".join(f"{count:,} {split}" for split, count in verified.counts.items())]
    lines.append(f"facts: {verified.facts:,} sentences, every candidate is among them")
    lines.append(f"distractors: {found.distractors:,}, none entails a gold fact")
    if found.unknown:
        lines.append(f"not judged: {found.unknown:,} distractors, whose triples the dataset does not hold")
    lines.append(f"sha256: {verified.sha256}")
    return "\n".join(lines)
