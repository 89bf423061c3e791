"""The whole knowledge base in sentences, beside those of a dataset: a textual database to search for its questions.

A dataset has sentences only for what its questions need and for distractors. Here every other statement of the
knowledge base gets a sentence of its own. So no statement is in two sentences, and what a question needs is among
hundreds of thousands of others about the same films, people and countries.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tqdm import tqdm

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.options import DatabaseOptions
from bgr.data.reasongraphqa.construction.textual_database import FactUnit, FactVerbalizer, TextualDatabase, meaning
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE
from bgr.data.reasongraphqa.io.fact_records import FactRecord, read_facts
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder
from bgr.utils.json_utils import repr_short


@dataclass(frozen=True)
class WholeDatabase:
    """Numbers of sentences: those of the dataset, and the others."""

    dataset: int
    others: int


def write_whole_database(options: DatabaseOptions) -> WholeDatabase:
    """Write ``facts.jsonl`` into a new folder: the dataset's sentences, then all other statements in order.

    Raises:
        DataError: the knowledge base or the dataset is damaged, the dataset has no statements or is of another
            knowledge base, or the folder exists.
    """
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        print(f"reading {options.kqapro}", file=sys.stderr)
        kb = KnowledgeBase.load(options.kqapro / "kb.json", progress=True)
        records = list(read_facts(options.data, progress=True))
        if not any(record.facts for record in records):
            raise DataError(f"{options.data}/{FACTS_FILE}: has no statements, by which sentences are compared")
        _check_same(kb, records, options)
        count = 0
        with (folder / FACTS_FILE).open("w", encoding="utf-8") as out:
            with (options.data / FACTS_FILE).open(encoding="utf-8") as own:
                out.writelines(line if line.endswith("\n") else f"{line}\n" for line in own if line.strip())
            for unit in units_beside(kb, records, Verbalizer(kb, options.seed), progress=True):
                out.write(json.dumps(unit.to_json(kb), ensure_ascii=False) + "\n")
                count += 1
    return WholeDatabase(len(records), count)


def units_beside(
    kb: KnowledgeBase, records: Iterable[FactRecord], verbalizer: FactVerbalizer, *, progress: bool = False
) -> Iterator[FactUnit]:
    """A unit for every statement that the records do not state, in the order of the knowledge base."""
    stated = {meaning(fact) for record in records for fact in record.facts}
    database = TextualDatabase(kb, verbalizer, (), joined_probability=0.0, seed=0)
    number = 0
    for head in tqdm(kb.all_ids, desc="sentences", unit="entity", disable=not progress):
        for fact in database.facts_of(head):
            if meaning(fact) not in stated:
                stated.add(meaning(fact))
                yield FactUnit(f"W{number:06d}", (fact,), verbalizer.sentence((fact,)), gold=False)
                number += 1


def _check_same(kb: KnowledgeBase, records: Iterable[FactRecord], options: DatabaseOptions) -> None:
    for record in records:
        for node, name in record.names.items():
            if (other := kb.names_by_id.get(node)) != name:
                raise DataError(
                    f"{options.data}/{FACTS_FILE}: {repr_short(node)} is {repr_short(name)}, but {repr_short(other)} "
                    f"in {options.kqapro}; give the knowledge base of the dataset"
                )
