"""Conversion of datasets: from and to the JSON released by the paper's authors, and from a file of MuSiQue.

The released form is a list of ``{question, answer, program, fact: [sentence], order_true_fact: [{facts: sentence,
relation: {before: [sentence], after: [sentence]}}]}``, in ``train.json``, ``valid.json`` and ``test.json``. There is an
edge from ``facts`` to each ``after``; a node with an empty ``before`` has an edge from the question. Facts are
identified by their sentences. The form has no place for an edge from the question to a fact that has other edges: such
a node gets the additional field ``from_question: true``, which we read and the authors' script ignores.

Conversion from that form to ours and back changes only the order of nodes and of their neighbors (ours is the order of
reasoning) and answers that are numbers, which become texts; fields outside the form are dropped. Conversion from our
form to that form and back has these effects:

- ids become the split and the index in the file;
- questions without an answer are left out;
- a gold sentence that is repeated among the candidates becomes its first occurrence; two gold facts with the same
  sentence cannot be written;
- the type follows from the program's last function; a sample without a program has an additional field ``type``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bgr.data.example import STEP_FIELDS, Example
from bgr.data.kb.program import ALIASES
from bgr.data.multihop.musique import read_decompositions
from bgr.data.options import ConvertOptions
from bgr.data.reasongraphqa.construction.questions import TYPE_OF_FUNCTION
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.data.records import as_record, get_field, get_flag, get_list, get_text, get_texts, read_records
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.utils.atomic_io import output_folder, read_json
from bgr.utils.hashing import SHARES, hash_place
from bgr.utils.json_utils import repr_short

Splits = dict[str, list[Example]]
FILES = {"train": "train.json", "dev": "valid.json", "test": "test.json"}
"""The files of the released form. For dev, ``dev.json`` is read too."""


@dataclass(frozen=True)
class Converted:
    """The folder that was written, and the number of its questions by split.

    Args:
        lost_edges: number of edges from the question that only the additional field holds; ``None`` for other forms.
        left_out: reason to the ids of the questions left out for it.
    """

    folder: Path
    counts: dict[str, int]
    lost_edges: int | None = None
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def convert_dataset(options: ConvertOptions) -> Converted:
    """Read a dataset, then write it in another form. A folder is in the released form, a file is MuSiQue's.

    Raises:
        BgrError: shares are given without a MuSiQue file or are not valid, the source is damaged, or the folder exists.
    """
    if options.shares is not None and (options.to == "released" or options.source.is_dir()):
        raise BgrError("--shares is for a MuSiQue file; other forms have splits of their own")
    if options.to == "released":
        return _convert_to_released(options)
    if not options.source.is_dir():
        return _convert_musique(options)
    files = {**FILES, "dev": "dev.json"} if (options.source / "dev.json").exists() else FILES
    if files is not FILES and (options.source / FILES["dev"]).exists():
        raise DataError(f"{options.source}: has both valid.json and dev.json, allowed: one of them")
    splits = {split: read_released(options.source / file, split) for split, file in files.items()}
    return _write(options, splits, {"name": "ReasonGraphQA", "source": "released by the authors"})


def _convert_musique(options: ConvertOptions) -> Converted:
    """Question decompositions as evidence graphs over paragraphs; the SHA-256 of its id chooses a question's split."""
    shares = options.shares or SHARES
    found = read_decompositions(read_records(options.source))
    splits: Splits = {split: [] for split in SPLITS}
    try:
        for example in found.examples:
            splits[SPLITS[hash_place(example.id, shares)]].append(example)
    except ValueError as error:
        raise BgrError(f"--shares: {error}") from None
    if not found.examples:
        reasons = ", ".join(f"{len(ids):,} {why}" for why, ids in found.dropped.items()) or "it has no question"
        raise BgrError(f"{options.source}: no question gives an evidence graph: {reasons}")
    metadata = {
        "name": "MuSiQue",
        "source": "MuSiQue",
        "licence": "CC BY 4.0",
        "file": options.source.name,
        "graphs": "of the question decompositions, over paragraphs",
        "split": {"by": "SHA-256 of the id", "shares": dict(zip(SPLITS, shares, strict=True))},
        "tried": len(found.examples) + sum(map(len, found.dropped.values())),
        "dropped": {why: {"count": len(ids), "examples": list(ids[:3])} for why, ids in found.dropped.items()},
    }
    return _write(options, splits, metadata, found.dropped)


def _write(
    options: ConvertOptions,
    splits: Splits,
    metadata: dict[str, Any],
    left_out: Mapping[str, tuple[str, ...]] | None = None,
) -> Converted:
    sentences = dict.fromkeys(fact for part in splits.values() for example in part for fact in example.facts)
    facts = [{"id": f"F{number:06d}", "sentence": sentence} for number, sentence in enumerate(sentences)]
    counts = {split: len(part) for split, part in splits.items()}
    write_dataset(options.out, splits, facts, {**metadata, "counts": counts}, overwrite=options.overwrite)
    return Converted(options.out, counts, left_out=left_out or {})


