"""Candidates of a question from a whole collection, hop by hop.

One search cannot find them: evidence of a later hop shares no word with the question, but a name with a fact that does.
So the pool of a question grows: first the best texts by words, and those that mention a name of the question; then the
texts that mention the names of its *leaders*; and again. Leaders are the best candidates, the best of those that came
last, since a later hop shows in its name alone, and at first all texts of the rare names of the question. The pruners
of a checkpoint, which compare token ids and word embeddings, say which are the best; or its ranker does, if it has one,
by their scores and by how the texts of the pool hang together (`bgr.models.pool_ranker`). Of a name with many texts,
those count that share most words with the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bgr.collection.bm25 import ScoredSearch
from bgr.collection.hop_index import HopIndex
from bgr.collection.search import Hits, Search, best, ordered
from bgr.collection.word_counts import split_words
from bgr.models.batching import Sentences
from bgr.models.pool_ranker import PoolGraph, PoolRanker
from bgr.models.retriever import BgrRetriever
from bgr.retrievers.graph_hop.known_words import MAX_WORDS

BATCH = 4
"""Number of questions whose pools are scored together; more take memory and, on a processor, more time for padding."""

MAX_SEARCHED = 4_000
"""Maximum number of characters of a question that are searched, the first ones. The models read fewer, and each word,
also a repeated one, is looked up in the whole collection."""


@dataclass(frozen=True)
class HopSettings:
    """Sizes of the pool of a question.

    Args:
        seeds: maximum number of texts by words.
        of_question: maximum number of texts of each name that the question has.
        of_topic: if it has more texts, maximum number of those that mention it first, which are mostly about it; they
            take the places of others.
        of_word: maximum number of texts of each word of a question without capitals, which may be a name; none if more
            than `common` have it.
        of_candidate: maximum number of texts of each name that a candidate has.
        leaders: number of candidates whose names are followed.
        newest: and of those that came last.
        few: a name of the question with at most so many texts is rare: the names of all of them are followed.
        hops: number of times that the pool grows.
        common: names of more texts are followed only if the question has them.
    """

    seeds: int = 20
    of_question: int = 500
    of_topic: int = 200
    of_word: int = 100
    of_candidate: int = 30
    leaders: int = 20
    newest: int = 20
    few: int = 60
    hops: int = 2
    common: int = 1000


class HopSearch(Search):
    """A search over a collection by words, names and the pruners of a checkpoint.

    The score of a text is that of the ranker, or without one the mean logit of the pruners that it is evidence. A
    question has as many hits as its pool has texts, none if it shares neither a word nor a name with the collection.

    Args:
        words: BM25 over the texts.
        index: their names and token ids, by the tokenizer of the models.
        models: one or both directions of a checkpoint, with a pruner.
        tokenizer: that of the models.
        settings: sizes of the pool.
        ranker: gives the pool its order; default: the pruners do.

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
        *,
        ranker: PoolRanker | None = None,
    ) -> None:
        if not models or any(model.pruner is None for model in models):
            raise ValueError("a search hop by hop needs models with a pruner (config.prune above 0)")
        if len(words) != len(index.tokens):
            raise ValueError(f"BM25 over {len(words):,} texts, and an index of {len(index.tokens):,}")
        self.words, self.mentions, self.tokens = words, index.mentions, index.tokens
        self.models, self.tokenizer = models, tokenizer
        self.settings = settings or HopSettings()
        self.ranker = ranker

    @property
    def read_first(self) -> int:
        """How many of the first hits to read: the order of a ranker is better than that of the pruner."""
        return 0 if self.ranker is None else int(self.ranker.config.keep)

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
        *_, pools = self._stages(queries, asked)
        hits = (ordered(pool.texts, pool.scores) for pool in pools)
        return [Hits(one.indices[:k], one.scores[:k]) for one in hits]

    def stages(self, question: str) -> Iterator[Pool]:
        """The pool of a question after each time that it has grown. It is the same object, which grows further."""
        asked = Sentences([question], self.tokenizer, max_tokens=max(m.config.question_tokens for m in self.models))
        for [pool] in self._stages([question], asked):
            yield pool

    def _stages(self, queries: Sequence[str], asked: Sentences) -> Iterator[list[Pool]]:
        pools = [self._first_pool(query) for query in queries]
        self._score(pools, asked)
        yield pools
        for _ in range(self.settings.hops):
            self._score([pool for pool in pools if self._grow(pool)], asked)
            yield pools

    def graph(self, pool: Pool) -> PoolGraph:
        """A pool that has scores as the ranker reads it."""
        starts, ends = (self.mentions.name_starts[pool.texts + offset] for offset in (0, 1))
        lengths = ends - starts
        first = np.cumsum(lengths) - lengths
        where = np.arange(int(lengths.sum())) - np.repeat(first - starts, lengths)
        names, name = np.unique(self.mentions.names[where], return_inverse=True)
        spread = self.mentions.text_starts[names + 1] - self.mentions.text_starts[names]
        text = np.repeat(np.arange(len(lengths)), lengths)
        arrays = (pool.logits, pool.near[pool.texts], text, name, np.isin(names, pool.asked), spread)
        device = self.models[0].device
        return PoolGraph.of(*(torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays))

    def _first_pool(self, question: str) -> Pool:
        """The best texts by words, and those of the names that the question has."""
        pool = Pool.of(self, question)
        near, names = pool.near, pool.asked
        seeds = best(near, self.settings.seeds)
        parts = [self._of_question(name, near) for name in names]
        few = self.settings.few
        rare = [part for name, part in zip(names, parts, strict=True) if len(self.mentions.of_name(name)) <= few]
        if not _has_capitals(question):
            words = dict.fromkeys(split_words([question[:MAX_SEARCHED]])[0])
            parts += [self._with_word(word, near) for word in list(words)[:MAX_WORDS]]
        pool.texts = _distinct([seeds.indices[seeds.scores > 0], *parts])
        pool.direct = np.concatenate(rare).tolist() if rare else []
        pool.old = len(pool.texts)
        return pool

    def _grow(self, pool: Pool) -> bool:
        """Add the texts that share a name with the leaders; whether there are any."""
        found = [name for text in self._leaders(pool) for name in self.mentions.of_text(text).tolist()]
        new = [name for name in dict.fromkeys(found) if name not in pool.names and self._leads(name)]
        pool.names.update(new)
        pool.direct, pool.old = [], len(pool.texts)
        pool.texts = _distinct([pool.texts, *(self._of(name, pool.near, self.settings.of_candidate) for name in new)])
        return len(pool.texts) > pool.old

    def _leaders(self, pool: Pool) -> list[int]:
        """The candidates whose names are followed, in order, each once."""
        leaders = ordered(pool.texts, pool.scores).indices[: self.settings.leaders]
        newest = ordered(pool.texts[pool.old :], pool.scores[pool.old :]).indices[: self.settings.newest]
        return list(dict.fromkeys([*leaders.tolist(), *pool.direct, *newest.tolist()]))

    def _leads(self, name: int) -> bool:
        """Whether a name leads from one text to another: one that very many texts have does not."""
        return len(self.mentions.of_name(name)) <= self.settings.common

    def _with_word(self, word: str, near: np.ndarray) -> np.ndarray:
        """The texts with a word of the question that share most with it, ``int64 [n]``; none if very many have it."""
        among = np.flatnonzero(self.words.scores(word))
        if len(among) > self.settings.common:
            return among[:0]
        return among[best(near[among], self.settings.of_word).indices]

    def _of_question(self, name: int, near: np.ndarray) -> np.ndarray:
        """The texts of a name of the question, ``int64 [n]``: those that share most with it, and of a name with many
        texts also those that mention it first. *Japan is governed from Tokyo* shares no more with a question about
        Japan than all its towns and films do."""
        most, among = self.settings.of_question, self.mentions.of_name(name)
        if len(among) <= most:
            return self._of(name, near, most)
        topic = among[self.mentions.first_names(among) == name]
        topic = topic[best(near[topic], self.settings.of_topic).indices]
        return _distinct([topic, self._of(name, near, most)])[:most].astype(np.int64)

    def _of(self, name: int, near: np.ndarray, most: int) -> np.ndarray:
        """The texts of a name that share most with the question, ``int64 [n]``."""
        among = self.mentions.of_name(name)
        return among[best(near[among], most).indices].astype(np.int64)

    @torch.inference_mode()
    def _score(self, pools: Sequence[Pool], asked: Sentences) -> None:
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
            pool.logits = pool.scores = own[: len(pool.texts)]
            if self.ranker is not None:
                pool.scores = self.ranker(self.graph(pool)).float().cpu().numpy()


