"""KoPL programs in KQA Pro's form, checked before they run (KoPL documentation; KQA Pro 1.0)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.data.kb.comparison import OPERATORS, parse_target
from bgr.data.kb.compiled_steps import Chain
from bgr.data.kb.compiler import Call, compile_program
from bgr.data.kb.loading import DIRECTIONS, text
from bgr.data.kb.schema import Value
from bgr.errors import DataError, ProgramError
from bgr.utils.json_utils import MAX_SHOWN, is_text, repr_short

# types of a step's result: entities, entities with the statements that led to them, values, or only an answer
ENTITIES, FACTS, VALUES, ANSWER = "entities", "entities with facts", "values", "an answer"

CHOICES: dict[str, tuple[str, ...]] = {
    "op": OPERATORS,
    "direction": DIRECTIONS,
    "less or greater": ("less", "greater"),
    "smallest or largest": ("smallest", "largest"),
}


SUFFIXES = {"string": "Str", "quantity": "Num", "year": "Year", "date": "Date"}
"""Type of a value to the ending of the functions that take one: FilterStr, QFilterStr, VerifyStr."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Types of the results that a function takes from earlier steps, roles of its text inputs, type of its result.

    `kind` is the type of the value among the inputs, if the function fixes one.
    """

    takes: tuple[str, ...]
    inputs: tuple[str, ...]
    gives: str
    kind: str | None = None


def _signatures() -> dict[str, Signature]:
    table = {
        "FindAll": Signature((), (), ENTITIES),
        "Find": Signature((), ("name",), ENTITIES),
        "FilterConcept": Signature((ENTITIES,), ("concept",), ENTITIES),
        "Relate": Signature((ENTITIES,), ("predicate", "direction"), FACTS),
        "And": Signature((ENTITIES, ENTITIES), (), ENTITIES),
        "Or": Signature((ENTITIES, ENTITIES), (), ENTITIES),
        "What": Signature((ENTITIES,), (), ANSWER),
        "Count": Signature((ENTITIES,), (), ANSWER),
        "SelectBetween": Signature((ENTITIES, ENTITIES), ("key", "less or greater"), ANSWER),
        "SelectAmong": Signature((ENTITIES,), ("key", "smallest or largest"), ANSWER),
        "QueryAttr": Signature((ENTITIES,), ("key",), VALUES),
        "QueryAttrUnderCondition": Signature((ENTITIES,), ("key", "qualifier key", "qualifier value"), VALUES),
        "QueryRelation": Signature((ENTITIES, ENTITIES), (), ANSWER),
        "QueryAttrQualifier": Signature((ENTITIES,), ("key", "key's value", "qualifier key"), ANSWER),
        "QueryRelationQualifier": Signature((ENTITIES, ENTITIES), ("predicate", "qualifier key"), ANSWER),
    }
    for kind, suffix in SUFFIXES.items():
        op = () if kind == "string" else ("op",)
        table[f"Filter{suffix}"] = Signature((ENTITIES,), ("key", "value", *op), FACTS, kind)
        table[f"QFilter{suffix}"] = Signature((FACTS,), ("qualifier key", "value", *op), FACTS, kind)
        table[f"Verify{suffix}"] = Signature((VALUES,), ("value", *op), ANSWER, kind)
    return table


FUNCTIONS: dict[str, Signature] = _signatures()
"""The 27 functions of KoPL by name."""

MAX_NAMES_TO_COMPARE = 2000

ALIASES = {"QueryName": "What"}

MAX_STEPS = 100
"""KQA Pro's longest programs have about twenty steps. The limit protects code that recurses from step to step, such as
compiled programs, whose chains are nested."""


@dataclass(frozen=True, slots=True)
class Step:
    """One function call; `dependencies` are numbers, from 0, of earlier steps of the program."""

    function: str
    dependencies: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def signature(self) -> Signature:
        return FUNCTIONS[self.function]

    @property
    def named_inputs(self) -> tuple[tuple[str, str], ...]:
        """The inputs, each after its role in the signature."""
        return tuple(zip(self.signature.inputs, self.inputs, strict=True))

    @property
    def arguments(self) -> tuple[str | Value, ...]:
        """The inputs with the value of Filter*, QFilter* and Verify* parsed; DataError if it has another type."""
        kind = self.signature.kind
        if kind is None:
            return self.inputs
        return tuple(parse_target(given, kind) if role == "value" else given for role, given in self.named_inputs)

    @property
    def value(self) -> Value | None:
        """The parsed value of Filter*, QFilter* and Verify*; DataError if it has another type."""
        return next((given for given in self.arguments if isinstance(given, Value)), None)


@dataclass(frozen=True, slots=True)
class Program:
    """A checked program; the last step gives the answer.

    `where` names the program in messages. The executor runs `plan` for facts, and `compiled` for the answer only.

    Raises:
        ProgramError: a step is malformed; the message names the item, the step and what is allowed.
    """

    steps: tuple[Step, ...]
    where: str = field(default="program", compare=False)
    plan: tuple[Call, ...] = field(init=False, compare=False, repr=False)
    compiled: Chain | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.steps:
            raise ProgramError(f"{self.where}: the program has no steps")
        if len(self.steps) > MAX_STEPS:
            raise ProgramError(f"{self.where}: the program has {len(self.steps):,} steps, allowed: {MAX_STEPS}")
        arguments = [self._check(index) for index in range(len(self.steps))]
        plan = [(step.function, step.dependencies, given) for step, given in zip(self.steps, arguments, strict=True)]
        object.__setattr__(self, "plan", tuple(plan))
        object.__setattr__(self, "compiled", compile_program(plan))
        last = self.steps[-1]
        if last.signature.gives not in (ANSWER, VALUES):
            label = self.label(len(self.steps) - 1)
            raise ProgramError(f"{label}: gives {last.signature.gives}, a program must end in an answer")

    @classmethod
    def from_json(cls, records: Sequence[Mapping[str, Any]], where: str = "program") -> Program:
        """Read KQA Pro's ``[{function, dependencies, inputs}, …]``; whitespace inside inputs is normalized.

        Raises:
            ProgramError: see the class; also a record of another form.
        """
        if not isinstance(records, Sequence) or isinstance(records, str):
            raise ProgramError(f"{where}: a program is a list of steps, not {repr_short(records)}")
        return cls(tuple(_step(record, f"{where}, step {index}") for index, record in enumerate(records)), where)

    def to_json(self) -> list[dict[str, Any]]:
        """The inverse of `from_json`."""
        return [
            {"function": s.function, "dependencies": list(s.dependencies), "inputs": list(s.inputs)} for s in self.steps
        ]

    def label(self, index: int) -> str:
        """A step's name in messages."""
        function = self.steps[index].function
        plain = function.isalnum() and len(function) < MAX_SHOWN
        return f"{self.where}, step {index} ({function if plain else repr_short(function)})"

    def _check(self, index: int) -> tuple[str | Value, ...]:
        """Check a step and return its parsed inputs."""
        step, label = self.steps[index], self.label(index)
        if step.function not in FUNCTIONS:
            raise ProgramError(f"{label}: unknown function, known: {', '.join(sorted(FUNCTIONS))}")
        signature = step.signature
        if len(step.dependencies) != len(signature.takes):
            raise ProgramError(f"{label}: {len(step.dependencies)} dependencies, takes {len(signature.takes)}")
        if len(step.inputs) != len(signature.inputs):
            expected = f"{len(signature.inputs)} ({', '.join(signature.inputs)})" if signature.inputs else "none"
            raise ProgramError(f"{label}: {len(step.inputs)} inputs, takes {expected}")
        for dependency, wanted in zip(step.dependencies, signature.takes, strict=True):
            if not 0 <= dependency < index:
                allowed = f"earlier steps, 0 to {index - 1}" if index else "none, it is the first step"
                raise ProgramError(f"{label}: depends on step {repr_short(dependency)}, allowed: {allowed}")
            given = self.steps[dependency].signature.gives
            if given != wanted and (given, wanted) != (FACTS, ENTITIES):
                raise ProgramError(f"{label}: takes {wanted}, but {self.label(dependency)} gives {given}")
        for role, given in zip(signature.inputs, step.inputs, strict=True):
            if role in CHOICES and given not in CHOICES[role]:
                raise ProgramError(f"{label}: {role} {repr_short(given)}, allowed: {', '.join(CHOICES[role])}")
        try:
            return step.arguments
        except DataError as error:
            raise ProgramError(f"{label}: {error}") from None


