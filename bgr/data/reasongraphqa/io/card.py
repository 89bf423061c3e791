"""Dataset card: a README.md with the front matter that the Hugging Face hub and `datasets.load_dataset` read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.statistics import statistics_text
from bgr.utils.text_layout import clean

CARD_FILE = "README.md"

LICENCES = {"KQA Pro": "cc-by-sa-4.0", "Atlas": "other", "MuSiQue": "cc-by-4.0"}
"""Source to the hub's name of its license; ``unknown`` for any other. Atlas' packages have several licenses."""

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

FEATURES: list[dict[str, Any]] = [
    {"name": "id", "dtype": "string"},
    {"name": "question", "dtype": "string"},
    {"name": "facts", "list": "string"},
    {"name": "edges", "list": {"list": "int64"}},
    {"name": "answer", "dtype": "string"},
    {"name": "answerable", "dtype": "bool"},
    {
        "name": "program",
        "list": [
            {"name": "function", "dtype": "string"},
            {"name": "dependencies", "list": "int64"},
            {"name": "inputs", "list": "string"},
        ],
    },
    {"name": "type", "dtype": "string"},
    {"name": "structure", "dtype": "string"},
]
"""The fields of a sample with their types, in a card's notation for `datasets.Features`."""

MISSING_FEATURE: dict[str, Any] = {"name": "missing", "dtype": "string"}
"""A further field of datasets that tell what their questions without an answer lack."""

INTRODUCTION = """Questions whose answers are supported by a *graph* of evidence with several chains and several hops.
Each sample has a question, the candidate sentences of its target database, and the gold evidence graph, a directed
acyclic graph whose root is the question, as in *Towards Graph-hop Retrieval and Reasoning in Complex Question Answering
over Textual Database* (Zhu et al., 2024)."""

CONSTRUCTION = """The construction follows section 3 of that paper. Each question's program was executed with
provenance: the facts that led to the answer became nodes, with an edge from a fact to each fact that was found by means
of it; facts that the answer does not need were removed. The facts were verbalized as sentences, some with several
triples, and distractors were added (the table below counts their kinds). From some samples, facts that the answer needs
were taken; execution over the statements of their candidates gives no answer.
Questions whose executed answer differs from the annotated one, or whose graph violates a constraint, were left out."""

FIELDS = """| field | type | meaning |
| --- | --- | --- |
| `id` | string | unique in the dataset |
| `question` | string | the question |
| `facts` | list of strings | the candidates: gold facts and distractors, shuffled; numbered from 0 |
| `edges` | list of integer pairs | `[a, b]`: fact `b` is found from fact `a`, or from the question if `a` is -1 |
| `answer` | string | the annotated answer; empty if the candidates do not support it |
| `answerable` | bool | false if the candidates do not support an answer; then `edges` is empty |
| `program` | list of `{function, dependencies, inputs}` | the KoPL program; dependencies number earlier steps from 0 |
| `type` | string | query, comparison, count, boolean or qualifier |
| `structure` | string | single or multi-chain, single or multi-hop: SC-SH, SC-MH, MC-SH, MC-MH |"""

MISSING_FIELD = "| `missing` | string | `one` or `all`: how many needed facts are missing; null with an answer |"

GOLD = "The gold facts are those in the edges."

INFERRED = "Those of inferred graphs, which are counted above, follow from the rules there; nobody has checked them."

LOADING = """```python
from datasets import load_dataset, load_from_disk
from bgr.data.reasongraphqa.io.dataset import load_split

load_from_disk("FOLDER/arrow")["test"][0]   # Arrow, memory-mapped
load_dataset("FOLDER")["test"][0]           # from the JSON lines
load_split("FOLDER", "test")[0].graph       # bgr's own Example, its graph checked
```

`facts.jsonl` is the textual database, one sentence a line with its triples if they are known;
`dataset.json` has the settings and counts of this card. `bgr data show FOLDER` prints and draws one sample."""


SHORTCUTS = """Two classifiers judge each candidate: *blind* never reads the question, *lexical* sees which of its words
the candidate repeats. AUC is the mean over the test questions (0.5: nothing can be guessed); F1 and GM are of the
evidence chosen by the best threshold on dev. `bgr data shortcuts FOLDER` measures again."""

HASH = "SHA-256 over the names and contents of the JSON lines, this card left out"


