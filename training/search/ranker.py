"""Training of a checkpoint's ranker, on the pools that its own search finds in a collection.

The search runs once, with the order of the pruners; what it has after each step is kept, since the ranker also says
which candidates lead the search on. A step reads one question: its last pool, and one of those before.
"""

from __future__ import annotations

import io
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from bgr.collection.collection import Collection
from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.same_facts import same_facts
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.errors import DataError
from bgr.models.pool_ranker import PoolGraph, PoolRanker, RankerConfig
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.retrievers.graph_hop.hop_search import HopSearch, Pool
from bgr.retrievers.graph_hop.options import RANKER
from bgr.utils.atomic_io import output_folder
from bgr.utils.cache import ChunkCache
from bgr.utils.checksums import check_tree
from bgr.utils.hashing import hash_texts
from bgr.utils.progress import progress_bar
from training.options import RankerOptions
from training.questions.plain_questions import plain_questions
from training.search.own_pools import pools_cache, searched_examples, weights_hash

RANKS = (24, 48, 100, 200)
"""Numbers of candidates whose recall is measured on dev."""

GROUP = 64
"""Questions whose pools are searched and kept together."""

FORMAT = 1


@dataclass(frozen=True)
class RankedPool:
    """What the search has for a question after one of its steps.

    Args:
        graph: the pool as the ranker reads it, with ``c`` candidates.
        gold: bool ``[c]``, which candidates state a gold fact.
        node: of each of these, the fact.
        facts: the gold facts.
    """

    graph: PoolGraph
    gold: Tensor
    node: dict[int, int]
    facts: frozenset[int]

    def complete(self, order: Sequence[int]) -> bool:
        """Whether every gold fact is stated by one of these candidates."""
        return self.facts <= {self.node[place] for place in order if place in self.node}


def train_ranker(options: RankerOptions) -> dict[str, dict[str, float]]:
    """Search, train, and write the checkpoint with its ranker.

    Returns:
        The share of the dev questions whose gold facts are all among the first candidates, ``before`` in the order of
        the pruner and ``after`` in that of the ranker, by their number.

    Raises:
        BgrError: the checkpoint, the collection or the data cannot be read or do not fit together, or the folder
            exists.
    """
    Settings.load(options.checkpoint)  # an error is told before anything is read
    check_tree(options.checkpoint)  # most of it is copied
    cache = pools_cache(options.states)
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        pipeline = BgrPipeline.from_pretrained(options.checkpoint, device="cpu")
        if pipeline.forward.pruner is None:
            raise DataError(f"{options.checkpoint}: has no pruner (config.prune is 0)")
        pipeline.ranker = None  # the pools are those of the pruner, whatever the checkpoint has
        collection = Collection.open(options.collection, encoder=None, progress=True)
        search = pipeline.search_over(collection)
        assert isinstance(search, HopSearch)
        texts = [passage.whole for passage in collection.corpus]
        table = FactTable.read(options.database or options.data, progress=True)
        key = hash_texts(str(FORMAT), weights_hash(options.checkpoint), collection.hash, repr(search.settings))
        pools = _Pools(search, texts, table, ChunkCache(cache, "stages"), key)
        # the last training questions: the pruners were trained on the first ones, where their scores say too much
        asked = searched_examples(options.data, "train", options.questions, last=True)
        asked += plain_questions(asked, table, options.plain, seed=options.seed)
        train = list(pools.of(asked))
        dev = list(pools.of(searched_examples(options.data, "dev", options.dev_questions)))
        torch.manual_seed(options.seed)
        ranker = PoolRanker(RankerConfig())
        last = [stages[-1] for stages in dev]
        found = {"before": recall(None, last)}
        fit(ranker, train, options)
        found["after"] = recall(ranker, last)
        left_out = shutil.ignore_patterns("training", "SHA256SUMS", RANKER)
        shutil.copytree(options.checkpoint, folder, dirs_exist_ok=True, ignore=left_out)
        ranker.save_pretrained(folder / RANKER)
    return found


