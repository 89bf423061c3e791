"""Pairs of texts as batches of tokens, and tokenizers for a T5 that is trained from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from lightning.pytorch import LightningDataModule
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerFast

from bgr.models.truncation import Truncation, tokenize
from training.loader import SimilarLengths

IGNORED = -100

Batch = dict[str, Tensor]


class Seq2seqData(LightningDataModule):
    """Base class. A subclass fills `pairs` in `setup` and has ``batch_size`` among its hyperparameters.

    Attributes:
        pairs: the pairs of ``train`` and ``dev``; each starts with its source and its target.
        truncation: how many of the distinct sources were truncated.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pairs: dict[str, list[Any]] = {}
        self.tokens: dict[str, list[tuple[list[int], list[int]]]] = {}
        self.pad = 0
        self.truncation = Truncation()

    def training_texts(self) -> Iterator[str]:
        """Sources and targets of the training pairs."""
        return (text for source, target, *_ in self.pairs["train"] for text in (source, target))

    def tokenize(self, tokenizer: Any, *, max_tokens: int | None = None) -> None:
        """Tokenize the pairs; sources are truncated to `max_tokens`, and counted."""
        self.pad = tokenizer.pad_token_id
        longer: set[str] = set()
        for name, pairs in self.pairs.items():
            texts = [source for source, *_ in pairs]
            if max_tokens is None:
                sources = tokenizer(texts)["input_ids"]
            else:
                sources, cut = tokenize(tokenizer, texts, max_tokens)
                longer.update(texts[number] for number in cut)
            targets = tokenizer(text_target=[target for _, target, *_ in pairs])["input_ids"]
            self.tokens[name] = list(zip(sources, targets, strict=True))
        distinct = {source for pairs in self.pairs.values() for source, *_ in pairs}
        self.truncation = Truncation(len(longer), len(distinct))

    def train_dataloader(self) -> DataLoader[Any]:
        tokens = self.tokens["train"]
        seed = torch.initial_seed() % (1 << 31)
        order = SimilarLengths([len(source) for source, _ in tokens], self.hparams["batch_size"], seed=seed)
        return DataLoader(tokens, batch_sampler=order, collate_fn=self.collate)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader[Any]:
        tokens = sorted(self.tokens["dev"], key=lambda pair: len(pair[0]))
        return DataLoader(tokens, batch_size=self.hparams["batch_size"], collate_fn=self.collate)  # type: ignore[arg-type]

    def collate(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Batch:
        """``input_ids``, ``attention_mask`` and ``labels``, each ``[n, t]``."""
        sources, targets = zip(*pairs, strict=True)
        return {
            "input_ids": _padded(sources, self.pad),
            "attention_mask": _padded([[1] * len(source) for source in sources], 0),
            "labels": _padded(targets, IGNORED),
        }


def _padded(rows: Sequence[list[int]], pad: int) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)


PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SPECIAL = [AddedToken(token, special=True) for token in (PAD, END, UNKNOWN)]


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer with T5's special tokens: 0 is padding and start, 1 is the end.

    It can encode any text, so that any name can be copied, and has at least 259 tokens (the bytes and the special
    tokens). A space is added before the first word, so that a name has the same tokens at any position.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=SPECIAL, initial_alphabet=sorted(alphabet), show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    return _with_end(core)


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer with one token for each word in lower case, split at spaces. Words outside `words` are unknown.
    Special tokens are as in `train_tokenizer`."""
    known = [PAD, END, UNKNOWN, *dict.fromkeys(word.lower() for word in words)]
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(known)}, unk_token=UNKNOWN))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(SPECIAL)
    return _with_end(core)


def _with_end(core: Tokenizer) -> PreTrainedTokenizerFast:
    core.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, core.token_to_id(END))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token=PAD, eos_token=END, unk_token=UNKNOWN)
