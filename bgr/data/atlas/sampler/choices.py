"""Ten choices for an answer, as KQA Pro gives them: things of the same sort, the answer among them."""

from __future__ import annotations

import random

from bgr.data.atlas.question_tree import Draft
from bgr.data.atlas.sampler.checks import Checked
from bgr.data.atlas.sampler.index import AtlasIndex

COUNT = 10
PADDING = "unknown"


def choices_for(index: AtlasIndex, checked: Checked, rng: random.Random) -> list[str]:
    """Ten texts, the answer at a random place (yes and no first for a boolean question, as in KQA Pro)."""
    draft, answer = checked.draft, checked.answer
    if draft.function == "Verify":
        return ["yes", "no", *[PADDING] * (COUNT - 2)]
    others = dict.fromkeys(text for text in _pool(index, draft, answer, rng) if text != answer)
    found = list(others)[: COUNT - 1]
    found.append(answer)
    rng.shuffle(found)
    return found + [PADDING] * (COUNT - len(found))


def _pool(index: AtlasIndex, draft: Draft, answer: str, rng: random.Random) -> list[str]:
    if draft.function == "Count":
        numbers = [n for n in range(max(0, int(answer) - 9), int(answer) + 10) if n != int(answer)]
        return [str(n) for n in rng.sample(numbers, COUNT - 1)]
    if draft.function == "QueryRelation":
        return rng.sample(sorted(index.kb.predicates), len(index.kb.predicates))
    if draft.function in ("QueryAttr", "QueryAttrUnderCondition"):
        assert draft.value is not None
        texts = [str(value) for value in index.pool(draft.key, draft.value.unit)]
        return rng.sample(texts, min(len(texts), 2 * COUNT))
    if draft.qualifier is not None:
        return _qualifier_pool(index, draft.qualifier[0], rng)
    things = index.things[draft.subject.kind]
    sample = [index.kb.name(node) for node in rng.sample(things, min(len(things), 2 * COUNT))]
    rivals = [*draft.subject.options, *draft.names()] if draft.function.startswith("Select") else []
    members = [index.kb.name(node) for node in draft.subject.members] if draft.function == "SelectAmong" else []
    between = [index.kb.name(draft.other.members[0])] if draft.function == "SelectBetween" and draft.other else []
    named = [name for name in rivals if name in members]
    return [*named, *members, *between, *([index.kb.name(draft.subject.members[0])] if between else []), *sample]


def _qualifier_pool(index: AtlasIndex, key: str, rng: random.Random) -> list[str]:
    """Values of the same qualifier key; where they are few, those of other textual keys."""
    own = index.qualifier_values(key)
    others = [v for k in sorted(index.kb.qualifier_keys) if k != key for v in index.qualifier_values(k)]
    others = [v for v in others if v.isdigit() == (bool(own) and own[0].isdigit())]
    return rng.sample(own, len(own)) + rng.sample(others, len(others))
