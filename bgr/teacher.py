"""A checkpoint as the teacher of questions that have an answer alone (`bgr data import --teacher`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.ask import check_checkpoint, check_collection, open_collection
from bgr.data.own.label import Asked, Taught
from bgr.errors import CheckpointError

if TYPE_CHECKING:
    from bgr.pipeline import BgrPipeline


class CheckpointTeacher:
    """Answers questions by both directions of a checkpoint and its reader.

    Args:
        checkpoint: its folder.
        collection: folder of the collection in which questions without facts find theirs.

    Raises:
        CheckpointError: the folder is no checkpoint.
        DataError: the collection is damaged or empty.
    """

    def __init__(self, checkpoint: Path, collection: Path | None = None) -> None:
        check_checkpoint(checkpoint)
        if collection is not None:
            check_collection(collection)
        self.checkpoint, self.collection = checkpoint, collection

    @cached_property
    def pipeline(self) -> BgrPipeline:
        """The checkpoint, loaded when it is needed first.

        Raises:
            CheckpointError: it is damaged, or has no reader.
        """
        from bgr.pipeline import BgrPipeline

        found = BgrPipeline.from_pretrained(self.checkpoint)
        if found.reader is None:
            raise CheckpointError(f"{self.checkpoint}: has no reader; a teacher must answer, so that it can be checked")
        return found

    def __call__(self, asked: Sequence[Asked]) -> list[Taught]:
        """What the checkpoint finds for each question, in order."""
        from bgr.retrievers.base import Query

        needed = self.collection is not None and any(one.facts is None for one in asked)
        collection = open_collection(self.collection, self.pipeline) if needed and self.collection else None
        queries = [Query(one.question, one.facts) for one in asked]
        answers = self.pipeline.answer_all(queries, collection=collection, progress=True)
        return [Taught(tuple(one.facts), one.graph, one.text, one.agreement) for one in answers]
