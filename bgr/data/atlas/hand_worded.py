"""Questions worded by hand, for tests: by a reader of the program, not by the templates (``hand_worded.json``).

They show how well a model that was trained on the templates' words understands other words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.errors import ProgramError
from bgr.utils.atomic_io import read_json

HAND_WORDED = "hand_worded.json"


def hand_worded(kb: KnowledgeBase) -> list[dict[str, Any]]:
    """The questions that have their answer in this knowledge base, in KQA Pro's form.

    All of them have it in the core of the default size; a base of another size may lack an entity, or have more facts.
    """
    executor = Executor(kb)
    records = read_json(Path(__file__).with_name(HAND_WORDED))
    return [record for record in records if _answer(executor, record) in (record["answer"], [record["answer"]])]


def _answer(executor: Executor, record: dict[str, Any]) -> str | list[str] | None:
    program = Program.from_json(record["program"])
    try:
        return executor.answer(program)
    except ProgramError:
        return None
