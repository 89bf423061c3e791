"""A search that answers with lists that are there already: the passages that a dataset gives with each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bgr.collection.search import Hits, Search
from bgr.errors import BgrError
from bgr.utils.json_utils import shown


class GivenSearch(Search):
    """The first `k` of the list that belongs to a question; scores are 1, 1/2, 1/3, …

    Args:
        given: places by the question's text, each once.
        size: of the corpus.
    """

    def __init__(self, given: Mapping[str, Sequence[int]], size: int) -> None:
        self.given = given
        self.size = size

    def __len__(self) -> int:
        return self.size

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """One list for each question.

        Raises:
            BgrError: a question has none.
        """
        return [self._hits(query, k) for query in queries]

    def _hits(self, query: str, k: int) -> Hits:
        if query not in self.given:
            raise BgrError(f"no passages are given for the question {shown(query)}")
        places = np.array(list(dict.fromkeys(self.given[query]))[:k], dtype=np.int64)
        return Hits(places, (1 / np.arange(1, len(places) + 1)).astype(np.float32))
