"""Facts in words by a sequence-to-sequence model: several candidates, a completeness filter, BERTScore (paper, 3.1.2).

A unit none of whose candidates is complete gets its template sentence.

Facts as the input of a sequence-to-sequence verbaliser: KELM's order, head first, then relation and tail in turn.

``Winter Light (film), director Ingmar Bergman, runtime 81 minutes (stated in GeoNames)``: the head with its kind where
one is plain, then for each fact its predicate and its value or tail, with its qualifiers in brackets (Agarwal et al.,
2021, serialise triples as ``subject relation object relation object``).

What a model worded, kept on disk chunk by chunk, so that an interrupted build goes on where it was.
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
from bgr.data.reasongraphqa.verbalize.selection import Scorer, Sifted, best, sift
from bgr.data.reasongraphqa.verbalize.verbalizer import STYLES, Verbalizer
from bgr.data.reasongraphqa.verbalize.wording import value_text
from bgr.utils.cache import ChunkCache
from bgr.utils.hashing import hash_texts


def linearise(kb: KnowledgeBase, facts: Sequence[Fact], *, kind: str | None = None, style: int = 0) -> str:
    """Facts of one head in one line.

    Args:
        kb: gives the names.
        facts: one or more, all of one head.
        kind: a common noun for the head, as `Verbalizer.kind` gives it; ``None`` leaves it out.
        style: one way to write dates and units for all values (`value_text`).
    """
    head = kb.name(facts[0].head)
    return ", ".join([f"{head} ({kind})" if kind else head, *(_part(kb, fact, style) for fact in facts)])


def _part(kb: KnowledgeBase, fact: Fact, style: int) -> str:
    if fact.value is not None:
        said = value_text(fact.value, style)
    else:
        said = kb.name(fact.tail) if fact.tail is not None else ""
    more = ", ".join(f"{key} {value_text(value, style)}" for key, value in fact.qualifiers)
    return f"{fact.predicate} {said}" + (f" ({more})" if more else "")


class OutcomeStore:
    """Records as JSON, a chunk under the hash of the key and of what was worded.

    Args:
        folder: made when the first chunk is kept.
        key: names the model and all that decides its sentences, so that no other's are taken.
    """

    def __init__(self, folder: str | Path, *, key: str) -> None:
        self.key = key
        self.kept = ChunkCache(folder, "sentences")

    def load(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """The records kept for exactly these names in this order, or ``None``."""
        body = self.kept.load(hash_texts(self.key, *names))
        return None if body is None else json.loads(body)

    def save(self, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> None:
        """Keep a chunk.

        Raises:
            DataError: the folder cannot be written.
        """
        self.kept.save(hash_texts(self.key, *names), json.dumps(records).encode())

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        self.kept.clear()


CHUNK = 512
"""Units that are worded, and kept on disk, together."""

Generator = Callable[[Sequence[str]], list[list[str | None]]]
"""Linearised facts to candidate sentences; ``None`` for one that did not end."""

Unit = tuple[Fact, ...]


@dataclass(frozen=True)
class Outcome:
    """What the model gave for one unit.

    Args:
        sentence: the candidate that was chosen; ``None`` if none was complete.
        drawn, unfinished, incomplete: numbers of candidates (`Sifted`).
    """

    sentence: str | None
    drawn: int
    unfinished: int
    incomplete: int


class Seq2seqVerbalizer:
    """Turns facts into sentences, as `Verbalizer` does.

    The same facts get the same sentence in every build with the same model and seed, up to the rounding of batches;
    the same set of units gets the same sentences to the last byte.

    Args:
        templates: word what the model cannot, and give mentions and kinds; its seed draws how values are written.
        generate: linearised facts to candidates, a function of each line alone.
        score: of candidates against the linearised facts.
        store: keeps what is worded for a build that is interrupted; ``None`` keeps nothing.
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
        """Word many units at once: a model is fast in batches only.

        The units are sorted first, so that their order plays no part.
        """
        new = sorted({tuple(unit) for unit in units} - self._outcomes.keys(), key=repr)
        with tqdm(total=len(new), desc="word", unit="unit", disable=not self._progress) as bar:
            for start in range(0, len(new), CHUNK):
                part = new[start : start + CHUNK]
                self._outcomes.update(zip(part, self._kept(part), strict=True))
                bar.update(len(part))

    def sentence(self, facts: Sequence[Fact]) -> str:
        """One sentence that states one to three facts of one head; what was not prepared is worded alone.

        Raises:
            ValueError: no fact, more than three, or several heads.
        """
        unit = tuple(facts)
        template = self.templates.sentence(unit)
        if unit not in self._outcomes:
            [self._outcomes[unit]] = self._word([unit])
        return self._outcomes[unit].sentence or template

    def mention(self, node: str) -> str:
        """See `Verbalizer.mention`."""
        return self.templates.mention(node)

    def kind(self, node: str) -> str | None:
        """See `Verbalizer.kind`."""
        return self.templates.kind(node)

    def counts(self, units: Iterable[Sequence[Fact]]) -> dict[str, int]:
        """Of units that were worded: how many, by whom, and what became of the candidates."""
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
        """Remove what the store keeps: the sentences have found their place."""
        if self._store is not None:
            self._store.clear()

    def line(self, unit: Sequence[Fact]) -> str:
        """What the model reads."""
        style = Random(f"{self.templates.seed}|style|{'|'.join(map(repr, unit))}").randrange(STYLES)
        return linearise(self.kb, unit, kind=self.kind(unit[0].head), style=style)

    def _kept(self, units: Sequence[Unit]) -> list[Outcome]:
        if self._store is None:
            return self._word(units)
        # the line beside the facts: their ids alone do not say how entities are called
        names = [f"{self.line(unit)}\n{unit!r}" for unit in units]
        records = self._store.load(names)
        if records is not None:
            return [Outcome(**record) for record in records]
        outcomes = self._word(units)
        self._store.save(names, [asdict(outcome) for outcome in outcomes])
        return outcomes

    def _word(self, units: Sequence[Unit]) -> list[Outcome]:
        lines = [self.line(unit) for unit in units]
        drawn = self._generate(lines)
        sifted = [sift(self.kb, unit, candidates) for unit, candidates in zip(units, drawn, strict=True)]
        # a lone candidate needs no score
        pairs = [(text, line) for one, line in zip(sifted, lines, strict=True) for text in _rivals(one)]
        scores = iter(self._score(pairs))
        return [_outcome(one, [next(scores) for _ in _rivals(one)]) for one in sifted]


def _rivals(sifted: Sifted) -> tuple[str, ...]:
    return sifted.complete if len(sifted.complete) > 1 else ()


def _outcome(sifted: Sifted, scores: Sequence[float]) -> Outcome:
    alone = next(iter(sifted.complete), None)
    chosen = best(sifted.complete, scores) if scores else alone
    return Outcome(chosen, sifted.drawn, sifted.unfinished, sifted.incomplete)
