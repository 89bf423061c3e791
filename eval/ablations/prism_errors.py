"""Where it goes wrong: by kind or hops of the question, and recall against answers (paper, Tables 9 to 13)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bgr.data.multihop.assemble import MultihopData
from eval.ablations.prism_score import VariantScores

RECALL, MATCH = "passage_recall", "em"
"""What "recall" and "match" are in these tables: of passages, and exact match."""

SUBSETS = ("all", "recall < 1", "answer wrong")


def error_shares(variant: VariantScores, data: MultihopData, by: str) -> dict[str, dict[str, float]]:
    """``{subset: {"n": questions, group: share of them}}``, the subsets being `SUBSETS` and the groups in order
    (Tables 9 to 12).

    Args:
        variant: its scores.
        data: the questions.
        by: ``kind`` or ``hops``.
    """
    groups = [str(getattr(question, by)) or "–" for question in data.questions]
    names = list(dict.fromkeys(str(value) or "–" for value in sorted({getattr(q, by) for q in data.questions})))
    found = {}
    for subset, rows in _subsets(variant).items():
        here = [group for group, is_in in zip(groups, rows, strict=True) if is_in]
        shares = {name: here.count(name) / len(here) if here else float("nan") for name in names}
        found[subset] = {"n": float(len(here)), **shares}
    return found


def _subsets(variant: VariantScores) -> Mapping[str, np.ndarray]:
    recall, match = variant.scores[RECALL], variant.scores[MATCH]
    return {"all": np.ones(len(recall), dtype=bool), "recall < 1": recall < 1, "answer wrong": match < 1}


def recall_against_answers(variant: VariantScores) -> dict[str, float]:
    """Table 13, over the questions with gold passages and gold answers.

    ``complete`` and ``incomplete`` count the questions with recall 1 and below; ``wrong_at_complete`` and
    ``right_at_incomplete`` are shares of these, as the table's head says. ``complete_of_wrong`` is the share of the
    wrong answers that have recall 1, which is what the paper's text says of the same numbers. NaN where there is
    nothing to divide by.
    """
    recall, match = variant.scores[RECALL], variant.scores[MATCH]
    there = ~np.isnan(recall) & ~np.isnan(match)
    complete, wrong = recall[there] >= 1, match[there] < 1
    return {
        "complete": float(complete.sum()),
        "incomplete": float((~complete).sum()),
        "wrong": float(wrong.sum()),
        "wrong_at_complete": _share(wrong & complete, complete),
        "right_at_incomplete": _share(~wrong & ~complete, ~complete),
        "complete_of_wrong": _share(wrong & complete, wrong),
    }


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part.sum() / whole.sum()) if whole.any() else float("nan")
