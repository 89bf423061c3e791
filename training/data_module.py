"""Batches of ReasonGraphQA for Lightning, and the cache of the encoder's frozen layers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from lightning.pytorch import LightningDataModule

from bgr.data.example import Example
from bgr.data.reasongraphqa.candidate_sets import CandidateSets, fair
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import load_split, recipe_of
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.encoder import SentenceStates
from bgr.models.retriever import BgrRetriever
from bgr.models.state_cache import CacheUse, cache_lower
from bgr.models.truncation import Truncation
from bgr.retrievers.baselines.model import BaselineModel
from bgr.utils.spelling import hasty as with_haste
from training.loader import Ahead, Part, SimilarLengths, StepLoader, WholeLoader
from training.questions.joined import joined_questions
from training.questions.plain_questions import plain_questions, same_things
from training.questions.unanswerable import ForeignWords, OtherQuestion, ask_other
from training.run import at_least, share
from training.search.own_pools import own_pools
from training.search.pools import Pools, fewer_candidates, only_gold
from training.transfer import default_workers, made_ahead

Made = TypeVar("Made")


@dataclass(frozen=True)
class TrainingBatch:
    """Input of the model, the questions with their gold graphs, and the weight of their mean loss, which differs from 1
    only in the last step of an epoch (`training.loader.share_out`). `most` is the number of candidates that the graph
    model sees of each question, if the pruner chooses them; 0 for its own limit."""

    batch: Batch
    examples: list[Example]
    weight: float = 1.0
    most: int = 0

    @property
    def graphs(self) -> list[EvidenceGraph]:
        return [example.graph for example in self.examples]

    @property
    def answerable(self) -> list[bool]:
        return [example.answerable for example in self.examples]

    def to(self, *args: Any, **kwargs: Any) -> TrainingBatch:
        return replace(self, batch=self.batch.to(*args, **kwargs))


class BgrDataModule(LightningDataModule):
    """Train and dev split of a dataset folder.

    Args:
        folder: folder written by ``bgr data build``.
        batch_size: questions per training batch. A step has this number times devices, nodes and accumulated batches.
        dev_batch_size: questions per batch of the dev split, which is sorted by length to reduce padding.
        candidates: number of candidates per training question: all gold facts and others sampled anew in each epoch; 0
            for all. Fewer candidates take less time and leave less to memorize. With a `pool` it is the maximum: each
            batch draws its number, from a third of it on, and the pruner chooses them.
        pool: number of candidates that the pruner chooses from in training: all of a question's own, and facts of other
            questions; 0 if there is no pruner.
        hard: share of the questions of an epoch whose pool is filled with facts of the textual database that are near
            in structure or by their words, in place of random ones; the dataset's facts need statements.
        unanswerable: also train and validate on the questions without an answer.
        beside: share of the questions of an epoch whose pool gets facts of the `database` about the same things as
            their gold facts (`training.questions.plain_questions`).
        few: share of the questions of an epoch that have few candidates, from their gold facts alone to six more.
        withheld: share of the questions of an epoch from which a gold fact is withheld
            (`training.questions.unanswerable.withheld`), as further questions without an answer; of those that need all
            of their facts.
        foreign: share of the questions of an epoch that have a word of which the data know nothing in place of one of
            their own (`training.questions.unanswerable.ForeignWords`), as further questions without an answer.
        collection, searcher, searched: a collection of sentences, a checkpoint that searches it for the last questions
            with an answer, and their number. Mostly (`training.search.pools.OWN_POOLS`) the candidates of such a
            question are its gold facts and the first texts that were found, in place of its own.
        database: folder of `bgr data database`: the facts for `beside`, and the statements of the collection's
            sentences; by default the dataset's own.
        joined: further training questions, made of two each (`training.questions.joined`), as a share of the others.
        plain: further training questions, about one statement each (`training.questions.plain_questions`), as a share
            of the others.
        other: share of the questions of an epoch that are asked for what the data never state
            (`training.questions.unanswerable`), as further questions without an answer.
        hasty: share of the questions of an epoch with another spelling: a typing mistake, no question mark, lower case.
        more: another dataset folder, whose training questions are learned from as well, with their own candidates and
            random ones: what is made of statements is made of those of `folder`. Its dev questions count with the
            others when the best weights and the threshold of each direction are chosen; the settings of the pair, and
            when it refuses, are chosen on `folder`.
        limit: number of training questions of `folder`; 0 for all.
        dev_limit: number of dev questions of `folder`; 0 for all.
        workers: processes that make batches ahead; by default none on a CPU, and on a GPU the cores that are free
            (`training.transfer.default_workers`). The batches are the same for any number.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        folder: str,
        batch_size: int = 16,
        dev_batch_size: int = 8,
        candidates: int = 0,
        limit: int = 0,
        dev_limit: int = 0,
        pool: int = 0,
        hard: float = 0.0,
        beside: float = 0.0,
        unanswerable: bool = False,
        few: float = 0.0,
        withheld: float = 0.0,
        foreign: float = 0.0,
        joined: float = 0.0,
        plain: float = 0.0,
        other: float = 0.0,
        hasty: float = 0.0,
        collection: str = "",
        searcher: str = "",
        searched: int = 0,
        database: str = "",
        more: str = "",
        workers: int | None = None,
    ) -> None:
        super().__init__()
        at_least(1, batch_size=batch_size, dev_batch_size=dev_batch_size)
        at_least(0, candidates=candidates, limit=limit, dev_limit=dev_limit, pool=pool, searched=searched)
        at_least(0, workers=workers or 0)
        share(hard=hard, beside=beside, few=few, withheld=withheld, foreign=foreign, joined=joined, hasty=hasty)
        share(plain=plain, other=other)
        if bool(searched) != bool(collection) or bool(searched) != bool(searcher):
            raise ValueError("collection, searcher and searched go together; give all or none of them")
        if searched and not candidates:
            raise ValueError("searched needs candidates, the number of texts that are read")
        pooled = {
            "hard": hard,
            "beside": beside,
            "few": few,
            "withheld": withheld,
            "foreign": foreign,
            "searched": searched,
        }
        for name, value in pooled.items():
            if value and not pool:
                raise ValueError(f"{name} needs a pool")
        self.folder = folder
        self.batch_size = batch_size
        self.dev_batch_size = dev_batch_size
        self.candidates = candidates
        self.workers = workers
        self.limit = limit
        self.dev_limit = dev_limit
        self.pool = pool
        self.hard = hard
        self.beside = beside
        self.same_things: Mapping[str, list[str]] = {}
        self.sets: CandidateSets | None = None
        self.unanswerable = unanswerable
        self.few = few
        self.withheld = withheld
        self.foreign = foreign
        self.joined = joined
        self.plain, self.other = plain, other
        self.others: dict[str, OtherQuestion] = {}
        self.hasty = hasty
        self.collection, self.searcher, self.searched, self.database = collection, searcher, searched, database
        self.asked: list[Example] = []
        self.more = more
        self.from_more: frozenset[str] = frozenset()
        self.own_pools: Mapping[str, list[str]] = {}
        self.spellings: dict[str, tuple[str, ...]] = {}
        self.variants = 1
        self.foreign_questions: dict[str, str] = {}
        self.splits: dict[str, list[Example]] = {}
        self._tables: dict[str, FactTable] = {}
        self.recipe = ""
        self.progress = True
        self.cache_use: CacheUse | None = None
        self.loader: StepLoader[TrainingBatch] | None = None
        self.resumed: dict[str, Any] = {}

    def setup(self, stage: str | None = None) -> None:
        self.recipe = recipe_of(self.folder)
        if "train" not in self.splits:
            train = load_split(self.folder, "train", unanswerable=self.unanswerable)[: self.limit or None]
            plain = self._made(self.folder, partial(plain_questions, train, share=self.plain)) if self.plain else []
            self.splits["train"] = [*train, *joined_questions(train, self.joined), *plain, *self._more("train")]
            self.asked = [one for one in train if one.answerable][-self.searched :] if self.searched else []
        if "dev" not in self.splits:
            dev = load_split(self.folder, "dev", unanswerable=self.unanswerable)[: self.dev_limit or None]
            self.splits["dev"] = [*dev, *self._more("dev")]
        if self.hard and self.sets is None:
            self.sets = self._made(self.folder, CandidateSets)
        if not self.splits["train"]:
            raise DataError(f"{self.folder}: train has no question to learn from")
        if not any(example.answerable for example in self.splits["dev"]):
            raise DataError(f"{self.folder}: dev has no question with evidence, by which the best weights are chosen")
        self.splits["dev"].sort(key=lambda e: (max(map(len, e.facts), default=0), e.id))

    def prepare(self, tokenizer: Any, model: BgrRetriever | BaselineModel, cache: Path) -> None:
        """Read the splits, tokenize them, and cache the states of the model's frozen layers in the folder `cache`."""
        self.setup()
        if self.searched and not self.own_pools:
            self.own_pools = self._own_pools(model.device, cache)
        if self.beside and not self.same_things:
            self.same_things = self._made(self._database, partial(same_things, self.own("train")))
        if self.other and not self.others:
            self.others = self._made(self.folder, self._other_questions)
        self.tokenize(tokenizer, model)
        self.cache_lower_states(model.encoder, cache)
        self._tables.clear()

    def _more(self, split: str) -> list[Example]:
        """The questions of a split of the other dataset, under names that no question of this one has."""
        found = load_split(self.more, split, unanswerable=self.unanswerable) if self.more else []
        found = [replace(one, id=f"more: {one.id}") for one in found]
        self.from_more |= {one.id for one in found}
        return found

    def own(self, split: str) -> list[Example]:
        """The questions of a split that are of `folder`, whose facts may have statements."""
        return [one for one in self.splits[split] if one.id not in self.from_more]

    @property
    def _database(self) -> str:
        return self.database or self.folder

    def _made(self, folder: str, make: Callable[[FactTable], Made]) -> Made:
        """What is made of the facts of a folder, which are read once; an error names the folder."""
        if folder not in self._tables:
            self._tables[folder] = FactTable.read(folder)
        try:
            return make(self._tables[folder])
        except DataError as error:
            raise DataError(f"{folder}: {error}") from None

    def _other_questions(self, table: FactTable) -> dict[str, OtherQuestion]:
        asked = ((one.id, ask_other(one, table)) for one in self.own("train") if one.answerable)
        return {name: other for name, other in asked if other is not None}

    def _own_pools(self, device: torch.device, cache: Path) -> dict[str, list[str]]:
        """The first texts of a search for the last questions that none of their gold facts is, or is as good as."""
        places = Path(self.searcher), Path(self.collection)
        found = own_pools(*places, self.asked, 2 * self.candidates, cache, device=device, progress=self.progress)

        def kept(table: FactTable) -> dict[str, list[str]]:
            one_by_one = ((one.id, fair(only_gold(one), found[one.id], table)) for one in self.asked)
            return {name: list(islice(texts, self.candidates)) for name, texts in one_by_one}

        return self._made(self._database, kept)

    def tokenize(self, tokenizer: Any, model: BgrRetriever | BaselineModel) -> None:
        """Tokenize every distinct sentence of the splits once, with the limits of the model."""
        examples = [example for split in self.splits.values() for example in split]
        limits = model.config
        asked = dict.fromkeys(example.question for example in self.splits["train"]) if self.hasty else {}
        seeds = ["", *(f" {n}" for n in range(1, self.variants))]
        self.spellings = {one: tuple(with_haste(one, random.Random(one + seed)) for seed in seeds) for one in asked}
        if self.foreign:
            self.foreign_questions = self._foreign_questions(tokenizer)
        hasty = [one for several in self.spellings.values() for one in several]
        others = [one.question for one in self.others.values()]
        questions = [*(e.question for e in examples), *hasty, *self.foreign_questions.values(), *others]
        self.questions = Sentences(questions, tokenizer, max_tokens=limits.question_tokens)
        found = chain.from_iterable([*self.own_pools.values(), *self.same_things.values()])
        facts = chain((fact for example in examples for fact in example.facts), found)
        self.facts = Sentences(facts, tokenizer, max_tokens=limits.fact_tokens)

    def _foreign_questions(self, tokenizer: Any) -> dict[str, str]:
        train = self.splits["train"]
        words = ForeignWords(tokenizer.get_vocab(), (text for e in train for text in (e.question, *e.facts)))
        asked = dict.fromkeys(example.question for example in train if example.answerable)
        found = ((one, words.question(one, random.Random(f"foreign {one}"))) for one in asked)
        return {one: other for one, other in found if other is not None}

    @property
    def truncation(self) -> dict[str, Truncation]:
        """How many of the distinct questions and facts of train and dev were truncated."""
        return {"questions": self.questions.truncation, "facts": self.facts.truncation}

    def cache_lower_states(self, encoder: SentenceStates, folder: Path) -> None:
        """Replace token ids by the states of ``encoder.lower``, which are kept in a folder (`cache_lower`)."""
        self.cache_use = None
        for title, sentences in (("questions", self.questions), ("facts", self.facts)):
            before: CacheUse | None = self.cache_use
            use = cache_lower(sentences, encoder, folder, title=title, progress=self.progress)
            if use is not None:
                self.cache_use = use if before is None else use.after(before)

    def collate(self, examples: Sequence[Example]) -> TrainingBatch:
        batch = make_batch(self.questions, self.facts, [(e.question, e.facts) for e in examples])
        return TrainingBatch(batch, list(examples))

    def training_batch(self, examples: Sequence[Example], drawn: str, rows: Sequence[int]) -> Any:
        """The batch of some questions, the `rows` of the split; all that is random depends on them and `drawn`."""
        if self.hasty:
            draw = random.Random(f"spelling {drawn} {rows}")
            examples = [self.spelled(example, draw) for example in examples]
        if self.pool:
            return self._with_pool(examples, f"{drawn} {rows}")
        if self.candidates:
            examples = [fewer_candidates(e, self.candidates, f"{drawn} {e.id}") for e in examples]
        return self.collate(examples)

    def spelled(self, example: Example, draw: random.Random) -> Example:
        """The question, sometimes in another spelling."""
        if draw.random() >= self.hasty:
            return example
        several = self.spellings[example.question]
        return replace(example, question=several[0] if len(several) == 1 else draw.choice(several))

    def _with_pool(self, examples: Sequence[Example], seed: str) -> TrainingBatch:
        """The batch with a pool of candidates for each question (`Pools`)."""
        pools = Pools(
            size=self.pool,
            most=self.candidates,
            facts=self.facts.number,
            near=(self.sets, self.hard),
            not_near=self.from_more,
            same_things=(self.same_things, self.beside),
            searched=self.own_pools,
            few=self.few,
            withheld=self.withheld,
            foreign=(self.foreign_questions, self.foreign),
            other=(self.others, self.other),
        )
        drawn = pools.draw(examples, random.Random(seed))
        samples = [(one.question, pool) for one, pool in zip(drawn.asked, drawn.pools, strict=True)]
        return TrainingBatch(make_batch(self.questions, self.facts, samples), drawn.asked, most=drawn.most)

    def train_dataloader(self) -> StepLoader[TrainingBatch]:
        train, trainer = self.splits["train"], self.trainer
        part = Part(trainer.global_rank, trainer.world_size, trainer.accumulate_grad_batches) if trainer else Part()
        # path states are as long as the longest question of a batch
        order = SimilarLengths(
            [len(e.question) for e in train], self.batch_size * part.batches, seed=torch.initial_seed() % (1 << 31)
        )

        def make(rows: list[int], weight: float) -> TrainingBatch:
            batch = self.training_batch([train[row] for row in rows], f"{order.seed} {order.epoch}", rows)
            return replace(batch, weight=weight)

        self.loader = StepLoader(order, make, part, self._ahead())
        self.loader.load_state_dict(self.resumed)
        return self.loader

    def val_dataloader(self) -> WholeLoader[Example, TrainingBatch]:
        return WholeLoader(self.splits["dev"], self.dev_batch_size, self.collate, self._ahead())

    def _ahead(self) -> Ahead:
        """How batches are made: ahead, on their way to a GPU; or one by one. Both have ``to(device)``."""
        device = self.trainer.strategy.root_device if self.trainer else torch.device("cpu")
        workers = default_workers(device) if self.workers is None else self.workers
        if not workers and device.type == "cpu":
            return map
        return partial(made_ahead, workers=workers, pin=device.type == "cuda")

    def state_dict(self) -> dict[str, Any]:
        """Position in the epoch."""
        return self.loader.state_dict() if self.loader else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # Lightning would restore the loader itself, but it creates the loader earlier, to count the steps for the
        # learning rate schedule
        self.resumed = state_dict
