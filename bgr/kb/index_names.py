"""Names of the indices of a knowledge base: one text each, so that a program finds an index by one look-up.

Names and keys hold no line break (whitespace is normalised), hence no two indices share a name.
"""

from __future__ import annotations

import sys

from bgr.kb.schema import Value


def link_name(predicate: str, direction: str) -> str:
    """The ends of one relation in one direction."""
    return sys.intern(f"{predicate}\n{direction}")


def column_name(key: str, kind: str, unit: str) -> str:
    """The bare values of one attribute key that are comparable with targets of that kind and unit."""
    return sys.intern(f"{key}\n{kind}\n{unit}")


def target_column(key: str, target: Value, op: str) -> str:
    """The column that a filter reads; dates that are not asked for equality must be told from years."""
    kind = "date in order" if target.type == "date" and op != "=" else target.type
    return column_name(key, kind, target.unit)
