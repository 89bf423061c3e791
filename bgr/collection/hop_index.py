"""What a search hop by hop needs of a collection: the names in its texts, and their token ids.

Both are made when they are first needed. In a collection's folder they are kept in a folder of their own, whose name
has a hash of the texts and one of the tokenizer, so that what is found there is never out of date. The next change of
the collection removes what belongs to other texts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from bgr.collection.corpus import Corpus
from bgr.collection.folder import HOPS_LOCK, hops_key
from bgr.collection.mentions import Mentions
from bgr.errors import DataError
from bgr.models.token_store import TokenStore
from bgr.utils.atomic_io import output_folder, writing
from bgr.utils.checksums import first_damage
from bgr.utils.hashing import hash_texts

FORMAT = "3"
"""Format of the files, and of the rules by which names are found; raised when either changes."""


@dataclass(frozen=True)
class HopIndex:
    """The names of all texts and their token ids, for the same ``n`` texts in the same order."""

    mentions: Mentions
    tokens: TokenStore

    @classmethod
    def build(cls, corpus: Corpus, tokenizer: Any, *, max_tokens: int, progress: bool = False) -> Self:
        """Find names and token ids in memory; titles are names.

        Args:
            tokenizer: that of the models that read the texts.
            max_tokens: maximum number of tokens of a text, with special tokens.
            progress: show bars on standard error.
        """
        texts = [passage.whole for passage in corpus]
        titles = dict.fromkeys(passage.title for passage in corpus if passage.title)
        mentions = Mentions.build(texts, titles, progress=progress)
        return cls(mentions, TokenStore.of(texts, tokenizer, max_tokens=max_tokens, progress=progress))

    @classmethod
    def kept(
        cls,
        folder: Path,
        corpus: Corpus,
        tokenizer: Any,
        *,
        max_tokens: int,
        verify: bool = True,
        progress: bool = False,
    ) -> Self:
        """Open what is kept in a collection's folder, memory-mapped, or build it there.

        A build that is interrupted leaves nothing that counts. If another process is building, this one waits for it.

        Args:
            folder: of the collection.
            corpus: its texts.
            verify: compare the files with their hashes. For the other arguments see `build`.

        Raises:
            DataError: the folder cannot be written, or a file is damaged; the message says what to do.
        """
        home = folder / f"hops-{hops_key(corpus.hash)}-{_tokens_key(tokenizer, max_tokens)}"
        if not home.is_dir():
            with writing(folder), _building(folder):
                if not home.is_dir():  # else the other process has built it meanwhile
                    found = cls.build(corpus, tokenizer, max_tokens=max_tokens, progress=progress)
                    with output_folder(home) as work:
                        found.mentions.save(work)
                        found.tokens.save(work)
        if verify:
            check_hops(home)
        mentions, tokens = Mentions.open(home), TokenStore.open(home, words=len(tokenizer))
        if not len(mentions) == len(tokens) == len(corpus):
            counts = f"names of {len(mentions):,} texts, token ids of {len(tokens):,}, of {len(corpus):,}"
            raise DataError(f"{home}: damaged ({counts}); remove {home}, which is built again when it is needed")
        return cls(mentions, tokens)


def check_hops(home: Path) -> None:
    """Compare the files of a folder of names and token ids with their hashes, if it has any; DataError says what to
    do."""
    if problem := first_damage(home):
        raise DataError(f"{problem.partition(': ')[0]}: damaged; remove {home}, which is built again when it is needed")


def _tokens_key(tokenizer: Any, max_tokens: int) -> str:
    """A hash of all that token ids depend on, and of the format."""
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    # the lengths of the last call, which every call sets anew
    kept = {name: value for name, value in rules.items() if name not in ("truncation", "padding")}
    return hash_texts(FORMAT, json.dumps(kept, sort_keys=True), tokenizer.truncation_side, str(max_tokens))[:16]


@contextmanager
def _building(folder: Path) -> Iterator[None]:
    """Hold the lock of the process that builds; wait for another one."""
    lock = FileLock(folder / HOPS_LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{folder}: another process prepares this collection; waiting for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
