"""Prompts as data: the files ``prompts/NAME.md`` of a package, with ``{{named}}`` placeholders."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from bgr.utils.hashing import hash_texts

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")

AGAIN = "bgr.llm"
"""The package of the prompts for retries, which all methods share."""

FOLDERS = {
    "bgr.gear": "bgr.retrievers.gear",
    "bgr.prism": "bgr.retrievers.prism",
    "bgr.bridgerag": "bgr.retrievers.bridgerag",
    "bgr.ircot": "bgr.retrievers.ircot",
    "bgr.hipporag": "bgr.retrievers.hipporag",
    "bgr.rerank": "bgr.retrievers.rerank",
    "bgr.llm_graph": "bgr.retrievers.llm_graph",
    "bgr.multihop": "bgr.reader",
}
"""The package of each set of prompts. The names are part of `prompts_hash`, which is in the keys of finished results,
so a name does not change when its package moves."""


class Prompts:
    """The prompts of a name in `FOLDERS`, for example ``bgr.gear``, or of a package."""

    def __init__(self, package: str) -> None:
        self.package = package

    def __call__(self, step: str, **values: str) -> str:
        """The text of a step with its placeholders filled in one pass, so braces in a value are kept.

        Raises:
            KeyError: a placeholder of the step's file has no value.
        """
        return _PLACEHOLDER.sub(lambda match: values[match[1]], _template(self.package, step))


def prompts_hash(*packages: str) -> str:
    """SHA-256 of the names and texts of all prompts of some packages (see `Prompts`), in any order, and of the prompts
    for retries. Results are keyed by it, because other prompts give other results."""
    texts: list[str] = []
    for package in sorted({AGAIN, *packages}):
        found = [file for file in _folder(package).iterdir() if file.name.endswith(".md")]
        for file in sorted(found, key=lambda file: file.name):
            texts += [f"{package}/{file.name}", file.read_text(encoding="utf-8")]
    return hash_texts(*texts)


def _folder(package: str) -> Traversable:
    return files(FOLDERS.get(package, package)).joinpath("prompts")


@cache
def _template(package: str, step: str) -> str:
    return _folder(package).joinpath(f"{step}.md").read_text(encoding="utf-8").strip()
