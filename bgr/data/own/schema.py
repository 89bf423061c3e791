"""A line of own data: a question with its facts, and what is known of its evidence.

    {"question": "Who wrote …?", "facts": ["…", "…"], "graph": {"nodes": [0, 1], "edges": [[0, 1]]}, "answer": "…"}
    {"question": "Who wrote …?", "facts": ["…", "…"], "evidence": [0, 1], "answer": "…"}
    {"question": "Who wrote …?", "facts": ["…", "…"], "answer": "…"}

Facts are texts (``facts``) or ids of a collection (``documents``); without both, the candidates come from the
collection. Evidence and nodes refer to facts by number from 0, by text, or by the id of a document; -1 is the question.
Lines are untrusted: every error is one line with file, line, value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bgr.collection.corpus import Corpus
from bgr.data.example import QUESTION_TYPES
from bgr.data.reasongraphqa.construction.questions import MAX_FACTS
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.records import as_record, get_flag, get_list, get_text
from bgr.errors import DataError, GraphError
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.utils.json_utils import parse_json, repr_short, text_problem
from bgr.utils.spelling import without_mark

Level = Literal["graph", "evidence", "answer", "unanswerable"]
LEVELS: tuple[Level, ...] = ("graph", "evidence", "answer", "unanswerable")
"""What a line tells of the evidence: its graph, its facts without edges, the answer alone, or that there is none."""

FIELDS = (
    "question", "facts", "documents", "graph", "evidence", "answer", "answerable", "split", "id", "type",
)  # fmt: skip

MAX_LINE = 16_000_000
"""Maximum number of characters of a line."""

MAX_CANDIDATES = 10_000
"""Maximum number of facts of a question, as `bgr ask` allows."""


@dataclass(frozen=True)
class OwnQuestion:
    """A checked line.

    Args:
        where: file and line, for messages.
        facts: the candidates, each once; only the evidence if `is_open`.
        is_open: the line names no candidates, which are to be found in the collection.
        evidence: numbers of the facts that are the evidence, in the order given; empty if it is unknown.
        graph: the graph that the line gives.
        answer: empty if it is unknown or there is none.
        repeated: number of facts that repeated an earlier one.
    """

    where: str
    id: str
    question: str
    facts: tuple[str, ...]
    is_open: bool
    level: Level
    evidence: tuple[int, ...]
    graph: EvidenceGraph | None
    answer: str
    type: str
    split: str | None
    repeated: int = 0


def read_questions(paths: Sequence[Path], corpus: Corpus | None = None) -> Iterator[OwnQuestion]:
    """The questions of files of JSON lines, one by one; blank lines are skipped.

    Args:
        corpus: the texts of the collection to which ids refer.

    Raises:
        DataError: a file cannot be read, a line is not valid, or an id is repeated; the message names file and line.
    """
    first: dict[str, str] = {}
    number = 0
    for path in paths:
        for where, line in _lines(path):
            number += 1
            found = parse_question(line, where, number, corpus)
            before = first.setdefault(found.id, where)
            if before != where:
                raise DataError(f"{where}: id {repr_short(found.id)} is also in {before}, allowed: unique ids")
            yield found
    if not number:
        raise DataError(f"{', '.join(map(str, paths))}: no questions; one JSON object a line is expected")


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        # a line is bounded, so that a file without line ends does not fill the memory; "\n" alone ends a line
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                where = f"{path}: line {number}"
                if len(line) > MAX_LINE:
                    raise DataError(f"{where}: has more than {MAX_LINE:,} characters; allowed: one question a line")
                if line.strip():
                    yield where, line
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def parse_question(line: str, where: str, number: int, corpus: Corpus | None = None) -> OwnQuestion:
    """The question in a line; without an id it is named by its `number`.

    Raises:
        DataError: the line is not valid; the message begins with `where`.
    """
    record = as_record(parse_json(line.strip(), where), where)
    for name in record:
        if name not in FIELDS:
            raise DataError(f"{where}: unknown field {repr_short(name)}, allowed: {', '.join(FIELDS)}")
    level = _level(record, where)
    names = _Names.of(record, where, corpus)
    evidence, graph = _evidence(record, where, level, names)
    answer = _answer(record, where, level)
    question = _filled(record, "question", where)
    return OwnQuestion(
        where,
        _filled(record, "id", where) if "id" in record else f"q{number:06d}",
        question,
        tuple(names.facts),
        names.is_open,
        level,
        evidence,
        graph,
        answer,
        _choice(record, "type", where, QUESTION_TYPES) or guess_type(question, answer),
        _choice(record, "split", where, SPLITS),
        names.repeated,
    )


def guess_type(question: str, answer: str) -> str:
    """``boolean`` for yes and no, ``count`` for a number after *how many*, otherwise ``query``."""
    words = question.casefold().split()
    if answer.casefold().rstrip(".") in ("yes", "no"):
        return "boolean"
    counted = ["how", "many"] in [words[n : n + 2] for n in range(len(words))]
    return "count" if counted and answer.isdigit() else "query"


def question_key(question: str) -> str:
    """What equal questions share: their words, without case, spacing and the mark at the end."""
    return without_mark(" ".join(question.casefold().split()))


def _level(record: Mapping[str, Any], where: str) -> Level:
    given = [name for name in ("graph", "evidence") if name in record]
    if len(given) > 1:
        raise DataError(f"{where}: has both graph and evidence, allowed: one of them (the graph's nodes are evidence)")
    if "answerable" in record and not get_flag(record, "answerable", where):
        given += ["answer"] if record.get("answer") else []
        if given:
            raise DataError(
                f"{where}: answerable is False, but it has {given[0]}; allowed: neither evidence nor answer"
            )
        return "unanswerable"
    if given:
        return "graph" if given == ["graph"] else "evidence"
    if "answer" not in record:
        raise DataError(f"{where}: has no graph, evidence or answer, allowed: one of them, or answerable false")
    return "answer"


def _filled(record: Mapping[str, Any], name: str, where: str) -> str:
    text = " ".join(get_text(record, name, where).split())
    if problem := text_problem(text):
        raise DataError(f"{where}: {name} {problem}")
    if not text:
        raise DataError(f"{where}: {name} is empty, allowed: a text")
    return text


def _answer(record: Mapping[str, Any], where: str, level: Level) -> str:
    if level == "unanswerable" or "answer" not in record:
        return ""
    return _filled(record, "answer", where)


def _choice(record: Mapping[str, Any], name: str, where: str, allowed: Sequence[str]) -> str | None:
    if name not in record:
        return None
    if record[name] not in allowed:
        raise DataError(f"{where}: {name} is {repr_short(record[name])}, allowed: {', '.join(allowed)}")
    return str(record[name])


class _Names:
    """The facts of a line, and how it refers to them.

    Args:
        facts: distinct texts; a reference to a document that is not among them adds it, if `is_open`.
        numbers: number of the fact at each place of the list in the line.
        of_text: number of a fact by its text, or by its id.
    """

    def __init__(self, where: str, corpus: Corpus | None, *, is_open: bool, by_id: bool) -> None:
        self.where, self.corpus, self.is_open, self.by_id = where, corpus, is_open, by_id
        self.facts: list[str] = []
        self.numbers: list[int] = []
        self.of_text: dict[str, int] = {}
        self.repeated = 0

    @classmethod
    def of(cls, record: Mapping[str, Any], where: str, corpus: Corpus | None) -> _Names:
        given = [name for name in ("facts", "documents") if name in record]
        if len(given) > 1:
            raise DataError(f"{where}: has both facts and documents, allowed: one of them")
        if not given and corpus is None:
            raise DataError(f"{where}: has no facts, which a line needs unless --collection names their collection")
        if given == ["documents"] and corpus is None:
            raise DataError(f"{where}: documents are ids of a collection; name it by --collection")
        names = cls(where, corpus, is_open=not given, by_id=given != ["facts"])
        for name in given:
            texts = get_list(record, name, where)
            if not 1 <= len(texts) <= MAX_CANDIDATES:
                raise DataError(f"{where}: {name} has {len(texts):,} entries, allowed: 1 to {MAX_CANDIDATES:,}")
            for place, text in enumerate(texts):
                number = names.add(text, f"{where}: {name}, number {place}")
                names.repeated += number in names.numbers
                names.numbers.append(number)
        return names

    def add(self, text: Any, inside: str) -> int:
        """The number of a fact, new or known, by its text or id."""
        if problem := text_problem(text):
            raise DataError(f"{inside} {problem}")
        key = text.strip()
        if key not in self.of_text:
            whole = self._document(key, inside).strip() if self.by_id else key
            if not whole:
                raise DataError(f"{inside} is empty, allowed: a text")
            self.of_text[key] = self.facts.index(whole) if self.by_id and whole in self.facts else len(self.facts)
            self.facts += [whole] if self.of_text[key] == len(self.facts) else []
        return self.of_text[key]

    def _document(self, id: str, inside: str) -> str:
        assert self.corpus is not None
        if id not in self.corpus.index_of:
            raise DataError(f"{inside} is {repr_short(id)}, allowed: the id of a text of the collection")
        return self.corpus[self.corpus.index_of[id]].whole

    def resolve(self, name: Any, inside: str, *, root: bool = False) -> int:
        """The number of the fact that `name` refers to; the question's only if it may be the `root`."""
        if root and type(name) is int and name == ROOT:
            return ROOT
        if type(name) is int and 0 <= name < len(self.numbers):
            return self.numbers[name]
        if isinstance(name, str) and name.strip() in self.of_text:
            return self.of_text[name.strip()]
        if isinstance(name, str) and self.is_open:
            return self.add(name, inside)
        numbers = f"0 to {len(self.numbers) - 1}, or a fact of the line" if self.numbers else "the id of a document"
        raise DataError(f"{inside} is {repr_short(name)}, allowed: {'-1 (the question), ' * root}{numbers}")


