"""The dataset card: a README.md with the front matter that the Hugging Face hub and `datasets.load_dataset` read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from bgr.data.reasongraphqa.build.splits import SPLITS
from bgr.data.reasongraphqa.io.statistics import statistics_text
from bgr.utils.text_layout import clean

CARD_FILE = "README.md"

LICENCES = {"KQA Pro": "cc-by-sa-4.0", "Atlas": "other", "MuSiQue": "cc-by-4.0"}
"""Source to the hub's name of its licence; ``unknown`` for any other. Atlas' packages have several licences."""

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

FEATURES: list[dict[str, Any]] = [
    {"name": "id", "dtype": "string"},
    {"name": "question", "dtype": "string"},
    {"name": "facts", "list": "string"},
    {"name": "edges", "list": {"list": "int64"}},
    {"name": "answer", "dtype": "string"},
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
"""The fields of a sample as a card spells `datasets.Features` (`bgr.data.reasongraphqa.io.dataset.sample_features`)."""

WHAT = """Questions whose answers rest on a *graph* of evidence: several chains, several hops. Each sample has a
question, the candidate sentences of its target database, and the gold evidence graph, a directed acyclic graph that
hangs from the question, as *Towards Graph-hop Retrieval and Reasoning in Complex Question Answering over Textual
Database* (Zhu et al., 2024) has them."""

BUILT = """The construction follows section 3 of that paper. Each question's program was executed with provenance: a
fact that put an entity where it is became a node, with an edge to every fact that was found from it; what
the answer does not need was cut away. The facts were worded as sentences, several triples in one now and
then, and distractors were added: similar to the question, about the same entities, random. Questions whose
executed answer is not the annotated one, or whose graph breaks a constraint, were left out."""

FIELDS = """| field | type | meaning |
| --- | --- | --- |
| `id` | string | unique in the dataset |
| `question` | string | the question |
| `facts` | list of strings | the candidates, gold and distractors shuffled; numbered from 0 |
| `edges` | list of integer pairs | `[a, b]`: fact `b` is found from fact `a`, or from the question where `a` is -1 |
| `answer` | string | the annotated answer |
| `program` | list of `{function, dependencies, inputs}` | the KoPL program; dependencies number earlier steps from 0 |
| `type` | string | query, comparison, count, boolean or qualifier |
| `structure` | string | single or multi-chain, single or multi-hop: SC-SH, SC-MH, MC-SH, MC-MH |

Every fact that an edge names is gold, and no other is."""

LOADING = """```python
from datasets import load_dataset, load_from_disk
from bgr.data.reasongraphqa.io.dataset import load_split

load_from_disk("FOLDER/arrow")["test"][0]   # Arrow, memory-mapped
load_dataset("FOLDER")["test"][0]           # from the JSON lines
load_split("FOLDER", "test")[0].graph       # bgr's own Example, its graph checked
```

`facts.jsonl` is the textual database, a sentence a line with the triples that it states where they are known;
`dataset.json` holds what this card says in figures. `bgr data show FOLDER` prints and draws one sample."""


def card_text(sheet: Mapping[str, Any], statistics: Mapping[str, Any]) -> str:
    """The card of a dataset; the same for the same dataset.

    Args:
        sheet: what ``dataset.json`` says; whatever it leaves out, the card leaves out.
        statistics: of `dataset_statistics`.
    """
    front = yaml.safe_dump(_front_matter(sheet, statistics), sort_keys=False, allow_unicode=True)
    parts = {
        "": WHAT,
        "Source and licence": _source(sheet),
        "How it was built": _building(sheet),
        "Statistics": f"```text\n{statistics_text(statistics)}\n```",
        "Dropped questions": _drops(sheet),
        "Fields": FIELDS,
        "Loading": LOADING,
        "Hash": _hash(sheet),
    }
    sections = [f"## {title}\n\n{text}" if title else text for title, text in parts.items() if text]
    return f"---\n{front}---\n\n" + "\n\n".join([f"# {_cell(sheet.get('name', 'ReasonGraphQA'))}", *sections]) + "\n"


def _front_matter(sheet: Mapping[str, Any], statistics: Mapping[str, Any]) -> dict[str, Any]:
    total = statistics["questions"]["total"]
    licence = LICENCES.get(sheet.get("source", ""), "unknown")
    named = {"license_name": "several", "license_link": CARD_FILE} if licence == "other" else {}
    return {
        "pretty_name": clean(str(sheet.get("name", "ReasonGraphQA"))),
        "license": licence,
        **named,
        "language": ["en"],
        "task_categories": ["question-answering", "text-retrieval"],
        "tags": ["multi-hop", "evidence-graph", "kopl"],
        "size_categories": [next((name for bound, name in SIZES if total < bound), "n>1M")],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"{split}.jsonl"} for split in SPLITS],
            }
        ],
        "dataset_info": {"config_name": "default", "features": FEATURES},
    }


def _source(sheet: Mapping[str, Any]) -> str:
    rows = [[name, sheet[name]] for name in ("source", "licence") if sheet.get(name)]
    return _table(["", ""], rows) if rows else "Not stated."


def _building(sheet: Mapping[str, Any]) -> str:
    """Every setting and count that the sheet gives besides the drops; the way, where settings decided it."""
    told = {"name", "source", "licence", "dropped", "sha256"}
    rows = _flat("", {key: value for key, value in sheet.items() if key not in told})
    parts = [BUILT] if "settings" in sheet else []
    return "\n\n".join([*parts, _table(["setting or count", "value"], rows)] if rows else parts)


def _flat(before: str, values: Mapping[str, Any]) -> list[list[Any]]:
    """One row for each value, however deep; its name is the way to it."""
    rows: list[list[Any]] = []
    for key, value in values.items():
        name = f"{before}, {key}" if before else str(key)
        rows += _flat(name, value) if isinstance(value, Mapping) else [[name.replace("_", " "), value]]
    return rows


def _drops(sheet: Mapping[str, Any]) -> str:
    if "dropped" not in sheet:
        return ""
    rows = []
    for reason, entry in sheet["dropped"].items():
        rows.append([reason, entry["count"], next(iter(entry["examples"]), "")])
    total = sum(row[1] for row in rows)
    tried = f" of {sheet['tried']:,}" if "tried" in sheet else ""
    text = f"{total:,}{tried} questions were left out."
    return f"{text}\n\n{_table(['reason', 'number', 'for example'], rows)}" if rows else text


def _hash(sheet: Mapping[str, Any]) -> str:
    if "sha256" not in sheet:
        return ""
    return f"SHA-256 over the names and contents of the JSON lines, this card left out: `{_cell(sheet['sha256'])}`"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: Any) -> str:
    """One line that Markdown shows as it is: names and questions of the source may hold anything."""
    if value is None:
        return "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = clean(str(value)).replace("\\", "\\\\")
    for mark in "|<>`*_[]":
        text = text.replace(mark, f"\\{mark}")
    return text
