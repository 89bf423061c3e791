"""Paraphrases of questions by a language model: further wordings with the same program and answer.

The model reads the meaning of the program beside the question, so that a question with an unclear wording is not
paraphrased into another unclear one. Replies are kept by the replay cache, which is what makes a run resumable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from bgr.data.options import ParaphraseOptions
from bgr.data.reasongraphqa.construction.questions import Question, numbered_records, question_files
from bgr.data.reasongraphqa.paraphrase.attested import Attested
from bgr.data.reasongraphqa.paraphrase.check import find_problem
from bgr.data.reasongraphqa.paraphrase.prompt import PROMPTS, request
from bgr.errors import DataError
from bgr.llm.backends.loading import load_with_replay
from bgr.llm.failures import FailureLimit
from bgr.llm.language_model import LanguageModel, Reply, each_batch
from bgr.llm.options import MAX_FAILURE_SHARE
from bgr.llm.prompts import prompts_hash
from bgr.llm.usage import Usage
from bgr.utils.atomic_io import replaced, write_json, writing


@dataclass(frozen=True)
class Source:
    """A question with its record, which a paraphrase repeats but for the text."""

    question: Question
    record: Mapping[str, Any]


@dataclass(frozen=True)
class Rejected:
    """A wording that is left out, and why."""

    id: str
    text: str
    reason: str


@dataclass
class Paraphrased:
    """The results of a run.

    Args:
        model: name of the language model.
        questions: number of questions that were asked for.
        records: the accepted paraphrases in KQA Pro's form, in the order of the questions.
        rejected: the other wordings.
        failures: questions without a usable reply, by id, with one line each.
        usage: usage of all calls.
    """

    model: str
    questions: int
    records: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @property
    def reasons(self) -> dict[str, int]:
        """The number of rejected wordings by reason, most frequent first."""
        counts = Counter(one.reason for one in self.rejected)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def rejected_share(self) -> float:
        """Rejected wordings as a share of all; 0 if there are none."""
        return len(self.rejected) / max(1, len(self.records) + len(self.rejected))

    def to_json(self) -> dict[str, Any]:
        """All but the records and the usage; equal for equal replies."""
        return {
            "model": self.model,
            "prompts": prompts_hash(PROMPTS),
            "questions": self.questions,
            "accepted": len(self.records),
            "rejected": len(self.rejected),
            "rejected_share": round(self.rejected_share, 4),
            "reasons": self.reasons,
            "failures": self.failures,
            "rejected_texts": [vars(one) for one in self.rejected],
        }

    def text(self) -> str:
        """The counts, for people."""
        lines = [
            f"{len(self.records):,} paraphrases of {len({one['paraphrase_of'] for one in self.records}):,} of "
            f"{self.questions:,} questions",
            f"rejected: {len(self.rejected):,} wordings ({self.rejected_share:.0%})",
            *(f"  {count:,}: {reason}" for reason, count in self.reasons.items()),
        ]
        if self.failures:
            id, why = next(iter(self.failures.items()))
            lines.append(f"without a usable reply: {len(self.failures):,} questions; the first, {id}: {why}")
        usage = self.usage
        lines.append(
            f"calls: {usage.calls:,}, from the cache: {usage.cached:,}, failed: {usage.failed:,}; tokens read "
            f"{usage.tokens_in:,}, written {usage.tokens_out:,}; {usage.seconds:.0f} s"
        )
        return "\n".join(lines)


def paraphrase(options: ParaphraseOptions) -> Paraphrased:
    """Ask a language model for paraphrases, and write the accepted ones and a report.

    The file has the form of KQA Pro's questions, with the fields ``id`` and ``paraphrase_of``; the report, beside it
    as ``NAME.report.json``, has the counts and every rejected wording. Both are written at the end.

    Raises:
        DataError: the source is missing or malformed, or a file exists or cannot be written.
        BgrError: as the language model raises; replies so far are kept.
    """
    out = options.out
    if out.is_dir():
        raise DataError(f"{out}: is a folder; name a file")
    if out.exists() and not options.overwrite:
        raise DataError(f"{out}: exists already; give --overwrite to replace it")
    known = read_sources(options.source)
    sources = choose(known, options.samples, options.seed)
    attested = Attested((one.question for one in known), options.attested) if options.attested else None
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with closing(load_with_replay(options, out.with_name(f"{out.name}.replies.db"))) as llm:
        found = ask(
            sources, llm, model=llm.backend.name, wordings=options.wordings, seed=options.seed, batch=options.batch,
            attested=attested, max_failure_share=options.max_failure_share, progress=True,
        )  # fmt: skip
    about = {"wordings": options.wordings, "attested": options.attested, "seed": options.seed, **found.to_json()}
    write_json(out.with_name(f"{out.stem}.report.json"), about)
    write_records(out, found.records)
    return found


def read_sources(path: Path) -> list[Source]:
    """The questions of a folder in KQA Pro's form or of one file, without those that are paraphrases.

    Raises:
        DataError: no such file or folder, or a malformed record, with its place.
        ProgramError: a malformed program.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    found = []
    for id, where, record in numbered_records(question_files(path) if path.is_dir() else [path], progress=True):
        question = Question.from_json(record, id, where)
        if question.paraphrase_of is None:
            found.append(Source(question, record))
    if not found:
        raise DataError(f"{path}: has no questions")
    return found


