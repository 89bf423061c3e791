"""The split of each question by one of `SPLIT_METHODS`, and what a method needs of the questions."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.construction.questions import Grounded, Question, grouped
from bgr.data.reasongraphqa.construction.splits import (
    SPLIT_METHODS,
    composition,
    composition_split,
    domain_split,
    entity_split,
    random_split,
    structure_split,
    wording_split,
)
from bgr.errors import DataError
from bgr.utils.json_utils import repr_short

MAX_CONCEPTS = 50
"""Maximum number of concepts that a message lists."""


def split_questions(kept: Sequence[Grounded], method: str, seed: int, members: frozenset[str]) -> list[str]:
    """The split of each question; all wordings of a question are in the split of the first.

    Args:
        members: the members of the domain that the method ``domain`` holds out.
    """
    groups = grouped(one.question for one in kept)
    split = [""] * len(kept)
    for group, name in zip(groups, _split([kept[group[0]] for group in groups], method, seed, members), strict=True):
        for number in group:
            split[number] = name
    return split


def _split(kept: Sequence[Grounded], method: str, seed: int, members: frozenset[str]) -> list[str]:
    if method == "domain":
        return domain_split([is_about(one, members) for one in kept], seed)
    if method == "structure":
        return structure_split([grounded.graph for grounded in kept], seed)
    if method == "entity":
        ends = [[end for fact in one.facts for end in (fact.head, fact.tail) if end is not None] for one in kept]
        return entity_split(list(map(frozenset, ends)), seed)
    if method == "composition":
        pairs = [composition(one.graph, [fact.predicate for fact in one.facts]) for one in kept]
        return composition_split(pairs, seed)
    if method == "wording":
        return wording_split([frozenset(one.question.phrasings) for one in kept], seed)
    return ["test"] * len(kept) if method == "test" else random_split(len(kept), seed)


def check_phrasings(questions: Sequence[Question], method: str) -> None:
    """DataError if a question lacks the phrasings that a split by wording needs."""
    # a paraphrase follows its original
    lacking = next((one for one in questions if not one.phrasings and one.paraphrase_of is None), None)
    if method == "wording" and lacking is not None:
        others = ", ".join(one for one in SPLIT_METHODS if one != "wording")
        raise DataError(
            f"{lacking.where}: phrasings is missing or empty, allowed with split 'wording': questions of `bgr atlas`,"
            f" which have it; for others: {others}"
        )


def domain_members(kb: KnowledgeBase, kept: Sequence[Grounded], domain: Sequence[str]) -> frozenset[str]:
    """The members of the concepts of a domain; none without concepts.

    Raises:
        DataError: a concept is unknown, or none or all of the questions are about a member.
    """
    unknown = [name for name in domain if not kb.members_of_name(name)]
    if unknown:
        known = sorted({kb.name(concept) for concept in kb.concepts if kb.members(concept)})
        allowed = ", ".join(known[:MAX_CONCEPTS]) + ", …" * (len(known) > MAX_CONCEPTS)
        raise DataError(f"domain {', '.join(map(repr_short, unknown))}: no such concept, allowed: {allowed}")
    members = frozenset(member for name in domain for member in kb.members_of_name(name))
    about = sum(is_about(one, members) for one in kept)
    if domain and about in (0, len(kept)):
        named = ", ".join(map(repr_short, domain))
        raise DataError(
            f"domain {named}: {about} of {len(kept)} questions have a gold fact about a member, allowed: some, not all"
        )
    return members


def is_about(grounded: Grounded, members: frozenset[str]) -> bool:
    """True if a gold fact is about one of the members."""
    return any(fact.head in members for fact in grounded.facts)