def _convert_to_released(options: ConvertOptions) -> Converted:
    splits = {split: load_split(options.source, split) for split in SPLITS}
    with output_folder(options.out, overwrite=options.overwrite) as work:
        for split, part in splits.items():
            text = json.dumps([to_released(example) for example in part], indent=1, ensure_ascii=False)
            (work / FILES[split]).write_text(text + "\n", encoding="utf-8")
    lost = sum(lost_edges(example) for part in splits.values() for example in part)
    return Converted(options.out, {split: len(part) for split, part in splits.items()}, lost)


# -- the released form ------------------------------------------------------------------------------------------------


def read_released(path: str | Path, prefix: str) -> list[Example]:
    """The examples of one released file; ids are `prefix` and the index in the file.

    Raises:
        DataError: the file has another form; the message names file and item.
    """
    records = read_json(path)
    if not isinstance(records, list):
        raise DataError(f"{path}: must be a list of questions, is {repr_short(records)}")
    return [from_released(record, f"{prefix}-{n:06d}", f"{path}: item {n}") for n, record in enumerate(records)]


def from_released(record: Any, id: str, where: str) -> Example:
    """One example from a released record.

    Raises:
        DataError: a field is missing, empty or has another type, a sentence of the graph is not a candidate, or the
            graph violates a constraint.
    """
    record = as_record(record, where)
    facts = get_texts(record, "fact", where)
    steps = [
        as_record(step, f"{where}: program, step {n}") for n, step in enumerate(get_list(record, "program", where))
    ]
    answer = get_field(record, "answer", where, "a text")
    ours = {
        "id": id,
        "question": get_text(record, "question", where),
        "facts": facts,
        "edges": _edges(get_list(record, "order_true_fact", where), facts, where),
        "answer": str(answer) if isinstance(answer, int | float) and not isinstance(answer, bool) else answer,
        "program": [{name: step[name] for name in STEP_FIELDS if name in step} for step in steps],
        "type": _type(record, steps, where),
    }
    try:
        example = Example.from_json(ours)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    for name, texts in (("question", [example.question]), ("answer", [example.answer]), ("fact", example.facts)):
        if not all(text.strip() for text in texts):
            raise DataError(f"{where}: {name} has an empty text")
    if not example.graph.nodes:
        raise DataError(f"{where}: order_true_fact is empty: there is no graph")
    return example


def _edges(nodes: Sequence[Any], facts: Sequence[str], where: str) -> list[Edge]:
    """Sorted edges of a graph given by sentences, including edges that are given only at one of their ends."""
    index = {sentence: number for number, sentence in reversed(list(enumerate(facts)))}

    def find(sentence: str) -> int:
        if sentence not in index:
            raise DataError(f"{where}: order_true_fact names {repr_short(sentence)}, which is not in 'fact'")
        return index[sentence]

    edges: set[Edge] = set()
    for n, node in enumerate(nodes):
        inside = f"{where}: order_true_fact {n}"
        node = as_record(node, inside)
        number = find(get_text(node, "facts", inside))
        relation = as_record(get_field(node, "relation", inside, "an object"), f"{inside}: relation")
        before, after = (get_texts(relation, side, inside) for side in ("before", "after"))
        from_question = "from_question" in node and get_flag(node, "from_question", inside)
        edges |= {(find(sentence), number) for sentence in before}
        edges |= {(ROOT, number)} if from_question or not before else set()
        edges |= {(number, find(sentence)) for sentence in after}
    return sorted(edges)


def _type(record: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], where: str) -> Any:
    if not steps:
        if "type" not in record:
            raise DataError(f"{where}: field 'type' is missing, which is required without a program")
        return record["type"]
    last = steps[-1].get("function")
    known = ALIASES.get(last, last) if isinstance(last, str) else None
    if known not in TYPE_OF_FUNCTION:
        raise DataError(
            f"{where}: the program ends in {repr_short(last)}, allowed: {', '.join(sorted(TYPE_OF_FUNCTION))}"
        )
    return TYPE_OF_FUNCTION[known]


def to_released(example: Example) -> dict[str, Any]:
    """One record in the authors' form; see the module for its limitations.

    Raises:
        DataError: two gold facts have the same sentence.
    """
    graph = example.graph
    if len({example.facts[node] for node in graph.nodes}) != len(graph.nodes):
        raise DataError(f"sample {example.id!r}: two gold facts are equal, which the released form cannot distinguish")

    def sentences(nodes: Sequence[int]) -> list[str]:
        return [example.facts[node] for node in nodes if node != ROOT]

    nodes = [
        {
            "facts": example.facts[node],
            "relation": {"before": sentences(graph.predecessors(node)), "after": sentences(graph.successors(node))},
            **({"from_question": True} if _hides_root(graph, node) else {}),
        }
        for node in graph.order()
    ]
    record = {
        "question": example.question,
        "answer": example.answer,
        "program": [dict(step) for step in example.program],
        "fact": list(example.facts),
        "order_true_fact": nodes,
    }
    return record if example.program else {**record, "type": example.type}


def lost_edges(example: Example) -> int:
    """Number of edges that the authors' script does not read: from the question to facts with other edges."""
    return sum(_hides_root(example.graph, node) for node in example.graph.nodes)


def _hides_root(graph: EvidenceGraph, node: int) -> bool:
    return ROOT in graph.predecessors(node) and len(graph.predecessors(node)) > 1
