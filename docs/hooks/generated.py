"""MkDocs hook: the pages that are made from other sources, so that nothing is written twice.

`cli.md` is the reference of the command line, made from the parser; `changelog.md` is CHANGELOG.md.
"""

from __future__ import annotations

import importlib
import re
from argparse import Action, ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bgr.cli import COMMANDS
from bgr.cli.parser import Command, Group, command_parser

ROOT = Path(__file__).parents[2]

BEHIND = "---\nsearch:\n  boost: 0.5\n---\n\n"
"""Front matter of pages that the search shows behind the guides."""

HEAD = """# Command line

All commands of `bgr`, with their options and defaults. `bgr COMMAND --help` prints the same. Options can also stand in
a YAML file under their long names (`--config FILE`; the command line overrides it). The exit codes are 0 (done), 1
(failed: one line on standard error), 2 (wrong usage: one line) and 130 (interrupted).
"""


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, text in (("cli.md", cli_reference()), ("changelog.md", changelog())):
        files.append(File.generated(config, name, content=BEHIND + text))
    return files


def changelog() -> str:
    """CHANGELOG.md, with its links to pages made relative to them."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


def cli_reference() -> str:
    """The reference of all commands in Markdown."""
    words = {word: importlib.import_module(f"bgr.cli.{word}").command() for word in COMMANDS}
    return "\n".join([HEAD, *(text for word, entry in words.items() for text in _described(f"bgr {word}", entry))])


def _described(name: str, entry: Command | Group, depth: int = 2) -> Iterator[str]:
    yield f"{'#' * depth} {name}\n\n{_sentence(entry.summary)}\n"
    if isinstance(entry, Group):
        for word, each in entry.commands.items():
            yield from _described(f"{name} {word}", each, depth + 1)
        return
    parser = command_parser(name, entry)
    for block in re.split(r"\n\s*\n", entry.description.strip()):
        if block:
            yield f"{_text(' '.join(block.split()))}\n"
    example = "\n".join(line.strip() for line in entry.example.strip().splitlines())
    yield f"```sh\n{example}\n```\n"
    if entry.passes_settings:
        yield "Settings of the config file are given as `--section.key=value` ([training](training.md#settings)).\n"
    yield from _options(parser)


def _options(parser: ArgumentParser) -> Iterator[str]:
    tables: dict[str, list[Action]] = {}
    for group in parser._action_groups:
        own = group.title not in ("options", "positional arguments")
        actions = [action for action in group._group_actions if "--help" not in action.option_strings]
        tables.setdefault(str(group.title) if own else "", []).extend(actions)
    for title, actions in tables.items():
        if title:
            yield f"**{_sentence(title).rstrip('.')}**\n"
        yield "| option | meaning |\n| --- | --- |"
        yield from (f"| {_signature(action)} | {_text(str(action.help))} |" for action in actions)
        yield ""


def _signature(action: Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return f"`{value}`".replace("|", "\\|")
    return ", ".join(f"`{option} {value}".rstrip() + "`" for option in action.option_strings).replace("|", "\\|")


def _text(text: str) -> str:
    """Help as Markdown: in one line, with nothing in it read as markup but code in backticks."""
    parts = " ".join(text.replace("%%", "%").split()).split("`")
    parts[::2] = [re.sub(r"([\\*_|\[\]{}#])", r"\\\1", part.replace("<", "&lt;")) for part in parts[::2]]
    parts[1::2] = [part.replace("|", "\\|") for part in parts[1::2]]
    return "`".join(parts)


def _sentence(text: str) -> str:
    return _text(text[:1].upper() + text[1:] + ("" if text.endswith(".") else "."))
