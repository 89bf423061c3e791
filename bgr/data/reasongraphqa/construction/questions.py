"""Questions of KQA Pro (or Atlas): read from their files and grounded in facts (paper, section 3.1.1).

Every program is checked before any costly work starts. `ground` gives a question's gold facts and their graph, or the
reason that it is dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from bgr.data.json_stream import read_items
from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.kb.provenance import TooManyFactsError
from bgr.data.kb.schema import Fact, parse_date
from bgr.errors import DataError, GraphError, ProgramError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.utils.json_utils import is_text, repr_short

QUESTION_FILES = ("train.json", "val.json")
PARAPHRASES = "paraphrases.json"
"""Further wordings of the questions in `QUESTION_FILES`, written by `bgr data paraphrase`; a folder may have none."""
MALFORMED = "malformed record"
UNREACHABLE = "a fact cannot be reached from the question"

MAX_FACTS = 24
MAX_DETAIL = 300
"""Maximum number of characters of a question, and of the detail about it, in a report."""

TYPE_OF_FUNCTION = {
    **dict.fromkeys(("What", "QueryAttr", "QueryAttrUnderCondition", "QueryRelation"), "query"),
    **dict.fromkeys(("SelectBetween", "SelectAmong"), "comparison"),
    "Count": "count",
    **dict.fromkeys(("VerifyStr", "VerifyNum", "VerifyYear", "VerifyDate"), "boolean"),
    **dict.fromkeys(("QueryAttrQualifier", "QueryRelationQualifier"), "qualifier"),
}
"""Question type by a program's last function (paper, section 3.3)."""


@dataclass(frozen=True)
class Question:
    """A record of a KQA Pro file with a checked program; `where` names file and item in messages.

    Atlas' questions also have `phrasings`, the templates of their words; `paraphrase_of` is the id of the question of
    which this is a further wording, `part_of` those of the questions that this asks for a part of.
    """

    id: str
    where: str
    text: str
    answer: str
    program: Program
    phrasings: tuple[str, ...] = ()
    paraphrase_of: str | None = None
    part_of: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The same for all wordings of a question."""
        return self.paraphrase_of or self.id

    @classmethod
    def from_json(cls, record: Any, id: str, where: str) -> Question:
        """Read ``{question, program, answer, …}``, ``phrasings`` if the record has them, and of a paraphrase ``id`` and
        ``paraphrase_of``.

        Raises:
            DataError: a field is missing or has another type.
            ProgramError: the program is malformed.
        """
        if not isinstance(record, Mapping):
            raise DataError(f"{where}: a question is an object, not {repr_short(record)}")
        for field in ("question", "program", "answer"):
            if field not in record:
                raise DataError(f"{where}: field {field!r} is missing")
        answer = record["answer"]
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            answer = str(answer)  # some files have numbers
        texts = {"question": record["question"], "answer": answer}
        for field, given in texts.items():
            if not is_text(given) or not given.strip():
                raise DataError(
                    f"{where}: {field} is {repr_short(given)}, allowed: a non-empty text of valid characters"
                )
        text, answer = (" ".join(given.split()) for given in texts.values())
        phrasings = record.get("phrasings", [])
        if not isinstance(phrasings, list) or not all(is_text(given) and given for given in phrasings):
            raise DataError(f"{where}: phrasings is {repr_short(phrasings)}, allowed: a list of non-empty texts")
        original = record.get("paraphrase_of")
        if original is not None:
            for field in ("id", "paraphrase_of"):
                if not is_text(record.get(field)) or not record[field].strip():
                    raise DataError(f"{where}: {field} is {repr_short(record.get(field))}, allowed: a non-empty text")
            id = record["id"]
        return cls(id, where, text, answer, Program.from_json(record["program"], where), tuple(phrasings), original)


@dataclass(frozen=True)
class Dropped:
    """A question that is left out: `reason` is the same phrase for all of its kind, `detail` is about this question."""

    where: str
    reason: str
    detail: str


@dataclass(frozen=True)
class Questions:
    """The questions of a folder, the malformed ones (if they may be skipped) and the number without a program."""

    questions: tuple[Question, ...]
    malformed: tuple[Dropped, ...]
    without_program: int


def read_questions(
    folder: str | Path, file: Path | None = None, *, skip_bad: bool = False, progress: bool = False
) -> Questions:
    """Read ``train.json`` and ``val.json``, or another file; ``test.json`` has no programs and is only counted.

    ``paraphrases.json``, if there is one, has further wordings of these questions. The files are read item by item:
    only the question, its answer and its checked program stay in memory.

    Args:
        folder: folder of the files; at least one of the two must exist.
        file: questions to read instead of those of the folder.
        skip_bad: return malformed records separately instead of raising.

    Raises:
        DataError: no such file, not a list, invalid JSON, or no record; a record that lacks a field, or a paraphrase
            whose original is missing or has another program (unless `skip_bad`).
        ProgramError: a malformed program (unless `skip_bad`); the message names file, item and step.
    """
    folder = Path(folder)
    known: dict[str, Question] = {}
    malformed: list[Dropped] = []
    files = [*question_files(folder), folder / PARAPHRASES] if file is None else [_existing(file)]
    for id, where, record in numbered_records(files, progress=progress):
        try:
            question = Question.from_json(record, id, where)
            _check_paraphrase(question, known)
            known[question.id] = question
        except (DataError, ProgramError) as error:
            if not skip_bad:
                raise
            malformed.append(Dropped(where, MALFORMED, str(error)))
    if not known and not malformed:
        raise DataError(f"{file or folder}: has no questions")
    unanswered = folder / "test.json"
    without = sum(1 for _ in read_items(unanswered, progress=progress)) if unanswered.exists() else 0
    return Questions(tuple(known.values()), tuple(malformed), without)


def question_files(folder: Path) -> list[Path]:
    """The files of a folder in KQA Pro's form that have programs; DataError if there is none."""
    files = [folder / name for name in QUESTION_FILES if (folder / name).exists()]
    if not files:
        raise DataError(f"{folder}: has no questions, expected {' or '.join(QUESTION_FILES)}")
    return files


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    return file


