"""The verifier: a question is read alone, and differences of one token count."""

import pytest
import torch

from bgr.models.batching import Sentences, make_batch
from bgr.models.ragged import Rows
from bgr.models.verifier import Verifier, VerifierConfig

SAMPLES = [
    ("the capital of france ?", ["paris is the capital of france .", "rome is the capital of italy ."]),
    ("persona ?", ["persona has 4 people .", "paris is the capital of france .", "film ."]),
]
WIDTH = 24


@pytest.fixture
def verifier():
    torch.manual_seed(0)
    return Verifier(VerifierConfig(states=WIDTH, width=16, layers=2)).eval()


@pytest.fixture
def given_states(tokenizer):
    """The batch of some samples with random states that depend on the token, and odds of each fact."""
    table = torch.randn(len(tokenizer), WIDTH, generator=torch.Generator().manual_seed(1))

    def make(samples):
        questions = Sentences([question for question, _ in samples], tokenizer, max_tokens=64)
        facts = Sentences((fact for _, some in samples for fact in some), tokenizer, max_tokens=64)
        batch = make_batch(questions, facts, samples)
        rows = [Rows(table[one.ids], one.lengths, one.ids, one.numbers) for one in (batch.questions, batch.facts)]
        odds = torch.tensor([(len(fact) / 9, -len(fact) / 7) for _, some in samples for fact in some])
        return (*rows, batch.candidates, odds)

    return make


def test_questions_do_not_change_one_another(verifier, given_states):
    together = verifier(*given_states(SAMPLES))
    alone = torch.cat([verifier(*given_states([sample])) for sample in SAMPLES])
    assert together.shape == (5,)
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def test_the_order_of_facts_does_not_matter(verifier, given_states):
    question, facts = SAMPLES[1]
    one, two = (verifier(*given_states([(question, some)])) for some in (facts, facts[::-1]))
    torch.testing.assert_close(one, two.flip(0), atol=1e-5, rtol=1e-5)


def test_a_fact_is_read_among_the_others_and_with_its_odds(verifier, given_states):
    question, facts = SAMPLES[0]
    first = verifier(*given_states([(question, facts)]))[0]
    assert not torch.allclose(first, verifier(*given_states([(question, facts[:1])]))[0], atol=1e-4)
    *states, odds = given_states([(question, facts)])
    assert not torch.allclose(first, verifier(*states, odds + 1)[0], atol=1e-4)


def test_it_learns_which_fact_is_asked_for(given_states):
    torch.manual_seed(0)
    verifier = Verifier(VerifierConfig(states=WIDTH, width=16, layers=1, dropout=0.0))
    optimizer = torch.optim.AdamW(verifier.parameters(), 1e-2)
    gold = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0])
    for _ in range(60):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(verifier(*given_states(SAMPLES)), gold)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05
    unused = [name for name, one in verifier.named_parameters() if one.grad is None or not one.grad.any()]
    assert unused == ["numbers.of_question", "numbers.of_fact"]  # the questions have none


@pytest.mark.parametrize("wrong", [{"width": 193}, {"layers": 0}, {"most": 0}, {"weight": -1.0}, {"states": 0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="allowed"):
        VerifierConfig(**wrong)
