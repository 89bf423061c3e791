import pytest
import torch

from bgr.models.encoder import SentenceStates
from bgr.models.ragged import Ragged

ROWS = [[2, 7, 8, 9, 3], [2, 10, 3], [2, 7, 3], [2, 11, 12, 13, 14, 15, 3], [2, 9, 3]]


@pytest.fixture
def rows():
    return Ragged.from_lists(ROWS)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_equals_the_bert_one_sentence_at_a_time(encoder_config, rows, frozen, padded, monkeypatch):
    monkeypatch.setattr("bgr.models.attention.pads", lambda device: padded)
    torch.manual_seed(0)
    encoder = SentenceStates(encoder_config, frozen_layers=frozen).eval()
    states = encoder(rows)
    for i, row in enumerate(ROWS):
        alone = encoder.bert(torch.tensor([row])).last_hidden_state[0]
        ours = states.select(torch.tensor([i])).flat
        torch.testing.assert_close(ours, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("padded", [False, True])
def test_gradients_equal_those_of_one_sentence_at_a_time(encoder_config, rows, padded, monkeypatch):
    monkeypatch.setattr("bgr.models.attention.pads", lambda device: padded)
    torch.manual_seed(0)
    encoder = SentenceStates(encoder_config, frozen_layers=0).eval()
    states = encoder(rows)
    weights = torch.randn_like(states.flat)
    (states.flat * weights).sum().backward()
    ours = {name: parameter.grad.clone() for name, parameter in encoder.named_parameters()}
    encoder.zero_grad()
    alone = torch.cat([encoder.bert(torch.tensor([row])).last_hidden_state[0] for row in ROWS])
    (alone * weights).sum().backward()
    for name, parameter in encoder.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, atol=1e-5, rtol=1e-5)


def test_many_sentences_are_cut_into_pieces(encoder_config):
    encoder = SentenceStates(encoder_config, frozen_layers=0).eval()
    long = Ragged.from_lists([[2] + [5 + i % 40] * 30 for i in range(600)])
    with torch.no_grad():
        torch.testing.assert_close(
            encoder(long).select(torch.tensor([599])).flat, encoder(long.select(torch.tensor([599]))).flat
        )


def test_kept_lower_states_change_nothing(encoder_config, rows):
    torch.manual_seed(0)
    encoder = SentenceStates(encoder_config, frozen_layers=1).eval()
    torch.testing.assert_close(encoder.upper(encoder.lower(rows)).flat, encoder(rows).flat)


def test_frozen_layers_get_no_gradient_and_no_dropout(encoder_config, rows):
    encoder = SentenceStates(encoder_config, frozen_layers=1).train()
    torch.testing.assert_close(encoder.lower(rows).flat, encoder.lower(rows).flat)
    assert encoder.bert.training
    encoder(rows).flat.sum().backward()
    assert encoder.bert.embeddings.word_embeddings.weight.grad is None
    assert all(p.grad is None for p in encoder.bert.encoder.layer[0].parameters())
    assert all(p.grad is not None for p in encoder.bert.encoder.layer[1].parameters())
