"""The undamaged source and the dataset built from it; sentences are encoded without a model."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bgr.cli import main

from .oracle import Baseline
from .world import write_source


class Words:
    """Unit vectors of hashed words, in place of the sentence encoder."""

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, zlib.crc32(word.encode()) % 64] += 1.0
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    def fingerprint(self) -> str:
        return "words"


@pytest.fixture(scope="session")
def words():
    """`bgr data build` with `Words`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bgr.data.reasongraphqa.build.dataset.load_encoder", lambda *_: Words())
        yield


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("mutations") / "kqapro")


@pytest.fixture(scope="session")
def data(source: Path, words: None) -> Path:
    out = source.parent / "data"
    assert main(["data", "build", "--kqapro", str(source), "--out", str(out), "--joined-probability", "0"]) == 0
    return out


@pytest.fixture(scope="session")
def baseline(source: Path, data: Path) -> Baseline:
    return Baseline.of(source, data)
