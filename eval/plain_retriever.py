"""A retriever that computes by the plain definition and is called like the fast one.

So the same training loss and the same decoding run on either: a test compares the numbers, a bench the seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bgr.models.ragged import Ragged
from bgr.models.retriever import ROOT_COLUMN, BgrRetriever, Paths
from eval.plain_definition import in_context, logit, longer_path, relevance, sentence


@dataclass(frozen=True)
class PlainReading:
    """Each question's token states, its candidates', the relevance of all candidates in turn, and their columns."""

    questions: list[Tensor]
    facts: list[list[Tensor]]
    relevance: Tensor
    columns: Tensor


class PlainRetriever(nn.Module):
    """`read`, `start`, `extend` and `match` of `BgrRetriever`: one question, one path, one fact at a time, every
    sentence encoded for each question that has it.

    Args:
        model: whose weights it uses.
    """

    def __init__(self, model: BgrRetriever) -> None:
        super().__init__()
        self.weights = model
        self.config = model.config

    def read(self, questions: Ragged, facts: Ragged, candidates: Tensor) -> PlainReading:
        asked, known = _rows(questions), _rows(facts)
        read = []
        for question, row in zip(asked, candidates.tolist(), strict=True):
            states = [sentence(self.weights, known[fact]) for fact in row if fact >= 0]
            read.append(in_context(self.weights.context, sentence(self.weights, question), states))
        is_fact = candidates >= 0
        columns = torch.full_like(candidates, -1)
        columns[is_fact] = torch.arange(int(is_fact.sum()), device=candidates.device)
        root = int(is_fact.sum()) + torch.arange(len(asked), device=candidates.device)
        return PlainReading(
            questions=[question for question, _ in read],
            facts=[states for _, states in read],
            relevance=torch.cat([relevance(self.weights, fact) for _, states in read for fact in states]),
            columns=torch.cat([root[:, None], columns], dim=1),
        )

    def start(self, reading: PlainReading) -> Paths:
        is_open = reading.columns >= 0
        is_open[:, ROOT_COLUMN] = False
        question = torch.arange(len(is_open), device=is_open.device)
        return Paths(_padded(reading.questions), question, torch.full_like(question, -1), is_open)

    def extend(self, reading: PlainReading, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        states, questions, last, is_open = [], [], [], []
        for parent, column in zip(parents.tolist(), columns.tolist(), strict=True):
            question = int(paths.question[parent])
            path = paths.states[parent, : len(reading.questions[question])]
            states.append(longer_path(self.weights, path, reading.facts[question][column - 1]))
            questions.append(question)
            last.append(reading.columns[question, column])
            may = paths.open[parent].clone()
            may[column], may[ROOT_COLUMN] = False, self.config.direction == "backward"
            is_open.append(may)
        width = paths.states.shape[1]
        return Paths(_padded(states, width), columns.new_tensor(questions), torch.stack(last), torch.stack(is_open))

    def match(self, reading: PlainReading, paths: Paths) -> Tensor:
        """Logit of every column for every path, −inf where a path may not go. *Shape:* ``[p, 1 + c]``."""
        rows = []
        for number, question in enumerate(paths.question.tolist()):
            asked, facts = reading.questions[question], reading.facts[question]
            first, last = int(reading.columns[question, 1]), int(paths.last[number])
            path, reached = paths.states[number, : len(asked)], None if last < 0 else facts[last - first]
            row = paths.states.new_full((paths.open.shape[1],), float("-inf"))
            for column in paths.open[number].nonzero().flatten().tolist():
                is_root = column == ROOT_COLUMN
                candidate = asked if is_root else facts[column - 1]
                row[column] = logit(self.weights, path, reached, candidate, is_root=is_root)
            rows.append(row)
        return torch.stack(rows).float()


def _rows(rows: Ragged) -> list[Tensor]:
    return list(rows.flat.split(rows.lengths.tolist()))


def _padded(states: list[Tensor], length: int = 0) -> Tensor:
    """*Shape:* ``[t, d]`` each → ``[p, longest, d]``, or `length` where that is more."""
    longest = max(length, *map(len, states))
    return torch.stack([nn.functional.pad(state, (0, 0, 0, longest - len(state))) for state in states])
