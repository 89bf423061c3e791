"""Reading finished evaluations: the folders of `bgr evaluate`, as predictions that can be scored again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.retrievers.base import RetrievalResult
from bgr.utils.atomic_io import read_json
from bgr.utils.checksums import check_file
from bgr.utils.json_utils import is_text, parse_json, repr_short
from eval.run.evaluate import Predictions
from eval.run.refusal import Refusals


@dataclass(frozen=True)
class ReadEvaluation:
    """An evaluation folder: the lines of its predictions by the id of the question, the names of its systems, and from
    its metrics the settings of the run, and the means and the refusals of each system (empty for a file of predictions
    alone)."""

    path: Path
    records: Mapping[str, Mapping[str, Any]]
    systems: tuple[str, ...]
    main: str
    about: Mapping[str, Any]
    means: Mapping[str, Mapping[str, Any]]
    refusals: Mapping[str, Refusals]

    def predictions(self, system: str, examples: Sequence[Example]) -> Predictions:
        """The results of one system for the examples, in their order.

        Raises:
            DataError: the system is unknown, a question is missing or differs from the data, or a prediction is
                damaged; the message names file, question and system.
        """
        if system not in self.systems:
            raise DataError(f"{self.path}: no system {repr_short(system)}, there are: {', '.join(self.systems)}")
        found = [self._prediction(system, example) for example in examples]
        mean, refusals = self.means.get(system, {}), self.refusals.get(system)
        seconds, parameters = _number(mean.get("seconds_per_question")), _number(mean.get("parameters"))
        return Predictions(
            [result for result, _, _ in found],
            seconds=None if seconds is None else seconds * len(examples),
            answers=[answer for _, answer, _ in found] if all(asked for _, _, asked in found) else None,
            parameters=None if parameters is None else int(parameters),
            # scores over all questions of the evaluation are not those of a part
            refusals=refusals if refusals is not None and refusals.answerable == len(examples) else None,
        )

    def _prediction(self, system: str, example: Example) -> tuple[RetrievalResult, str | None, bool]:
        """The graph, the answer, and whether the system was asked for one."""
        where = f"{self.path}: question {repr_short(example.id)}"
        record = self.records.get(example.id)
        if record is None:
            raise DataError(f"{where} is missing; all systems must have the same questions (see --limit)")
        same = (record.get("question"), record.get("facts"), record.get("edges"))
        if same != (example.question, list(example.facts), example.graph.to_json()):
            raise DataError(f"{where}: question, facts or gold graph are not those of the data")
        found = record["predictions"].get(system)
        if not isinstance(found, dict) or not isinstance(found.get("edges"), list):
            raise DataError(f"{where}: system {repr_short(system)} has no list of edges")
        limits, answer = found.get("limits", []), found.get("answer")
        if not (isinstance(limits, list) and all(is_text(limit) for limit in limits)):
            raise DataError(
                f"{where}: limits of {repr_short(system)} is {repr_short(limits)}, allowed: a list of texts"
            )
        if answer is not None and not is_text(answer):
            raise DataError(f"{where}: answer of {repr_short(system)} is {repr_short(answer)}, allowed: a text or null")
        graph = _graph(found["edges"], len(example.facts), f"{where}: system {repr_short(system)}")
        truncated = _truncated(found.get("truncated"), len(example.facts), f"{where}: system {repr_short(system)}")
        completeness = found.get("completeness")
        if completeness is not None and not (_finite(completeness) and 0 <= completeness <= 1):
            raise DataError(
                f"{where}: completeness of {repr_short(system)} is {repr_short(completeness)}, allowed: 0 to 1 or null"
            )
        result = RetrievalResult(graph, tuple(limits), truncated=truncated, completeness=completeness)
        return result, answer, "answer" in found


def read_evaluation(path: Path) -> ReadEvaluation:
    """Read a folder of `bgr evaluate`, or a file of predictions alone.

    Raises:
        DataError: a file is missing or damaged; the message names file and line.
        CheckpointError: a file of the folder is not as it was written.
    """
    file = path / "predictions.jsonl" if path.is_dir() else path
    for one in {file, path / "metrics.json"} if path.is_dir() else ():
        if one.is_file():
            check_file(one)
    records = _read_records(file)
    systems = tuple(dict.fromkeys(name for record in records.values() for name in record["predictions"]))
    if not systems:
        raise DataError(f"{file}: holds no predictions")
    metrics = read_json(path / "metrics.json") if path.is_dir() else {"about": {}, "systems": {}}
    if not isinstance(metrics, dict) or not all(isinstance(metrics.get(part), dict) for part in ("about", "systems")):
        raise DataError(f"{path / 'metrics.json'}: not the metrics of an evaluation: about and systems must be objects")
    main = str(metrics.get("main"))
    means = {name: one.get("all", {}) for name, one in metrics["systems"].items() if isinstance(one, dict)}
    return ReadEvaluation(
        path=file,
        records=records,
        systems=systems,
        main=main if main in systems else systems[-1],
        about=metrics["about"],
        means={name: mean for name, mean in means.items() if isinstance(mean, dict)},
        refusals=_read_refusals(metrics.get("refusal", {}), str(path)),
    )


def _read_refusals(records: Any, where: str) -> dict[str, Refusals]:
    """The refusals by system.

    Raises:
        DataError: one of them is damaged.
    """
    if not isinstance(records, dict):
        raise DataError(f"{where}: metrics.json: refusal is {repr_short(records)}, allowed: an object")
    found: dict[str, Refusals] = {}
    for name, record in records.items():
        refusals = Refusals.from_json(record)
        if refusals is None:
            raise DataError(f"{where}: metrics.json: refusal of {repr_short(name)} is not that of bgr evaluate")
        found[name] = refusals
    return found


def check_hash(path: Path, about: Mapping[str, Any], data: Path, data_hash: str) -> None:
    """Check that a result was made on this dataset, if it names one.

    Raises:
        BgrError: it was made on another dataset.
    """
    made_on = about.get("data_hash", data_hash)
    if made_on != data_hash:
        raise BgrError(
            f"{path}: was made on data with hash {repr_short(made_on)[:14]}…', {data} has {data_hash[:12]}…; "
            "compare only what ran on the same data"
        )


def _read_records(path: Path) -> dict[str, Mapping[str, Any]]:
    records: dict[str, Mapping[str, Any]] = {}
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}: line {number}"
                record = parse_json(line, where)
                if not isinstance(record, dict) or not isinstance(record.get("predictions"), dict):
                    raise DataError(f"{where}: not a question with predictions (see bgr evaluate)")
                if not is_text(record.get("id")):
                    raise DataError(f"{where}: id is {repr_short(record.get('id'))}, allowed: a text")
                if record["id"] in records:
                    raise DataError(f"{where}: question {repr_short(record['id'])} is there twice")
                if not all(is_text(name) and name.strip() for name in record["predictions"]):
                    raise DataError(f"{where}: the name of a system is no text")
                records[record["id"]] = record
    except FileNotFoundError:
        raise DataError(f"{path}: no such file (an evaluation folder comes from bgr evaluate)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return records


def _graph(edges: list[Any], facts: int, where: str) -> EvidenceGraph:
    """The graph of a list of ``[a, b]`` or ``[a, b, score]``."""
    for edge in edges:
        ends = edge[:2] if isinstance(edge, list) else []
        scores = edge[2:] if isinstance(edge, list) else []
        numbers = len(ends) == 2 and all(_is_text_number(end, facts) for end in ends)
        if not numbers or len(scores) > 1 or not all(_finite(s) for s in scores):
            raise DataError(
                f"{where}: edge {repr_short(edge)}, allowed: [a, b] or [a, b, score], facts 0 to {facts - 1}, Q = -1"
            )
    try:
        return EvidenceGraph([(a, b) for a, b, *_ in edges], {(a, b): float(s[0]) for a, b, *s in edges if s})
    except BgrError as error:
        raise DataError(f"{where}: {error}") from None


def _truncated(texts: Any, facts: int, where: str) -> tuple[int, ...] | None:
    """The numbers of the truncated texts; ``None`` in evaluations of older versions and of systems without a limit."""
    if texts is None:
        return None
    if not isinstance(texts, list) or not all(_is_text_number(text, facts) for text in texts):
        raise DataError(f"{where}: truncated is {repr_short(texts)}, allowed: facts 0 to {facts - 1}, Q = -1")
    return tuple(texts)


def _is_text_number(value: Any, facts: int) -> bool:
    return type(value) is int and -1 <= value < facts


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _number(value: Any) -> float | None:
    """The value if it is a number of 0 or more, else ``None``."""
    return value if _finite(value) and value >= 0 else None
