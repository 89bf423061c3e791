"""The passages and sentences that one question may choose from, and how the model names them. Sentences are those of a
dataset, or are split here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from bgr.collection.corpus import Corpus, Passage
from bgr.errors import BgrError

Sentences = Mapping[str, Sequence[str]] | Callable[[Passage], Sequence[str]]
"""By the passage's id, or a function of the passage."""


def split_sentences(text: str) -> tuple[str, ...]:
    """English text cut at the ends of its sentences, without blank ones. Abbreviations, initials and numbers do not end
    a sentence. The same text gives the same sentences, which references rely on.

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
    """The sentences of one passage, each on one line: those given, else the split text, else the title.

    The numbers of given sentences stay: a blank one keeps its number.
    """
    given = sentences.get(passage.id, ()) if isinstance(sentences, Mapping) else sentences(passage) if sentences else ()
    found = given or split_sentences(passage.text) or (passage.title,)
    return tuple(" ".join(sentence.split()) for sentence in found)


class Reference(NamedTuple):
    """A sentence: the index of its passage, and its number in the passage, from 0."""

    passage: int
    sentence: int


class Candidates:
    """Passages in the order of the search, numbered from 1, and their sentences, numbered from 0.

    The model names a sentence by these two numbers. Titles would not do: different passages share one.

    Args:
        corpus: holds the passages.
        indices: of the candidates in the corpus, each once.
        sentences: of the passages, where they are given.
    """

    def __init__(self, corpus: Corpus, indices: Iterable[int], sentences: Sentences | None = None) -> None:
        self.corpus = corpus
        self.indices = tuple(indices)
        self.sentences = {index: sentences_of(corpus[index], sentences) for index in self.indices}
        self._number = {index: number for number, index in enumerate(self.indices, 1)}

    @property
    def references(self) -> tuple[Reference, ...]:
        """Every sentence that is not blank, in order."""
        return tuple(
            Reference(index, number)
            for index in self.indices
            for number, sentence in enumerate(self.sentences[index])
            if sentence
        )

    def find(self, passage: int, sentence: int) -> Reference | None:
        """The sentence that the model's two numbers name; ``None`` if it does not exist or is blank."""
        if not 1 <= passage <= len(self.indices):
            return None
        index = self.indices[passage - 1]
        there = 0 <= sentence < len(self.sentences[index]) and self.sentences[index][sentence]
        return Reference(index, sentence) if there else None

    def pair(self, reference: Reference) -> list[int]:
        """The model's two numbers."""
        return [self._number[reference.passage], reference.sentence]

    def text(self, reference: Reference) -> str:
        """The sentence."""
        return self.sentences[reference.passage][reference.sentence]

    def lines(self, references: Iterable[Reference]) -> str:
        """Sentences as the model reads them, under the titles of their passages, in the order of the search."""
        found = sorted(set(references), key=self.pair)
        blocks = []
        for index in dict.fromkeys(one.passage for one in found):
            title = " ".join(self.corpus[index].title.split()) or "(no title)"
            rows = [
                f"[{self._number[index]}, {one.sentence}] {self.text(one)}" for one in found if one.passage == index
            ]
            blocks.append("\n".join([f"Passage {self._number[index]}: {title}", *rows]))
        return "\n\n".join(blocks) or "(none)"

    def reading(self, references: Sequence[Reference]) -> str:
        """Sentences as an answer is read from them: passages in the order in which they come first, each as a text."""
        blocks = []
        for index in dict.fromkeys(one.passage for one in references):
            title = " ".join(self.corpus[index].title.split())
            text = " ".join(self.text(one) for one in sorted(set(references)) if one.passage == index)
            blocks.append(f"{title}\n{text}" if title else text)
        return "\n\n".join(blocks)
