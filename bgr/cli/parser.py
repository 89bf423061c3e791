"""The parser of a command, made from its options dataclass with jsonargparse, and the command's run from start to end.

To add a command:

1. Write its options as a frozen dataclass that derives from `bgr.utils.options.Options`, each field described under
   ``Args:`` of the docstring, in a module that imports nothing heavy (``options.py`` of the area).
2. Write the typed function ``def search(options: SearchOptions) -> Found`` in the library. It neither parses nor prints
   results; progress and notes go to standard error. Python calls it with the same dataclass.
3. Let ``bgr/cli/WORD.py`` have ``def command() -> Command | Group`` (which imports from `training` and `eval` inside
   functions), and add a new word to `bgr.cli.COMMANDS`:

        def command() -> Command:
            return Command(
                summary="search a collection",
                options=SearchOptions,
                run=run,
                example='bgr collection search work/films "Who directed Persona?"',
            )

        def run(options: SearchOptions) -> Output:
            from bgr.collection.search import search

            found = search(options)
            return Output(text=found.text(), data=found.to_json())

The rest is the same for all commands: names in kebab case, defaults and examples in the help, ``--config FILE`` with
the same options in YAML (the command line overrides the file), ``--json`` (one line), and the exit codes 0 (done),
1 (failed: one line on standard error), 2 (wrong usage: one line) and 130 (interrupted).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from bgr.errors import BgrError
from bgr.utils.atomic_io import without_nan
from bgr.utils.error_text import describe, did_you_mean, is_out_of_memory, out_of_memory, system_error
from bgr.utils.options import Options, OptionsError, flag, group_of, kind_of, option_texts, ordered_fields
from bgr.utils.output_lock import output_locks
from bgr.utils.text_layout import Paint, clean, clean_line


@dataclass(frozen=True)
class Output:
    """Result of a command, for standard output: `text` for people (nothing is printed if it is empty), and `data` for
    programs, one line of JSON with ``--json`` (``None`` in all but the first of several processes). An `error` ends the
    command with exit code 1 after the output is printed. Control characters of the text are removed, unless it is
    `painted`: then the command has removed those that are not its own colors."""

    text: str = ""
    data: Any = None
    error: BgrError | None = None
    painted: bool = False


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: a `summary` of one line, without a period, for the list of commands, the dataclass of its options,
    and `run`, which does the work and has its heavy imports inside. The `example` has one or more lines that can be
    typed, and `description` says more than the summary. With `json` there is an option ``--json``; with
    `passes_settings`, words such as ``--trainer.max_epochs=3`` are collected in the field ``settings``."""

    summary: str
    options: type[Options]
    run: Callable[[Any], Output]
    example: str
    description: str = ""
    json: bool = True
    passes_settings: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Commands under a common word: `bgr data build`, `bgr data stats`."""

    summary: str
    commands: Mapping[str, Command | Group]


def execute(name: str, entry: Command | Group, words: Sequence[str]) -> int:
    """Run the command that the words choose, and return the exit code; `name` is the words before, such as ``bgr
    data``.

    Raises:
        SystemExit: the help was printed (0), or the usage is wrong (2).
    """
    while isinstance(entry, Group):
        word = choose(name, entry.summary, {word: each.summary for word, each in entry.commands.items()}, words)
        name, entry, words = f"{name} {word}", entry.commands[word], words[1:]
    options, as_json = parse(name, entry, words)
    with output_locks(options.outputs()):
        try:
            output = entry.run(options)
        except Exception as error:
            if is_out_of_memory(error):
                raise BgrError(out_of_memory(one.name for one in fields(options))) from None
            if isinstance(error, BgrError | OSError) or (of_system := system_error(error)) is None:
                raise
            outputs = [str(path) for path in options.outputs()]
            raise BgrError(describe(of_system, " and ".join(outputs) or "an output")) from None
    if as_json:
        if output.data is not None:
            print(json.dumps(without_nan(output.data), ensure_ascii=False, allow_nan=False))
    elif output.text:
        print(output.text if output.painted else "\n".join(map(clean_line, output.text.split("\n"))))
    if output.error is not None:
        raise output.error
    return 0


def choose(name: str, description: str, summaries: Mapping[str, str], words: Sequence[str]) -> str:
    """The first of the words, which must be one of the commands; SystemExit if it is not, or asks for help."""
    if words and words[0] in ("-h", "--help"):
        width = max(map(len, summaries))
        lines = [f"  {word:{width}}  {summary}" for word, summary in summaries.items()]
        head = f"usage: {name} [-h] COMMAND …\n\n{_sentence(description)}\n\ncommands:"
        print("\n".join([head, *lines, "", f"`{name} COMMAND --help` describes a command."]))
        raise SystemExit(0)
    if not words or words[0] not in summaries:
        problem = f"unknown command {words[0]!r}" if words else "a command is missing"
        hint = did_you_mean(words[0], summaries) if words else ""
        usage_error(name, f"{problem}; allowed: {', '.join(summaries)}{hint}")
    return words[0]


def usage_error(name: str, message: str) -> NoReturn:
    """Print what is wrong with the usage in one line, and exit with code 2."""
    print_error(name, f"{message} (see {name} --help)")
    raise SystemExit(2)


def print_error(name: str, message: str) -> None:
    """Print an error of the command `name` in one line on standard error; it may contain untrusted text."""
    print(f"{name}: {Paint.of(sys.stderr)('error:', 'bold', 'red')} {clean(message)}", file=sys.stderr)


def parse(name: str, command: Command, words: Sequence[str]) -> tuple[Any, bool]:
    """The options from the words and the files given with ``--config``, and whether to print JSON.

    Raises:
        SystemExit: the help was printed (0), or the usage is wrong (2).
    """
    from jsonargparse import ArgumentError, Namespace

    known = {one.name: one for one in fields(command.options)}
    words, settings = _settings(words) if command.passes_settings else (list(words), [])
    words, files = _config_files(words) if "config" not in known else (words, [])
    parser = command_parser(name, command)
    from_files: dict[str, Any] = {}
    for file in files:
        from_files |= _read_config(name, parser, file)
    try:
        values = parser.parse_args(_positional_first(words, parser), namespace=Namespace(**from_files))
    except ArgumentError as error:
        usage_error(name, _advice(str(error).removeprefix("argument "), parser))
    # positional arguments that are not given are None or empty, and must not hide those of a file
    placed = {key for key, one in known.items() if one.metadata.get("positional")}
    typed = {key: value for key, value in vars(values).items() if value is not None}
    given = from_files | {key: value for key, value in typed.items() if value != [] or key not in placed}
    as_json = bool(given.pop("json", False))
    given = {key: value for key, value in given.items() if key in known}
    missing = [flag(one) for key, one in known.items() if one.default is MISSING and key not in given]
    if missing:
        usage_error(name, f"the following options are required: {', '.join(missing)}")
    if settings:
        given["settings"] = settings
    try:
        return command.options(**given), as_json
    except OptionsError as error:
        usage_error(name, str(error))


def _settings(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without settings (``--section.key=value``, ``--seed_everything=value``), and the settings."""
    # the names of options contain neither dots nor underscores
    chosen = [word for word in words if re.match(r"--[^=]*[._]", word)]
    return [word for word in words if word not in chosen], chosen


