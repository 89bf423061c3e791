"""Checks that each name keeps its role in a wording, and each condition what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bgr.data.reasongraphqa.paraphrase.structure import alternatives, beside, dated, is_regrouped, objects
from bgr.data.reasongraphqa.paraphrase.vocabulary import ROLES, ideas
from bgr.data.reasongraphqa.paraphrase.wording import Wording

_COORDINATED = re.compile(r"\b(\w+) and (?:also )?(\w+)\b")
_AGENT = r"(?: has| have)?(?: also)? (\w+(?:ed|ote))\b"


def _roles(text: str) -> frozenset[str]:
    return ideas(text) & ROLES


def reverses_relation(wording: Wording) -> bool:
    """True for "produced by Persona", where the program asks who produced it, and for "director of Bo Lind".

    Also for "that Sweden discovered" and "Bo Lind's film" instead of what happened in Sweden and what Bo Lind did for
    the film, and for one who "directed and produced" what another one produced.
    """
    for match in _COORDINATED.finditer(wording.masked):
        if _roles(match[1]) and _roles(match[2]) and match[0] not in wording.masked_question:
            return True
    steps = wording.question.program.steps
    for number, step in enumerate(steps):
        if step.function == "Find":
            users = [one.inputs for one in steps if one.function == "Relate" and number in one.dependencies]
            if any(match not in wording.question.text for match in _reversals(wording.text, step.inputs[0], users)):
                return True
    return False


def _reversals(text: str, name: str, users: Sequence[Sequence[str]]) -> Iterator[str]:
    """The places of a text that give a name another role than the steps that start from it.

    Args:
        users: the predicate and direction of each of these steps.
    """
    given = re.escape(name)
    # whoever is "X" in "director of X" has something done to it; in "country of discovery" nobody is said to discover
    agents = {role for key, way in users if way == "backward" and " of " not in key for role in _roles(key)}
    for match in re.finditer(rf"(?<!\w)(?<!of ){given}{_AGENT}", text):
        if _roles(match[1]) - agents:
            yield match[0]
    for predicate, direction in users:
        pattern = rf"(\w+) by {given}(?!\w)" if direction == "forward" else rf"(\w+(?:er|or)s?) of {given}(?!\w)"
        yield from (match[0] for match in re.finditer(pattern, text) if _roles(match[1]) & _roles(predicate))
        if direction == "backward":
            yield from (match[0] for match in re.finditer(rf"(?<!\w){given}['’]s?(?!\w)", text))


_LISTS = ("SelectBetween", "SelectAmong", "QueryRelation")


def moves_name(wording: Wording) -> bool:
    """True if a name from which a relation leads stands beside another one, or two names change their places.

    In "the film with X was written by Y" it does so in the question, too: then the word before it must be the same. If
    the order of names changes, so must that before names without relations and before names that have the same one, but
    in another direction. Right after "serves" or "directed by" stands no name that has another role.
    """
    steps = wording.question.program.steps
    users: dict[str, set[tuple[str, ...]]] = {}
    for step in steps:
        if step.function == "Relate" and (start := steps[step.dependencies[0]]).function == "Find":
            users.setdefault(start.inputs[0], set()).add(step.inputs)
    roles = {name: frozenset().union(*(_roles(key) for key, _ in ways)) for name, ways in users.items()}
    asked = list(beside(wording.masked_question, wording.named_in_question))
    before = {(name, word) for name, word, _ in asked}
    exchanged = _exchanges_names(wording)
    for name, word, nearest in beside(wording.masked, wording.named):
        same = (name, word) in before
        own = roles.get(name, frozenset())
        if own and not nearest <= own and not (same and word != "by"):
            return True
        unclear = not own or any(own & roles[other] and users[other] != users[name] for other in roles)
        if exchanged and unclear and not same and name in wording.names:
            return True
    pairs = objects(wording.masked, wording.named) - objects(wording.masked_question, wording.named_in_question)
    return any(role not in roles.get(name, ()) for role, name in pairs)


def _exchanges_names(wording: Wording) -> bool:
    """True if the names have another order than in the question. Those of a list may have any."""
    *steps, last = wording.question.program.steps
    if last.function in _LISTS and all(step.function == "Find" for step in steps):
        return False
    said, asked = (
        list(dict.fromkeys(name for name in names if name in wording.names))
        for names in (wording.named, wording.named_in_question)
    )
    return said != asked


def regroups(wording: Wording) -> bool:
    last = wording.question.program.steps[-1].function
    if dated(wording.masked, wording.named) - dated(wording.masked_question, wording.named_in_question):
        return True
    return is_regrouped(wording.masked, wording.masked_question, last) or _moves_across_or(wording)


def _moves_across_or(wording: Wording) -> bool:
    """True if a name or quantity leaves its side of an "or"; "X or Y" may be "of X and Y" if it is nothing else."""
    said = alternatives(wording.masked, wording.named)
    asked = alternatives(wording.masked_question, wording.named_in_question)
    if len(said) == len(asked):
        return set(said) != set(asked)
    return any(len(side) > 1 for side in max(said, asked, key=len))
