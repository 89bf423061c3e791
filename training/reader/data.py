"""Questions with their evidence and targets, for training an extractive reader."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.batching import Batch
from bgr.models.extractive_reader import Evidence
from bgr.reader.evidence import EvidenceTexts, FactTexts, Told, evidence_batch
from training.data_module import BgrDataModule
from training.questions.unanswerable import can_withhold
from training.reader.retrieved import Retrieved, alike, another, beside, with_more, without
from training.reader.targets import NOTHING, Target, target_of
from training.run import at_least, share

MOST_ADDED = 3
"""Maximum facts that are added to a graph as noise."""

MOST_WRONG = 4
"""Maximum facts of a graph for a question without an answer."""

VARIANTS = 2
"""Other spellings of each question."""

NEAREST = 6
"""Facts that share the most words with a question without an answer. Half of the wrong graphs are made of them."""

NEXT = 3
"""Facts that share the most words with a needed one, which stand in for it where statements are unknown."""

FEWEST = 2
"""Answers of a list, and units, that fewer questions have are not learned."""


@dataclass(frozen=True)
class ReaderBatch:
    """Input of an `ExtractiveReaderModel`, the target of each question, and the questions with the texts of their
    evidence. `weight` as in `training.data_module.TrainingBatch`."""

    batch: Batch
    evidence: Evidence
    targets: list[Target]
    texts: list[FactTexts]
    examples: list[Example]
    weight: float = 1.0

    def to(self, *args: Any, **kwargs: Any) -> ReaderBatch:
        return replace(self, batch=self.batch.to(*args, **kwargs), evidence=self.evidence.to(*args, **kwargs))


class ReaderDataModule(BgrDataModule):
    """Train and dev split of a dataset folder, each question with its gold graph.

    Args:
        folder: folder written by ``bgr data build``.
        batch_size: questions per training batch.
        dev_batch_size: questions per batch of the dev split.
        noise: share of the training questions of an epoch whose graph gets further facts.
        hasty: share of those with another spelling: a typing mistake, no question mark, lower case.
        withheld: share of those from whose graph a needed fact is taken, so that there is no answer.
        swapped: share of those in whose graph a needed fact is about something else, or says something else, so that
            there is no answer.
        plain: as in `BgrDataModule`.
        other: share of those that are asked for what the data never state (`training.questions.unanswerable`), so
            that there is no answer.
        retrieved_limit: number of training questions that a retriever is also run for, if there is one, and as many of
            `more`; half of the time they are read from its graph.
        more: as in `BgrDataModule`; what is counted and compared is only known as far as its evidence shows.
        limit, dev_limit: number of questions; 0 for all.
        workers: as in `BgrDataModule`.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        folder: str,
        batch_size: int = 16,
        dev_batch_size: int = 32,
        noise: float = 0.3,
        hasty: float = 0.15,
        withheld: float = 0.05,
        swapped: float = 0.05,
        plain: float = 0.0,
        other: float = 0.0,
        retrieved_limit: int = 2000,
        limit: int = 0,
        dev_limit: int = 0,
        more: str = "",
        workers: int | None = None,
    ) -> None:
        super().__init__(
            folder,
            batch_size,
            dev_batch_size,
            limit=limit,
            dev_limit=dev_limit,
            unanswerable=True,
            hasty=hasty,
            plain=plain,
            other=other,
            more=more,
            workers=workers,
        )
        share(noise=noise, withheld=withheld, swapped=swapped)
        at_least(0, retrieved_limit=retrieved_limit)
        self.noise, self.without, self.swapped = noise, withheld, swapped
        self.variants = VARIANTS
        self.retrieved_limit = retrieved_limit
        self.retrieved: dict[str, Retrieved] = {}
        self.table: FactTable | None = None
        self.left_out = 0

    def setup(self, stage: str | None = None) -> None:
        if self.splits:
            return
        super().setup(stage)
        facts = Path(self.folder) / FACTS_FILE
        if facts.is_file() and facts.stat().st_size:  # datasets in the released form have no statements
            self.table = self._made(self.folder, lambda table: table)
        for split, examples in self.splits.items():
            kept = [one for one in examples if not one.answerable or self.target(one, one.graph)]
            self.left_out += len(examples) - len(kept)
            # in dev, what cannot be learned is an error
            self.splits[split] = kept if split == "train" else examples

    def tokenize(self, tokenizer: Any, model: Any) -> None:
        super().tokenize(tokenizer, model)
        limits = model.config.fact_tokens, model.config.question_tokens
        self.texts = EvidenceTexts(self.facts, self.questions, tokenizer, limits=limits)

    def first_asked(self, limit: int) -> list[Example]:
        """The first training questions of `folder`, and as many of `more`."""
        more = [one for one in self.splits["train"] if one.id in self.from_more]
        return [*self.own("train")[:limit], *more[:limit]]

    def statements(self, example: Example, node: int) -> Sequence[Fact]:
        """The statements of a candidate; none if the dataset has none."""
        if self.table is None or example.id in self.from_more:
            return ()
        return [fact for unit in self.table.units(example, node) for fact in unit.facts]

    def target(self, example: Example, graph: EvidenceGraph) -> Target | None:
        """What to read in a graph. Of facts that are no evidence, no statements are known, since none of them count."""
        gold = set(example.graph.nodes)
        names = {} if self.table is None else self.table.names

        def statements(one: Example, node: int) -> Sequence[Fact]:
            return self.statements(one, node) if node in gold else ()

        return target_of(example, graph, statements, names)

    def lists(self) -> tuple[list[str], list[str]]:
        """The answers that no fact contains, and the units, of the training questions."""
        labels, units = Counter[str](), Counter[str]()
        for example in self.splits["train"]:
            target = self.target(example, example.graph) if example.answerable else None
            if target is not None and target.label is not None:
                labels[target.label] += 1
            if target is not None and target.kind == "quantity":
                units[target.unit] += 1
        return tuple(sorted(one for one, count in found.items() if count >= FEWEST) for found in (labels, units))  # type: ignore[return-value]

    def training_batch(self, examples: Sequence[Example], drawn: str, rows: Sequence[int]) -> Any:
        draw = random.Random(f"{drawn} {rows}")
        return self._batch([self._noised(example, draw) for example in examples])

    def collate(self, examples: Sequence[Example]) -> Any:
        """With the gold graphs; of questions without an answer with wrong ones, the same at each call."""
        return self._batch([self._row(e, self._graph(e, random.Random(e.id))) for e in examples])

    def dev_batches(self, graphs: Mapping[str, Retrieved] | None = None) -> Iterator[ReaderBatch]:
        """The dev questions with an answer and their gold graphs; or all of those whose graph in `graphs` is not empty,
        with this one."""
        rows = [
            (example, example.graph if graphs is None else graphs[example.id].graph)
            for example in self.splits["dev"]
            if graphs is not None or example.answerable
        ]
        rows = [(example, graph) for example, graph in rows if graph.nodes]
        for start in range(0, len(rows), self.dev_batch_size):
            yield self._batch([self._row(*each) for each in rows[start : start + self.dev_batch_size]])

    def _batch(self, rows: Sequence[tuple[Example, EvidenceGraph, Target]]) -> ReaderBatch:
        told = [Told.of(example.question, example.facts, graph) for example, graph, _ in rows]
        batch, evidence = evidence_batch(self.questions, self.facts, self.texts, told)
        texts = [self.texts.of(one) for one in told]
        return ReaderBatch(batch, evidence, [target for *_, target in rows], texts, [row[0] for row in rows])

    def _row(self, example: Example, graph: EvidenceGraph) -> tuple[Example, EvidenceGraph, Target]:
        found = self.target(example, graph) if example.answerable else NOTHING
        return example, graph, found or NOTHING

    def _noised(self, example: Example, draw: random.Random) -> tuple[Example, EvidenceGraph, Target]:
        example = self.spelled(example, draw)
        found = self.retrieved.get(example.id)
        if found is not None and draw.random() < 0.5 and _readable(example, found.graph):
            return self._row(example, found.graph)
        if self.other and draw.random() < self.other and example.id in self.others:
            other = self.others[example.id]
            graph = self._with_noise(example, EvidenceGraph([(ROOT, other.fact)]), draw)
            return replace(example, question=other.question), graph, NOTHING
        graph = self._graph(example, draw)
        if len(graph.nodes) > 1 and self._needs_all(example) and draw.random() < self.without:
            return example, without(graph, draw.choice(graph.nodes)), NOTHING
        if self._needs_all(example) and draw.random() < self.swapped:
            lost = draw.choice(graph.nodes)
            instead = self._instead(example, lost, graph, draw)
            if instead is not None:
                return example, graph.relabel({n: instead if n == lost else n for n in graph.nodes}), NOTHING
        return self._row(example, self._with_noise(example, graph, draw) if example.answerable else graph)

    def _needs_all(self, example: Example) -> bool:
        """Whether a graph without one of its facts has no answer, and does not look as if it had. Of `more`, whose
        programs are unknown, a count or a choice of fewer facts would."""
        return can_withhold(example) or (example.id in self.from_more and example.type in ("query", "boolean"))

    def _instead(self, example: Example, lost: int, graph: EvidenceGraph, draw: random.Random) -> int | None:
        """A candidate in place of a needed fact, with which there is no answer; ``None`` if there is none."""
        if example.id in self.from_more:
            others = sorted(set(range(len(example.facts))) - set(graph.nodes))
            nearest = alike(example.facts[lost], example.facts, others)[:NEXT]
            return draw.choice(nearest) if nearest else None
        told = [self.statements(example, n) for n in range(len(example.facts))]
        return draw.choice((another, beside))(lost, graph, told, draw)

    def _with_noise(self, example: Example, graph: EvidenceGraph, draw: random.Random) -> EvidenceGraph:
        """The graph, sometimes with further facts."""
        others = sorted(set(range(len(example.facts))) - set(graph.nodes))
        return with_more(graph, others, MOST_ADDED, draw) if others and draw.random() < self.noise else graph

    def _graph(self, example: Example, draw: random.Random) -> EvidenceGraph:
        if example.answerable or not example.facts:
            return example.graph
        places: Sequence[int] = range(len(example.facts))
        if draw.random() < 0.5:
            places = alike(example.question, example.facts, places)[:NEAREST]
        nodes = draw.sample(places, min(len(places), draw.randint(1, MOST_WRONG)))
        edges = [(draw.choice([ROOT, *nodes[:place]]), node) for place, node in enumerate(nodes)]
        return EvidenceGraph(edges)


def _readable(example: Example, graph: EvidenceGraph) -> bool:
    """Whether it is known what to read in a retrieved graph: it has all of the evidence, or there is no answer."""
    return bool(graph.nodes) and (not example.answerable or set(example.graph.nodes) <= set(graph.nodes))
