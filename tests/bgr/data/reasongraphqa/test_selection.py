"""Selection of a candidate by the completeness filter and BERTScore."""

from __future__ import annotations

import pytest

from bgr.collection.embedding import SentenceEncoder
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.verbalize.seq2seq import BertScorer, best, filter_complete

RUNTIME = Fact("F2", "runtime", Value("quantity", 82, "minute"))


def test_incomplete_and_unfinished_candidates_are_dropped(kb):
    found = filter_complete(
        kb, [RUNTIME], ["The 2nd Winter is short.", None, "the 2nd winter lasts 82 minutes.", "It lasts 82 minutes."]
    )
    assert found.complete == ("the 2nd winter lasts 82 minutes.",)
    assert (found.sampled, found.unfinished, found.incomplete) == (4, 1, 2)


def test_equal_candidates_count_each_but_stand_once(kb):
    sentence = "The 2nd Winter runs for 82 minutes."
    found = filter_complete(kb, [RUNTIME], [sentence] * 3)
    assert found.complete == (sentence,)
    assert (found.sampled, found.incomplete) == (3, 0)


def test_the_best_score_wins_and_the_first_of_equals():
    assert best(["a", "b", "c"], [0.2, 0.9, 0.5]) == "b"
    assert best(["a", "b", "c"], [0.2, 0.9, 0.9]) == "b"
    assert best(["a", "b"], [0.90001, 0.90003]) == "a"  # apart by less than rounding of a batch may be


@pytest.fixture
def scorer(small_encoder):
    return BertScorer(SentenceEncoder(small_encoder, batch_tokens=40), chunk=3)


TEXTS = ["abc def ghi", "a b c d e f g h i j", "xyz", "def abc", "hij klm nop qrs tuv", "a"]


def test_each_pair_scores_as_torchmetrics_scores_it_alone(scorer):
    """Many pairs of all lengths in batches, compared with one call of the library for each pair of texts."""
    from torchmetrics.functional.text.bert import bert_score

    encoder = scorer.encoder
    pairs = [(a, b) for a in TEXTS for b in TEXTS]
    model = encoder.model.float()

    # called as transformers' own tokenizers are, which pad to a fixed length
    def tokens(texts, **_):
        return encoder.tokenizer(texts, return_tensors="pt", truncation=True, max_length=64)

    def alone(a, b):
        found = bert_score(
            [a], [b], model=model, user_tokenizer=tokens, device="cpu",
            user_forward_fn=lambda m, x: m(x["input_ids"], attention_mask=x["attention_mask"]).last_hidden_state,
        )  # fmt: skip
        return float(found["f1"])

    assert scorer(pairs) == pytest.approx([alone(a, b) for a, b in pairs], abs=1e-4)


def test_a_sentence_is_most_like_itself(scorer):
    scores = scorer([("abc def ghi", text) for text in TEXTS])
    assert scores[0] == pytest.approx(1.0, abs=1e-3)
    assert max(scores[1:]) < 1.0


def test_no_pairs_no_scores(scorer):
    assert scorer([]) == []
