"""Equality of executed and annotated answers, for any text."""

from __future__ import annotations

import pytest

from bgr.data.reasongraphqa.construction.questions import same_answer


@pytest.mark.parametrize(
    ("executed", "annotated", "same"),
    [
        ("Paris", " paris ", True),
        ("1970-07-30", "1970/7/30", True),
        ("1970-07-30", "1970-07-31", False),
        ("1000", "1,000", True),
        ("1.5 metre", "1.50 metre", True),
        ("1.5 metre", "1.5 foot", False),
        ("0.5", ".5", True),
        ("-3", "3", False),
        ("1e3", "1000", True),
        ("1e999", "2e999", False),
        ("9" * 400, "8" * 400, False),
        ("12", "12.", False),
        ("", "0", False),
    ],
)
def test_same_answer(executed, annotated, same):
    assert same_answer(executed, annotated) is same
    assert same_answer(annotated, executed) is same


@pytest.mark.parametrize("text", ["1" * 200_000 + "x", "1," * 100_000, "1" * 200_000, "-" * 200_000, "1-" * 100_000])
def test_no_answer_takes_long(text, must_end):
    assert not same_answer(text, "12 metre")
