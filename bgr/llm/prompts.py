"""Prompts as data: a package's files ``prompts/NAME.md``, with ``{{named}}`` places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from bgr.kept_chunks import name_of

_PLACE = re.compile(r"\{\{(\w+)\}\}")

AGAIN = "bgr.llm"
"""The package whose prompts ask once more, whoever asked."""


class Prompts:
    """The prompts of one package, by name.

    Args:
        package: ``bgr.gear`` for example.
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
    return name_of(*(part for package in sorted({AGAIN, *packages}) for part in _named_texts(package)))


def _named_texts(package: str) -> Iterable[str]:
    found = [file for file in files(package).joinpath("prompts").iterdir() if file.name.endswith(".md")]
    for file in sorted(found, key=lambda file: file.name):
        yield f"{package}/{file.name}"
        yield file.read_text(encoding="utf-8")


@cache
def _template(package: str, step: str) -> str:
    return files(package).joinpath("prompts", f"{step}.md").read_text(encoding="utf-8").strip()
