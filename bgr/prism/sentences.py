"""The sentences of passages: as a dataset gives them, or split here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bgr.errors import BgrError
from bgr.search.corpus import Passage

Sentences = Mapping[str, Sequence[str]] | Callable[[Passage], Sequence[str]]
"""By the passage's id, or a function of the passage."""


def split_sentences(text: str) -> tuple[str, ...]:
    """English text cut at the ends of its sentences; blank ones are left out. Abbreviations, initials and numbers end
    none. The same text gives the same sentences, which references rely on.

    Raises:
        BgrError: the library that does it is not installed.
    """
    try:
        import sentencex
    except ImportError as error:
        raise BgrError(f"passages without sentences: {error} (pip install 'bgr[llm]')") from None
    lines = (line for line in text.splitlines() if line.strip())
    found = (sentence.strip() for line in lines for sentence in sentencex.segment("en", line))
    return tuple(sentence for sentence in found if sentence)


def sentences_of(passage: Passage, sentences: Sentences | None) -> tuple[str, ...]:
    """Of one passage: as given; where nothing is, split; where there is no text, the title. Each on one line.

    The numbers of given sentences stay: a blank one keeps its place.
    """
    given = sentences.get(passage.id, ()) if isinstance(sentences, Mapping) else sentences(passage) if sentences else ()
    found = given or split_sentences(passage.text) or (passage.title,)
    return tuple(" ".join(sentence.split()) for sentence in found)