def numbered_records(files: Iterable[Path], *, progress: bool = False) -> Iterator[tuple[str, str, Any]]:
    """The records of the files that exist, unchecked, each with its id and its place in messages."""
    for file in files:
        for index, record in enumerate(read_items(file, progress=progress) if file.exists() else ()):
            yield f"{file.stem}-{index:06d}", f"{file}: item {index}", record


def _check_paraphrase(question: Question, known: Mapping[str, Question]) -> None:
    """A paraphrase must have the program and the answer of its original: the files may have been made anew."""
    if question.id in known:
        raise DataError(f"{question.where}: id {repr_short(question.id)} is that of {known[question.id].where}")
    if question.paraphrase_of is None:
        return
    original = known.get(question.paraphrase_of)
    if original is None or original.paraphrase_of is not None:
        why = "is no question before it" if original is None else "is a paraphrase itself"
        raise DataError(f"{question.where}: paraphrase_of {repr_short(question.paraphrase_of)} {why}")
    if (original.program, original.answer) != (question.program, question.answer):
        raise DataError(f"{question.where}: has another program or answer than its original, {original.where}")


def grouped(questions: Iterable[Question]) -> list[list[int]]:
    """The numbers of the questions by group, the wordings of one question, in order of first appearance."""
    groups: dict[str, list[int]] = {}
    for number, question in enumerate(questions):
        groups.setdefault(question.group, []).append(number)
    return list(groups.values())


@dataclass(frozen=True)
class Grounded:
    """A question with the facts that support its answer; `graph` numbers `facts` from 0."""

    question: Question
    facts: tuple[Fact, ...]
    graph: EvidenceGraph
    type: str


def ground(question: Question, executor: Executor) -> Grounded | Dropped:
    """Execute a question's program, compare the answers, and check the constraints of the paper's section 3.2.

    Raises:
        ProgramError: the program uses an entity, concept, relation or key that is not in the knowledge base.
    """
    executor.check_names(question.program)

    def drop(reason: str, detail: str) -> Dropped:
        return Dropped(question.where, reason, f"{_cut(question.text)} ({_cut(detail)})")

    try:
        # without the limit, a count over thousands of entities would have millions of edges
        execution = executor.run(question.program, strict=False, max_facts=MAX_FACTS)
    except TooManyFactsError as error:
        return drop(f"more than {MAX_FACTS} facts", str(error))
    except ProgramError as error:
        return drop("the program cannot be executed", str(error))
    answers = execution.answers
    if not answers:
        return drop("no answer", f"annotated: {question.answer}")
    if len(answers) > 1:
        return drop("several answers", f"executed: {', '.join(answers[:5])}; annotated: {question.answer}")
    if not same_answer(answers[0], question.answer):
        return drop("another answer", f"executed: {answers[0]}; annotated: {question.answer}")
    if not execution.facts:
        return drop("no fact", f"answer: {question.answer}")
    try:
        graph = EvidenceGraph(execution.edges)
    except GraphError as error:
        cyclic = any(b == ROOT for _, b in execution.edges) or not nx.is_directed_acyclic_graph(
            nx.DiGraph(execution.edges)
        )
        return drop("the graph has a cycle" if cyclic else UNREACHABLE, str(error))
    if len(graph.nodes) != len(execution.facts):
        lost = sorted(set(range(len(execution.facts))) - set(graph.nodes))
        return drop(UNREACHABLE, f"facts {lost} have no edge")
    last = question.program.steps[-1].function
    return Grounded(question, execution.facts, graph, TYPE_OF_FUNCTION[last])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DETAIL else f"{text[: MAX_DETAIL - 1]}…"


# possessive quantifiers, so that answers of a hundred thousand digits do not cause backtracking
_NUMBER = re.compile(r"([-+]?(?:[\d,]*+(?<=\d)|[\d,]*+\.\d+)(?:[eE][-+]?\d+)?)(?: (.+))?")


def same_answer(executed: str, annotated: str) -> bool:
    """True if KoPL's printed answer equals KQA Pro's annotation.

    Texts are compared without case and extra spaces, dates as dates, and numbers, with equal units, by value.
    """
    a, b = (" ".join(text.casefold().split()) for text in (executed, annotated))
    if a == b:
        return True
    dates = _date(a), _date(b)
    if None not in dates:
        return dates[0] == dates[1]
    left, right = _number(a), _number(b)
    if left is None or right is None:
        return False
    # KoPL prints a number within 1e-5 of an integer as that integer
    return left[1] == right[1] and math.isclose(left[0], right[0], rel_tol=1e-6, abs_tol=1e-5)


def _date(text: str) -> str | None:
    try:
        return parse_date(text).isoformat()
    except DataError:
        return None


def _number(text: str) -> tuple[float, str] | None:
    match = _NUMBER.fullmatch(text)
    number = float(match[1].replace(",", "")) if match else math.inf
    return (number, match[2] or "") if match and math.isfinite(number) else None
