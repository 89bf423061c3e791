"""Loads the wordings of facts (templates.yaml, templates_wikidata.yaml) and finds those of a predicate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from bgr.reasongraphqa.shapes import FORMS, Forms, default_forms, default_qualifier


@dataclass(frozen=True)
class Templates:
    """Wordings by predicate and by qualifier key.

    Args:
        predicates: attribute key or relation to its `Forms`.
        qualifiers: qualifier key to the phrases that may follow.
        at_value: qualifier keys whose phrase follows the value instead of the whole phrase.
        kinds: concept names that may stand for a member ("a city in France"), the first that fits.
        persons: concept names whose members take "who".
        article_kinds, article_names: concepts and name pattern of what takes "the".
    """

    predicates: Mapping[str, Forms]
    qualifiers: Mapping[str, Sequence[str]]
    at_value: frozenset[str]
    kinds: tuple[str, ...]
    persons: frozenset[str]
    article_kinds: frozenset[str]
    article_names: re.Pattern[str]

    def forms(self, predicate: str) -> Forms:
        """The wordings of a predicate: its own, or the default for the shape of its name."""
        return self.predicates.get(predicate) or default_forms(predicate)

    def qualifier(self, key: str) -> Sequence[str]:
        return self.qualifiers.get(key) or default_qualifier(key)


@cache
def load_templates() -> Templates:
    """The wordings shipped with the library; Atlas' own win over those for Wikidata."""
    main, more = _read("templates.yaml"), _read("templates_wikidata.yaml")
    return Templates(
        predicates={name: _forms(forms) for name, forms in {**more, **main["predicates"]}.items()},
        qualifiers={key: tuple(phrases) for key, phrases in main["qualifiers"].items()},
        at_value=frozenset(main["at_value"]),
        kinds=tuple(main["kinds"]),
        persons=frozenset(main["persons"]),
        article_kinds=frozenset(main["article_kinds"]),
        article_names=re.compile(main["article_names"]),
    )


def _read(name: str) -> Any:
    return yaml.safe_load(files("bgr.reasongraphqa").joinpath(name).read_text(encoding="utf-8"))


def _forms(record: Mapping[str, Sequence[str]]) -> Forms:
    return {form: tuple(record.get(form, ())) for form in FORMS}
