"""Prompts as data: a package's files ``prompts/NAME.md``, with ``{{named}}`` places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from bgr.utils.hashing import hash_texts

_PLACE = re.compile(r"\{\{(\w+)\}\}")

AGAIN = "bgr.llm"
"""The prompts that ask once more, whoever asked."""

FOLDERS = {
    "bgr.gear": "bgr.retrievers.gear",
    "bgr.prism": "bgr.retrievers.prism",
    "bgr.bridgerag": "bgr.retrievers.bridgerag",
    "bgr.llm_graph": "bgr.retrievers.llm_graph",
    "bgr.multihop": "bgr.reader",
}
"""The package that holds each set of prompts. The names are part of `prompts_hash`, and finished results are keyed by
that hash, so a name stays as it is when its package moves."""


class Prompts:
    """The prompts of one package, by name.

    Args:
        package: a name in `FOLDERS` (``bgr.gear`` for example), or a package.
    """

    def __init__(self, package: str) -> None:
        self.package = package

    def __call__(self, step: str, **values: str) -> str:
        """The text of a step with its places filled, in one pass: braces in a value stay as they are.

        Raises:
            KeyError: the step's file names a place that has no value.
        """
        return _PLACE.sub(lambda place: values[place[1]], _template(self.package, step))


def prompts_hash(*packages: str) -> str:
    """SHA-256 of all prompts of some packages and of those that ask once more, names and texts: what was found with
    other prompts is another result.

    Args:
        packages: names, as `Prompts` takes them, in any order.
    """
    return hash_texts(*(part for package in sorted({AGAIN, *packages}) for part in _named_texts(package)))


def _named_texts(package: str) -> Iterable[str]:
    found = [file for file in _folder(package).iterdir() if file.name.endswith(".md")]
    for file in sorted(found, key=lambda file: file.name):
        yield f"{package}/{file.name}"
        yield file.read_text(encoding="utf-8")


def _folder(package: str) -> Traversable:
    return files(FOLDERS.get(package, package)).joinpath("prompts")


@cache
def _template(package: str, step: str) -> str:
    return _folder(package).joinpath(f"{step}.md").read_text(encoding="utf-8").strip()
