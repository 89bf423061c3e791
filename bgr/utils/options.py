"""Options of a command: a frozen dataclass that converts and checks its values.

Each command of `bgr` is a function of such a dataclass, from which the command line makes its parser
(`bgr.cli.parser`). This module imports nothing heavy, so that modules of options are quick to import.

    @dataclass(frozen=True, kw_only=True)
    class SearchOptions(MachineOptions):
        \"\"\"Options of `bgr collection search`.

        Args:
            folder: a collection.
            questions: texts to search for.
            k: number of texts for each question.
            fusion: combination of the two rankings.
        \"\"\"

        folder: Folder = positional()
        questions: tuple[str, ...] = positional()
        k: Positive = 10
        fusion: Literal["rrf", "sum"] = "rrf"
"""

from __future__ import annotations

import math
import os
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from bgr.errors import BgrError
from bgr.utils.error_text import did_you_mean
from bgr.utils.json_utils import is_text


class OptionsError(BgrError):
    """Options that are not valid or contradict one another; the message names all of them."""


@dataclass(frozen=True)
class Range:
    """Bounds of a number, inclusive."""

    least: float
    most: float = math.inf

    def __str__(self) -> str:
        return f"{self.least:g} or more" if math.isinf(self.most) else f"{self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class Metavar:
    """Placeholder of a value in the help."""

    text: str


@dataclass(frozen=True)
class Written:
    """Mark of a path that the command writes: it is locked while the command runs."""


Positive = Annotated[int, Range(1)]
Natural = Annotated[int, Range(0)]
Amount = Annotated[float, Range(0)]
Fraction = Annotated[float, Range(0, 1)]
Folder = Annotated[Path, Metavar("DIR")]
File = Annotated[Path, Metavar("FILE")]
OutFolder = Annotated[Path, Metavar("DIR"), Written()]
OutFile = Annotated[Path, Metavar("FILE"), Written()]


def positional(default: Any = MISSING, *, metavar: str | None = None) -> Any:
    """A field that is given by its position on the command line, not by its name."""
    return option(default, metavar=metavar, positional=True)


