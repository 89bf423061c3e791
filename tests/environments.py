"""Environments that hold fewer packages than the one of the tests, made of links into it: nothing is downloaded."""

import os
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@cache
def installed() -> dict[str, Distribution]:
    """The packages of this environment by their normalized names."""
    return {canonicalize_name(one.name): one for one in distributions()}


@cache
def files_of(name: str) -> frozenset[str]:
    """Paths relative to ``site-packages``, without programs and without what runs when Python starts."""
    paths = [line.partition(",")[0].strip('"') for line in (installed()[name].read_text("RECORD") or "").splitlines()]
    return frozenset(path for path in paths if not path.startswith(("..", "/")) and not path.endswith(".pth"))


def requirements(*extras: str) -> list[Requirement]:
    """What ``pip install bgr[EXTRAS]`` asks for; extras that name further extras of ours are opened."""
    found = [Requirement(text) for text in PROJECT["dependencies"]]
    for extra in extras:
        for one in map(Requirement, PROJECT["optional-dependencies"][extra]):
            found += requirements(*one.extras) if one.name == "bgr" else [one]
    return found


def closure(*extras: str) -> set[str]:
    """Names of the packages that `requirements` lead to, as far as they are installed here: the others are for further
    platforms, by markers or by a build of PyTorch."""
    waiting = [(one, "") for one in requirements(*extras)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement, of_extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in installed() or (requirement.marker and not requirement.marker.evaluate({"extra": of_extra})):
            continue
        for extra in {"", *requirement.extras}:
            if (name, extra) not in seen:
                seen.add((name, extra))
                waiting += [(Requirement(text), extra) for text in installed()[name].requires or ()]
    return {name for name, _ in seen}


def link_packages(folder: Path, *extras: str) -> None:
    """Fill a folder with links to the packages of `closure` and to their metadata."""
    allowed = closure(*extras)
    shared = {path.partition("/")[0] for name in installed().keys() - allowed for path in files_of(name)}
    for name in allowed:
        # a folder that others share, such as google/, is linked file by file
        for path in {path if (top := path.partition("/")[0]) in shared else top for path in files_of(name)}:
            link = folder / path
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(str(installed()[name].locate_file(path)))


def python_with(folder: Path, *words: str, **environment: str) -> dict:
    """Arguments of a process of Python that finds the packages in a folder of links and the checkout, and no others."""
    # -S leaves site-packages off the path, -P the working folder
    return {
        "args": [sys.executable, "-S", "-P", *words],
        "env": os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"} | environment,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
