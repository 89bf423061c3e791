"""Verbalization of facts by a sequence-to-sequence model (paper, 3.1.2).

The model samples several candidates for each unit. Of those that lack no name or value, the best by BERTScore is taken;
a unit without any gets its template sentence. Outcomes are saved chunk by chunk, so that an interrupted build resumes
where it stopped.

The input of the model is ``Winter Light (film), director Ingmar Bergman, runtime 81 minutes (stated in GeoNames)``: the
head with its kind, if there is one, then for each fact its predicate and its value or tail, with its qualifiers in
brackets. The order is that of KELM (Agarwal et al., 2021: ``subject relation object relation object``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from bgr.collection.embedding import SentenceEncoder
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.verbalize.templates import value_text
from bgr.data.reasongraphqa.verbalize.verbalizer import STYLES, Verbalizer, missing_parts
from bgr.errors import BgrError
from bgr.utils.cache import ChunkCache
from bgr.utils.hashing import hash_texts


def linearize_facts(kb: KnowledgeBase, facts: Sequence[Fact], *, kind: str | None = None, style: int = 0) -> str:
    """One or more facts of one head in one line, the model's input.

    Args:
        kind: a common noun for the head (`Verbalizer.kind`); ``None`` leaves it out.
        style: the style of dates and units (`value_text`).
    """
    head = kb.name(facts[0].head)
    parts = [f"{head} ({kind})" if kind else head]
    for fact in facts:
        text = value_text(fact.value, style) if fact.value is not None else kb.name(str(fact.tail))
        more = ", ".join(f"{key} {value_text(value, style)}" for key, value in fact.qualifiers)
        parts.append(f"{fact.predicate} {text}" + (f" ({more})" if more else ""))
    return ", ".join(parts)


CHUNK = 512
"""Number of units that are verbalized, and saved, together."""

Generator = Callable[[Sequence[str]], list[list[str | None]]]
"""Linearized facts to candidate sentences; ``None`` for one that did not end."""

Scorer = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Pairs of candidate and reference to scores, higher is better."""

DECIMALS = 4
"""Scores are compared after rounding, because their last bits depend on the batch."""

Unit = tuple[Fact, ...]


@dataclass(frozen=True)
class CompleteCandidates:
    """The distinct complete candidates of a unit in the order of sampling, and the numbers of all candidates, of those
    that did not end in time, and of those that lack a name or a value.
    """

    complete: tuple[str, ...]
    sampled: int
    unfinished: int
    incomplete: int


def filter_complete(kb: KnowledgeBase, facts: Sequence[Fact], candidates: Sequence[str | None]) -> CompleteCandidates:
    """Remove candidates that did not end, or that lack a name or a value (`missing_parts`)."""
    finished = [text for text in candidates if text is not None]
    complete = [text for text in finished if not missing_parts(kb, text, facts)]
    return CompleteCandidates(
        complete=tuple(dict.fromkeys(complete)),
        sampled=len(candidates),
        unfinished=len(candidates) - len(finished),
        incomplete=len(finished) - len(complete),
    )


