import random

import torch

from bgr.models.ragged import Rows
from bgr.models.token_match import Layout, TokenMatch
from eval.bench.reference.plain_model import Sentence, matches


def test_matches_equal_the_plain_ones():
    draw = random.Random(0)
    torch.manual_seed(0)
    texts = [[draw.randrange(5, 9) for _ in range(draw.randint(1, 5))] for _ in range(7)]
    candidates = torch.tensor([[2, 3, 4], [3, 5, -1]])
    layout = Layout.of(candidates)
    rows = Rows.from_lists([texts[n] for n in (0, 1, *candidates[candidates >= 0].tolist())])
    rows = Rows(torch.randn(len(rows.ids), 6), rows.lengths, rows.ids, rows.numbers)
    part = TokenMatch()
    found = part(rows, layout).split(rows.lengths.tolist())
    sentences = [
        Sentence(states, ids.tolist(), [])
        for states, ids in zip(*(flat.split(rows.lengths.tolist()) for flat in (rows.flat, rows.ids)), strict=True)
    ]
    places = list(zip(layout.question.tolist(), layout.column.tolist(), strict=True))
    for one, (question, _) in enumerate(places):
        for other, (asked, column) in enumerate(places):
            if asked == question:
                expected = matches(part.similar, sentences[one], sentences[other])
                torch.testing.assert_close(found[one][..., column], expected, atol=1e-5, rtol=1e-5)


def test_a_missing_sentence_matches_nothing():
    rows = Rows.from_lists([[5, 6], [5, 6], [5], [5], [5]])
    rows = Rows(torch.ones(7, 4), rows.lengths, rows.ids, rows.numbers)
    found = TokenMatch()(rows, Layout.of(torch.tensor([[0, 1], [0, -1]])))
    missing = found[2:4, :, 2]  # the second question has one candidate
    assert missing.max() < -1.99
