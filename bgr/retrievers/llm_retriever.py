"""Parts shared by the retrievers that ask a language model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from bgr.collection.corpus import Passage
from bgr.llm.backends.loading import language_model
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, RetrievalResult, Retriever, timed
from bgr.retrievers.scope import Scope, SearchName
from bgr.utils.json_utils import is_text
from bgr.utils.workers import each_of

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


class LlmRetriever(Retriever):
    """Base class. A subclass overrides `retrieve_batch`; its constructor takes a language model, a scope, and its own
    options.

    If the model answers calls side by side (a server), each question goes its own way and a slow one holds no other
    back. Otherwise all questions go through a step together, as one batch of requests.
    """

    llm: LanguageModel
    base_search: SearchName = "hybrid"
    follows_triples = False

    @classmethod
    def over(
        cls, collection: Collection, *, llm: LanguageModel | str, search: SearchName | None = None, **options: Any
    ) -> Self:
        """Retrieve from a collection, which needs triples if the method follows them.

        Example::

            gear = Gear.over(collection, llm="http://localhost:8000/v1#model")
            [result] = gear.retrieve([Query("Which …?")])

        Args:
            llm: a language model, or its name (`bgr.llm.backends.loading.load_backend`).
            search: the base search; default: `base_search`.
            options: further arguments of the constructor.
        """
        make: Callable[..., Self] = cls
        scope = Scope.over(collection, search or cls.base_search, triples=cls.follows_triples)
        return make(language_model(llm), scope, **options)

    @property
    def concurrency(self) -> int:
        """Number of questions that are worked on at a time; 1 if they go through a step together."""
        return self.llm.workers

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order; raises what `LanguageModel.ask` does."""
        if self.concurrency == 1:
            return self._timed(queries)
        found = dict(each_of(lambda query: self._timed([query])[0], queries, self.concurrency))
        return [found[number] for number in range(len(queries))]

    @timed
    def _timed(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        return self.retrieve_batch(queries)

    @abstractmethod
    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order; each step is one batch of requests."""


@dataclass(kw_only=True)
class LlmRun:
    """The usage and the trace of one question. Subclasses add the state of their method."""

    usage: Usage = field(default_factory=Usage)
    trace: list[dict[str, Any]] = field(default_factory=list)

    def note(self, step: str, read: ParsedReply, **values: Any) -> None:
        """Add the usage and the record of one call."""
        self.usage += read.usage
        self.trace.append(step_record(step, read, **values))


def step_record(step: str, read: ParsedReply, **values: Any) -> dict[str, Any]:
    """The record of a call in a trace."""
    return {"step": step, **values, "failure": read.failure, "usage": read.usage.to_json()}


def check_minimum(settings: Any, minimum: Mapping[str, int] | None = None) -> None:
    """Raise ValueError if a whole number of a settings dataclass is below 1, or below the `minimum` of its field."""
    for one in fields(settings):
        value, least = getattr(settings, one.name), (minimum or {}).get(one.name, 1)
        if type(value) is int and value < least:
            raise ValueError(f"{one.name} is {value}; it must be {least} or more")


def passage_lines(passages: Iterable[Passage]) -> str:
    """Numbered passages as the model reads them."""
    return "\n\n".join(f"[{number}] {passage.whole}" for number, passage in enumerate(passages, start=1))


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ValueError if a text of a settings dataclass is not allowed."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; allowed: {', '.join(allowed)}")


def one_line_text(value: Any, max_characters: int) -> str:
    """A text on one line, truncated; empty for any other value."""
    return " ".join(value[:max_characters].split()) if is_text(value) else ""