def option(default: Any = MISSING, **metadata: Any) -> Any:
    """A field with notes for the command line.

    Args:
        default: without it the option is required.
        metadata: ``metavar`` (placeholder in the help, one for each value if it is a tuple), ``nargs`` ("*" allows an
            empty list), ``positional``, ``hidden`` (only Python sets the field).
    """
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base class of all options. Paths may be given as text, and tuples as lists.

    Raises:
        OptionsError: a value has the wrong type or is out of range, or options contradict one another.
    """

    def __post_init__(self) -> None:
        problems = []
        for one in fields(self):
            try:
                value = kind_of(type(self), one).convert(getattr(self, one.name))
                object.__setattr__(self, one.name, value)
            except ValueError as error:
                problems.append(f"{flag(one)}: {error}")
        problems = problems or [*self.conflicts(), *self._deleted_inputs()]
        if problems:
            raise OptionsError("; ".join(problems))

    def conflicts(self) -> Iterator[str]:
        """One line for each combination of options that is not allowed."""
        return iter(())

    def _deleted_inputs(self) -> Iterator[str]:
        """One line for each input that ``--overwrite`` would delete with an output that holds it. A cache of states is
        none: it is made again."""
        if not getattr(self, "overwrite", False):
            return
        kinds = {one: kind_of(type(self), one) for one in fields(self) if one.name != "states"}
        written = [one for one, kind in kinds.items() if kind.is_written and getattr(self, one.name) is not None]
        for one, kind in kinds.items():
            for path in () if kind.is_written else _existing(getattr(self, one.name), kind):
                for output in written:
                    out, real = getattr(self, output.name), Path(os.path.realpath(path))
                    held = (real, *real.parents) if "DIR" in kinds[output].metavar else (real,)
                    if Path(os.path.realpath(out)) in held:
                        yield f"{flag(one)}: {path} would be deleted with {flag(output)} {out}: name another place"

    def outputs(self) -> Iterator[Path]:
        """Files and folders that the command writes as a whole: no other command may write them while it runs."""
        for one in fields(self):
            if kind_of(type(self), one).is_written and (path := getattr(self, one.name)) is not None:
                yield path


@dataclass(frozen=True, kw_only=True)
class MachineOptions(Options):
    """Device and precision of a model.

    Args:
        device: cpu, cuda, …; the GPU is used if there is one (default: automatic).
        precision: bf16 is used where the device is fast at it (default: automatic).
    """

    device: Annotated[str, Metavar("NAME")] | None = None
    precision: Literal["32", "bf16"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        # known before PyTorch is imported
        if self.device is not None and not re.fullmatch(r"(cpu|cuda|mps|xpu)(:\d+)?", self.device):
            raise OptionsError(f"--device: {self.device!r}: allowed: cpu, cuda, mps, xpu, or one with a number: cuda:0")


@dataclass(frozen=True)
class Kind:
    """The parts of a field's type.

    Args:
        convert_one: converts a single value; raises ``ValueError`` with the value and what is allowed.
        optional: whether None is allowed.
        count: number of values: None for a single one, -1 for any number.
        is_flag: whether it is true or false.
        choices: the allowed texts of a ``Literal``.
        metavar: placeholder of one value.
        is_written: whether it is the path of a file or folder that the command writes.
    """

    convert_one: Callable[[Any], Any]
    optional: bool
    count: int | None
    is_flag: bool
    choices: tuple[str, ...]
    metavar: str
    is_written: bool = False

    def convert(self, value: Any) -> Any:
        """The value for the dataclass; ValueError says what is allowed."""
        if value is None and self.optional:
            return None
        if self.count is None:
            return self.convert_one(value)
        if not isinstance(value, list | tuple):
            raise ValueError(f"{value!r}: allowed: a list")
        if self.count not in (-1, len(value)):
            raise ValueError(f"{len(value)} values, allowed: {self.count}")
        return tuple(map(self.convert_one, value))


def _existing(value: Any, kind: Kind) -> Iterator[str]:
    """The paths of files and folders that an option names, also as ``NAME=DIR`` or ``NAME=DIR:RULE``."""
    for one in value if isinstance(value, tuple) else (value,):
        if isinstance(one, Path):
            found = [str(one)]
        elif isinstance(one, str):
            # a text without a separator may be the name of a setting
            given = one.partition("=")[2]
            found = [*dict.fromkeys((given, given.partition(":")[0]))]
            found += [one] if os.sep in one or "DIR" in kind.metavar else []
        else:
            found = []
        yield from (text for text in found if text and os.path.exists(text))


def flag(one: Field[Any]) -> str:
    """Name of a field on the command line: ``--batch-size``, ``-k`` for one letter,
    ``--no-plain`` for what is on by default, or ``DIR``."""
    if one.metadata.get("positional"):
        return str(one.metadata.get("metavar") or one.name)
    if len(one.name) == 1:
        return f"-{one.name}"
    return f"--{'no-' if one.default is True else ''}{one.name.replace('_', '-')}"


@cache
def _hints(options: type[Options]) -> dict[str, Any]:
    """The types of all fields, which are written as texts and take long to read."""
    return get_type_hints(options, include_extras=True)


def kind_of(options: type[Options], one: Field[Any]) -> Kind:
    """The parts of the type of a field; TypeError if options cannot have the type."""
    hints = _hints(options)  # type: ignore[arg-type]  # mypy takes the class for an instance, which has no hash
    hint, optional, count = hints[one.name], False, None
    if get_origin(hint) in (Union, types.UnionType):
        hint, optional = next(arm for arm in get_args(hint) if arm is not type(None)), True
    if get_origin(hint) is tuple:
        arms = get_args(hint)
        hint, count = arms[0], -1 if arms[-1] is Ellipsis else len(arms)
    notes: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        notes = tuple(rest)
    bounds = next((note for note in notes if isinstance(note, Range)), None)
    is_written = any(isinstance(note, Written) for note in notes)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    placeholder = next((note.text for note in notes if isinstance(note, Metavar)), None)
    if choices:
        return Kind(lambda value: _choice(value, choices), optional, count, False, choices, placeholder or "NAME")
    if hint not in _CONVERTERS:
        raise TypeError(f"{options.__name__}.{one.name}: no option has the type {hint}")
    convert, default = _CONVERTERS[hint]
    return Kind(
        lambda value: convert(value, bounds), optional, count, hint is bool, (), placeholder or default, is_written
    )


def ordered_fields(options: type[Options]) -> Iterator[Field[Any]]:
    """Fields of the class, then those of its bases: positional ones come first, among them lists last, then required
    ones."""
    known = {one.name: one for one in fields(options)}
    names = [name for base in options.__mro__ for name in vars(base).get("__annotations__", ()) if name in known]
    unique = [known[name] for name in dict.fromkeys(names)]
    placed = [one for one in unique if one.metadata.get("positional")]
    placed.sort(key=lambda one: kind_of(options, one).count == -1)
    named = [one for one in unique if one not in placed]
    return iter([*placed, *sorted(named, key=lambda one: one.default is not MISSING)])


def group_of(options: type[Options], name: str) -> str:
    """Title of a field's group in the help: the attribute ``GROUP`` of the class that declares it."""
    owner = next(base for base in options.__mro__ if name in vars(base).get("__annotations__", ()))
    return str(vars(owner).get("GROUP", ""))


