"""The form of a program that is run for its answer alone: a chain of calls, each on what the one before it gave."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgr.data.kb.knowledge_base import KnowledgeBase

Ids = Collection[str]
"""Node ids: a tuple or list (repetitions as in KoPL), the members of a concept in the order of the base, or the ends of
a relation with their places."""

LeanCall = tuple[Callable[["KnowledgeBase", Any, Any], Any], Any]
"""What to run, and its input; a function of two results finds the chain of the second one in its input."""

Chain = tuple[LeanCall, ...]


def evaluate(kb: KnowledgeBase, chain: Chain) -> Any:
    """What the last call gives.

    Raises:
        DataError: a step cannot be executed.
    """
    found = None
    for run, given in chain:
        found = run(kb, found, given)
    return found
