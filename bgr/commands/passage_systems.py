"""The systems of `bgr compare` on passages, by name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bgr.commands.passage_parts import PassageParts
from bgr.errors import BgrError
from bgr.json_text import shown
from bgr.passages import PassageRetriever
from bgr.search.interface import Search

if TYPE_CHECKING:
    from bgr.gear.settings import GearSettings
    from eval.passages.run import System

DEPTH = 50
"""Passages of a base search's list; R@15 needs 15, the rest is for whoever reads the results."""

ASKING = ("sync", "gear")
"""Methods that ask a language model."""


class Recipe(NamedTuple):
    """A base search (an attribute of `PassageParts`) and the method on top of it."""

    base: str
    method: str | None


SYSTEMS: Mapping[str, Recipe] = {
    **{base: Recipe(base, None) for base in ("bm25", "dense", "hybrid")},
    **{
        f"{base}+{method}": Recipe(base, method)
        for base in ("bm25", "dense", "hybrid")
        for method in ("naive", "naive-plain", *ASKING)
    },
    "gear": Recipe("hybrid", "gear"),
}
"""By the name on the command line."""


def check_systems(args: argparse.Namespace) -> None:
    """Refuse what cannot be run, before anything is.

    Raises:
        BgrError: a system is unknown or named twice, or an option that it needs is missing.
    """
    for name in args.systems:
        if name not in SYSTEMS:
            raise BgrError(f"--systems: unknown system {shown(name)}, known: {', '.join(sorted(SYSTEMS))}")
        if args.systems.count(name) > 1:
            raise BgrError(f"--systems: {shown(name)} is there twice, allowed: each once")
        method = SYSTEMS[name].method
        if method is not None and args.openie is None:
            raise BgrError(f"--systems: {name} goes along triples: give --openie FILE")
        if method in ASKING and args.llm is None:
            raise BgrError(f"--systems: {name} asks a language model: give --llm SPEC")
    if args.replay_only and args.replay is None:
        raise BgrError("--replay-only needs --replay FILE")


def named_systems(names: Sequence[str], parts: PassageParts) -> list[System]:
    """The systems, with all that decides their results; searches and indices are built where a question is left."""
    from eval.passages.run import System

    found = [System(name, _settings(SYSTEMS[name], parts), partial(_make, SYSTEMS[name], parts)) for name in names]
    parts.about["settings"] = {one.name: dict(one.settings) for one in found}
    return found


def _settings(recipe: Recipe, parts: PassageParts) -> dict[str, Any]:
    from bgr.multihop.reader import PASSAGES

    base, method = recipe
    settings: dict[str, Any] = {"base": base}
    if recipe != ("bm25", None):
        settings["encoder"] = parts.encoder.identity()
    if method is None:
        settings["depth"] = DEPTH
    else:
        settings |= {"method": method, "triples": parts.triples_hash, "gear": asdict(_gear_settings(method))}
    if method in ASKING:
        settings["llm"] = parts.llm.backend.name
    if parts.args.reader is not None:
        settings["reader"] = {"llm": parts.reader.backend.name, "passages": PASSAGES}
    return settings


def _make(recipe: Recipe, parts: PassageParts) -> PassageRetriever:
    from bgr.multihop.reader import AnsweringRetriever

    retriever = _retriever(recipe, parts)
    return retriever if parts.args.reader is None else AnsweringRetriever(retriever, parts.reader, parts.corpus)


def _retriever(recipe: Recipe, parts: PassageParts) -> PassageRetriever:
    from bgr.gear.agent import Gear
    from bgr.gear.naive import NaiveGe
    from bgr.gear.sync import SyncGe
    from eval.passages.run import SearchRetriever

    base, method = recipe
    search: Search = getattr(parts, base)
    if method is None:
        return SearchRetriever(search, DEPTH)
    settings = _gear_settings(method)
    if method not in ASKING:
        return NaiveGe(search, parts.index, settings)
    return (SyncGe if method == "sync" else Gear)(parts.llm, parts.corpus, search, parts.index, settings)


def _gear_settings(method: str) -> GearSettings:
    """The paper's; ``naive-plain`` without the diversity of beams (Table 4)."""
    from bgr.gear.settings import PAPER

    return replace(PAPER, beam=replace(PAPER.beam, diverse=False)) if method == "naive-plain" else PAPER
