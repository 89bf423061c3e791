"""A campaign against the whole package: kills, damaged files, malformed replies, full disks, little memory.

``python -m tests.campaign`` runs its parts, and writes ``campaign.md`` and ``campaign.json``; docs/trust.md.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from . import forks
from .commands import COMMANDS, Command

FULL = {"kills": 200, "inputs": 1000, "replies": 10_000}
QUICK = {"kills": 8, "inputs": 40, "replies": 200}
PARTS = ("kills", "inputs", "replies", "pairs", "disk", "read-only", "memory", "clock", "changes")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true", help="a small part, as in CI")
    parser.add_argument("--commands", nargs="+", help="names of commands (default: all; with --quick a few)")
    parser.add_argument("--share", type=float, default=1.0, help="share of the kills, inputs and replies (default: 1)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="damaged inputs and replies that run at the same time")
    parser.add_argument("--out", type=Path, default=Path("work/campaign"))
    options = parser.parse_args()
    commands = [one for one in COMMANDS if one.name in options.commands] if options.commands else COMMANDS
    if options.quick and not options.commands:
        commands = [one for one in COMMANDS if one.quick]
    if not commands:
        parser.error(f"--commands: allowed: {', '.join(one.name for one in COMMANDS)}")
    forks.import_all()
    print(f"threads before the first fork: {len(forks.threads())}")
    home = Path(tempfile.mkdtemp(prefix="bgr-campaign-"))
    home.chmod(0o755)  # a command that has given its rights up reads in it
    try:
        return _run(home, options, commands)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _run(home: Path, options: argparse.Namespace, commands: list[Command]) -> int:
    from . import world as worlds
    from .outcomes import BAD, Outcome, table, write

    outcomes: list[Outcome] = []
    with worlds.Server() as llm, worlds.Server(malformed=True) as malformed:
        began = time.monotonic()
        world = worlds.make(home / "world", llm)
        seconds = {"inputs of all commands": time.monotonic() - began}
        parts = _parts(world, home, llm, malformed, options, commands)
        for name in options.parts:
            began = time.monotonic()
            found: list[Outcome] = []
            for one in parts[name]():
                found.append(one)
                if one.kind in BAD:
                    print(f"{one.kind}: {one.part}, {one.target}, {one.case}: {one.detail[-300:]}", flush=True)
            outcomes += found
            seconds[name] = time.monotonic() - began
            print(f"{name}: {len(found)} outcomes in {seconds[name]:.0f} s", flush=True)
            about = {"seed": options.seed, "outcomes": len(outcomes), "quick": options.quick, "share": options.share}
            write(outcomes, seconds, about, options.out)
    print(table(outcomes))
    return int(any(one.kind in BAD for one in outcomes))


def _parts(
    world: Path, home: Path, llm: str, malformed: str, options: argparse.Namespace, commands: list[Command]
) -> dict[str, Callable[[], Iterable]]:
    from . import inputs, kills, limits, pairs, replies, sources

    seed, jobs = options.seed, options.jobs
    counts = {name: round(options.share * count) for name, count in (QUICK if options.quick else FULL).items()}
    targets = [one for one in inputs.TARGETS if not options.quick or one.name in inputs.QUICK]

    def all_kills() -> Iterator:
        yield from kills.attack(world, home, llm, counts["kills"], seed, commands)
        if not options.quick:
            yield from kills.fresh(world, home, llm, seed, commands)

    def all_inputs() -> Iterator:
        of_sources = counts["inputs"] // 5
        yield from inputs.attack(world, home, llm, counts["inputs"] - of_sources, seed, jobs, targets)
        yield from sources.attack(world, home, of_sources, seed, jobs)

    return {
        "kills": all_kills,
        "inputs": all_inputs,
        "replies": lambda: replies.attack(world, home, malformed, counts["replies"], seed, jobs),
        "pairs": lambda: pairs.attack(world, home, llm, commands),
        "disk": lambda: limits.full_disks(world, home, llm, commands),
        "read-only": lambda: limits.read_only_folders(world, home, llm, commands),
        "memory": lambda: limits.little_memory(world, home, llm, commands),
        "clock": lambda: limits.clock_jumps(world, home, llm, commands, seed),
        "changes": lambda: limits.changed_inputs(world, home, llm, commands, seed),
    }


if __name__ == "__main__":
    sys.exit(main())
