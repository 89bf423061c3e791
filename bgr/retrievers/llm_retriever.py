"""Parts shared by the retrievers that ask a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from bgr.llm.backends.loading import language_model
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Retriever
from bgr.retrievers.scope import Scope, SearchName
from bgr.utils.json_utils import is_text

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


class LlmRetriever(Retriever):
    """Base class; the constructor of a subclass takes a language model, a scope, and its own options."""

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


def one_line_text(value: Any, max_characters: int) -> str:
    """A text on one line, truncated; empty for any other value."""
    return " ".join(value[:max_characters].split()) if is_text(value) else ""
