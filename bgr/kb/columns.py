"""One attribute key as sorted columns, so that a filter over many entities is a binary search."""

from __future__ import annotations

import datetime
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from bgr.kb.comparison import year_of
from bgr.kb.schema import Value
from bgr.kb.statement import Statement


class SortedColumn:
    """Statements sorted by a comparable key of their values."""

    def __init__(self, pairs: Iterable[tuple[Any, Statement]]) -> None:
        ordered = sorted(pairs, key=lambda pair: (pair[0], pair[1].number))
        self.keys = [key for key, _ in ordered]
        self.statements = [statement for _, statement in ordered]

    def select(self, target: Any, operator: str) -> list[Statement]:
        low, high = bisect_left(self.keys, target), bisect_right(self.keys, target)
        if operator == "=":
            return self.statements[low:high]
        if operator == "<":
            return self.statements[:low]
        if operator == ">":
            return self.statements[high:]
        return self.statements[:low] + self.statements[high:]


class Column:
    """All statements of one attribute key, indexed by value type; agrees with `comparison.matches` on each."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        strings: dict[Any, list[Statement]] = {}
        quantities: dict[str, list[tuple[Any, Statement]]] = {}
        times: list[tuple[Any, Statement]] = []
        for statement in statements:
            value = statement.value
            if value is None:
                continue
            if value.type == "string":
                strings.setdefault(value.value, []).append(statement)
            elif value.type == "quantity":
                quantities.setdefault(value.unit, []).append((value.value, statement))
            else:
                times.append((value.value, statement))
        self._strings = strings
        self._quantities = {unit: SortedColumn(pairs) for unit, pairs in quantities.items()}
        self._all_by_year = SortedColumn((year_of(s.value), s) for _, s in times if s.value is not None)
        self._dates = SortedColumn(pair for pair in times if isinstance(pair[0], datetime.date))
        self._years = SortedColumn(pair for pair in times if not isinstance(pair[0], datetime.date))

    def select(self, target: Value, operator: str) -> list[Statement]:
        """The statements whose value stands in the relation `operator` to `target`, in the order of the file."""
        found = self._select(target, operator)
        found.sort(key=_number)
        return found

    def _select(self, target: Value, operator: str) -> list[Statement]:
        if target.type == "string":
            if operator == "=":
                return list(self._strings.get(target.value, ()))
            return [s for text, found in self._strings.items() if text != target.value for s in found]
        if target.type == "quantity":
            column = self._quantities.get(target.unit)
            return column.select(target.value, operator) if column else []
        if target.type == "year":
            return self._all_by_year.select(target.value, operator)
        found = self._dates.select(target.value, operator)
        # a year is never equal to a date; it lies before or after it by its number
        if operator == "!=":
            return found + self._years.statements
        return found if operator == "=" else found + self._years.select(year_of(target), operator)


def _number(statement: Statement) -> int:
    return statement.number
