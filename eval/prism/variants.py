"""The ablations of PRISM by name, and the contexts that answers are read from beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bgr.prism.settings import PAPER, PrismSettings

VARIANTS: Mapping[str, PrismSettings] = {
    "prism": PAPER,
    "no-analyser": replace(PAPER, analyser=False),
    "no-adder": replace(PAPER, agents=("selector",), start="all", rounds=1),
    "no-selector": replace(PAPER, agents=("adder",)),
    "no-draft": replace(PAPER, start="none"),
    "selector-first": replace(PAPER, agents=("selector", "adder"), start="all"),
    "four-rounds": replace(PAPER, rounds=4),
    "whole-passages": replace(PAPER, whole_passages=True),
}
"""``no-analyser`` and ``no-adder`` (one selection from all sentences) are those of Table 6, ``four-rounds`` gives
Table 15 for N = 1 … 4, ``whole-passages`` is Table 8; the others are ours."""

CONTEXTS = ("full-context", "oracle")
"""The same answer generator on all candidates, and on the gold sentences (the gold passages, where the data has no
gold sentences)."""
