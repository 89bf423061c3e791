import pytest
import torch

from bgr.models.attention import Packing, attend_in_rows
from bgr.models.ragged import Ragged
from bgr.retrievers.baselines.model import SentenceVectors, TokenLayers, attend_in_short_rows

LENGTHS = torch.tensor([3, 1, 4, 3, 2])


def rows(width=8):
    torch.manual_seed(0)
    return Ragged(torch.randn(int(LENGTHS.sum()), width), LENGTHS)


def test_attention_equals_that_of_any_rows():
    torch.manual_seed(0)
    parts = [torch.randn(13, 8) for _ in range(3)]
    packing = Packing.of(LENGTHS)
    expected = attend_in_rows(*parts, packing, heads=2)
    assert torch.allclose(attend_in_short_rows(*parts, packing, heads=2), expected, atol=1e-6)


def test_layers_use_the_attention_of_short_rows(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "bgr.retrievers.baselines.model.attend_in_short_rows",
        lambda *parts, heads: calls.append(heads) or attend_in_short_rows(*parts, heads=heads),
    )
    TokenLayers(width=8, heads=2, layers=3, dropout=0.0)(rows())
    assert calls == [2, 2, 2]


@pytest.mark.parametrize("layers", [0, 2])
def test_each_row_alone_gives_what_all_give(layers):
    model, sentences = TokenLayers(width=8, heads=2, layers=layers, dropout=0.0).eval(), rows()
    together = model(sentences)
    for number in range(len(sentences)):
        alone = model(sentences.select(torch.tensor([number])))
        assert torch.allclose(together.select(torch.tensor([number])).flat, alone.flat, atol=1e-6)


def test_a_vector_starts_as_the_normed_mean_of_its_tokens():
    vectors, sentences = SentenceVectors(width=8, heads=2, rows=3, dropout=0.0), rows()
    means = torch.stack([part.mean(0) for part in sentences.flat.split(LENGTHS.tolist())])
    assert torch.allclose(vectors(sentences), torch.nn.functional.layer_norm(means, (8,)), atol=1e-5)
