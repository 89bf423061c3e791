"""Rerankers with a scripted model: windows, selections, and replies that name nothing or too much."""

import re

import pytest

from bgr.collection.bm25 import Bm25Search
from bgr.collection.corpus import Corpus, Passage
from bgr.retrievers.base import Query, star
from bgr.retrievers.rerank.agent import Rerank
from bgr.retrievers.rerank.steps import RerankSettings
from bgr.retrievers.scope import Scope, search_scopes

COUNT = 9


@pytest.fixture
def scope():
    """Passages in the order of the search; the value of each is in its text."""
    texts = [f"{'fox ' * (COUNT - n)}value {n * 7 % COUNT}" for n in range(COUNT)]
    corpus = Corpus(Passage(str(n), "", text) for n, text in enumerate(texts))
    return Scope(corpus, Bm25Search(texts))


def by_value(prompt):
    """A perfect reply: the numbers of the passages by their value."""
    rows = re.findall(r"^\[(\d+)\] .*value (\d+)", prompt, re.MULTILINE)
    return {"order": [int(number) for number, _ in sorted(rows, key=lambda row: -int(row[1]))]}


def values(scope, indices):
    return [int(scope.corpus[index].text.split()[-1]) for index in indices]


def test_one_window_sorts_everything(scope, script):
    model = script(list=by_value)
    (found,) = Rerank(model, scope).retrieve([Query("fox")])
    assert values(scope, found.indices) == sorted(range(COUNT), reverse=True)
    assert found.graph == star(found.indices[:5])
    assert found.usage.calls == 1


def test_windows_move_the_best_to_the_front(scope, script):
    model = script(list=by_value)
    settings = RerankSettings(window=4, stride=2)
    (found,) = Rerank(model, scope, settings).retrieve([Query("fox")])
    assert values(scope, found.indices)[:2] == [8, 7]  # a window carries as many as it overlaps
    (base,) = search_scopes([scope], ["fox"], COUNT)
    order = base.indices.tolist()
    for start in (5, 3, 1, 0):  # the plain definition
        part = order[start : start + 4]
        order[start : start + 4] = sorted(part, key=lambda index: -values(scope, [index])[0])
    assert list(found.indices) == order
    assert found.usage.calls == 4


def test_a_set_is_selected_in_one_call(scope, script):
    model = script(set={"order": [3, 1]})
    settings = RerankSettings(form="set", window=4, stride=2)
    (found,) = Rerank(model, scope, settings).retrieve([Query("fox")])
    assert found.usage.calls == 1
    assert found.graph == star(found.indices[:2])
    assert len(found.indices) == COUNT


def test_what_is_not_named_stays_behind_and_what_is_no_passage_is_dropped(scope, script):
    (base,) = search_scopes([scope], ["fox"], COUNT)
    before = base.indices.tolist()
    model = script(strict=False, list={"order": [99, 2, 2, 0, "x", True]})
    (found,) = Rerank(model, scope).retrieve([Query("fox")])
    assert list(found.indices) == [before[1], before[0], *before[2:]]


def test_a_failure_leaves_the_order(scope, script, fail):
    (base,) = search_scopes([scope], ["fox"], COUNT)
    (found,) = Rerank(script(list=fail("broken")), scope).retrieve([Query("fox")])
    assert list(found.indices) == base.indices.tolist()
    assert found.usage.failed == 1


def test_settings_are_checked():
    with pytest.raises(ValueError, match="stride"):
        RerankSettings(window=5, stride=6)
    with pytest.raises(ValueError, match="form"):
        RerankSettings(form="tree")
