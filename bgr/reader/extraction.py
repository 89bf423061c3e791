"""From the scores of an extractive reader to an answer: spans are cut out, numbers compared and facts counted by code.

The kind of answer is the most probable one that the evidence allows. The confidence is the probability of the kind
times that of what was chosen within it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch
from torch import Tensor

from bgr.models.extractive_reader import KINDS, OPERATORS, ExtractiveReaderConfig, ReaderScores
from bgr.reader.amounts import (
    Amount,
    amount_at,
    bounds,
    common_sizes,
    compared,
    is_within,
    of_one_kind,
    with_clock_or_day,
)
from bgr.reader.asked_kind import compares_another_kind, may_be_asked, may_be_compared
from bgr.reader.comparisons import MAX_COMPARED, Comparison, compare_named, verify_stated, wants_most
from bgr.reader.counting import count_stated
from bgr.reader.evidence import FactTexts, Spans
from bgr.reader.question_words import asks_yes_or_no, comparison, says, whole_words

BEST_SPANS = 16
"""Spans whose probability is added up by their text."""

ALONE = 0.15
"""How much less probable the name of what is counted is if one fact alone has it. Chosen on dev."""

SAID, NOT_SAID = 20.0, 6.0
"""Words around a number of the question, such as *at least*, add `SAID` to the logit of their comparison; without such
words, equality gets `NOT_SAID`. `SAID` exceeds every score, since the reader was not trained on *at least* and *at
most*; `NOT_SAID` was chosen on dev."""

_ORDERS = {words: OPERATORS.index(words if words == "!=" else words[0]) for words in ("=", "!=", "<", "<=", ">", ">=")}

_HYPHEN = re.compile(r"\w[-\u2010\u2011]$")
_IN_A_NUMBER = re.compile(r"(?<=\d)[:.,](?=\d)")


@dataclass(frozen=True)
class Span:
    """Characters ``start`` to ``end`` of the fact at position `fact` of the evidence."""

    fact: int
    start: int
    end: int


@dataclass(frozen=True)
class Extracted:
    """An answer with its reasons.

    Args:
        text: the answer; ``None`` if the evidence is not enough.
        kind: one of ``KINDS``.
        confidence: probability in [0, 1], not calibrated.
        support: positions of the facts that it comes from.
        spans: what was read: the answer, or the numbers that were compared.
        distance: how unlike the training questions the question is; 0 if that is not known.
    """

    text: str | None
    kind: str
    confidence: float
    support: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    distance: float = 0.0


NOTHING = Extracted(None, "none", 0.0)
"""No answer: the number is of another kind than what the question asks for."""


def extract(scores: ReaderScores, texts: Sequence[FactTexts], config: ExtractiveReaderConfig) -> list[Extracted]:
    """One answer for each question."""
    found, facts = [], torch.bincount(scores.question, minlength=len(texts)).tolist()
    lengths, first, token = scores.lengths.tolist(), 0, 0
    asked, around = (part.split(scores.asked_lengths.tolist()) for part in (scores.asked, scores.asked_operator))
    distances = scores.distance.tolist()
    for number, one in enumerate(texts):
        rows = slice(first, first + facts[number])
        tokens = slice(token, token + sum(lengths[rows]))
        reading = _Reading(scores, number, rows, tokens, lengths[rows], one, config, asked[number], around[number])
        found.append(replace(reading.answer(), distance=distances[number]))
        first, token = rows.stop, tokens.stop
    return found


class _Reading:
    """The scores of one question."""

    def __init__(
        self,
        scores: ReaderScores,
        number: int,
        rows: slice,
        tokens: slice,
        lengths: Sequence[int],
        texts: FactTexts,
        config: ExtractiveReaderConfig,
        asked: Tensor,
        asked_operator: Tensor,
    ) -> None:
        self.texts, self.config, self.lengths = texts, config, lengths
        self.question = _read(texts.question, texts.asked_spans)
        self.facts = [_read(fact, spans) for fact, spans in zip(texts.facts, texts.spans, strict=True)]
        self.operator, self.asked = scores.operator[number], asked
        self.asked_operator = asked_operator
        self.kind = scores.kind[number].softmax(0).tolist()
        self.yes, self.most = float(scores.yes[number].sigmoid()), float(scores.most[number].sigmoid())
        self.label = scores.label[rows]
        self.support = scores.support[rows].sigmoid().tolist()
        self.quantity, self.unit = scores.quantity[tokens], scores.unit[tokens]
        self.of_fact = [fact for fact, length in enumerate(lengths) for _ in range(length)]
        self.begin = [sum(lengths[:fact]) for fact in range(len(lengths))]
        self._scores, self._rows, self._start = scores, rows, tokens.start

    @cached_property
    def pairs(self) -> list[Tensor]:
        """The logits of the spans of each fact (`ReaderScores.spans`); many kinds of answers need none. None begins
        after a hyphen: of *Nilo-Saharan*, *Saharan* is no answer; and none ends or begins within a number: of *6:30*
        neither is *6*."""
        tables = []
        for fact, (begin, length) in enumerate(zip(self.begin, self.lengths, strict=True)):
            table = self._scores.spans(self._start + begin, length)
            text, offsets = self.facts[fact], self.texts.spans[fact]
            inside = {place for one in _IN_A_NUMBER.finditer(text) for place in one.span()}
            later = [start in inside or bool(_HYPHEN.search(text[max(0, start - 2) : start])) for start, _ in offsets]
            short = [end in inside for _, end in offsets]
            wrong = torch.tensor(later)[:, None] | torch.tensor(short)[None, :]
            tables.append(table.masked_fill(wrong.to(table.device), float("-inf")))
        return tables

    def answer(self) -> Extracted:
        ways: dict[str, Callable[[], Extracted | None]] = {
            "span": self._span, "quantity": self._quantity, "verify": self._verify, "boolean": self._boolean,
            "count": self._count, "choice": self._choice, "label": self._label,
            "none": lambda: replace(NOTHING, confidence=1.0),
        }  # fmt: skip
        order = sorted(range(len(KINDS)), key=lambda number: -self.kind[number])
        if KINDS[order[0]] != "choice" or asks_yes_or_no(self.question):  # the model does not know it as one
            named = compare_named(self.question, self.facts)
            if named is not None:
                return Extracted(named.text, "choice", 1.0, tuple(sorted(named.facts)), _spans(named))
            if compares_another_kind(self.question, self.facts):
                return NOTHING
        for number in order:
            found = ways[KINDS[number]]()
            if found is not None and (found.text or found.kind == "none"):
                return replace(found, confidence=self.kind[number] * found.confidence)
        return NOTHING

    def _span(self, only: int | None = None) -> Extracted | None:
        """The best span of all facts, or of one. Its probability is that of its text, which may stand in several."""
        of_text = self._texts(range(len(self.lengths)) if only is None else [only])
        if not of_text:
            return None
        text, (sure, span) = max(of_text.items(), key=lambda one: one[1][0])
        return Extracted(text, "span", min(1.0, sure), (span.fact,), (span,))

    def _texts(self, facts: Sequence[int]) -> dict[str, tuple[float, Span]]:
        """The texts of the best spans of some facts, each with its probability and its best span."""
        of_text: dict[str, tuple[float, Span]] = {}
        if not facts:
            return of_text
        logits = torch.cat([self.pairs[fact].flatten() for fact in facts]).float()
        best = logits.softmax(0).topk(min(BEST_SPANS, len(logits)))
        for chance, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            span = self._place(place, facts) if chance > 0 else None
            if span is not None:
                text = self.facts[span.fact][span.start : span.end].strip()
                before, first = of_text.get(text, (0.0, span))
                of_text[text] = before + chance, first
        return of_text

    def _place(self, place: int, facts: Sequence[int]) -> Span | None:
        """The span of an entry of the tables of some facts."""
        for fact in facts:
            if place < self.pairs[fact].numel():
                start, end = divmod(place, len(self.pairs[fact]))
                offsets = self.texts.spans[fact]
                return Span(fact, offsets[start][0], offsets[end][1])
            place -= self.pairs[fact].numel()
        return None

    def _number(self, only: int | None = None, logits: Tensor | None = None) -> tuple[float, int, int] | None:
        """Probability, fact and token of the best number, or of the best one of a fact; `logits` are those of the
        tokens that may be chosen."""
        logits = self.quantity if logits is None else logits
        if only is not None:
            logits = torch.full_like(logits, float("-inf"))
            there = slice(self.begin[only], self.begin[only] + self.lengths[only])
            logits[there] = self.quantity[there]
        if not len(logits) or float(logits.max()) == float("-inf"):
            return None
        chances = logits.softmax(0)
        token = int(chances.argmax())
        fact = self.of_fact[token]
        number = self.texts.numbers[fact]
        # all tokens of a number have the same value
        same = [self.begin[fact] + n for n, one in enumerate(number) if one == number[token - self.begin[fact]]]
        return float(chances[same].sum()), fact, token

    def _amount(self, fact: int, token: int) -> Amount | None:
        """The number that a token belongs to, with its unit."""
        return amount_at(self.facts[fact], *self.texts.spans[fact][token - self.begin[fact]])

    def _quantity(self) -> Extracted | None:
        """The best number that is of the kind that is asked for."""
        rejected, logits = False, self.quantity.clone()
        while (best := self._number(logits=logits)) is not None:
            chance, fact, token = best
            amount = self._amount(fact, token)
            if amount is not None and may_be_asked(self.question, amount):
                unit = self.unit[token].softmax(0)
                likely = self.config.units[int(unit.argmax())] if len(unit) else ""
                amount = with_clock_or_day(self.facts[fact], amount)
                text = self._stated(amount, self.facts[fact], likely)
                sure = chance * float(unit.max() if len(unit) else 1.0)
                return Extracted(text, "quantity", sure, (fact,), (Span(fact, amount.start, amount.end),))
            rejected = rejected or amount is not None
            logits[token] = float("-inf")
        return NOTHING if rejected else None

    def _stated(self, amount: Amount, fact: str, likely: str) -> str:
        """A number with the unit that the fact states: in plain form if answers have this unit, else as it is written.
        The likely unit counts only where the fact has its first word and no unit that is known."""
        unit = amount.unit if any(self.config.units) else ""  # there are readers that answer without units
        if amount.worded or (unit and unit not in self.config.units):
            return fact[amount.start : amount.end]
        if not unit and re.search(rf"\b{re.escape(likely.split(' ')[0])}", fact[amount.end :], re.IGNORECASE):
            unit = likely
        return f"{amount.plain} {unit}".strip()

    def _verify(self) -> Extracted | None:
        """Whether a number of a fact is equal to one of the question, less or greater; or whether the question has the
        words of a span of a fact."""
        chances = self.operator.softmax(0)
        if OPERATORS[int(chances.argmax())] == "said":
            said = self._span()
            if said is None or not said.text:
                return None
            yes = says(self.question, said.text)
            sure = float(chances.max()) * said.confidence
            return Extracted("yes" if yes else "no", "verify", sure, said.support, said.spans)
        best = self._number()
        if best is None or not len(self.asked) or float(self.asked.max()) == float("-inf"):
            return None
        chance, fact, token = best
        chances = self.asked.softmax(0)
        place = int(chances.argmax())
        numbers = self.texts.asked_numbers
        value, asked = self._amount(fact, token), amount_at(self.question, *self.texts.asked_spans[place])
        order = None if value is None or asked is None else compared(value, asked)
        if value is None or asked is None or order is None:
            return None
        sure = chance * sum(float(chances[n]) for n, one in enumerate(numbers) if one == numbers[place])
        spans = (Span(fact, value.start, value.end),)
        if ends := bounds(self.question, asked):
            return Extracted("yes" if is_within(ends, value) else "no", "verify", sure, (fact,), spans)
        words = comparison(self.question, self.texts.asked_spans[place])
        orders = (self.operator + self.asked_operator[place])[: OPERATORS.index("said")].float()
        if words is not None:
            orders[_ORDERS[words]] += NOT_SAID if words == "=" else SAID
        orders = orders.softmax(0)
        operator = OPERATORS[int(orders.argmax())]
        yes = order != "=" if operator == "!=" else order == operator
        if words in (">=", "<=") and operator == words[0]:
            yes = order in words
        sure *= float(orders.max())
        return Extracted("yes" if yes else "no", "verify", sure, (fact,), spans)

    def _boolean(self) -> Extracted:
        """As the model says, unless the words of the question and the one amount of the facts settle it."""
        yes = self.yes >= 0.5
        stated = verify_stated(self.question, self.facts)
        if stated is not None:
            sure = self.yes if stated.text == "yes" else 1 - self.yes
            return Extracted(stated.text, "verify", sure, stated.facts, _spans(stated))
        support = tuple(n for n, chance in enumerate(self.support) if chance >= 0.5)
        return Extracted("yes" if yes else "no", "boolean", self.yes if yes else 1 - self.yes, support)

    def _count(self) -> Extracted | None:
        """How many different names the facts that count have, each its own: a film that two facts state is one. Where
        the question wants an amount that they state, as many as have it."""
        stated = count_stated(self.question, self.facts)
        if stated is not None:
            return Extracted(stated.text, "count", 1.0, stated.facts, _spans(stated))
        support = tuple(n for n, chance in enumerate(self.support) if chance >= 0.5)
        if not support:
            return None
        names = self._names(support)
        counted = {names[fact][0] for fact in support}
        missed = dict.fromkeys((key for key, _ in names), 1.0)
        for (key, _), chance in zip(names, self.support, strict=True):
            missed[key] *= 1 - chance
        sure = math.prod(1 - chance if key in counted else chance for key, chance in missed.items())
        spans = tuple(span for fact in support if (span := names[fact][1]) is not None)
        return Extracted(str(len(counted)), "count", sure, support, spans)

    def _names(self, counted: Sequence[int]) -> list[tuple[str, Span | None]]:
        """The name of what each fact is about (`choose_names`), as its words, and where it stands."""
        found: list[dict[str, tuple[float, Span]]] = []
        for fact in range(len(self.support)):
            names: dict[str, tuple[float, Span]] = {}
            for text, (chance, span) in self._texts([fact]).items():
                before, first = names.get(whole_words(text), (0.0, span))
                names[whole_words(text)] = before + chance, first
            found.append(names)
        chosen = choose_names([{name: chance for name, (chance, _) in one.items()} for one in found], counted)
        return [(str(fact), None) if name is None else (name, found[fact][name][1]) for fact, name in enumerate(chosen)]

    def _choice(self) -> Extracted | None:
        """The fact with the most or the least, of those that are compared, at least two; or whether one has more than
        the other. The words of the question decide, such as *first*, and without such words the scores."""
        order = sorted(range(len(self.support)), key=lambda fact: -self.support[fact])
        facts: list[int] = []
        found: list[Amount] = []
        for fact in order[:MAX_COMPARED]:
            if self.support[fact] < 0.5 and len(facts) >= 2:
                break
            best = self._number(fact)
            if best is not None and (amount := self._amount(*best[1:])) is not None:
                facts.append(fact)
                found.append(amount)
        found = of_one_kind(found, [self.facts[one] for one in facts])
        sizes = common_sizes(found)
        if len(facts) < 2 or sizes is None:
            return None
        if not all(may_be_compared(self.question, one) for one in found):
            return NOTHING
        said = wants_most(self.question, found)
        most = self.most >= 0.5 if said is None else said
        fact = facts[sizes.index((max if most else min)(sizes))]
        name = self._span(fact)
        if name is None:
            return None
        sure = name.confidence * max(self.most, 1 - self.most)  # also where words decide, as it was calibrated
        sure *= math.prod(max(chance, 1 - chance) for chance in self.support)
        shown = [Span(one, amount.start, amount.end) for one, amount in zip(facts, found, strict=True)]
        text = name.text
        if asks_yes_or_no(self.question):
            subject = self._subject(facts)
            if subject is None:
                return None
            text = "yes" if subject == fact and len(set(sizes)) == 2 else "no"
        return Extracted(text, "choice", sure, tuple(facts), (*name.spans, *shown))

    def _subject(self, facts: Sequence[int]) -> int | None:
        """Which of two facts is about *A* in *Is A larger than B?*; ``None`` if their names do not tell."""
        before, than, after = whole_words(self.question).partition(" than ")
        if len(facts) != 2 or not than:
            return None
        names = [whole_words(found.text) if (found := self._span(fact)) and found.text else "" for fact in facts]
        subject = [name.strip() != "" and name in f"{before} " for name in names]
        other = [name.strip() != "" and name in f" {after}" for name in names]
        first, second = (subject[n] or other[1 - n] for n in (0, 1))
        return facts[0] if first and not second else facts[1] if second and not first else None

    def _label(self) -> Extracted | None:
        """The label that the facts say, each as far as it is what is asked for."""
        if not self.label.numel():
            return None
        chances = label_chances(self.label, self._scores.support[self._rows])
        chosen = int(chances.argmax())
        best = max(range(len(self.support)), key=self.support.__getitem__)
        return Extracted(self.config.labels[chosen], "label", float(chances[chosen]), (best,))


def _spans(found: Comparison) -> tuple[Span, ...]:
    return tuple(Span(fact, one.start, one.end) for fact, one in zip(found.facts, found.amounts, strict=True))


def _read(text: str, spans: Spans) -> str:
    """What the model has read of a text: code does not read on, since a text may be much longer."""
    return text[: max((end for _, end in spans), default=0)]


def choose_names(chances: Sequence[Mapping[str, float]], counted: Sequence[int]) -> list[str | None]:
    """The name of what each fact is about: of those that it may have, the most probable one, where a name that is not
    the most probable one of another counted fact is `ALONE` times as probable as one that surely is.

    Args:
        chances: of each fact the probability of each name, as words with a space before and after each.
        counted: the facts that count.
    """
    surely = [max(names, key=names.__getitem__, default="") for names in chances]

    def chance(name: str, fact: int) -> float:
        part = name != surely[fact] and name in surely[fact]  # the second part of a film does not become the first
        others = [] if part else [chances[one][name] for one in counted if one != fact and surely[one] == name]
        return chances[fact][name] * (ALONE + max(others, default=0.0))

    return [max(names, key=partial(chance, fact=fact), default=None) for fact, names in enumerate(chances)]


def label_chances(labels: Tensor, support: Tensor) -> Tensor:
    """The probability of each label: that of each fact, weighted by the fact's odds of being what is asked for.

    *Shape:* logits ``[f, L]`` and ``[f]`` of the facts of one question → ``[L]``.
    """
    return support.float().softmax(0) @ labels.float().softmax(1)
