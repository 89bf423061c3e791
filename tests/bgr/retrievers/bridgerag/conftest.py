"""A dense search, and a scripted model whose replies need not fit their schema."""

from functools import partial

import pytest

from bgr.collection.vectors import DenseSearch


@pytest.fixture
def script(script):
    return partial(script, strict=False)


@pytest.fixture
def dense(corpus, encode):
    return DenseSearch.of_texts([passage.whole for passage in corpus], encode)
