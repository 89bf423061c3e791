"""Which names each text mentions, and which texts mention a name: how one text leads to the next.

A name is a title, a name that the caller knows (the heads of facts), or a run of capitalized words that at least two
texts share. A rare word is as good as a name: *gallium* and *octyne* have no capital. Names are found by their words,
without case, accents and punctuation; of names that overlap the longest one counts, from left to right. A name starts
and ends with a capital or a digit, since films and towns are called *Made*, *It* and *Of*; rare words need none.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np

from bgr.collection.arrays import open_array, save_array
from bgr.collection.word_counts import split_words
from bgr.errors import DataError
from bgr.utils.atomic_io import replaced
from bgr.utils.json_utils import one_line
from bgr.utils.progress import progress_bar
from bgr.utils.spelling import SMALL_WORDS

NAMES, RARE_FILE = "names.txt", "rare.npy"

MAX_WORDS = 16
"""Maximum number of words of a name; longer ones are not names."""

ASKING = frozenset("who whom whose what which when where why how many much did does do has have had".split())
"""Words of questions that BM25 counts; as names they are found only with a capital."""

MIN_TEXTS = 2
"""Minimum number of texts that share a run of capitalized words or a rare word; in a single one it leads nowhere."""

RARE, RARE_SHARE = 200, 1 / 500
"""A word is rare if at most so many texts have it, and at most this share of all."""

MIN_LETTERS = 3
"""Minimum number of letters of a rare word."""

EVERYDAY = 5
"""A word that at least so many texts have in lower case is no part of a name for its capital at the start of a text."""

_WORD = re.compile(r"\w+")
_CLOSING = '.,;:!?()[]"“”'


def plain(text: str) -> str:
    """The text in lower case without accents."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    return "".join(c for c in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(c))


def name_key(name: str) -> str:
    """The words by which a name is found; empty if it has none or too many, or is a number."""
    words = _WORD.findall(plain(name))
    return " ".join(words) if len(words) <= MAX_WORDS and not all(word.isdigit() for word in words) else ""


def capitalized(text: str) -> tuple[set[str], str]:
    """The keys of all runs of capitalized words.

    The first word of a text may be capitalized for its place alone. So a run from there on is apart, the second result
    (empty if there is none); its rest, without that word, is among the others.
    """
    found: set[str] = set()
    opening = ""
    run: list[str] = []
    starts = True
    end = 0

    def close() -> None:
        nonlocal opening, starts
        while run and run[-1] in SMALL_WORDS:
            run.pop()
        if run and starts:
            opening = " ".join(run) if len(run) <= MAX_WORDS else ""
            del run[0]
        if run and len(run) <= MAX_WORDS:
            found.add(" ".join(run))
        run.clear()
        starts = False

    for match in _WORD.finditer(text):
        word, between = match.group(), text[end : match.start()]
        if run and any(mark in between for mark in _CLOSING) and not (between == ". " and len(run[-1]) == 1):
            close()
        if word[0].isupper() or word[0].isdigit():
            run.append(plain(word))
        elif run and word in SMALL_WORDS:
            run.append(word)
        else:
            close()
        end = match.end()
    close()
    return found, opening


class NameFinder:
    """Finds names in texts.

    Args:
        names: distinct keys, as `name_key` makes them; a name's number is its place among them.
        rare: numbers of the names that are rare words, which need no capital.
    """

    def __init__(self, names: Sequence[str], rare: Iterable[int] = ()) -> None:
        self.names = names
        self.rare = frozenset(rare)
        self._number = {name: number for number, name in enumerate(names)}
        lengths: dict[str, set[int]] = {}
        for name in names:
            words = name.split(" ")
            lengths.setdefault(words[0], set()).add(len(words))
        one_word = [word for word, found in lengths.items() if 1 in found]
        self._stop_words = ASKING | frozenset(one_word) - frozenset(chain.from_iterable(split_words(one_word)))
        self._lengths = {word: sorted(found, reverse=True) for word, found in lengths.items()}

    def only(self, kept: Sequence[int]) -> NameFinder:
        """A finder of some of the names, by their ascending numbers."""
        rare = (number for number, name in enumerate(kept) if name in self.rare)
        return NameFinder([self.names[name] for name in kept], rare)

    def find(self, text: str, *, strict: bool = True) -> list[int]:
        """Numbers of the names in a text, in order, each once.

        Unless it is `strict`, all names are found in lower case too, as people type them, except for stop words (*it*,
        *of*); as the first word of a text these are never names.
        """
        matches = list(_WORD.finditer(text))
        words = [plain(match.group()) for match in matches]
        if any(" " in word or not word for word in words):  # a letter that is written with two
            words = [word.replace(" ", "") or "_" for word in words]
        found: dict[int, None] = {}
        at = 0
        while at < len(words):
            step = 1
            for length in self._lengths.get(words[at], ()):
                number = self._number.get(" ".join(words[at : at + length]))
                if number is None or at + length > len(words):
                    continue
                ends = matches[at].group()[0], matches[at + length - 1].group()[0]
                written = number in self.rare or not any(letter.islower() for letter in ends)
                bare = length == 1 and words[at] in self._stop_words
                if (written and not (bare and at == 0)) if strict else not bare:
                    found[number] = None
                    # as it is typed, the first word may be no part of the name: *of gold*
                    step = length if strict or words[at] not in SMALL_WORDS else 1
                    break
            at += step
        return list(found)