@dataclass
class Pool:
    """The candidates of a question so far.

    Args:
        near: ``float32 [n]``, BM25 of all texts of the collection.
        texts: ``int64 [c]``, each once.
        logits: ``float32 [c]``, of the pruners.
        scores: ``float32 [c]``, by which the pool is ordered.
        asked: names of the question.
        names: names of the question, and those that were followed.
        direct: texts of the rare names of the question, until their names are followed.
        old: number of texts before the pool grew, which are the first ones; before it has, of all.
    """

    question: str
    near: np.ndarray
    texts: np.ndarray
    logits: np.ndarray
    scores: np.ndarray
    asked: list[int]
    names: set[int]
    direct: list[int]
    old: int

    @classmethod
    def of(cls, search: HopSearch, question: str) -> Pool:
        """A pool without candidates, and what the search knows of its question; of a long one, of its beginning."""
        read = question[:MAX_SEARCHED]
        asked = search.mentions.finder.find(read, strict=_has_capitals(question))[:MAX_WORDS]
        texts, none = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        return cls(question, search.words.scores(read), texts, none, none, asked, set(asked), [], 0)


def _has_capitals(question: str) -> bool:
    """Whether capitals tell names from other words: not if the question has none but its first letter, or no others."""
    rest = question.strip()[1:]
    return any(letter.isupper() for letter in rest) and not question.isupper()


def _distinct(parts: Sequence[np.ndarray]) -> np.ndarray:
    """All indices in order, each once, ``int64 [n]``."""
    joined = np.concatenate(parts)
    _, first = np.unique(joined, return_index=True)
    return joined[np.sort(first)]
