"""A reader small enough for every test, with random weights."""

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from bgr.reader.seq2seq import ReaderSettings, Seq2seqReader
from bgr.reader.slots import PLACEHOLDERS
from training.seq2seq.data import word_tokenizer

WORDS = ("question", "evidence", "what", "is", "the", "capital", "of", "yes", "no", "where", "was", "made", "in")


@pytest.fixture
def make_reader():
    """``make_reader(structure=False)``: seeded random weights, on the CPU in float32."""

    def make(seed=4, **settings):  # with most seeds nothing but unknown placeholders is generated
        torch.manual_seed(seed)
        settings = {"slots": True, "words": WORDS, "longest_answer": 5} | settings
        tokenizer = word_tokenizer([*PLACEHOLDERS, *WORDS])
        config = T5Config(
            vocab_size=len(tokenizer),
            d_model=16,
            d_kv=8,
            d_ff=32,
            num_layers=1,
            num_heads=2,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=1,
        )
        model = T5ForConditionalGeneration(config)
        return Seq2seqReader(model, tokenizer, ReaderSettings(**settings), device="cpu", precision="32")

    return make
