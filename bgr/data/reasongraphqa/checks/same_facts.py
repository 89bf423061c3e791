"""Which sentences of a textual database state a gold fact of a question, in whatever words: "stars X (also its
director)" states who directed the film.

It follows from the statements of the sentences (`bgr.data.reasongraphqa.construction.conflicts`), the comparison by
which distractors are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.verify import FactTable, gold_facts
from bgr.data.reasongraphqa.construction.conflicts import SAME_TRIPLE, SAME_VALUE


def same_facts(example: Example, sentences: Sequence[str], table: FactTable) -> dict[int, int]:
    """The places of the `sentences`, which are of the table, that state a gold fact, each with the node of this fact.

    Raises:
        DataError: a gold fact is not in the table.
    """
    content = {node: gold_facts(example, [node], table) for node in example.graph.nodes}
    gold = {example.facts[node]: node for node in example.graph.nodes}
    found: dict[int, int] = {}
    for place, text in enumerate(sentences):
        node = gold.get(text)
        if node is None:
            units = table.units_of(text)
            node = next((n for n, facts in content.items() if any(_states(facts.entailment(u)) for u in units)), None)
        if node is not None:
            found[place] = node
    return found


def _states(how: str | None) -> bool:
    return how in (SAME_TRIPLE, SAME_VALUE)
