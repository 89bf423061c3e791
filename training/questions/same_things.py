"""Facts of a whole database about what a question is about: the running time of the film whose director is asked for.

The candidates of a dataset hold few of them, so that a model could learn to look for the name alone. A database holds
them all.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import islice

from bgr.data.example import Example
from bgr.data.reasongraphqa.candidate_sets import entities_of, fair, sentences_by, topics
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.errors import DataError

MOST = 8
"""Maximum number of such facts of a question."""

COMMON = 500
"""Something that more sentences are about is no topic: the United States."""


def same_things(examples: Sequence[Example], table: FactTable) -> Mapping[str, list[str]]:
    """For each question with an answer, by its id, up to `MOST` sentences about the heads and tails of its gold facts
    that are neither candidates nor as good as a gold fact; the same at each call.

    Raises:
        DataError: a candidate is not in the textual database, or no fact there has statements.
    """
    sentences, about = table.sentences, sentences_by(table, entities_of)
    if not about:
        raise DataError("the facts have no statements, so that it is not known what they are about")
    found = {}
    for example in examples:
        if not example.answerable:
            continue
        gold = topics(table.units(example, node) for node in example.graph.nodes)
        ends = dict.fromkeys(end for fact in gold for end in entities_of(fact))
        near = dict.fromkeys(row for end in ends if len(about[end]) <= COMMON for row in about[end])
        drawn = random.Random(f"same things {example.id}").sample([sentences[row] for row in near], len(near))
        found[example.id] = list(islice(fair(example, drawn, table), MOST))
    return found
