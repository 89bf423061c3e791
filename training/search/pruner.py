"""Training of a checkpoint's pruners alone, on the pools that its own search finds in a collection.

The pruner decides which of the candidates of a search the graph model reads, and which of them lead the search on, so
it has to tell evidence from hundreds of sentences that are near it. It compares token ids alone: a step takes a small
part of the time of a step of the whole model, for several times as many candidates. Both directions get the same one.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.same_facts import same_facts
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.errors import DataError
from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.checkpoint import BY_NAME, load_tokenizer, save_part
from bgr.models.config import DIRECTIONS
from bgr.models.pruner import Pruner
from bgr.retrievers.graph_hop.checkpoint import Settings, load_retriever
from bgr.utils.atomic_io import output_folder
from bgr.utils.checksums import check_tree
from bgr.utils.devices import pick_device
from bgr.utils.progress import progress_bar
from training.options import PrunerOptions
from training.retriever.loss import multi_label_loss
from training.search.own_pools import own_pools, pools_cache, searched_examples

RANKS = (48, 100, 200)
"""Numbers of candidates whose recall is measured on dev."""

WARMUP = 0.05
"""Share of the steps in which the learning rate rises; then it falls linearly to 0."""


@dataclass(frozen=True)
class Pool:
    """What a search found for a question.

    Args:
        texts: the candidates, best first, and after them the gold facts that it did not find.
        found: number of those that it found.
        node: of each candidate that states a gold fact, the fact.
    """

    question: str
    texts: Sequence[str]
    found: int
    node: dict[int, int]

    @classmethod
    def of(cls, example: Example, texts: Sequence[str], table: FactTable) -> Pool:
        node = same_facts(example, texts, table)
        missing = [fact for fact in example.graph.nodes if fact not in node.values()]
        node |= {len(texts) + place: fact for place, fact in enumerate(missing)}
        return cls(example.question, [*texts, *(example.facts[fact] for fact in missing)], len(texts), node)

    def sample(self, most: int, draw: random.Random) -> list[int]:
        """At most `most` candidates: all that state a gold fact, of the others half from the start, half at random."""
        others = [place for place in range(len(self.texts)) if place not in self.node]
        room = max(0, most - len(self.node))
        first, rest = others[: room // 2], others[room // 2 :]
        return [*self.node, *first, *draw.sample(rest, min(len(rest), room - len(first)))]

    def complete(self, order: Sequence[int]) -> bool:
        """Whether every gold fact is stated by one of these candidates."""
        return {self.node[place] for place in order if place in self.node} == set(self.node.values())


def train_pruner(options: PrunerOptions) -> dict[str, dict[str, float]]:
    """Search, train, and write the checkpoint with its new pruners.

    Returns:
        The share of the dev questions whose gold facts are all among the first candidates, ``before`` and ``after``,
        by their number.

    Raises:
        BgrError: the checkpoint, the collection or the data cannot be read or do not fit together, or the folder
            exists.
    """
    Settings.load(options.checkpoint)  # an error is told before anything is read
    check_tree(options.checkpoint)  # most of it is copied
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        first, second = (load_retriever(options.checkpoint, direction) for direction in DIRECTIONS)
        if first.pruner is None or second.pruner is None:
            raise DataError(f"{options.checkpoint}: has no pruner (config.prune is 0)")
        tokenizer = load_tokenizer(options.checkpoint)
        table = FactTable.read(options.database or options.data, progress=True)
        pools = {split: _pools(options, split, table) for split in ("train", "dev")}
        limits = {"question_tokens": first.config.question_tokens, "fact_tokens": first.config.fact_tokens}
        pruner = first.pruner.to(pick_device(options.device))
        trainer = PrunerTraining(first.words.detach(), tokenizer, **limits)
        found = {"before": trainer.recall(pruner, pools["dev"])}
        trainer.fit(pruner, pools["train"], options)
        found["after"] = trainer.recall(pruner, pools["dev"])
        second.pruner.load_state_dict(pruner.state_dict())
        left_out = shutil.ignore_patterns("training", "SHA256SUMS", *DIRECTIONS)
        shutil.copytree(options.checkpoint, folder, dirs_exist_ok=True, ignore=left_out)
        for model in (first, second):
            save_part(model, folder / model.config.direction, folder, by_name=(folder / BY_NAME).exists())
    return found


def _pools(options: PrunerOptions, split: str, table: FactTable) -> list[Pool]:
    most = options.questions if split == "train" else options.dev_questions
    examples = searched_examples(options.data, split, most)
    places, cache = (options.checkpoint, options.collection), pools_cache(options.states)
    texts = own_pools(*places, examples, options.pool, cache, device=options.device, progress=True)
    return [Pool.of(example, texts[example.id], table) for example in examples]


class PrunerTraining:
    """Trains pruners, on their device, over the word embeddings ``[v, w]`` of their encoder."""

    def __init__(self, words: Tensor, tokenizer: Any, *, question_tokens: int, fact_tokens: int) -> None:
        self.words, self.tokenizer = words, tokenizer
        self.question_tokens, self.fact_tokens = question_tokens, fact_tokens

    def batch(self, pools: Sequence[Pool], places: Sequence[Sequence[int]]) -> Batch:
        """The candidates at some places of each pool."""
        samples = [(pool.question, [pool.texts[p] for p in chosen]) for pool, chosen in zip(pools, places, strict=True)]
        questions = Sentences([question for question, _ in samples], self.tokenizer, max_tokens=self.question_tokens)
        facts = (text for _, texts in samples for text in texts)
        return make_batch(questions, Sentences(facts, self.tokenizer, max_tokens=self.fact_tokens), samples)

    def fit(self, pruner: Pruner, pools: Sequence[Pool], options: PrunerOptions) -> None:
        """Train a pruner; all that is random depends on the seed."""
        draw, device = random.Random(options.seed), next(pruner.parameters()).device
        words = self.words.to(device)
        steps = max(1, round(options.epochs * len(pools) / options.batch_size))
        optimizer = torch.optim.AdamW(pruner.parameters(), options.learning_rate, weight_decay=0.01)
        schedule = LambdaLR(optimizer, lambda step: min((step + 1) / (WARMUP * steps + 1), 1 - step / steps))
        order: list[int] = []
        pruner.train()
        with progress_bar(steps, "pruner", "step") as bar:
            for _ in range(steps):
                while len(order) < options.batch_size:
                    order = [*draw.sample(range(len(pools)), len(pools)), *order]
                chosen = [pools[order.pop()] for _ in range(options.batch_size)]
                places = [pool.sample(options.candidates, draw) for pool in chosen]
                batch = self.batch(chosen, places).to(device)
                scores = pruner(words, batch.questions, batch.facts, batch.candidates)
                pairs = zip(chosen, places, strict=True)
                loss = _loss(scores, [[place in pool.node for place in row] for pool, row in pairs])
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(pruner.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                bar.update(1)
        pruner.eval()

    @torch.inference_mode()
    def recall(self, pruner: Pruner, pools: Sequence[Pool]) -> dict[str, float]:
        """The share of the pools with all gold facts among the best candidates, by their number."""
        right: dict[int, list[bool]] = {rank: [] for rank in RANKS}
        for pool in pools:
            order = self._order(pruner, pool) if pool.found else []
            for rank, found in right.items():
                found.append(pool.complete(order[:rank]))
        return {f"all_at_{rank}": fmean(found) for rank, found in right.items()}

    def _order(self, pruner: Pruner, pool: Pool) -> list[int]:
        """What was found, the best first."""
        device = next(pruner.parameters()).device
        batch = self.batch([pool], [range(pool.found)]).to(device)
        scores: Tensor = pruner(self.words.to(device), batch.questions, batch.facts, batch.candidates)[-1][0]
        return [int(place) for place in scores.argsort(descending=True)]


def _loss(scores: Tensor, labels: Sequence[Sequence[bool]]) -> Tensor:
    """Mean ZLPR loss over the rounds. *Shape:* ``scores [rounds, q, c]``."""
    targets = torch.zeros(scores.shape[1:], dtype=torch.bool)
    for row, own in enumerate(labels):
        targets[row, : len(own)] = torch.tensor(own)
    targets = targets.to(scores.device)
    owner = torch.arange(len(targets), device=scores.device)
    return torch.stack([multi_label_loss(one, targets, owner) for one in scores]).mean()
