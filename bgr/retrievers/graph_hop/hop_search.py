"""Candidates of a question from a whole collection, hop by hop.

One search cannot find them: evidence of a later hop shares no word with the question, but a name with a fact that does.
So the pool of a question grows: first the best texts by words, and those that mention a name of the question; then the
texts that mention the names of its *leaders*; and again. Leaders are the best candidates, the best of those that came
last, since a later hop shows in its name alone, and at first all texts of the rare names of the question. The pruners
of a checkpoint, which compare token ids and word embeddings, say which are the best. Of a name with many texts, those
count that share most words with the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bgr.collection.bm25 import ScoredSearch
from bgr.collection.hop_index import HopIndex
from bgr.collection.search import Hits, Search, best, ordered
from bgr.models.batching import Sentences
from bgr.models.retriever import BgrRetriever

BATCH = 4
"""Number of questions whose pools are scored together; more take memory and, on a processor, more time for padding."""


@dataclass(frozen=True)
class HopSettings:
    """Sizes of the pool of a question.

    Args:
        seeds: maximum number of texts by words.
        of_question: maximum number of texts of each name that the question has.
        of_candidate: maximum number of texts of each name that a candidate has.
        leaders: number of candidates whose names are followed.
        newest: and of those that came last.
        few: a name of the question with at most so many texts is rare: the names of all of them are followed.
        hops: number of times that the pool grows.
        common: names of more texts are followed only if the question has them.
    """

    seeds: int = 20
    of_question: int = 500
    of_candidate: int = 30
    leaders: int = 20
    newest: int = 20
    few: int = 60
    hops: int = 2
    common: int = 1000


class HopSearch(Search):
    """A search over a collection by words, names and the pruners of a checkpoint.

    The score of a text is the mean logit of the pruners that it is evidence. A question has as many hits as its pool
    has texts, none if the question shares neither a word nor a name with the collection.

    Args:
        words: BM25 over the texts.
        index: their names and token ids, by the tokenizer of the models.
        models: one or both directions of a checkpoint, with a pruner.
        tokenizer: that of the models.
        settings: sizes of the pool.

    Raises:
        ValueError: a model without a pruner, or an index of other texts.
    """

    def __init__(
        self,
        words: ScoredSearch,
        index: HopIndex,
        models: Sequence[BgrRetriever],
        tokenizer: Any,
        settings: HopSettings | None = None,
    ) -> None:
        if not models or any(model.pruner is None for model in models):
            raise ValueError("a search hop by hop needs models with a pruner (config.prune above 0)")
        if len(words) != len(index.tokens):
            raise ValueError(f"BM25 over {len(words):,} texts, and an index of {len(index.tokens):,}")
        self.words, self.mentions, self.tokens = words, index.mentions, index.tokens
        self.models, self.tokenizer = models, tokenizer
        self.settings = settings or HopSettings()

    def __len__(self) -> int:
        return len(self.tokens)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`; there may be fewer than `k` hits."""
        asked = Sentences(queries, self.tokenizer, max_tokens=max(m.config.question_tokens for m in self.models))
        found: list[Hits] = []
        for start in range(0, len(queries), BATCH):
            found += self._search(queries[start : start + BATCH], asked, k)
        return found

    def _search(self, queries: Sequence[str], asked: Sentences, k: int) -> list[Hits]:
        pools = [self._first_pool(query) for query in queries]
        self._score(pools, asked)
        for _ in range(self.settings.hops):
            grown = [pool for pool in pools if self._grow(pool)]
            self._score(grown, asked)
        hits = (ordered(pool.texts, pool.scores) for pool in pools)
        return [Hits(one.indices[:k], one.scores[:k]) for one in hits]

    def _first_pool(self, question: str) -> _Pool:
        """The best texts by words, and those of the names that the question has."""
        near = self.words.scores(question)
        names = self.mentions.finder.find(question, strict=_has_capitals(question))
        seeds = best(near, self.settings.seeds)
        parts = [self._of(name, near, self.settings.of_question) for name in names]
        texts = _distinct([seeds.indices[seeds.scores > 0], *parts])
        few = self.settings.few
        rare = [part for name, part in zip(names, parts, strict=True) if len(self.mentions.of_name(name)) <= few]
        direct = np.concatenate(rare).tolist() if rare else []
        return _Pool(question, near, texts, np.zeros(len(texts), dtype=np.float32), set(names), direct, len(texts))

    def _grow(self, pool: _Pool) -> bool:
        """Add the texts that share a name with the leaders; whether there are any."""
        found = [name for text in self._leaders(pool) for name in self.mentions.of_text(text).tolist()]
        new = [name for name in dict.fromkeys(found) if name not in pool.names and self._leads(name)]
        pool.names.update(new)
        pool.direct, pool.old = [], len(pool.texts)
        pool.texts = _distinct([pool.texts, *(self._of(name, pool.near, self.settings.of_candidate) for name in new)])
        return len(pool.texts) > pool.old

    def _leaders(self, pool: _Pool) -> list[int]:
        """The candidates whose names are followed, in order, each once."""
        leaders = ordered(pool.texts, pool.scores).indices[: self.settings.leaders]
        newest = ordered(pool.texts[pool.old :], pool.scores[pool.old :]).indices[: self.settings.newest]
        return list(dict.fromkeys([*leaders.tolist(), *pool.direct, *newest.tolist()]))

    def _leads(self, name: int) -> bool:
        """Whether a name leads from one text to another: one that very many texts have does not."""
        return len(self.mentions.of_name(name)) <= self.settings.common

    def _of(self, name: int, near: np.ndarray, most: int) -> np.ndarray:
        """The texts of a name that share most with the question, ``int64 [n]``."""
        among = self.mentions.of_name(name)
        return among[best(near[among], most).indices].astype(np.int64)

    @torch.inference_mode()
    def _score(self, pools: Sequence[_Pool], asked: Sentences) -> None:
        """Give all texts of the pools their scores."""
        pools = [pool for pool in pools if len(pool.texts)]
        if not pools:
            return
        device = self.models[0].device
        texts, number = np.unique(np.concatenate([pool.texts for pool in pools]), return_inverse=True)
        ends = np.cumsum([len(pool.texts) for pool in pools])
        rows = [torch.from_numpy(part) for part in np.split(number, ends[:-1])]
        candidates = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1).to(device)
        questions = asked.take([asked.number[pool.question] for pool in pools], states=False).to(device)
        facts = self.tokens.rows(texts).to(device)
        logits = [model.prune(questions, facts, candidates)[-1].float() for model in self.models]
        scores = torch.stack(logits).mean(0).cpu().numpy()  # [q, c]
        for pool, own in zip(pools, scores, strict=True):
            pool.scores = own[: len(pool.texts)]


@dataclass
class _Pool:
    """The candidates of a question so far.

    Args:
        near: ``float32 [n]``, BM25 of all texts of the collection.
        texts: ``int64 [c]``, each once.
        scores: ``float32 [c]``.
        names: names of the question, and those that were followed.
        direct: texts of the rare names of the question, until their names are followed.
        old: number of texts before the pool grew, which are the first ones; before it has, of all.
    """

    question: str
    near: np.ndarray
    texts: np.ndarray
    scores: np.ndarray
    names: set[int]
    direct: list[int]
    old: int


def _has_capitals(question: str) -> bool:
    """Whether capitals tell names from other words: not if the question has none but its first letter, or no others."""
    rest = question.strip()[1:]
    return any(letter.isupper() for letter in rest) and not question.isupper()


def _distinct(parts: Sequence[np.ndarray]) -> np.ndarray:
    """All indices in order, each once, ``int64 [n]``."""
    joined = np.concatenate(parts)
    _, first = np.unique(joined, return_index=True)
    return joined[np.sort(first)]
