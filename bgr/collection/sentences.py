"""Texts as sentences: evidence graphs are over sentences, documents are longer."""

from __future__ import annotations

from collections.abc import Iterator

from bgr.collection.corpus import Corpus, Passage
from bgr.errors import BgrError


def split_sentences(text: str) -> tuple[str, ...]:
    """Split English text into sentences, without blank ones. Abbreviations, initials and numbers do not end a sentence.
    The same text always gives the same sentences, since references rely on it.

    Raises:
        BgrError: sentencex is not installed.
    """
    try:
        import sentencex
    except ImportError as error:
        raise BgrError(f"passages without sentences: {error} (pip install 'bgr[llm]')") from None
    lines = (line for line in text.splitlines() if line.strip())
    found = (sentence.strip() for line in lines for sentence in sentencex.segment("en", line))
    return tuple(sentence for sentence in found if sentence)


def sentence_corpus(corpus: Corpus) -> Corpus:
    """Every sentence as a text of its own, with the title of its document; its id is that of the document, ``#`` and a
    number from 0. A document without a sentence, which may have a title, stays as it is.

    Raises:
        BgrError: sentencex is not installed, or two ids are the same.
    """
    try:
        return Corpus(sentence for passage in corpus for sentence in _sentences(passage))
    except ValueError as error:
        raise BgrError(f"{error}, by the number of a sentence; give the documents other ids") from None


def _sentences(passage: Passage) -> Iterator[Passage]:
    found = split_sentences(passage.text)
    if not found:
        yield passage
    for number, sentence in enumerate(found):
        yield Passage(f"{passage.id}#{number}", passage.title, sentence)