@dataclass(frozen=True)
class Mentions:
    """The names of ``n`` texts, as two sorted tables.

    Args:
        finder: finds the ``m`` names in other texts, such as questions.
        name_starts, names: ``int64 [n + 1]`` and ``int32 [total]``: text ``i`` has the names
            ``names[name_starts[i] : name_starts[i + 1]]``, in order.
        text_starts, texts: ``int64 [m + 1]`` and ``int32 [total]``: name ``j`` is in the texts
            ``texts[text_starts[j] : text_starts[j + 1]]``, ascending.
    """

    finder: NameFinder
    name_starts: np.ndarray
    names: np.ndarray
    text_starts: np.ndarray
    texts: np.ndarray

    def first_names(self, texts: np.ndarray) -> np.ndarray:
        """The first name of each of the texts, which have one, ``int32 [n]``."""
        return self.names[self.name_starts[texts]]

    @classmethod
    def build(cls, texts: Sequence[str], known: Iterable[str] = (), *, progress: bool = False) -> Self:
        """Find the names of all texts.

        Args:
            known: names, such as titles; others are read off the texts.
        """
        keys = {name_key(name) for name in known}
        with progress_bar(2 * len(texts), "mentions", "text", show=progress) as bar:
            words: Counter[str] = Counter()
            everyday: Counter[str] = Counter()
            runs: Counter[str] = Counter()
            openings: Counter[str] = Counter()
            for text in texts:
                written = set(_WORD.findall(text))
                words.update({plain(word) for word in written if len(word) >= MIN_LETTERS and word.isalpha()})
                everyday.update(word for word in written if word.islower())
                inside, opening = capitalized(text)
                runs.update(inside)
                openings.update([opening] if opening else ())
                bar.update(1)
            keys |= {name_key(run) for run, count in runs.items() if count + openings[run] >= MIN_TEXTS}
            for run, count in openings.items():
                first, _, rest = run.partition(" ")
                if count >= MIN_TEXTS and rest and first not in SMALL_WORDS and everyday[first] < EVERYDAY:
                    keys.add(name_key(run))
            most = min(RARE, int(RARE_SHARE * len(texts)))
            rare = {word for word, count in words.items() if MIN_TEXTS <= count <= most}
            names_found = sorted((keys | rare) - {""})
            finder = NameFinder(names_found, (n for n, name in enumerate(names_found) if name in rare))
            rows = []
            for text in texts:
                rows.append(finder.find(text))
                bar.update(1)
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        found = np.fromiter((number for row in rows for number in row), dtype=np.int32, count=int(lengths.sum()))
        # a name that is part of a longer one wherever it stands would hide shorter ones in questions
        used, place = np.unique(found, return_inverse=True)
        finder = finder.only(used.tolist())
        names = place.astype(np.int32)
        order = np.argsort(names, kind="stable")
        return cls(
            finder,
            _starts(lengths),
            names,
            _starts(np.bincount(names, minlength=len(finder.names))),
            np.repeat(np.arange(len(texts), dtype=np.int32), lengths)[order],
        )

    def __len__(self) -> int:
        return len(self.name_starts) - 1

    def of_text(self, text: int) -> np.ndarray:
        """The names of a text, ``int32 [n]``."""
        return self.names[self.name_starts[text] : self.name_starts[text + 1]]

    def of_name(self, name: int) -> np.ndarray:
        """The texts that mention a name, ``int32 [n]``, ascending."""
        return self.texts[self.text_starts[name] : self.text_starts[name + 1]]

    def save(self, folder: Path) -> None:
        """Write to an existing folder; DataError if it cannot be written."""
        with replaced(folder / NAMES) as file:
            file.writelines(f"{name}\n" for name in self.finder.names)
        for name in _ARRAYS:
            save_array(folder / f"{name}.npy", getattr(self, name))
        save_array(folder / RARE_FILE, np.array(sorted(self.finder.rare), dtype=np.int32))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote, memory-mapped; DataError if a file is missing or damaged."""
        todo = f"remove {folder}, which is built again when it is needed"
        try:
            names = (folder / NAMES).read_text(encoding="utf-8").split("\n")[:-1]
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{folder / NAMES}: cannot be read: {one_line(error)}; {todo}") from None
        arrays = {name: open_array(folder / f"{name}.npy", kind, (None,), todo=todo) for name, kind in _ARRAYS.items()}
        # as plain arrays they are quicker to slice, and stay memory-mapped
        rare = open_array(folder / RARE_FILE, np.int32, (None,), todo=todo).tolist()
        found = cls(NameFinder(names, rare), **{name: np.asarray(array) for name, array in arrays.items()})
        sound = (
            _fit(found.name_starts, found.names, len(names))
            and _fit(found.text_starts, found.texts, len(found))
            and len(found.text_starts) == len(names) + 1
            and len(found.names) == len(found.texts)
            and all(0 <= number < len(names) for number in rare)
        )
        if not sound:
            raise DataError(f"{folder}: damaged (its files do not fit together); {todo}")
        return found


_ARRAYS: dict[str, type[np.generic]] = {
    "name_starts": np.int64,
    "names": np.int32,
    "text_starts": np.int64,
    "texts": np.int32,
}


def _fit(starts: np.ndarray, values: np.ndarray, limit: int) -> bool:
    """Whether the starts ascend from 0 to the end of the values, and all values are from 0 to below the limit."""
    if not len(starts) or starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
        return False
    return not len(values) or bool(0 <= values.min() <= values.max() < limit)


def _starts(lengths: np.ndarray) -> np.ndarray:
    """``int64 [n + 1]``, the first place of each of ``n`` parts with the given lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
