"""What a search takes and gives, whatever it searches: passages, facts or triples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Hits(NamedTuple):
    """What one query found, best first, equal scores by place.

    Args:
        places: ``int64 [k]`` in the list that is searched; fewer where the list is shorter.
        scores: ``float32 [k]``, higher is better; of what scale depends on the search.
    """

    places: np.ndarray
    scores: np.ndarray


class Search(ABC):
    """Searches one list of texts."""

    @abstractmethod
    def __len__(self) -> int:
        """How many texts are searched."""

    @abstractmethod
    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best texts for each query."""