def card_text(metadata: Mapping[str, Any], statistics: Mapping[str, Any]) -> str:
    """The text of a dataset's card, which depends only on the dataset.

    Args:
        metadata: content of ``dataset.json``; fields that it lacks are left out of the card.
        statistics: result of `dataset_statistics`.
    """
    front = yaml.safe_dump(_front_matter(metadata, statistics), sort_keys=False, allow_unicode=True)
    source = [[name, metadata[name]] for name in ("source", "licence") if metadata.get(name)]
    parts = {
        "": INTRODUCTION,
        "Source and licence": _table(["", ""], source) if source else "Not stated.",
        "How it was built": _building(metadata),
        "Statistics": f"```text\n{statistics_text(statistics)}\n```",
        "What can be guessed": _shortcuts(metadata),
        "Dropped questions": _drops(metadata),
        "Fields": "\n".join([FIELDS, *([MISSING_FIELD] if "missing" in statistics else []), "", *_gold(metadata)]),
        "Loading": LOADING,
        "Hash": f"{HASH}: `{_cell(metadata['sha256'])}`" if "sha256" in metadata else "",
    }
    sections = [f"## {title}\n\n{text}" if title else text for title, text in parts.items() if text]
    return f"---\n{front}---\n\n" + "\n\n".join([f"# {_cell(metadata.get('name', 'ReasonGraphQA'))}", *sections]) + "\n"


def _front_matter(metadata: Mapping[str, Any], statistics: Mapping[str, Any]) -> dict[str, Any]:
    total = statistics["questions"]["total"]
    licence = LICENCES.get(metadata.get("source", ""), "unknown")
    files = [{"split": split, "path": f"{split}.jsonl"} for split in SPLITS]
    named = {"license_name": "several", "license_link": CARD_FILE} if licence == "other" else {}
    return {
        "pretty_name": clean(str(metadata.get("name", "ReasonGraphQA"))),
        "license": licence,
        **named,
        "language": ["en"],
        "task_categories": ["question-answering", "text-retrieval"],
        "tags": ["multi-hop", "evidence-graph", "kopl"],
        "size_categories": [next((name for bound, name in SIZES if total < bound), "n>1M")],
        "configs": [{"config_name": "default", "data_files": files}],
        "dataset_info": {
            "config_name": "default",
            "features": [*FEATURES, *([MISSING_FEATURE] if "missing" in statistics else [])],
        },
    }


def _building(metadata: Mapping[str, Any]) -> str:
    shown_elsewhere = {"name", "source", "licence", "dropped", "sha256", "shortcuts"}
    rows = _flat("", {key: value for key, value in metadata.items() if key not in shown_elsewhere})
    parts = [CONSTRUCTION] if "settings" in metadata else []
    return "\n\n".join([*parts, _table(["setting or count", "value"], rows)] if rows else parts)


def _gold(metadata: Mapping[str, Any]) -> list[str]:
    return [GOLD, INFERRED] if any(metadata.get("inferred_graphs", {}).values()) else [GOLD]


def _shortcuts(metadata: Mapping[str, Any]) -> str:
    if "shortcuts" not in metadata:
        return ""
    return f"{SHORTCUTS}\n\n{_table(['measure', 'value'], _flat('', metadata['shortcuts']))}"


def _flat(before: str, values: Mapping[str, Any]) -> list[list[Any]]:
    """A row for each value of nested mappings, named by its path."""
    rows: list[list[Any]] = []
    for key, value in values.items():
        name = f"{before}, {key}" if before else str(key)
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        rows += _flat(name, value) if isinstance(value, Mapping) else [[name.replace("_", " "), shown]]
    return rows


def _drops(metadata: Mapping[str, Any]) -> str:
    if "dropped" not in metadata:
        return ""
    rows = [[reason, drop["count"], next(iter(drop["examples"]), "")] for reason, drop in metadata["dropped"].items()]
    total = sum(row[1] for row in rows)
    tried = f" of {metadata['tried']:,}" if "tried" in metadata else ""
    text = f"{total:,}{tried} questions were left out."
    return f"{text}\n\n{_table(['reason', 'number', 'for example'], rows)}" if rows else text


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: Any) -> str:
    """One line that Markdown shows literally, because names and questions of the source may contain anything."""
    if value is None:
        return "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = clean(str(value)).replace("\\", "\\\\")
    for mark in "|<>`*_[]":
        text = text.replace(mark, f"\\{mark}")
    return text
