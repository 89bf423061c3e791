"""Verbalization of facts by a sequence-to-sequence model (paper, 3.1.2).

The model samples several candidates for each unit, of which `selection` takes the best complete one; a unit without any
gets its template sentence. Outcomes are saved chunk by chunk, so that an interrupted build resumes where it stopped.

The input of the model is ``Winter Light (film), director Ingmar Bergman, runtime 81 minutes (stated in GeoNames)``: the
head with its kind, if there is one, then for each fact its predicate and its value or tail, with its qualifiers in
brackets. The order is that of KELM (Agarwal et al., 2021: ``subject relation object relation object``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.verbalize.selection import CompleteCandidates, Scorer, best, filter_complete
from bgr.data.reasongraphqa.verbalize.templates import value_text
from bgr.data.reasongraphqa.verbalize.verbalizer import STYLES, Verbalizer
from bgr.utils.cache import ChunkCache
from bgr.utils.hashing import hash_texts


def linearize_facts(kb: KnowledgeBase, facts: Sequence[Fact], *, kind: str | None = None, style: int = 0) -> str:
    """Facts of one head in one line, the model's input.

    Args:
        kb: knowledge base, which gives the names.
        facts: one or more facts, all of one head.
        kind: a common noun for the head (`Verbalizer.kind`); ``None`` leaves it out.
        style: the style of dates and units (`value_text`).
    """
    head = kb.name(facts[0].head)
    return ", ".join([f"{head} ({kind})" if kind else head, *(_part(kb, fact, style) for fact in facts)])


def _part(kb: KnowledgeBase, fact: Fact, style: int) -> str:
    if fact.value is not None:
        text = value_text(fact.value, style)
    else:
        text = kb.name(fact.tail) if fact.tail is not None else ""
    more = ", ".join(f"{key} {value_text(value, style)}" for key, value in fact.qualifiers)
    return f"{fact.predicate} {text}" + (f" ({more})" if more else "")


class OutcomeStore:
    """A cache of outcomes as JSON records, with one chunk for each list of names.

    Args:
        folder: folder of the cache, made for the first chunk.
        key: identifies the model and everything else that its sentences depend on.
    """

    def __init__(self, folder: str | Path, *, key: str) -> None:
        self.key = key
        self.chunks = ChunkCache(folder, "sentences")

    def load(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """The records saved for exactly these names in this order, or ``None``."""
        body = self.chunks.load(hash_texts(self.key, *names))
        return None if body is None else json.loads(body)

    def save(self, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> None:
        """Save a chunk.

        Raises:
            DataError: the folder cannot be written.
        """
        self.chunks.save(hash_texts(self.key, *names), json.dumps(records).encode())

    def clear(self) -> None:
        """Remove the chunks, and the folder if it is empty then."""
        self.chunks.clear()


CHUNK = 512
"""Number of units that are verbalized, and saved, together."""

Generator = Callable[[Sequence[str]], list[list[str | None]]]
"""Linearized facts to candidate sentences; ``None`` for one that did not end."""

Unit = tuple[Fact, ...]


@dataclass(frozen=True)
class Outcome:
    """The model's result for one unit.

    Args:
        sentence: the selected candidate; ``None`` if none was complete.
        drawn, unfinished, incomplete: numbers of all candidates and of those removed (`CompleteCandidates`).
    """

    sentence: str | None
    drawn: int  # a field of the saved records
    unfinished: int
    incomplete: int


class Seq2seqVerbalizer:
    """Verbalizes facts, with the interface of `Verbalizer`.

    The same facts get the same sentence in every build with the same model and seed, except for rounding that depends
    on batches; the same set of units gets exactly the same sentences.

    Args:
        templates: verbalizes units for which the model fails, and gives mentions and kinds; its seed selects the style
            of values.
        generate: linearized facts to candidates; each line's depend only on the line.
        score: scores candidates against the linearized facts.
        store: cache for resuming an interrupted build; ``None`` for no cache.
        progress: show a bar on standard error.
    """

    def __init__(
        self,
        templates: Verbalizer,
        generate: Generator,
        score: Scorer,
        *,
        store: OutcomeStore | None = None,
        progress: bool = False,
    ) -> None:
        self.kb = templates.kb
        self.templates = templates
        self._generate = generate
        self._score = score
        self._store = store
        self._progress = progress
        self._outcomes: dict[Unit, Outcome] = {}

    def prepare(self, units: Iterable[Sequence[Fact]]) -> None:
        """Verbalize many units, since a model is fast only in batches.

        The units are sorted first, so that the result does not depend on their order.
        """
        new = sorted({tuple(unit) for unit in units} - self._outcomes.keys(), key=repr)
        with tqdm(total=len(new), desc="verbalize", unit="unit", disable=not self._progress) as bar:
            for start in range(0, len(new), CHUNK):
                part = new[start : start + CHUNK]
                self._outcomes.update(zip(part, self._cached(part), strict=True))
                bar.update(len(part))

    def sentence(self, facts: Sequence[Fact]) -> str:
        """One sentence for one to three facts of one head; units that were not prepared are verbalized one by one.

        Raises:
            ValueError: no fact, more than three, or several heads.
        """
        unit = tuple(facts)
        template = self.templates.sentence(unit)
        if unit not in self._outcomes:
            [self._outcomes[unit]] = self._verbalize([unit])
        return self._outcomes[unit].sentence or template

    def mention(self, node: str) -> str:
        """See `Verbalizer.mention`."""
        return self.templates.mention(node)

    def kind(self, node: str) -> str | None:
        """See `Verbalizer.kind`."""
        return self.templates.kind(node)

    def counts(self, units: Iterable[Sequence[Fact]]) -> dict[str, int]:
        """Counts of verbalized units, by the model or by templates, and of their candidates."""
        outcomes = [self._outcomes[tuple(unit)] for unit in units]
        return {
            "units": len(outcomes),
            "by_the_model": sum(outcome.sentence is not None for outcome in outcomes),
            "by_templates": sum(outcome.sentence is None for outcome in outcomes),
            "candidates": sum(outcome.drawn for outcome in outcomes),
            "candidates_unfinished": sum(outcome.unfinished for outcome in outcomes),
            "candidates_incomplete": sum(outcome.incomplete for outcome in outcomes),
        }

    def clear(self) -> None:
        """Remove the cache, when the dataset is written."""
        if self._store is not None:
            self._store.clear()

    def line(self, unit: Sequence[Fact]) -> str:
        """The model's input for a unit."""
        style = Random(f"{self.templates.seed}|style|{'|'.join(map(repr, unit))}").randrange(STYLES)
        return linearize_facts(self.kb, unit, kind=self.kind(unit[0].head), style=style)

    def _cached(self, units: Sequence[Unit]) -> list[Outcome]:
        if self._store is None:
            return self._verbalize(units)
        # with the line, because the facts have ids but not the names of entities
        names = [f"{self.line(unit)}\n{unit!r}" for unit in units]
        records = self._store.load(names)
        if records is not None:
            return [Outcome(**record) for record in records]
        outcomes = self._verbalize(units)
        self._store.save(names, [asdict(outcome) for outcome in outcomes])
        return outcomes

    def _verbalize(self, units: Sequence[Unit]) -> list[Outcome]:
        lines = [self.line(unit) for unit in units]
        sampled = self._generate(lines)
        found = [filter_complete(self.kb, unit, candidates) for unit, candidates in zip(units, sampled, strict=True)]
        # a single candidate needs no score
        pairs = [(text, line) for unit, line in zip(found, lines, strict=True) for text in _rivals(unit)]
        scores = iter(self._score(pairs))
        return [_outcome(unit, [next(scores) for _ in _rivals(unit)]) for unit in found]


def _rivals(found: CompleteCandidates) -> tuple[str, ...]:
    return found.complete if len(found.complete) > 1 else ()


def _outcome(found: CompleteCandidates, scores: Sequence[float]) -> Outcome:
    chosen = best(found.complete, scores) if scores else next(iter(found.complete), None)
    return Outcome(chosen, found.sampled, found.unfinished, found.incomplete)
