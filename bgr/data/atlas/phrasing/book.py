"""The phrasings of Atlas' questions, read from the YAML files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from bgr.errors import DataError

FILES = ("kinds", "relations", "attributes", "qualifiers", "strategies", "values")
OPERATOR_SLOTS = {"=": "equal", ">": "greater", "<": "less"}


class Phrasebook:
    """All wordings, by what they word; templates as they stand in the files.

    Args:
        files: parsed content by file stem (`FILES`).
    """

    def __init__(self, files: Mapping[str, Mapping[str, Any]]) -> None:
        self.kinds: Mapping[str, Any] = files["kinds"]["kinds"]
        self.article: Mapping[str, list[str]] = files["kinds"]["article"]
        self.relations: Mapping[str, Any] = files["relations"]
        self.attributes: Mapping[str, Any] = files["attributes"]["attributes"]
        self.generic: Mapping[str, list[str]] = files["attributes"]["generic"]
        self.qualifiers: Mapping[str, Any] = files["qualifiers"]
        self.strategies: Mapping[str, Any] = files["strategies"]
        self.values: Mapping[str, Any] = files["values"]
        self._slots: dict[tuple[str, str], tuple[str, ...]] = {}

    def relation(self, predicate: str, direction: str) -> Mapping[str, Any] | None:
        """The wordings of a relation followed in a direction, or ``None`` if it has none."""
        return self.relations.get(predicate, {}).get(direction)

    def attribute(self, key: str, slot: str) -> tuple[str, ...]:
        """All templates of one slot of an attribute: its own, and the generic ones filled with its names.

        Empty where the attribute cannot be worded in that way.
        """
        found = self._slots.get((key, slot))
        if found is None:
            found = self._slots[key, slot] = self._expand(key, slot)
        return found

    def _expand(self, key: str, slot: str) -> tuple[str, ...]:
        entry = self.attributes[key]
        own = tuple(entry.get(slot, ()))
        order = entry.get("order")
        if not entry.get("generic", True) or slot.startswith("ask year") or (entry.get("time") and slot != "ask"):
            return own
        textual = order is None and slot == "equal"
        if order is None and slot not in ("ask", "equal"):
            return own
        words = dict(zip(("more", "most", "less", "least"), order or (), strict=False))
        generic = self.generic["equal text" if textual else slot] if slot in self.generic else ()
        filled = [_fill(template, {"a": noun, **words}) for noun in entry["nouns"] for template in generic]
        # one's own wordings weigh as much as the many generic ones
        return own * max(1, round(len(filled) / max(1, len(own)))) + tuple(filled)


def _fill(template: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        template = template.replace("{" + name + "}", word)
    return template


@lru_cache(maxsize=1)
def phrasebook() -> Phrasebook:
    """The phrasings shipped with the package.

    Raises:
        DataError: a file is missing or not valid YAML.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = {}
    for stem in FILES:
        path = Path(__file__).with_name(f"{stem}.yaml")
        try:
            files[stem] = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        except (OSError, yaml.YAMLError) as error:
            raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    return Phrasebook(files)
