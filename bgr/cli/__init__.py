"""The command `bgr`. Each sub-command is one file of `bgr/cli/`, imported only when it is called."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from bgr import __version__
from bgr.errors import BgrError

COMMANDS: dict[str, tuple[str, str]] = {
    "atlas": ("bgr.cli.atlas", "write the embedded knowledge base and its questions as KQA Pro files"),
    "data": ("bgr.cli.data", "build ReasonGraphQA from KQA Pro files, or show its statistics"),
    "train": ("bgr.cli.train", "train a retriever from a config"),
    "evaluate": ("bgr.cli.evaluate", "score a checkpoint with the graph metrics"),
    "compare": ("bgr.cli.compare", "systems side by side: the paper's tables, and a page to look into them"),
    "ablate": (
        "bgr.cli.ablate",
        "what each part of PRISM and of BridgeRAG gives, and evidence to a model that answers",
    ),
    "export": ("bgr.cli.export", "write one self-contained checkpoint folder"),
    "ask": ("bgr.cli.ask", "retrieve the evidence graph of one question"),
    "llm": ("bgr.cli.llm", "put a packaged language model in place"),
    "index": ("bgr.cli.index", "passages in an index on disk: build, change, search, verify"),
    "triples": ("bgr.cli.triples", "triples of passages: extract by a language model, check, from facts"),
    "bench": ("bgr.cli.bench", "measure speed against the floor, in one run"),
    "demo": ("bgr.cli.demo", "all of it on a small real dataset"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0 done, 1 failed (one line on standard error), 2 wrong usage."""
    # loading a model takes a fraction of a second; bars belong to long work
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    arguments = list(sys.argv[1:] if argv is None else argv)
    top = argparse.ArgumentParser(prog="bgr", description="Graph-hop retrieval over textual databases.")
    top.add_argument("--version", action="version", version=f"bgr {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, summary) in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    if not arguments or arguments[0] not in COMMANDS:
        top.parse_args(arguments)
    name = arguments[0]
    if name == "train":
        # oneDNN keeps a kernel for each shape it meets; in training they hardly recur, and 1024 of them take memory
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    module = importlib.import_module(COMMANDS[name][0])
    parser = argparse.ArgumentParser(
        prog=f"bgr {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    # a command that hands part of its arguments on (bgr train: to LightningCLI) says so
    if getattr(module, "PASSES_ON", False):
        args, rest = parser.parse_known_args(arguments[1:])
        args.rest = rest
    else:
        args = parser.parse_args(arguments[1:])
    try:
        module.run(args)
    except BgrError as error:
        print(f"bgr {name}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"bgr {name}: interrupted", file=sys.stderr)
        return 130
    return 0
