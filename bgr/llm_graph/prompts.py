"""The prompts: one file for each way to ask, and facts as a model reads them."""

from __future__ import annotations

from collections.abc import Iterable

from bgr.llm.prompts import Prompts

prompt = Prompts("bgr.llm_graph")


def clip(text: str, most: int) -> str:
    """On one line, and cut to so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def too_long(text: str, most: int) -> bool:
    """Whether `clip` cuts it."""
    return len(" ".join(text.split())) > most


def fact_line(number: int, fact: str, most: int) -> str:
    """A fact with its number, cut to `most` characters."""
    return f"{number}. {clip(fact, most)}"


def fact_lines(facts: Iterable[str], most: int) -> str:
    """Facts numbered from 1, one a line."""
    return "\n".join(fact_line(number, fact, most) for number, fact in enumerate(facts, 1))
