"""The systems of `bgr compare` on passages: what is named, what it needs, and how it is run."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bgr.cli.compare_runs import Asked, parse_system
from bgr.cli.graph_systems import LLM_GRAPHS, llm_settings, load_llm_graph, load_place, place_settings
from bgr.cli.parts_within import PartsWithin
from bgr.cli.passage_methods import ALONG_TRIPLES, ASKING, METHODS, Recipe, make_retriever, method_settings
from bgr.errors import BgrError
from bgr.utils.json_utils import shown

if TYPE_CHECKING:
    from bgr.cli.passage_parts import PassageParts
    from bgr.collection.corpus import Corpus
    from bgr.data.multihop.assemble import MultihopData
    from bgr.llm.language_model import Asks
    from bgr.retrievers.base import PassageRetriever
    from eval.passages.run import System
    from eval.passages.runners import Runner

BOUNDS = ("gold", "nothing")
"""The gold evidence, and none: what a reader makes of them are the bounds."""

KNOWN = (*METHODS, *LLM_GRAPHS, *BOUNDS)
"""All systems that have a name of their own; others are named by their folders."""

CANDIDATES = 20
"""Passages of hybrid search that retrievers of graphs choose from in a whole corpus: as many as a question of MuSiQue
comes with, and about as many as one of ReasonGraphQA."""


class Named(NamedTuple):
    """An item of ``--systems``: `asked` says which folder, where the name is none of `KNOWN`."""

    name: str
    asked: Asked | None = None

    @property
    def recipe(self) -> Recipe | None:
        return METHODS.get(self.name) if self.asked is None else None


def parse_systems(args: argparse.Namespace) -> list[Named]:
    """The systems, checked before anything is run.

    Raises:
        BgrError: one is unknown or named twice, or an option that it needs is missing.
    """
    found = parse_names(args.systems)
    for one in found:
        method = one.recipe.method if one.recipe else None
        if method in ALONG_TRIPLES and args.openie is None and not args.data.is_dir():
            raise BgrError(f"--systems: {one.name} goes along triples: give --openie FILE")
        if (method in ASKING or one.name in LLM_GRAPHS) and args.llm is None:
            raise BgrError(f"--systems: {one.name} asks a language model: give --llm SPEC")
        if one.name in LLM_GRAPHS and args.data.is_dir() and args.split == "train":
            raise BgrError(f"--systems: {one.name} is shown questions of the train split: give --split dev or test")
    if args.replay_only and args.replay is None:
        raise BgrError("--replay-only needs --replay FILE")
    return found


def parse_names(texts: Sequence[str], *, option: str = "--systems", known: Collection[str] = KNOWN) -> list[Named]:
    """What an option names: systems that are known, and folders.

    Raises:
        BgrError: one is neither, or named twice.
    """
    found = [Named(text) if text in known else _of_folder(text, option, known) for text in texts]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise BgrError(f"{option}: {shown(name)} is there twice, allowed: each once")
    return found


def _of_folder(text: str, option: str, known: Collection[str]) -> Named:
    try:
        asked = parse_system(text)
    except BgrError:
        raise BgrError(f"{option}: unknown system {shown(text)}, known: {', '.join(known)}, [NAME=]FOLDER") from None
    if asked.is_evaluation:
        raise BgrError(f"{option}: {shown(text)} holds finished graphs; name the checkpoint, it is run on passages")
    part = f":{asked.part}" if asked.part else ""
    name = asked.name or asked.path.name + part
    if name in known:
        raise BgrError(f"{option}: {shown(text)} would have the name of another system; give it its own: NAME=FOLDER")
    return Named(name, asked)


def systems_of(named: Sequence[Named], data: MultihopData, parts: PassageParts) -> list[System]:
    """The systems with all that decides their results; models and indices are built where a question is left.

    Args:
        named: the systems.
        data: the questions.
        parts: over the passages that the data need.
    """
    from eval.passages.run import System

    found = [System(one.name, _settings(one, parts), partial(_make, one, data, parts)) for one in named]
    parts.about["settings"] = {one.name: dict(one.settings) for one in found}
    return found


def _settings(one: Named, parts: PassageParts) -> dict[str, Any]:
    args = parts.args
    settings: dict[str, Any] = {"scope": args.scope}
    if one.recipe is not None:
        settings |= method_settings(one.recipe, args.scope, answers=args.reader is None)
    elif one.asked is not None:
        settings |= place_settings(one.asked, args)
    elif one.name in LLM_GRAPHS:
        settings |= llm_settings(one.name, args)
    if one.recipe is None and one.name not in BOUNDS and args.scope == "corpus":
        settings |= {"base": "hybrid", "candidates": CANDIDATES}
    if settings.get("base", "bm25") != "bm25":
        settings["encoder"] = parts.encoder.identity()
    if one.recipe is not None and one.recipe.method in ALONG_TRIPLES:
        settings["triples"] = parts.triples_hash
    if (one.recipe is not None and one.recipe.method in ASKING) or one.name in LLM_GRAPHS:
        settings["llm"] = parts.backend(args.llm).name
    if args.reader is not None:
        settings["reader"] = parts.reader_settings
    return settings


def _make(one: Named, data: MultihopData, parts: PassageParts) -> Runner:
    from eval.passages.runners import Answering

    runner = _runner(one, data, parts)
    return runner if parts.args.reader is None else Answering(runner, parts.answers(alone=one.name == "nothing"))


def _runner(one: Named, data: MultihopData, parts: PassageParts) -> Runner:
    from eval.passages.runners import ByGraph, Given, OverContexts, OverCorpus

    if one.name in BOUNDS:
        return Given(gold=one.name == "gold")
    if one.recipe is None:
        retriever = load_llm_graph(one.name, parts) if one.asked is None else load_place(one.asked, parts.args)
        search = parts.hybrid if parts.args.scope == "corpus" else None
        return ByGraph(retriever, parts.corpus, search, most=CANDIDATES)
    answers = parts.args.reader is None  # else all are read by it
    if parts.args.scope == "corpus":
        return OverCorpus(make_retriever(one.recipe, parts, data.sentences, answers=answers), parts.corpus)
    recipe = one.recipe
    llm = parts.asks if recipe.method in ASKING else None
    parts.prepare(vectors=recipe.base != "bm25", triples=recipe.method in ALONG_TRIPLES)

    def within(places: Sequence[int], asks: Asks | None) -> tuple[PassageRetriever, Corpus]:
        narrow = PartsWithin(parts, places, asks)
        return make_retriever(recipe, narrow, data.sentences, answers=answers), narrow.corpus

    return OverContexts(within, parts.corpus, llm)
