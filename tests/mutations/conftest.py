"""The undamaged source and the dataset built from it; sentences are encoded without a model."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from bgr.cli import main

from .oracle import Baseline
from .world import write_source


@contextmanager
def hashed_words(encoder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bgr.data.reasongraphqa.construction.dataset.load_encoder", lambda *_: encoder)
        yield


@pytest.fixture(autouse=True)
def words(word_encoder):
    """`bgr data build` with hashed words in place of a sentence encoder, in these tests alone."""
    with hashed_words(word_encoder):
        yield


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("mutations") / "kqapro")


@pytest.fixture(scope="session")
def data(source: Path, word_encoder) -> Path:
    out = source.parent / "data"
    with hashed_words(word_encoder):
        assert main(["data", "build", "--kqapro", str(source), "--out", str(out), "--joined-probability", "0"]) == 0
    return out


@pytest.fixture(scope="session")
def baseline(source: Path, data: Path) -> Baseline:
    return Baseline.of(source, data)
