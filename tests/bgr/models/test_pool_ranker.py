"""The ranker in comparison with plain Python, one text and one name at a time."""

import itertools
import math
import random

import pytest
import torch
import torch.nn.functional as F

from bgr.models.pool_ranker import DAMPING, LEAST, WALK, PoolGraph, PoolRanker, RankerConfig

MENTIONS = [[0, 2], [2, 3], [1, 3], [], [2], [0, 1, 2, 3, 4]]
LOGITS = [1.5, -2.0, 0.25, -7.0, 3.0, 0.0]
NEAR = [3.0, 0.5, 0.0, 9.0, 1.0, 2.0]
SPREAD = [4, 30, 1000, 2, 1]


def graph_of(mentions=MENTIONS, logits=LOGITS, near=NEAR, asked=(0, 1), spread=SPREAD):
    links = [(text, name) for text, names in enumerate(mentions) for name in names]
    text, name = (torch.tensor([link[n] for link in links], dtype=torch.long) for n in (0, 1))
    marks = torch.tensor([number in asked for number in range(len(spread))])
    return PoolGraph.of(torch.tensor(logits), torch.tensor(near), text, name, marks, torch.tensor(spread))


def plain_walk(start, mentions, count):
    """The share of a walk from a name that comes by each text."""
    having = [[text for text, names in enumerate(mentions) if name in names] for name in range(count)]
    at = [float(name == start) for name in range(count)]
    passed = [0.0] * len(mentions)
    for step in range(WALK):
        to = [sum(at[name] / len(having[name]) for name in names) for names in mentions]
        passed = [old + DAMPING**step * new for old, new in zip(passed, to, strict=True)]
        at = [sum(to[text] / len(mentions[text]) for text in texts) for texts in having]
    return [math.log(one + LEAST) / 5 for one in passed]


@pytest.mark.parametrize("asked", [(), (1,), (0, 1), (0, 3, 4)])
def test_features_equal_those_of_plain_python(asked):
    found = graph_of(asked=asked)
    walks = [plain_walk(start, MENTIONS, len(SPREAD)) for start in asked]
    for text, names in enumerate(MENTIONS):
        own = sorted((walk[text] for walk in walks), reverse=True)
        least = math.log(LEAST) / 5
        wanted = [
            LOGITS[text] / 5,
            (LOGITS[text] - 3) / 5,
            math.log1p(NEAR[text]) / 2,
            NEAR[text] / 9,
            len(names) / 4,
            len(set(names) & set(asked)) / 2,
            len(asked) / 3,
            own[0] if own else least,
            own[1] if len(own) > 1 else least,
            sum(own) / len(own) if own else least,
            own[-1] if own else least,
        ]
        assert found.texts[text].tolist() == pytest.approx(wanted, abs=1e-5)
    for name, spread in enumerate(SPREAD):
        here = sum(name in names for names in MENTIONS)
        wanted = [float(name in asked), math.log(spread) / 5, math.log(here) / 5]
        assert found.names[name].tolist() == pytest.approx(wanted, abs=1e-6)


def plain_scores(ranker, graph):
    links = list(zip(graph.text.tolist(), graph.name.tolist(), strict=True))
    width = ranker.config.width

    def heard(states):
        if not states:
            return torch.zeros(2 * width)
        return torch.cat([torch.stack(states).amax(0), torch.stack(states).mean(0)])

    states = [ranker.read(text) for text in graph.texts]
    for to_names, to_texts in zip(ranker.to_names, ranker.to_texts, strict=True):
        names = [
            to_names(torch.cat([heard([states[t] for t, n in links if n == name]), features]))
            for name, features in enumerate(graph.names)
        ]
        states = [
            state + to_texts(torch.cat([state, heard([names[n] for t, n in links if t == text])]))
            for text, state in enumerate(states)
        ]
    return torch.cat([ranker.out(s) + ranker.direct(x) for s, x in zip(states, graph.texts, strict=True)])


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_those_of_plain_messages(seed):
    torch.manual_seed(seed)
    ranker = PoolRanker(RankerConfig(width=5, rounds=1 + seed))
    draw = random.Random(seed)
    mentions = [draw.sample(range(5), draw.randrange(4)) for _ in range(8)]
    mentions[0] = list(range(5))
    graph = graph_of(mentions, [draw.gauss(0, 3) for _ in mentions], [draw.random() for _ in mentions], asked=(2,))
    with torch.inference_mode():
        torch.testing.assert_close(ranker(graph), plain_scores(ranker, graph), atol=1e-5, rtol=1e-5)


def test_the_order_of_texts_and_names_does_not_matter():
    torch.manual_seed(0)
    ranker = PoolRanker(RankerConfig()).eval()
    order, names = [3, 5, 0, 1, 4, 2], [4, 2, 0, 1, 3]
    turned = graph_of(
        [[names.index(name) for name in MENTIONS[text]] for text in order],
        [LOGITS[text] for text in order],
        [NEAR[text] for text in order],
        asked=[names.index(name) for name in (0, 1)],
        spread=[SPREAD[name] for name in names],
    )
    with torch.inference_mode():
        torch.testing.assert_close(ranker(turned), ranker(graph_of())[order])


def test_a_text_that_joins_both_names_of_the_question_can_be_told():
    """Two casts of ten, and one actor in both: the features of the texts alone do not tell, the walks do."""
    actors = [[0, 2 + n] for n in range(10)] + [[1, 11 + n] for n in range(10)]  # name 11 is in both
    graph = graph_of(actors, [0.0] * 20, [1.0] * 20, spread=[10, 10, *[2] * 19])
    second = graph.texts[:, 8]
    joins = {place for place, names in enumerate(actors) if 11 in names}
    assert set(second.topk(2).indices.tolist()) == joins
    assert all(second[a] > second[b] for a, b in itertools.product(joins, set(range(20)) - joins))


def test_no_names_and_mixed_precision():
    ranker = PoolRanker(RankerConfig()).eval()
    empty = torch.zeros(0, dtype=torch.long)
    bare = PoolGraph.of(torch.tensor(LOGITS), torch.tensor(NEAR), empty, empty, empty.bool(), empty)
    assert ranker(bare).isfinite().all()
    with torch.autocast("cpu", torch.bfloat16):
        assert F.mse_loss(ranker(graph_of()), ranker(graph_of()).float()) == 0
    with pytest.raises(ValueError, match="allowed: 1 to 1,024"):
        RankerConfig(width=0)


def test_it_is_saved_and_loaded(tmp_path):
    torch.manual_seed(0)
    ranker = PoolRanker(RankerConfig(width=7, rounds=2)).eval()
    ranker.save_pretrained(tmp_path / "ranker")
    again = PoolRanker.from_pretrained(tmp_path / "ranker").eval()
    with torch.inference_mode():
        torch.testing.assert_close(ranker(graph_of()), again(graph_of()))
    for name, weight in ranker.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])
