"""Shares of the structures and types among Atlas' questions, and the recipes by which they are sampled."""

from __future__ import annotations

from dataclasses import dataclass

Cell = tuple[str, str]
"""(structure, question type)."""


@dataclass(frozen=True)
class Recipe:
    """Parameters for sampling a draft: its strategy, the depth of its descriptions and how they are narrowed.

    Args:
        strategy: name of a method of `Drafter`.
        depth: number of relations between a name and the subject.
        joins: probability that a description is narrowed by a second relation rather than a filter.
        form: a variant of the strategy.
    """

    strategy: str
    depth: int = 0
    joins: float = 0.0
    form: str = ""


# percent of all questions; the lines add up to the paper's Table 3 (19.5, 38.6, 8.7, 33.2)
SHARES: dict[Cell, float] = {
    ("SC-SH", "query"): 9.0, ("SC-SH", "boolean"): 5.0, ("SC-SH", "qualifier"): 5.5,
    ("SC-MH", "query"): 27.6, ("SC-MH", "boolean"): 7.6, ("SC-MH", "qualifier"): 3.4,
    ("MC-SH", "query"): 3.2, ("MC-SH", "comparison"): 3.2, ("MC-SH", "count"): 2.3,
    ("MC-MH", "query"): 10.2, ("MC-MH", "comparison"): 11.8, ("MC-MH", "count"): 7.6, ("MC-MH", "boolean"): 2.4,
    ("MC-MH", "qualifier"): 1.2,
}  # fmt: skip

QUESTION_TYPE = {
    "What": "query", "QueryAttr": "query", "QueryAttrUnderCondition": "query", "QueryRelation": "query",
    "SelectBetween": "comparison", "SelectAmong": "comparison", "Count": "count", "Verify": "boolean",
    "QueryAttrQualifier": "qualifier", "QueryRelationQualifier": "qualifier",
}  # fmt: skip

# weighted recipes for each cell; a draft that turns out to belong to another cell is used there
RECIPES: dict[Cell, list[tuple[float, Recipe]]] = {
    ("SC-SH", "query"): [
        (4.0, Recipe("query_attribute")), (1.2, Recipe("query_attribute", form="condition")),
        (2.6, Recipe("what", 1)), (1.0, Recipe("what", form="code")),
        (1.6, Recipe("query_relation")),
    ],
    ("SC-SH", "boolean"): [(1.0, Recipe("verify"))],
    ("SC-SH", "qualifier"): [(1.0, Recipe("attribute_qualifier")), (4.0, Recipe("relation_qualifier"))],
    ("SC-MH", "query"): [
        (3.5, Recipe("query_attribute", 1)), (3.0, Recipe("query_attribute", 2)), (0.6, Recipe("query_attribute", 3)),
        (0.8, Recipe("query_attribute", 1, form="condition")),
        (1.5, Recipe("what", 1)), (4.0, Recipe("what", 2)), (1.2, Recipe("what", 3)),
        (0.8, Recipe("query_relation", 1)),
    ],
    ("SC-MH", "boolean"): [(3.0, Recipe("verify", 1)), (2.0, Recipe("verify", 2)), (0.4, Recipe("verify", 3))],
    ("SC-MH", "qualifier"): [
        (2.0, Recipe("attribute_qualifier", 1)), (1.0, Recipe("attribute_qualifier", 2)),
        (5.0, Recipe("relation_qualifier", 1)),
    ],
    ("MC-SH", "query"): [(1.0, Recipe("what", 1, joins=1.0))],
    ("MC-SH", "comparison"): [(2.0, Recipe("select_between")), (1.0, Recipe("select_among", form="options"))],
    ("MC-SH", "count"): [
        (1.5, Recipe("count", 1)), (1.0, Recipe("count", 1, form="or")), (0.6, Recipe("count", 1, form="and")),
        (0.3, Recipe("count", form="all")),
    ],
    ("MC-MH", "query"): [
        (3.0, Recipe("query_attribute", 1, joins=1.0)), (2.0, Recipe("query_attribute", 2, joins=0.8)),
        (2.0, Recipe("what", 2, joins=0.8)), (1.0, Recipe("what", 1, joins=0.6)), (1.0, Recipe("what", 3, joins=0.6)),
        (0.7, Recipe("query_relation", 2, joins=0.8)),
    ],
    ("MC-MH", "comparison"): [
        (3.0, Recipe("select_between", 1)), (1.5, Recipe("select_between", 2)),
        (0.7, Recipe("select_between", 1, joins=1.0)),
        (2.0, Recipe("select_among", 1)), (1.2, Recipe("select_among", 2)),
        (1.0, Recipe("select_among", 1, form="filter")), (0.6, Recipe("select_among", 1, form="and")),
        (0.4, Recipe("select_among", 1, form="or")), (0.3, Recipe("select_among", form="all")),
    ],
    ("MC-MH", "count"): [
        (2.0, Recipe("count", 1, form="filter")), (2.0, Recipe("count", 2)), (1.0, Recipe("count", 2, form="filter")),
        (1.0, Recipe("count", 2, form="or")), (0.7, Recipe("count", 2, form="and")), (0.3, Recipe("count", form="all")),
    ],
    ("MC-MH", "boolean"): [(1.5, Recipe("verify", 1, joins=1.0)), (1.0, Recipe("verify", 2, joins=0.8))],
    ("MC-MH", "qualifier"): [
        (1.0, Recipe("attribute_qualifier", 1, joins=1.0)), (0.5, Recipe("attribute_qualifier", 2, joins=0.8)),
        (4.0, Recipe("relation_qualifier", 1, joins=1.0)),
    ],
}  # fmt: skip
