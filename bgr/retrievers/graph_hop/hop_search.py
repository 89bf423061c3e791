"""Candidates of a question from a whole collection, hop by hop.

One search cannot find them: evidence of a later hop shares no word with the question, but a name with a fact that does.
So the pool of a question grows: first the best texts by words, and those that mention a name of the question; then the
texts that mention the names of the best candidates so far; and again. The pruners of both directions, which compare
token ids and word embeddings, say which are the best. Of a name with many texts, those count that share most words with
the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bgr.collection.bm25 import Bm25Search, CountedBm25Search
from bgr.collection.mentions import Mentions
from bgr.collection.search import Hits, Search
from bgr.models.batching import Sentences
from bgr.models.retriever import BgrRetriever
from bgr.models.token_store import TokenStore


@dataclass(frozen=True)
class HopSettings:
    """Sizes of the pool of a question.

    Args:
        seeds: texts by words.
        of_question: texts of each name that the question has.
        of_candidate: texts of each name that a candidate has.
        leaders: candidates whose names are followed.
        hops: number of times that the pool grows.
        common: names of more texts are followed only if the question has them.
    """

    seeds: int = 100
    of_question: int = 150
    of_candidate: int = 30
    leaders: int = 40
    hops: int = 2
    common: int = 1000


class HopSearch(Search):
    """A search over a collection by words, names and the pruners of a checkpoint.

    Args:
        words: BM25 over the texts.
        mentions: their names.
        tokens: their token ids, by the tokenizer of the models.
        models: the directions, whose pruners' logits are added.
        tokenizer: that of the models.
    """

    def __init__(
        self,
        words: Bm25Search | CountedBm25Search,
        mentions: Mentions,
        tokens: TokenStore,
        models: Sequence[BgrRetriever],
        tokenizer: object,
        settings: HopSettings | None = None,
    ) -> None:
        self.words, self.mentions, self.tokens = words, mentions, tokens
        self.models, self.tokenizer = models, tokenizer
        self.settings = settings or HopSettings()

    def __len__(self) -> int:
        return len(self.tokens)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`; there may be fewer than `k` hits."""
        return [self._search(query, k) for query in queries]

    def _search(self, question: str, k: int) -> Hits:
        settings = self.settings
        asked = Sentences([question], self.tokenizer, max_tokens=self.models[0].config.question_tokens)
        near = self.words.scores(question)
        names = self.mentions.finder.find(question, strict=not question.islower())
        pool = _first(
            [_best(near, None, settings.seeds), *(self._of(name, near, settings.of_question) for name in names)]
        )
        scores = self._relevance(asked, pool)
        seen = set(names)
        for _ in range(settings.hops):
            leaders = pool[np.argsort(-scores, kind="stable")[: settings.leaders]]
            found = [name for text in leaders.tolist() for name in self.mentions.of_text(text).tolist()]
            new = [name for name in dict.fromkeys(found) if name not in seen and self._leads(name)]
            seen.update(new)
            grown = _first([pool, *(self._of(name, near, settings.of_candidate) for name in new)])
            if len(grown) == len(pool):
                break
            pool, scores = grown, self._relevance(asked, grown)
        order = np.argsort(-scores, kind="stable")[:k]
        return Hits(pool[order], scores[order].astype(np.float32))

    def _leads(self, name: int) -> bool:
        """Whether a name leads from one text to another: one that very many texts have does not."""
        return len(self.mentions.of_name(name)) <= self.settings.common

    def _of(self, name: int, near: np.ndarray, most: int) -> np.ndarray:
        """The texts of a name that share most with the question."""
        return _best(near, self.mentions.of_name(name), most)

    @torch.inference_mode()
    def _relevance(self, asked: Sentences, pool: np.ndarray) -> np.ndarray:
        """The mean logit of the pruners, ``float32 [pool]``."""
        questions, facts = asked.take([0], states=False), self.tokens.rows(pool)
        candidates = torch.arange(len(pool))[None]
        logits = [model.prune(questions, facts, candidates)[-1][0] for model in self.models]
        return torch.stack(logits).mean(0).float().numpy()


def _best(scores: np.ndarray, among: np.ndarray | None, most: int) -> np.ndarray:
    """The indices with the best scores, of all or among some, ``int64``; equal ones by index."""
    found = scores if among is None else scores[among]
    if len(found) > most:
        kept = np.argpartition(-found, most)[:most]
        kept = kept[np.lexsort((kept, -found[kept]))]
    else:
        kept = np.argsort(-found, kind="stable")
    return (kept if among is None else among[kept]).astype(np.int64)


def _first(parts: Sequence[np.ndarray]) -> np.ndarray:
    """All indices in order, each once."""
    joined = np.concatenate(parts)
    _, first = np.unique(joined, return_index=True)
    return joined[np.sort(first)]
