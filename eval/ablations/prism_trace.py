"""What the trace of a result tells of PRISM's steps. Traces come from a file: `checked` says whether they are whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bgr.data.multihop.assemble import MultihopData
from bgr.errors import DataError
from bgr.utils.json_utils import one_line
from eval.passages.found import Found
from eval.passages.groups import usage_until


def checked(found: Found, data: MultihopData) -> Found:
    """The result, if all that is read off its trace can be read.

    Raises:
        DataError: the trace is damaged, or another method's.
    """
    try:
        if any(type(step.get("round", 0)) is not int for step in found.trace):
            raise ValueError("a step's round is no number")
        rounds = sorted(rounds_of(found))
        if rounds != list(range(1, len(rounds) + 1)):
            raise ValueError("the rounds are not numbered from 1")
        evidence_after(found, data, len(rounds))
        numbers = (*usage_until(found, len(rounds)).values(), reading_tokens(found), *merge_of(found).values())
        sum(numbers)
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {one_line(error)}"
        raise DataError(
            f"result of {found.id}: no trace of PRISM ({problem}); give another --out, or --overwrite"
        ) from None
    return found


def rounds_of(found: Found) -> dict[int, Mapping[str, Any]]:
    """The records of the rounds' ends, by the number of the round."""
    return {step["round"]: step for step in found.trace if step.get("step") == "round"}


def evidence_after(found: Found, data: MultihopData, number: int) -> list[tuple[str, int]]:
    """The union of the first rounds' evidence: ids of passages with numbers of sentences."""
    rounds = rounds_of(found)
    rows = [row for n in sorted(rounds) if n <= number for row in rounds[n].get("evidence", ())]
    return list(dict.fromkeys((data.corpus[place].id, sentence) for place, sentence in rows))


def reading_tokens(found: Found) -> float:
    """Tokens read in the step that answers."""
    usages = [step["usage"] for step in found.trace if step.get("step") == "answer"]
    return sum(math.nan if one.get("uncounted") else one["tokens_in"] for one in usages)


def merge_of(found: Found) -> dict[str, float]:
    """The shares of the candidates' sentences and words that are left (NaN without candidates), and the number of
    dropped names."""
    record = next((step for step in found.trace if step.get("step") == "merge"), {})
    sizes = record.get("sizes", {})
    all_of_it, left = sizes.get("candidates", {}), sizes.get("evidence", {})
    shares = {
        f"{unit}_left": left[unit] / all_of_it[unit] if all_of_it.get(unit) else math.nan
        for unit in ("sentences", "words")
    }
    return {**shares, "hallucinated": float(record.get("hallucinated", 0))}
