"""A small tokenizer for a verbaliser trained from scratch."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE with T5's special tokens: pad, which also starts a sentence, is 0, the end is 1.

    No text is unknown to it, so that any name can be copied. A space goes before the first word: a name then has the
    same tokens wherever it stands.

    Args:
        texts: to learn the merges from.
        vocabulary: number of tokens, 259 at least (the bytes and the special ones).
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    core.decoder = decoders.ByteLevel()
    special = [AddedToken(token, special=True) for token in (PAD, END, UNKNOWN)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, initial_alphabet=sorted(alphabet), show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    core.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, core.token_to_id(END))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token=PAD, eos_token=END, unk_token=UNKNOWN)