def option_texts(options: type[Options]) -> dict[str, str]:
    """Description of each field, from ``Args:`` in the docstrings of the class and of its bases."""
    from docstring_parser.google import parse as parse_docstring

    texts: dict[str, str] = {}
    for base in options.__mro__:
        for argument in parse_docstring(vars(base).get("__doc__") or "").params:
            text = " ".join((argument.description or "").split()).removesuffix(".")
            texts.setdefault(argument.arg_name, text)
    return texts


def _choice(value: Any, choices: tuple[str, ...]) -> str:
    # in a YAML file, 32 is a number
    if str(value) not in choices:
        raise ValueError(f"{value!r}: allowed: {', '.join(choices)}{did_you_mean(str(value), choices)}")
    return str(value)


def _number(value: Any, kind: type[int] | type[float], bounds: Range | None) -> Any:
    noun = "an integer" if kind is int else "a number"
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r}: allowed: {noun}") from None
    if isinstance(value, bool) or (number != value and not isinstance(value, str)):
        raise ValueError(f"{value!r}: allowed: {noun}")
    if bounds is not None and not (bounds.least <= number <= bounds.most and math.isfinite(number)):
        raise ValueError(f"{value}: allowed: {bounds}")
    return number


def _of_type(value: Any, allowed: tuple[type, ...], noun: str, make: Callable[[Any], Any]) -> Any:
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise ValueError(f"{value!r}: allowed: {noun}")
    return make(value)


def _text(value: Any) -> str:
    text: str = _of_type(value, (str, int, float, Path), "a text", str)
    if not is_text(text):  # bytes of the command line that are not UTF-8
        raise ValueError(f"{text!r}: not valid UTF-8; allowed: a text")
    return text


def _path(value: Any) -> Path:
    path: Path = _of_type(value, (str, Path), "a path", Path)
    # bytes of the command line that are not UTF-8; NUL comes from config files and Python
    if "\0" in str(path) or not is_text(str(path)):
        raise ValueError(f"{str(path)!r}: allowed: a path in UTF-8, without NUL characters")
    return path


_CONVERTERS: dict[Any, tuple[Callable[[Any, Range | None], Any], str]] = {
    int: (lambda value, bounds: _number(value, int, bounds), "N"),
    float: (lambda value, bounds: _number(value, float, bounds), "X"),
    str: (lambda value, _: _text(value), "TEXT"),
    Path: (lambda value, _: _path(value), "PATH"),
    bool: (lambda value, _: _of_type(value, (bool,), "true or false", bool), ""),
}