def _evidence(
    record: Mapping[str, Any], where: str, level: Level, names: _Names
) -> tuple[tuple[int, ...], EvidenceGraph | None]:
    if level == "evidence":
        return _nodes(get_list(record, "evidence", where), f"{where}: evidence", names.resolve), None
    if level != "graph":
        return (), None
    inside = f"{where}: graph"
    graph = as_record(record["graph"], inside)
    for name in graph:
        if name not in ("nodes", "edges"):
            raise DataError(f"{inside}: unknown field {repr_short(name)}, allowed: nodes, edges")
    edges = _edges(get_list(graph, "edges", inside) if "edges" in graph else [], inside, names)
    ends = list(dict.fromkeys(node for edge in edges for node in edge if node != ROOT))
    nodes = _nodes(get_list(graph, "nodes", inside), f"{inside}: nodes", names.resolve) if "nodes" in graph else ends
    if extra := sorted(set(ends) - set(nodes)):
        raise DataError(f"{inside}: an edge has fact {extra[0]}, which is not in nodes; allowed: facts of nodes")
    # facts that no edge leads to are found from the question
    edges += [(ROOT, node) for node in nodes if node not in {b for _, b in edges}]
    try:
        found = EvidenceGraph(edges)
    except GraphError as error:
        raise DataError(f"{inside}: {error}") from None
    return _limited(tuple(found.order()), inside), found


def _edges(pairs: Sequence[Any], inside: str, names: _Names) -> list[Edge]:
    edges = []
    for place, pair in enumerate(pairs):
        where = f"{inside}: edge {place}"
        if not isinstance(pair, list) or len(pair) != 2:
            raise DataError(f"{where} is {repr_short(pair)}, allowed: a list of two facts, or of -1 and a fact")
        edges.append((names.resolve(pair[0], where, root=True), names.resolve(pair[1], where)))
    return edges


def _nodes(values: Sequence[Any], inside: str, resolve: Callable[[Any, str], int]) -> tuple[int, ...]:
    found = [resolve(value, f"{inside}, number {place}") for place, value in enumerate(values)]
    return _limited(tuple(dict.fromkeys(found)), inside)


def _limited(nodes: tuple[int, ...], inside: str) -> tuple[int, ...]:
    if not 1 <= len(nodes) <= MAX_FACTS:
        raise DataError(f"{inside} has {len(nodes)} facts, allowed: 1 to {MAX_FACTS}")
    return nodes
