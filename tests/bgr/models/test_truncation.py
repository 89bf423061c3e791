"""Every text that loses tokens is counted, once, and no other."""

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from bgr.errors import CheckpointError
from bgr.models.batching import Sentences
from bgr.models.truncation import Truncation, tokenize, truncation_text


def words(count):
    """A text of `count` tokens, two of which are special."""
    return " ".join(["persona"] * (count - 2))


def test_a_text_of_the_maximum_length_is_whole(tokenizer):
    texts = [words(7), words(8), words(9), words(3), words(30)]
    rows, truncated = tokenize(tokenizer, texts, 8)
    assert truncated == [2, 4]
    assert [len(row) for row in rows] == [7, 8, 8, 3, 8]
    whole = tokenizer(texts)["input_ids"]
    assert [rows[0], rows[1], rows[3]] == [whole[0], whole[1], whole[3]]
    assert all(rows[n] == [*whole[n][:7], tokenizer.sep_token_id] for n in truncated)


def test_no_text(tokenizer):
    assert tokenize(tokenizer, [], 8) == ([], [])


@pytest.mark.parametrize("maximum", range(3, 12))
def test_each_maximum(tokenizer, maximum):
    texts = [words(count) for count in (3, 5, 5, 8, 11)]
    assert tokenize(tokenizer, texts, maximum)[1] == [n for n, count in enumerate((3, 5, 5, 8, 11)) if count > maximum]


def test_equal_sentences_count_once(tokenizer):
    sentences = Sentences([words(9), words(4), words(9), words(10), words(8)], tokenizer, max_tokens=8)
    assert sentences.truncated == {words(9), words(10)}
    assert sentences.truncation == Truncation(2, 4)
    assert Sentences([], tokenizer, max_tokens=8).truncation == Truncation(0, 0)


def test_the_line():
    counts = {"questions": Truncation(12, 2_080), "facts": Truncation(0, 0) + Truncation(1, 10_000)}
    assert truncation_text(counts) == "truncated: 12 of 2,080 questions (0.58 %), 1 of 10,000 facts (0.01 %)"
    assert Truncation().of("facts") == "0 of 0 facts (0.00 %)"


def test_rules_that_fail_at_a_text_are_an_error_of_the_checkpoint(capfd):
    core = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("(a+)+$"), "removed")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]")
    assert tokenize(tokenizer, ["b"], 4) == ([[0]], [])
    with pytest.raises(CheckpointError, match="the rules of the tokenizer fail at a text: "):
        tokenize(tokenizer, ["b", "a" * 40 + "b"], 4)