def _step(record: Any, where: str) -> Step:
    given = record.get("function", record.get("functions")) if isinstance(record, Mapping) else None
    if given is None or not is_text(given):
        raise ProgramError(f"{where}: not a step {{function, dependencies, inputs}} with a function's name")
    function = text(given)
    function = ALIASES.get(function, function)
    dependencies, inputs = record.get("dependencies", []), record.get("inputs", [])
    if not isinstance(dependencies, list | tuple) or not all(type(d) is int for d in dependencies):
        raise ProgramError(
            f"{where} ({function}): dependencies {repr_short(dependencies)}, allowed: a list of step numbers"
        )
    if not isinstance(inputs, list | tuple) or not all(map(is_text, inputs)):
        raise ProgramError(f"{where} ({function}): inputs {repr_short(inputs)}, allowed: a list of texts")
    return Step(function, tuple(dependencies), tuple(map(text, inputs)))


def unknown_name_error(label: str, role: str, name: str, known: Sequence[str]) -> ProgramError:
    """The error for a name that is not in the knowledge base, with the most similar names that are."""
    if len(known) > MAX_NAMES_TO_COMPARE:  # comparing all takes a second, and a file may have many unknown names
        start = name[:1].casefold()
        known = [other for other in known if other[:1].casefold() == start and abs(len(other) - len(name)) <= 3]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; close: {', '.join(map(repr_short, near))}" if near else ""
    return ProgramError(f"{label}: unknown {role} {repr_short(name)}{hint}")
