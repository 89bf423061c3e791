"""The request for paraphrases: rules, examples of the same kind of question, the program's steps, and the question."""

from __future__ import annotations

import re
from functools import cache

from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.paraphrase.describe import describe
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
