"""Comparison of values, written out by hand, and the sorted columns against it."""

from datetime import date

import pytest

from bgr.data.kb.comparison import COMPARE, OPERATORS, Column, comparable, matches, parse_target
from bgr.data.kb.schema import Statement, Value
from bgr.errors import DataError

YEAR, DAY = Value("year", 1960), Value("date", date(1960, 2, 1))


@pytest.mark.parametrize(
    ("value", "target", "fitting"),
    [
        (DAY, YEAR, {"="}),
        (YEAR, DAY, {"!="}),
        (YEAR, YEAR, {"="}),
        (DAY, Value("date", date(1960, 2, 2)), {"!=", "<"}),
        (Value("date", date(1961, 1, 1)), YEAR, {"!=", ">"}),
        (Value("year", 1959), DAY, {"!=", "<"}),
        (Value("quantity", 2, "metre"), Value("quantity", 2.5, "metre"), {"!=", "<"}),
        (Value("quantity", 2, "metre"), Value("quantity", 2), set()),
        (Value("quantity", 1960), YEAR, set()),
        (YEAR, Value("quantity", 1960), set()),
        (Value("string", "a"), Value("string", "a"), {"="}),
        (Value("string", "a"), Value("year", 1), set()),
    ],
)
def test_matches(value: Value, target: Value, fitting: set[str]) -> None:
    # strings are never compared by order in a program
    operators = OPERATORS[:2] if value.type == "string" else OPERATORS
    assert {op for op in operators if matches(value, target, op)} == fitting


DAYS = [Value("date", date(y, m, 1)) for y in (1959, 1960, 1961) for m in (1, 2, 1)]
VALUES = [
    *[Value("quantity", n / 2, unit) for n in (3, -1, 4, 3, 0) for unit in ("1", "metre")],
    *[Value("string", text) for text in ("a", "b", "a")],
    *[Value("year", year) for year in (1960, 1959, 1961, 1960)],
    *DAYS,
]


def test_a_column_selects_what_matches() -> None:
    statements = [Statement(n, f"E{n}", "k", value) for n, value in enumerate(VALUES)]
    column = Column(statements)
    for target in {
        *VALUES,
        Value("quantity", 1.25),
        Value("quantity", 1, "inch"),
        Value("year", 1900),
        Value("string", "c"),
    }:
        for op in OPERATORS[:2] if target.type == "string" else OPERATORS:
            slow = [s for s in statements if s.value is not None and matches(s.value, target, op)]
            assert column.select(target, op) == slow, (target, op)


@pytest.mark.parametrize(
    "kinds", [{"quantity"}, {"string"}, {"date"}, {"year"}, {"date", "year"}, {"quantity", "string"}]
)
def test_single_values_give_the_result_of_matches(kinds: set[str]) -> None:
    values = [v for v in VALUES if v.type in kinds]
    statements = [Statement(n, f"E{n}", "k", value) for n, value in enumerate(values)]
    column = Column(statements)
    for target in VALUES:
        for op in OPERATORS[:2] if target.type == "string" else OPERATORS:
            bare = column.single.get((comparable(target, op), target.unit))
            slow = [s.head for s in statements if s.value is not None and matches(s.value, target, op)]
            if target.type == "date" and "year" in kinds and op != "=":
                assert bare is None
            else:
                assert [i for i in bare or {} if COMPARE[op]((bare or {})[i], target.value)] == slow
    assert column.multi == {}


def test_multi_values_give_the_result_of_matches() -> None:
    statements = [Statement(n, f"E{n % 3}", "k", value) for n, value in enumerate(VALUES)]
    column = Column(statements)
    for target in VALUES:
        for op in OPERATORS[:2] if target.type == "string" else OPERATORS:
            pairs = column.multi.get((comparable(target, op), target.unit))
            assert (pairs is None) == (target.type == "date" and op != "=")
            slow = {s for s in statements if s.value is not None and matches(s.value, target, op)}
            if pairs is not None:
                assert {s for found in pairs.values() for v, s in found if COMPARE[op](v, target.value)} == slow
    assert column.single == {}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("206 centimetre", "quantity", Value("quantity", 206.0, "centimetre")),
        ("-3.5", "quantity", Value("quantity", -3.5)),
        ("5 square foot", "quantity", Value("quantity", 5.0, "square foot")),
        ("1984", "date", Value("year", 1984)),
        ("1984/12/30", "year", Value("date", date(1984, 12, 30))),
        ("-500", "year", Value("year", -500)),
        ("1984", "string", Value("string", "1984")),
    ],
)
def test_parse_target(text: str, kind: str, value: Value) -> None:
    assert parse_target(text, kind) == value


@pytest.mark.parametrize(("text", "kind"), [("x", "quantity"), ("nan", "quantity"), ("19-84", "date"), ("", "year")])
def test_parse_target_refuses(text: str, kind: str) -> None:
    with pytest.raises(DataError, match="not a"):
        parse_target(text, kind)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Value("quantity", 206.0), "206"),
        (Value("quantity", 2.5, "metre"), "2.5 metre"),
        # negative fractions are truncated, as in KoPL
        (Value("quantity", -3.5), "-3"),
        (YEAR, "1960"),
        (DAY, "1960-02-01"),
    ],
)
def test_printed_as_in_kopl(value: Value, text: str) -> None:
    assert str(value) == text
