"""`bgr completion`: the commands as one tree of argparse parsers, of which shtab writes a script."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from bgr.cli.parser import Command, Group, Output, add_options
from bgr.released import shipped_configs
from bgr.utils.options import Options, kind_of, positional


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(Options):
    """Options of `bgr completion`.

    Args:
        shell: the shell that reads the script.
    """

    shell: Literal["bash", "zsh", "fish"] = positional(metavar="SHELL")


_CONFIGS = """\
_bgr_configs() {
  compgen -W "%s" -- "$1"
  compgen -f -- "$1"
}
"""
"""A function of bash that completes names of configs, and files."""


def command() -> Command:
    return Command(
        summary="print a script that completes commands and options in bash, zsh or fish",
        description="""Save the script where the shell looks for it, and again after each update of bgr. In bash it is
            ~/.local/share/bash-completion/completions/bgr (which needs the package bash-completion; otherwise source it
            in ~/.bashrc), in zsh a file _bgr in a folder of $fpath, and in fish ~/.config/fish/completions/bgr.fish.
            It completes commands, options, their allowed values, and files.""",
        options=CompletionOptions,
        run=run,
        json=False,
        example="""bgr completion bash
            bgr completion zsh
            bgr completion fish""",
    )


def run(options: CompletionOptions) -> Output:
    from bgr.cli import COMMANDS

    entries = {word: importlib.import_module(f"bgr.cli.{word}").command() for word in COMMANDS}
    return Output(script(options.shell, entries).rstrip("\n"))


def script(shell: str, entries: Mapping[str, Command | Group]) -> str:
    """The script for a shell, bash, zsh or fish."""
    import shtab

    root = argparse.ArgumentParser(prog="bgr")
    root.add_argument("--version", action="store_true", help="print the version")
    _add_commands(root, entries)
    preamble: Any = {"bash": _CONFIGS % " ".join(shipped_configs())}
    return str(shtab.complete(root, shell=shell, preamble=preamble))


def _add_commands(parser: argparse.ArgumentParser, entries: Mapping[str, Command | Group]) -> None:
    below = parser.add_subparsers()
    for word, entry in entries.items():
        child = below.add_parser(word, help=entry.summary, description=entry.summary)
        if isinstance(entry, Group):
            _add_commands(child, entry.commands)
        else:
            add_options(child, entry)
            for action in child._actions:
                _complete(action, entry)


def _complete(action: argparse.Action, command: Command) -> None:
    """Set what an option is completed with: its allowed values, the shipped configs, or files."""
    import shtab

    one = next((field for field in fields(command.options) if field.name == action.dest), None)
    if one is not None and (choices := kind_of(command.options, one).choices):
        action.choices = choices
        return
    words = set(str(action.metavar or "").split("|"))
    if words == {"FILE", "NAME"}:
        names = " ".join(shipped_configs())
        action.complete = {  # type: ignore[attr-defined]
            "bash": "_bgr_configs",
            "zsh": f"{{compadd -- {names}; _files}}",
            "fish": f"{names} {shtab.FILE['fish']}",
        }
    elif words <= {"DIR", "OWNER/NAME"}:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif words & {"DIR", "FILE", "PATH", "PLACE"}:
        action.complete = shtab.FILE  # type: ignore[attr-defined]