def choose(sources: Sequence[Source], count: int | None, seed: int) -> list[Source]:
    """Random questions in the order of the source; a larger `count` adds to those of a smaller one."""
    order = list(range(len(sources)))
    Random(f"{seed}|paraphrase").shuffle(order)
    return [sources[number] for number in sorted(order[:count])]


def ask(
    sources: Sequence[Source],
    llm: LanguageModel,
    *,
    model: str,
    wordings: int = 2,
    seed: int = 0,
    batch: int = 16,
    attested: Attested | None = None,
    max_failure_share: float = MAX_FAILURE_SHARE,
    progress: bool = False,
) -> Paraphrased:
    """Ask for paraphrases of each question and check them; a question without a usable reply is a failure.

    Raises:
        BgrError: too many calls failed, or raised by `llm` (the model cannot be reached, a reply is missing in
            replay-only mode).
    """
    found = Paraphrased(model, len(sources))
    replies: dict[int, Reply] = {}
    # the prompts of questions that end alike begin alike, which a server with a cache of prompts reads only once
    order = sorted(range(len(sources)), key=lambda number: sources[number].question.program.steps[-1].function)
    limit = FailureLimit(max_failure_share, len(sources))

    def ask_part(part: Sequence[int]) -> list[Reply]:
        return llm.ask([request(sources[number].question, wordings, seed) for number in part])

    with tqdm(total=len(sources), desc="paraphrase", unit="question", disable=not progress) as bar:
        for part, asked in each_batch(llm, order, batch, ask_part):
            replies.update(zip(part, asked, strict=True))
            failures = [reply.failure for reply in asked if reply.usage.unanswered]
            limit.add(len(failures), failures[0] if failures else None)
            bar.update(len(part))
    for number, source in enumerate(sources):
        _add(found, source, replies[number], attested)
    return found


def _add(found: Paraphrased, source: Source, reply: Reply, attested: Attested | None) -> None:
    """Sort the wordings of a reply into accepted and rejected ones."""
    question = source.question
    found.usage += reply.usage
    if reply.failure is not None:
        found.failures[question.id] = reply.failure
        return
    accepted: list[str] = []
    for given in reply.value["questions"]:
        text = " ".join(given.split())
        reason = find_problem(question, text, accepted, attested)
        if reason is not None:
            found.rejected.append(Rejected(question.id, text, reason))
            continue
        accepted.append(text)
        names = {"id": f"{question.id}-p{len(accepted)}", "paraphrase_of": question.id}
        # its words are not those of Atlas' templates
        record = {key: value for key, value in source.record.items() if key != "phrasings"}
        found.records.append({**record, **names, "question": text})


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write a list, a record on each line; DataError if the file cannot be written."""
    with replaced(path) as file:
        file.writelines(_lines(records))


def _lines(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "["
    for number, record in enumerate(records):
        yield f"{',' if number else ''}\n{json.dumps(record, ensure_ascii=False)}"
    yield "\n]\n"
