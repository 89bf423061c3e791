"""An encoder that the workers of a Ray cluster share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bgr.collection.vectors import Encoder
from bgr.models.truncation import Truncation
from bgr.utils.ray_map import RayOptions, map_work

Load = Callable[[], Encoder]
"""Loads an encoder in the process of a worker."""


class SpreadEncoder:
    """An encoder of this process, whose lists of texts the workers of Ray encode if there are several.

    Args:
        encoder: the encoder in this process.
        load: loads the same one in a worker.
        ray: the workers.
    """

    def __init__(self, encoder: Encoder, load: Load, ray: RayOptions) -> None:
        self.encoder, self.load, self.ray = encoder, load, ray
        self._elsewhere = Truncation()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, encoded in this process."""
        return self.encoder(texts)

    def each(self, lists: Sequence[Sequence[str]]) -> Iterator[np.ndarray]:
        """``float32 [n, d]`` for each list, in order, encoded by the workers. See `map_work` for errors."""
        for vectors, cut in map_work(Encoding(self.load), lists, self.ray):
            self._elsewhere += cut
            yield vectors

    @property
    def truncation(self) -> Truncation:
        """How many of the texts encoded so far were truncated, by the workers too."""
        return _truncation(self.encoder) + self._elsewhere


class Encoding:
    """Loads an encoder in a worker, and makes its function: vectors, and how many texts were truncated."""

    def __init__(self, load: Load) -> None:
        self.load = load

    def __call__(self) -> Callable[[Sequence[str]], tuple[np.ndarray, Truncation]]:
        encoder = self.load()

        def encode(texts: Sequence[str]) -> tuple[np.ndarray, Truncation]:
            before = _truncation(encoder)
            vectors = encoder(texts)
            after = _truncation(encoder)
            return vectors, Truncation(after.truncated - before.truncated, after.texts - before.texts)

        return encode


def _truncation(encoder: Encoder) -> Truncation:
    counted = getattr(encoder, "truncation", None)
    return counted if isinstance(counted, Truncation) else Truncation()
