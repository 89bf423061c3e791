"""The loss of an extractive reader: the sum of what its kind of answer needs, as a mean over questions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from bgr.models.extractive_reader import KINDS, OPERATORS, ExtractiveReaderConfig, ReaderScores
from bgr.reader.evidence import FactTexts
from bgr.reader.extraction import label_chances
from training.reader.targets import Place, Target

STATED = 0.2
"""Weight of the relations that facts state, beside the answers of questions that ask for one."""

TINY = 1e-9


def tokens_of_place(place: Place, offsets: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """First and last token of a fact that cover a place; ``None`` if the fact was truncated before its end."""
    inside = [n for n, (start, end) in enumerate(offsets) if start < end and start < place.end and end > place.start]
    if not inside or offsets[inside[-1]][1] < place.end:
        return None
    return inside[0], inside[-1]


def reader_loss(
    scores: ReaderScores, targets: Sequence[Target], texts: Sequence[FactTexts], config: ExtractiveReaderConfig
) -> Tensor:
    """Scores and targets of the same questions → a scalar."""
    kinds = torch.tensor([KINDS.index(one.kind) for one in targets], device=scores.kind.device)
    total = F.cross_entropy(scores.kind.float(), kinds, reduction="sum")
    facts = torch.bincount(scores.question, minlength=len(targets)).tolist()
    lengths, first, token = scores.lengths.tolist(), 0, 0
    questions, around = (part.split(scores.asked_lengths.tolist()) for part in (scores.asked, scores.asked_operator))
    for number, (target, rows) in enumerate(zip(targets, (one.spans for one in texts), strict=True)):
        stop, end = first + facts[number], token + sum(lengths[first : first + facts[number]])
        begin = [token + sum(lengths[first : first + fact]) for fact in range(facts[number])]
        if target.support is not None and facts[number]:
            total = total + _support(scores.support[first:stop].float(), target)
        if target.yes is not None:
            total = total + F.binary_cross_entropy_with_logits(
                scores.yes[number].float(), scores.yes.new_tensor(float(target.yes)).float()
            )
        if target.most is not None:
            total = total + F.binary_cross_entropy_with_logits(
                scores.most[number].float(), scores.most.new_tensor(float(target.most)).float()
            )
        if target.label is not None and target.label in config.labels and facts[number]:
            chances = label_chances(scores.label[first:stop], scores.support[first:stop])
            total = total - chances[config.labels.index(target.label)].clamp_min(TINY).log()
        if stated := {fact: config.labels.index(one) for fact, one in target.relations.items() if one in config.labels}:
            said = scores.label[first:stop][list(stated)].float()
            total = total + STATED * F.cross_entropy(said, torch.tensor([*stated.values()], device=total.device))
        if target.operator is not None:
            wanted = torch.tensor(OPERATORS.index(target.operator), device=total.device)
            total = total + F.cross_entropy(scores.operator[number].float(), wanted)
        if target.asked:
            pairs = [tokens_of_place(one, texts[number].asked_spans) for one in target.asked]
            right = [n for pair in pairs if pair is not None for n in range(pair[0], pair[1] + 1)]
            right = [n for n in right if n < len(questions[number])]
            if right:
                total = total - questions[number].float().log_softmax(0)[right].logsumexp(0)
            if right and target.operator is not None:
                orders = (scores.operator[number] + around[number][right]).float()[:, : OPERATORS.index("said")]
                total = total + F.cross_entropy(orders, wanted.expand(len(right)))
        spans = [(one.fact, tokens_of_place(one, rows[one.fact])) for one in target.spans]
        ends = [(fact, *pair) for fact, pair in spans if pair is not None]
        if ends:
            tables = [scores.spans(begin[fact], lengths[first + fact]).float() for fact in range(facts[number])]
            chances = torch.stack([tables[fact][start, stop_] for fact, start, stop_ in ends])
            chances = chances[chances.isfinite()]  # a longer answer than a span can be
            if len(chances):
                total = total + torch.cat([table.flatten() for table in tables]).logsumexp(0) - chances.logsumexp(0)
        for named in target.names:
            total = total + _name(scores, named, rows, begin, lengths[first:stop]) / len(target.names)
        places = [(one.fact, tokens_of_place(one, rows[one.fact])) for one in target.quantities]
        groups: dict[int, list[int]] = {}
        for fact, pair in places:
            if pair is not None:
                groups.setdefault(fact, []).extend(begin[fact] + n for n in range(pair[0], pair[1] + 1))
        if groups:
            total = total + _quantities(scores, target, groups, token, end, begin, lengths[first:stop], config)
        first, token = stop, end
    return total / len(targets)


def _support(logits: Tensor, target: Target) -> Tensor:
    """That its facts are chosen: as a mean over all facts, or their sum for a count, which one fact makes wrong."""
    wanted = torch.tensor([float(n in (target.support or ())) for n in range(len(logits))], device=logits.device)
    how = "sum" if target.kind == "count" else "mean"
    return F.binary_cross_entropy_with_logits(logits, wanted, reduction=how)


def _name(
    scores: ReaderScores,
    named: Sequence[Place],
    rows: Sequence[Sequence[tuple[int, int]]],
    begin: Sequence[int],
    lengths: Sequence[int],
) -> Tensor:
    """The places of a name that are right, of all spans of its fact."""
    fact = named[0].fact
    table = scores.spans(begin[fact], lengths[fact]).float()
    ends = [pair for one in named if (pair := tokens_of_place(one, rows[fact])) is not None]
    chances = table[[a for a, _ in ends], [b for _, b in ends]]
    chances = chances[chances.isfinite()]
    return table.flatten().logsumexp(0) - chances.logsumexp(0) if len(chances) else table.new_zeros(())


def _quantities(
    scores: ReaderScores,
    target: Target,
    groups: dict[int, list[int]],
    token: int,
    end: int,
    begin: Sequence[int],
    lengths: Sequence[int],
    config: ExtractiveReaderConfig,
) -> Tensor:
    """The numbers that are right: of all numbers for an answer, of those of each fact for a comparison."""
    loss = scores.quantity.new_zeros((), dtype=torch.float32)
    if target.kind == "choice":
        for fact, tokens in groups.items():
            within = scores.quantity[begin[fact] : begin[fact] + lengths[fact]].float().log_softmax(0)
            loss = loss - within[torch.tensor(tokens) - begin[fact]].logsumexp(0) / len(groups)
        return loss
    tokens = [one for group in groups.values() for one in group]
    loss = loss - scores.quantity[token:end].float().log_softmax(0)[torch.tensor(tokens) - token].logsumexp(0)
    if target.unit in config.units:
        wanted = torch.full((len(tokens),), config.units.index(target.unit), device=loss.device)
        loss = loss + F.cross_entropy(scores.unit[torch.tensor(tokens)].float(), wanted)
    return loss
