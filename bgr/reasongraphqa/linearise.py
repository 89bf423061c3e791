"""Facts as the input of a sequence-to-sequence verbaliser: KELM's order, head first, then relation and tail in turn.

``Winter Light (film), director Ingmar Bergman, runtime 81 minutes (stated in GeoNames)``: the head with its kind where
one is plain, then for each fact its predicate and its value or tail, with its qualifiers in brackets (Agarwal et al.,
2021, serialise triples as ``subject relation object relation object``).
"""

from __future__ import annotations

from collections.abc import Sequence

from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.schema import Fact
from bgr.reasongraphqa.wording import value_text


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
