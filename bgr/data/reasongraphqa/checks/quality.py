"""Quality of a dataset's sentences: automatic checks of a sample, beside the paper's numbers (section 3.4).

In the paper, people judged 2,000 facts, for which see `marking`. The checks here test fluency and faithfulness to the
triples by string matching; sufficiency is left to people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, median
from typing import Any

from tqdm import tqdm

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.options import QualityOptions
from bgr.data.reasongraphqa.checks.marking import Marks, read_marks, write_sheet
from bgr.data.reasongraphqa.checks.quality_checks import ADDED, FLUENCY, parse
from bgr.data.reasongraphqa.io.fact_records import FactRecord, FactSample, sample_facts
from bgr.data.reasongraphqa.verbalize.verbalizer import missing_parts
from bgr.errors import DataError

PAPER = {"facts": 2000, "fluent": 1966, "faithful": 1978}
"""As printed in section 3.4: 34 facts with repeated text, 22 with added information."""

MISSING = "missing part"
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class FailedFact:
    """A fact that failed a check, and the problem that was found."""

    id: str
    sentence: str
    found: str


@dataclass(frozen=True)
class CheckResult:
    """The number of the `checked` sentences that failed one check, with the first few."""

    name: str
    criterion: str
    checked: int
    count: int
    examples: tuple[FailedFact, ...]

    @property
    def share(self) -> float:
        """The failed share of the checked sentences, 0 to 1; 0 if none was checked."""
        return self.count / self.checked if self.checked else 0.0


@dataclass(frozen=True)
class Lengths:
    """Lengths of sentences in words, which are separated by spaces.

    `p95` is the smallest length that at least 95 % of the sentences do not exceed.
    """

    mean: float
    median: float
    p95: int
    longest: int
    longest_id: str

    @classmethod
    def of(cls, records: Sequence[FactRecord]) -> Lengths:
        counts = [len(record.sentence.split()) for record in records]
        longest = max(range(len(counts)), key=counts.__getitem__)
        p95 = sorted(counts)[math.ceil(0.95 * len(counts)) - 1]
        return cls(fmean(counts), median(counts), p95, counts[longest], records[longest].id)


@dataclass(frozen=True)
class QualityReport:
    """Result of the checks, with the marks of completed sheets if any were given.

    Args:
        facts, total: number of sentences that were checked, and of those in the dataset.
        seed: seed of the sample.
        gold: number of checked sentences that some question needs.
        with_triples: number of checked sentences with triples; the others are checked only for fluency.
        fluent: number of sentences that pass every check of fluency.
        faithful: number of sentences with triples that pass every check of faithfulness.
    """

    facts: int
    total: int
    seed: int
    gold: int
    with_triples: int
    fluent: int
    faithful: int
    checks: tuple[CheckResult, ...]
    lengths: Lengths
    marks: Marks | None = None

    def to_json(self) -> dict[str, Any]:
        checks = [{**asdict(check), "share": check.share} for check in self.checks]
        found = {**asdict(self), "checks": checks, "paper": PAPER}
        del found["marks"]
        if self.marks is not None:
            criteria = [asdict(agreement) for agreement in self.marks.agreement()]
            found["marks"] = {"sheets": self.marks.sheets, "facts": len(self.marks.ids), "criteria": criteria}
        return found

    def text(self) -> str:
        """The report in plain text, with the paper's numbers."""
        lines = [f"{self.facts:,} of {self.total:,} facts ({self.gold:,} of them gold), seed {self.seed}"]
        for name, count, of in (("fluent", self.fluent, self.facts), ("faithful", self.faithful, self.with_triples)):
            paper = f"paper, by hand: {PAPER[name] / PAPER['facts']:.1%} of {PAPER['facts']:,}"
            lines.append(f"  {name.ljust(18)} {_share(count, of)}   ({paper})")
        lines.append("failed:")
        for check in self.checks:
            lines.append(f"  {check.name.ljust(18)} {_share(check.count, check.checked)}")
            lines += [f"    {example.id}  {example.found}: {example.sentence}" for example in check.examples]
        if self.with_triples < self.facts:
            lines.append(f"{self.facts - self.with_triples:,} facts have no triples and are checked only for fluency")
        words = self.lengths
        spread = f"mean {words.mean:.1f}, median {words.median:g}, 95 % up to {words.p95}, longest {words.longest}"
        lines.append(f"words: {spread} ({words.longest_id})")
        if self.marks is not None:
            lines.append(f"marks of {len(self.marks.ids):,} facts, {len(self.marks.sheets)} sheet(s):")
            lines += [f"  {agreement.text()}" for agreement in self.marks.agreement()]
        return "\n".join(lines)


def quality_report(sample: FactSample, *, progress: bool = False) -> QualityReport:
    """Run every check on every sentence of a sample (which has at least one)."""
    records = sample.records
    # a knowledge base of only the sample's names, for the verbalizer's own test of completeness
    names = {node: name for record in records for node, name in record.names.items()}
    empty: Mapping[str, Any] = {"instanceOf": [], "attributes": [], "relations": []}
    kb = KnowledgeBase({"concepts": {}, "entities": {node: {"name": name, **empty} for node, name in names.items()}})
    failures: dict[str, list[FailedFact]] = {name: [] for name in (*FLUENCY, MISSING, *ADDED)}
    fluent = faithful = 0
    for record in tqdm(records, desc="checking", unit="fact", disable=not progress, delay=2):
        found = _failures(kb, record)
        for name, detail in found.items():
            failures[name].append(FailedFact(record.id, record.sentence, detail))
        fluent += not any(name in FLUENCY for name in found)
        faithful += bool(record.facts) and all(name in FLUENCY for name in found)
    with_triples = sum(bool(record.facts) for record in records)
    checks = []
    for name, failed in failures.items():
        criterion, checked = ("fluency", len(records)) if name in FLUENCY else ("faithfulness", with_triples)
        checks.append(CheckResult(name, criterion, checked, len(failed), tuple(failed[:MAX_EXAMPLES])))
    return QualityReport(
        facts=len(records),
        total=sample.total,
        seed=sample.seed,
        gold=sum(record.gold for record in records),
        with_triples=with_triples,
        fluent=fluent,
        faithful=faithful,
        checks=tuple(checks),
        lengths=Lengths.of(records),
    )


def _failures(kb: KnowledgeBase, record: FactRecord) -> dict[str, str]:
    """The problem that each failed check found."""
    parsed = parse(record)
    found = {name: check(parsed) for name, check in FLUENCY.items()}
    if record.facts:
        found[MISSING] = ", ".join(missing_parts(kb, record.sentence, record.facts)) or None
        found |= {name: check(parsed) for name, check in ADDED.items()}
    return {name: detail for name, detail in found.items() if detail is not None}


def _share(count: int, checked: int) -> str:
    return f"{count:6,} of {checked:,} ({count / checked:.1%})" if checked else "not checked"


def check_quality(options: QualityOptions) -> QualityReport:
    """Check a sample of a dataset's facts, read completed sheets, and write a sheet of the sample for human marks.

    Raises:
        DataError: a file is missing or damaged, or the sheet exists.
    """
    sheet, paths = options.sheet, options.marks
    if sheet and paths and sheet in paths:
        raise DataError(f"{sheet}: given both as --sheet and as --marks, which would overwrite the marks")
    marks = read_marks(paths) if paths else None
    sample = sample_facts(options.folder, options.facts, options.seed)
    if sheet:
        write_sheet(sample.records, sheet, overwrite=options.overwrite)
    return replace(quality_report(sample, progress=True), marks=marks)