def _positional_first(words: Sequence[str], parser: Any) -> list[str]:
    """The words, positional ones first, since argparse refuses ``DIR -k 2 QUESTION``."""
    takes = {name: action.nargs for action in parser._actions for name in action.option_strings}
    placed: list[str] = []
    kept: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*kept, "--", *placed, *rest]
        if len(word) < 2 or not word.startswith("-"):
            placed.append(word)
            continue
        kept.append(word)
        nargs = takes.get(word, 0)
        count = len(rest) if nargs in ("+", "*") else 1 if nargs is None else nargs
        while rest and count and rest[0] != "--" and rest[0] not in takes and not rest[0].startswith("--"):
            kept.append(rest.pop(0))
            count -= 1
    return [*placed, *kept]


def _config_files(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without ``--config FILE``, and the files."""
    kept, files, rest = [], [], iter(words)
    for word in rest:
        if word == "--":
            kept += [word, *rest]
        elif word.startswith("--config="):
            files.append(word.partition("=")[2])
        elif word == "--config" and (file := next(rest, None)) is not None:
            files.append(file)
        else:
            kept.append(word)
    return kept, files


def _read_config(name: str, parser: Any, file: str) -> dict[str, Any]:
    from jsonargparse import ArgumentError

    if not Path(file).is_file():
        usage_error(name, f"--config {file}: no such file")
    try:
        found = parser.parse_string(Path(file).read_text(encoding="utf-8"), defaults=False)
    except (ArgumentError, OSError, UnicodeDecodeError) as error:
        # jsonargparse repeats the message of Python for a single value instead of a list
        python = r"'\w+' object (is not iterable|does not support item assignment)"
        message = re.sub(python, "allowed: a list", str(error)).replace("Parser key ", "option ")
        unknown = re.fullmatch(r"Option '(.*)' is not accepted", message)
        if unknown is not None:
            message = f"unknown option {unknown[1]}{did_you_mean(unknown[1], _names(parser))}"
        usage_error(name, f"--config {file}: {message}")
    values = {key: value for key, value in vars(found).items() if value is not None}
    if "config" in values:
        usage_error(name, f"--config {file}: a config file cannot name another one")
    return values


def _advice(message: str, parser: Any) -> str:
    """The message; for an unknown option, with the option that was probably meant."""
    prefix = "unrecognized arguments: "
    words = message.removeprefix(prefix).split()
    # the value of an unknown option counts as a positional argument, which stands first
    word = next((word.partition("=")[0] for word in words if word.startswith("--")), None)
    if not message.startswith(prefix) or word is None:
        return message
    return f"unknown option {word}{did_you_mean(word, [f'--{name}' for name in _names(parser)])}"


def _names(parser: Any) -> list[str]:
    """The long names of the options, without dashes."""
    flags = [flag for action in parser._actions for flag in action.option_strings]
    return [flag.removeprefix("--") for flag in flags if flag.startswith("--")]


def command_parser(name: str, command: Command) -> Any:
    from jsonargparse import ArgumentParser, set_parsing_settings

    set_parsing_settings(add_print_completion_argument=False)
    parser = ArgumentParser(
        prog=name,
        description=_paragraphs(f"{_sentence(command.summary)}\n\n{command.description}"),
        epilog="example:\n" + "\n".join(f"  {line.strip()}" for line in command.example.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        exit_on_error=False,
        allow_abbrev=False,
        print_config=None,
    )
    add_options(parser, command)
    return parser


def add_options(parser: Any, command: Command) -> None:
    """Add the options of a command to a parser of argparse or jsonargparse."""
    texts = option_texts(command.options)
    groups: dict[str, Any] = {}
    for one in ordered_fields(command.options):
        if one.metadata.get("hidden"):
            continue
        title = group_of(command.options, one.name)
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title)
        _add(groups.get(title, parser), command.options, one, texts.get(one.name, ""))
    if command.json:
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
    if "config" not in {one.name for one in fields(command.options)}:
        parser.add_argument("--config", metavar="FILE", help="YAML file with options; the command line overrides it")


def _add(parser: Any, options: type[Options], one: Field[Any], text: str) -> None:
    kind, own = kind_of(options, one), one.metadata
    text = f"{text}{_default_note(one, text)}".replace("%", "%%")
    if kind.is_flag:
        action = "store_false" if one.default is True else "store_true"
        parser.add_argument(flag(one), dest=one.name, action=action, default=None, help=text)
        return
    metavar = own.get("metavar") or ("{" + ",".join(kind.choices) + "}" if kind.choices else kind.metavar)
    nargs: Any = own.get("nargs") or {None: None, -1: "+"}.get(kind.count, kind.count)
    if own.get("positional"):
        nargs = "*" if kind.count == -1 else "?"
        convert = _converter(kind.convert_one)
        parser.add_argument(one.name, type=convert, nargs=nargs, metavar=metavar, default=None, help=text)
        return
    names = [flag(one)] if len(one.name) > 1 else [flag(one), f"--{one.name}"]
    parser.add_argument(*names, type=_converter(kind.convert_one), nargs=nargs, metavar=metavar, help=text)


class _NotValidError(argparse.ArgumentTypeError, ValueError):
    """An invalid value; argparse repeats the message of the first base class, jsonargparse that of the second."""


def _converter(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(value: Any) -> Any:
        try:
            return convert(value)
        except ValueError as error:
            raise _NotValidError(str(error)) from None

    return call


def _default_note(one: Field[Any], text: str) -> str:
    """`` (default: 16)`` or `` (required)``, unless the text contains it."""
    if one.default is MISSING:
        return " (required)"
    if one.default is None or isinstance(one.default, bool) or "(default:" in text:
        return ""
    default = " ".join(map(str, one.default)) if isinstance(one.default, tuple) else str(one.default)
    return f" (default: {default or 'none'})"


def _paragraphs(text: str) -> str:
    width = min(shutil.get_terminal_size().columns, 120) - 2
    blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", text.strip()))
    return "\n\n".join(textwrap.fill(block, width, break_on_hyphens=False, break_long_words=False) for block in blocks)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
