"""Names that take an article in a sentence."""

from __future__ import annotations

import pytest

from bgr.data.reasongraphqa.verbalize.templates import load_templates

WITH = ["United States", "Bahamas", "Cook Islands", "British Indian Ocean Territory", "Caribbean Netherlands",
        "Kingdom of Italy", "District of Columbia", "Czech Republic", "Soviet Union"]  # fmt: skip
WITHOUT = ["France", "South Georgia and the South Sandwich Islands", "New York", "Norfolk Island", "Ukraine"]


@pytest.mark.parametrize(("name", "takes"), [*((name, True) for name in WITH), *((name, False) for name in WITHOUT)])
def test_names_of_places_with_an_article(name, takes):
    assert bool(load_templates().article_names.search(name)) == takes


def test_currencies_take_one():
    texts = [text for texts in load_templates().forms("currency").values() for text in texts]
    assert texts
    assert all("the {value}" in text for text in texts)