@dataclass(frozen=True)
class _Pools:
    """Finds the pools of questions in a list of texts, or reads them from a cache; `key` is a hash of all that they
    depend on besides the questions."""

    search: HopSearch
    texts: Sequence[str]
    table: FactTable
    cache: ChunkCache
    key: str

    def of(self, examples: Sequence[Example]) -> Iterator[list[RankedPool]]:
        """The pools of each question, one for each step of the search; questions that find nothing are left out."""
        with progress_bar(len(examples), "pools", "question") as bar:
            for start in range(0, len(examples), GROUP):
                group = examples[start : start + GROUP]
                name = hash_texts(self.key, *(example.question for example in group))
                body = self.cache.load(name)
                if body is None:
                    body = self._searched(group)
                    self.cache.save(name, body)
                kept = np.load(io.BytesIO(body), allow_pickle=False)
                for number, example in enumerate(group):
                    names = [f"{number}-{step}" for step in range(int(kept[f"{number}-steps"]))]
                    stages = [(kept[f"{name}-texts"], kept[f"{name}-logits"]) for name in names]
                    if len(stages[-1][0]):
                        yield [self._ranked(example, *stage) for stage in stages if len(stage[0])]
                    bar.update(1)

    def _searched(self, group: Sequence[Example]) -> bytes:
        arrays: dict[str, np.ndarray] = {}
        for number, example in enumerate(group):
            steps = 0
            for pool in self.search.stages(example.question):
                arrays[f"{number}-{steps}-texts"] = pool.texts.astype(np.int32)
                arrays[f"{number}-{steps}-logits"] = pool.logits
                steps += 1
            arrays[f"{number}-steps"] = np.array(steps)
        body = io.BytesIO()
        np.savez(body, allow_pickle=False, **arrays)
        return body.getvalue()

    def _ranked(self, example: Example, texts: np.ndarray, logits: np.ndarray) -> RankedPool:
        pool = Pool.of(self.search, example.question)
        pool.texts, pool.logits = texts.astype(np.int64), logits
        node = same_facts(example, [self.texts[text] for text in texts.tolist()], self.table)
        gold = torch.zeros(len(texts), dtype=torch.bool)
        gold[list(node)] = True
        return RankedPool(self.search.graph(pool), gold, node, frozenset(example.graph.nodes))


def fit(ranker: PoolRanker, questions: Sequence[Sequence[RankedPool]], options: RankerOptions) -> None:
    """Train a ranker on the pools of each question; all that is random depends on the seed."""
    draw = random.Random(options.seed)
    useful = [pools for pools in questions if pools[-1].gold.any()]
    if not useful:
        raise DataError("no search for a training question finds a gold fact: is it the collection of these data?")
    steps = max(1, round(options.epochs * len(useful)))
    optimizer = torch.optim.AdamW(ranker.parameters(), options.learning_rate, weight_decay=0.05)
    schedule = LambdaLR(optimizer, lambda step: 1 - step / steps)
    order: list[int] = []
    ranker.train()
    with progress_bar(steps, "ranker", "step") as bar:
        for _ in range(steps):
            order = order or draw.sample(range(len(useful)), len(useful))
            pools = useful[order.pop()]
            chosen = [pools[-1], *draw.sample(pools[:-1], min(1, len(pools) - 1))]
            losses = [one_against_others(ranker(pool.graph), pool.gold) for pool in chosen if pool.gold.any()]
            optimizer.zero_grad()
            torch.stack(losses).mean().backward()
            torch.nn.utils.clip_grad_norm_(ranker.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            bar.update(1)
    ranker.eval()


def one_against_others(scores: Tensor, gold: Tensor) -> Tensor:
    """Cross-entropy of each gold candidate against all that are none, the mean over the gold ones: what counts is that
    the last of them comes before the others. *Shape:* ``[c]``, bool ``[c]`` with one or more true → ``[]``."""
    others = torch.logsumexp(scores[~gold], 0) if not gold.all() else scores.new_tensor(float("-inf"))
    return (torch.logaddexp(others, scores[gold]) - scores[gold]).mean()


@torch.inference_mode()
def recall(ranker: PoolRanker | None, pools: Sequence[RankedPool]) -> dict[str, float]:
    """The share of the pools with all gold facts among the first candidates, by their number; without a ranker in the
    order of the pruner."""
    right: dict[int, list[bool]] = {rank: [] for rank in RANKS}
    for pool in pools:
        scores = pool.graph.texts[:, 0] if ranker is None else ranker(pool.graph)
        order = scores.argsort(descending=True, stable=True).tolist()
        for rank, found in right.items():
            found.append(pool.complete(order[:rank]))
    return {f"all_at_{rank}": fmean(found) if found else 0.0 for rank, found in right.items()}
