"""Commands that still add their arguments to an argparse parser themselves; deleted with the last of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from types import ModuleType


def execute_module(name: str, module: ModuleType, words: Sequence[str]) -> int:
    """Parse the words and run the module's `run`."""
    parser = argparse.ArgumentParser(
        prog=name, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.add_arguments(parser)
    if getattr(module, "PASSES_ON", False):
        args, rest = parser.parse_known_args(words)
        args.rest = rest
    else:
        args = parser.parse_args(words)
    module.run(args)
    return 0
