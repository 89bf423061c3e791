"""The pairs that a verbaliser is trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bgr.kb.knowledge_base import KnowledgeBase
from training.limits import at_least, share
from training.seq2seq_data import Seq2seqData
from training.verbalizer_pairs import Pairs, make_pairs


class VerbalizerData(Seq2seqData):
    """Pairs from a folder of KQA Pro files.

    Args:
        folder: holds ``kb.json``.
        pairs: for training.
        dev_pairs: about heads of their own.
        joined_probability: how often one or two more facts join a fact.
        seed: draws the pairs.
        batch_size: pairs in a batch.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        folder: str,
        pairs: int = 48_000,
        dev_pairs: int = 1_000,
        joined_probability: float = 0.4,
        seed: int = 0,
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        at_least(1, pairs=pairs, dev_pairs=dev_pairs, batch_size=batch_size)
        share(joined_probability=joined_probability)
        self.save_hyperparameters()
        self.kb: KnowledgeBase
        self.pairs = Pairs([], [])

    def setup(self, stage: str | None = None) -> None:
        """Read the knowledge base and word the pairs, once.

        Raises:
            DataError: no ``kb.json``, or one that gives too few pairs.
        """
        if not self.pairs.train:
            own = self.hparams
            self.kb = KnowledgeBase.load(Path(own["folder"]) / "kb.json", progress=True)
            self.pairs = make_pairs(
                self.kb,
                train=own["pairs"],
                dev=own["dev_pairs"],
                joined_probability=own["joined_probability"],
                seed=own["seed"],
                progress=True,
            )

    def prepare(self, tokenizer: Any) -> None:
        """Turn the pairs into tokens."""
        parts = {"train": self.pairs.train, "dev": self.pairs.dev}
        texts = {name: [(pair.source, pair.target) for pair in part] for name, part in parts.items()}
        self.tokenise(texts, tokenizer)
