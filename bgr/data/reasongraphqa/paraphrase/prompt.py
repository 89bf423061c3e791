"""The request for paraphrases: rules, examples of the same kind of question, the meaning of the program in plain words,
and the question.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from bgr.data.kb.program import Program, Step
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.llm.interface import Message, Request
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, object_of, row_of

STEP = "data.paraphrase"
PROMPTS = "bgr.data.reasongraphqa.paraphrase"
TEMPERATURE = 0.3
"""At 0 two wordings are seldom different; at 0.7 a small model loses more conditions."""

TOKENS_EACH = 160
"""Maximum number of tokens for each wording; the longest questions of Atlas have about 100."""

SHARED = ("What", "QueryAttr")
"""The last functions whose last example every prompt has: chains with several conditions."""


def request(question: Question, wordings: int, seed: int) -> Request:
    """The request for paraphrases of a question."""
    text = Prompts(PROMPTS)(
        "paraphrase",
        count=str(wordings),
        examples="\n\n".join(examples(question.program.steps[-1].function)),
        steps=describe(question.program),
        question=question.text,
    )
    schema = object_of(questions=row_of(TEXT, wordings))
    return Request(STEP, (Message("user", text),), schema, TOKENS_EACH * wordings, TEMPERATURE, seed)


def examples(function: str) -> list[str]:
    """The examples for programs that end with a function: those that do so too, after the ones that every prompt has.

    A small model follows an example of the same form far better than a rule.
    """
    own = _examples()["Verify" if function.startswith("Verify") else function]
    return [*(_examples()[name][-1] for name in SHARED if _examples()[name] != own), *own]


@cache
def _examples() -> dict[str, list[str]]:
    """All examples by the last function of their programs."""
    sections = re.split(r"^# (\w+)$", Prompts(PROMPTS)("examples"), flags=re.MULTILINE)[1:]
    return {
        name: [f"Steps:{example.rstrip()}" for example in text.split("Steps:")[1:]]
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }


_TIMES = {"=": "in", "!=": "not in", "<": "before", ">": "after"}
_DAYS = {**_TIMES, "=": "on", "!=": "not on"}
_SIZES = {"=": "exactly", "!=": "not", "<": "less than", ">": "more than"}


def describe(program: Program) -> str:
    """The steps of a program, one numbered line each; ``(2)`` stands for the result of step 2.

    Two programs with different steps have different descriptions. For example::

        1. Find France.
        2. Take the capital of (1).
        3. Answer: the population of (2).
    """
    lines = []
    for number, step in enumerate(program.steps, 1):
        text = _WORDS[step.function](step, *(f"({dependency + 1})" for dependency in step.dependencies))
        if number == len(program.steps) and not text.startswith("Answer"):
            text = "Answer: " + text.removeprefix("Take ")
        lines.append(f"{number}. {text}.")
    return "\n".join(lines)


def _compared(step: Step) -> str:
    """The value of a comparison with its operator: ``is more than 90 minute``."""
    value, kind, op = step.value, step.signature.kind, step.inputs[-1]
    assert value is not None
    if kind == "string":
        return f"is {value}"
    words = _SIZES if kind == "quantity" else _DAYS if value.type == "date" else _TIMES
    return f"is {words[op]} {value}"


def _relate(step: Step, start: str) -> str:
    predicate, direction = step.inputs
    return (
        f"Take the {predicate} of {start}" if direction == "forward" else f"Take all that have {start} as {predicate}"
    )


def _filter(step: Step, start: str) -> str:
    return f"Of {start}, keep only those whose {step.inputs[0]} {_compared(step)}"


def _qualifier_filter(step: Step, start: str) -> str:
    return f"Of {start}, keep only those for which this has a {step.inputs[0]} that {_compared(step)}"


def _between(step: Step, first: str, second: str) -> str:
    more = "higher" if step.inputs[1] == "greater" else "lower"
    return f"Answer: which of the two, {first} or {second}, has the {more} {step.inputs[0]}"


def _among(step: Step, group: str) -> str:
    most = "highest" if step.inputs[1] == "largest" else "lowest"
    return f"Answer: which one of {group} has the {most} {step.inputs[0]}"


def _under_condition(step: Step, start: str) -> str:
    key, qualifier, value = step.inputs
    return f"Take the {key} of {start}, the one whose {qualifier} is {value}"


def _attribute_qualifier(step: Step, start: str) -> str:
    key, value, qualifier = step.inputs
    return f"Answer: the {qualifier} of the statement that the {key} of {start} is {value}"


def _relation_qualifier(step: Step, start: str, end: str) -> str:
    predicate, qualifier = step.inputs
    return f"Answer: the {qualifier} of the statement that the {predicate} of {start} is {end}"


_WORDS: dict[str, Callable[..., str]] = {
    "FindAll": lambda step: "Start from all things",
    "Find": lambda step: f"Find {step.inputs[0]}",
    "FilterConcept": lambda step, start: f"Of {start}, keep only each {step.inputs[0]}",
    "Relate": _relate,
    "And": lambda step, first, second: f"Keep only what is in both {first} and {second}",
    "Or": lambda step, first, second: f"Take what is in {first} or in {second}",
    "What": lambda step, start: f"Answer: the name of {start}",
    "Count": lambda step, start: f"Answer: how many there are in {start}",
    "SelectBetween": _between,
    "SelectAmong": _among,
    "QueryAttr": lambda step, start: f"Take the {step.inputs[0]} of {start}",
    "QueryAttrUnderCondition": _under_condition,
    "QueryRelation": lambda step, start, end: f"Answer: how {end} is related to {start}",
    "QueryAttrQualifier": _attribute_qualifier,
    "QueryRelationQualifier": _relation_qualifier,
    **{f"Filter{ending}": _filter for ending in ("Str", "Num", "Year", "Date")},
    **{f"QFilter{ending}": _qualifier_filter for ending in ("Str", "Num", "Year", "Date")},
    **{
        f"Verify{ending}": lambda step, value: f"Answer yes or no: is it true that {value} {_compared(step)}"
        for ending in ("Str", "Num", "Year", "Date")
    },
}