def best(candidates: Sequence[str], scores: Sequence[float]) -> str:
    """The candidate with the highest score; among equals the first."""
    order = sorted(range(len(candidates)), key=lambda index: (-round(scores[index], DECIMALS), index))
    return candidates[order[0]]


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
    """Verbalizes facts by a model (a `FactVerbalizer`).

    The same facts get the same sentence in every build with the same model and seed, except for rounding that depends
    on batches; the same set of units gets exactly the same sentences.

    Args:
        templates: verbalizes units for which the model fails, and gives the kinds of heads; its seed selects the style
            of values.
        generate: linearized facts to candidates; each line's depend only on the line.
        score: scores candidates against the linearized facts.
        cache: finished chunks, to resume an interrupted build; ``None`` for no cache.
        key: identifies the model and everything else that its sentences depend on, for the cache.
    """

    def __init__(
        self,
        templates: Verbalizer,
        generate: Generator,
        score: Scorer,
        *,
        cache: ChunkCache | None = None,
        key: str = "",
        progress: bool = False,
    ) -> None:
        self.kb = templates.kb
        self.templates = templates
        self._generate = generate
        self._score = score
        self._cache = cache
        self._key = key
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
        if self._cache is not None:
            self._cache.clear()

    def line(self, unit: Sequence[Fact]) -> str:
        """The model's input for a unit."""
        style = Random(f"{self.templates.seed}|style|{'|'.join(map(repr, unit))}").randrange(STYLES)
        return linearize_facts(self.kb, unit, kind=self.templates.kind(unit[0].head), style=style)

    def _cached(self, units: Sequence[Unit]) -> list[Outcome]:
        if self._cache is None:
            return self._verbalize(units)
        # with the line, because the facts have ids but not the names of entities
        name = hash_texts(self._key, *(f"{self.line(unit)}\n{unit!r}" for unit in units))
        body = self._cache.load(name)
        if body is not None:
            return [Outcome(**record) for record in json.loads(body)]
        outcomes = self._verbalize(units)
        self._cache.save(name, json.dumps([asdict(outcome) for outcome in outcomes]).encode())
        return outcomes

    def _verbalize(self, units: Sequence[Unit]) -> list[Outcome]:
        lines = [self.line(unit) for unit in units]
        sampled = self._generate(lines)
        found = [filter_complete(self.kb, unit, candidates) for unit, candidates in zip(units, sampled, strict=True)]
        # a single candidate needs no score
        rivals = [unit.complete if len(unit.complete) > 1 else () for unit in found]
        scores = iter(self._score([(text, line) for texts, line in zip(rivals, lines, strict=True) for text in texts]))
        outcomes = []
        for unit, texts in zip(found, rivals, strict=True):
            chosen = best(texts, [next(scores) for _ in texts]) if texts else next(iter(unit.complete), None)
            outcomes.append(Outcome(chosen, unit.sampled, unit.unfinished, unit.incomplete))
        return outcomes


class BertScorer:
    """BERTScore F1 (Zhang et al., 2020) of candidates against their references, by torchmetrics.

    Args:
        encoder: gives the tokens' last hidden states; truncates to its `max_tokens`.
        chunk: number of pairs whose states are in memory at a time.

    Raises:
        BgrError: torchmetrics is not installed.
    """

    def __init__(self, encoder: SentenceEncoder, *, chunk: int = 256) -> None:
        try:
            from torchmetrics.functional.text.bert import bert_score
        except ImportError:
            raise BgrError("BERTScore needs torchmetrics: pip install 'bgr[verbalizer]'") from None
        self.encoder = encoder
        self.chunk = chunk
        self._bert_score = bert_score

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score, at most 1, of each pair (candidate, reference)."""
        scores: list[float] = []
        for start in range(0, len(pairs), self.chunk):
            part = pairs[start : start + self.chunk]
            states = self._states(sorted({text for pair in part for text in pair}))
            scores += [self._score(states[candidate], states[reference]) for candidate, reference in part]
        return scores

    def _score(self, candidate: Tensor, reference: Tensor) -> float:
        # pairs are scored one by one, because torchmetrics (1.9) sorts both lists by length and so compares wrong pairs
        found: dict[str, Any] = self._bert_score(
            _as_tokens(candidate),
            _as_tokens(reference),
            model=self.encoder.model,
            user_forward_fn=_given_states,
            device=self.encoder.device,
        )
        return float(found["f1"])

    @torch.inference_mode()
    def _states(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """The states of each text's tokens, ``[t, d]``."""
        encoder = self.encoder
        tokens = encoder.tokenizer(list(texts), truncation=True, max_length=encoder.max_tokens)["input_ids"]
        found: dict[str, Tensor] = {}
        for rows in _by_length(tokens, encoder.batch_tokens):
            padded = encoder.tokenizer.pad({"input_ids": [tokens[row] for row in rows]}, return_tensors="pt")
            states = encoder.model(**padded.to(encoder.device)).last_hidden_state.float().cpu()
            found |= {texts[row]: states[n, : len(tokens[row])] for n, row in enumerate(rows)}
        return found


def _as_tokens(states: Tensor) -> dict[str, Tensor]:
    """States ``[t, d]`` in the form of token ids."""
    return {"input_ids": states[None], "attention_mask": torch.ones(1, len(states), dtype=torch.long)}


def _given_states(_: Any, batch: dict[str, Tensor]) -> Tensor:
    return batch["input_ids"].clone()  # torchmetrics normalizes in place


def _by_length(tokens: Sequence[Sequence[int]], batch_tokens: int) -> Iterator[list[int]]:
    """Batches of row numbers, longest rows first, of about `batch_tokens` tokens with padding."""
    order = sorted(range(len(tokens)), key=lambda row: (-len(tokens[row]), row))
    while order:
        size = max(1, batch_tokens // len(tokens[order[0]]))
        yield order[:size]
        order = order[size:]
