"""Small tokenizers for a T5 trained from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
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


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """One token a word, divided by blanks, in small letters; what is not among `words` is unknown. T5's special tokens
    as in `train_tokenizer`."""
    known = [PAD, END, UNKNOWN, *dict.fromkeys(word.lower() for word in words)]
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(known)}, unk_token=UNKNOWN))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens([AddedToken(token, special=True) for token in (PAD, END, UNKNOWN)])
    core.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, core.token_to_id(END))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token=PAD, eos_token=END, unk_token=UNKNOWN)
