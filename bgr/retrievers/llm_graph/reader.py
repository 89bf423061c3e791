"""A language model as a reader: it is given the graph in words, and its reply is held to a schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.backends.loading import language_model
from bgr.llm.failures import FailureLimit
from bgr.llm.language_model import LanguageModel, each_batch
from bgr.llm.options import MAX_FAILURE_SHARE, ServerOptions
from bgr.reader.loading import load_reader
from bgr.reader.reader import READER, SETTINGS, Reader, ReaderAnswer, ReaderInput
from bgr.retrievers.llm_graph.answerer import GRAPH, QUESTION, LlmAnswer, LlmAnswerer
from bgr.utils.progress import progress_bar


def open_reader(
    place: str | Path,
    *,
    device: str | torch.device | None = None,
    precision: str | None = None,
    server: ServerOptions | None = None,
) -> Reader:
    """The reader in a folder (`load_reader`), the one in a checkpoint folder, or a language model: ``smollm2``, a
    ``.gguf`` file, a folder or hub id of transformers, or ``http://host/v1#model``.

    Args:
        server: options of a language model on a server, and the share of calls that may fail.

    Raises:
        BgrError: there is none at this place, it is damaged, or the model cannot be loaded.
        ValueError: the precision is unknown.
    """
    for folder in (Path(place), Path(place) / READER):
        if (folder / SETTINGS).is_file():
            return load_reader(folder, device=device, precision=precision)
    if Path(place).is_dir() and not (Path(place) / "config.json").is_file():
        raise DataError(f"{place}: neither a reader (reader.json) nor a language model (config.json)")
    server = server or ServerOptions()
    settings = server.server if "://" in str(place) else {}
    return LlmReader(language_model(str(place), **settings), max_failure_share=server.max_failure_share)


class LlmReader:
    """A `bgr.reader.reader.Reader` that asks `llm` once for each question.

    The model tells no confidence, so that of an answer is the completeness of its evidence. A reply that cannot be used
    is no answer.

    Args:
        max_failure_share: share of the questions of a call whose calls of the model may fail.
    """

    def __init__(self, llm: LanguageModel, *, max_failure_share: float = MAX_FAILURE_SHARE) -> None:
        self.llm, self.max_failure_share = llm, max_failure_share
        self._with_graph, self._alone = LlmAnswerer(llm, GRAPH), LlmAnswerer(llm, QUESTION)

    def answer(
        self, items: Sequence[ReaderInput], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """One answer for each item, in order; an item without evidence is not answerable.

        Raises:
            BgrError: the model cannot be reached, or more than `max_failure_share` of the calls failed.
        """
        found = self._ask(self._with_graph, items, batch_size, progress)
        return [_answer(one, item.completeness) for one, item in zip(found, items, strict=True)]

    def answer_alone(
        self, questions: Sequence[str], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """Answers from the questions alone."""
        items = [ReaderInput(question, (), EvidenceGraph()) for question in questions]
        return [_answer(one, None) for one in self._ask(self._alone, items, batch_size, progress)]

    def save(self, folder: Path, *, half: bool = False, checkpoint: Path | None = None) -> None:
        """Refused: the model is not part of a checkpoint.

        Raises:
            BgrError: always.
        """
        raise BgrError("a language model cannot be stored in a checkpoint; name it when asking: --reader MODEL")

    @property
    def description(self) -> str:
        """Kind, for a report."""
        return "a language model, given the graph in words"

    def _ask(
        self, answerer: LlmAnswerer, items: Sequence[ReaderInput], batch_size: int, progress: bool
    ) -> list[LlmAnswer]:
        found: dict[int, LlmAnswer] = {}
        limit = FailureLimit(self.max_failure_share, len(items))

        def answer(numbers: Sequence[int]) -> list[LlmAnswer]:
            return answerer.answer([items[number] for number in numbers])

        with progress_bar(len(items), "read", "question", show=progress) as bar:
            for numbers, part in each_batch(answerer.llm, range(len(items)), batch_size, answer):
                found |= zip(numbers, part, strict=True)
                failures = [one.failure for one in part if one.usage.unanswered]
                limit.add(len(failures), failures[0] if failures else None)
                bar.update(len(part))
        return [found[number] for number in range(len(items))]


def _answer(found: LlmAnswer, completeness: float | None) -> ReaderAnswer:
    truncated = found.left_out > 0
    if found.text is None:
        return ReaderAnswer(None, 0.0, truncated, failure=found.failure)
    return ReaderAnswer(found.text, completeness, truncated)
