"""The retrievers of passages of `bgr compare`, by name: what each needs, what decides its results, how it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bgr.cli.parts_within import Parts, PartsWithin
from bgr.collection.search import Search
from bgr.llm.prompts import prompts_hash
from bgr.retrievers.base import PassageRetriever

if TYPE_CHECKING:
    from bgr.retrievers.gear.gear_settings import GearSettings

DEPTH = 50
"""Passages of a base search's list; R@15 needs 15, the rest is for whoever reads the results."""

BASES = ("bm25", "dense", "hybrid")
NAIVE = ("naive", "naive-plain", "naive-text")
"""NaiveGE; without diverse beams (the paper's Table 4); with every sequence of triples encoded as text, as the paper
does, where the others average the vectors of its triples."""
ALONG_TRIPLES = (*NAIVE, "sync", "gear")
ALL = "all"
"""Candidates of PRISM where each question has its own passages: it chooses from the context, as the paper's does."""

ASKING = ("sync", "gear", "prism", "bridgerag", "bridgerag-p")
"""Methods that ask a language model."""


class Recipe(NamedTuple):
    """A base search (an attribute of `Parts`) and the method on top of it."""

    base: str
    method: str | None = None


METHODS: Mapping[str, Recipe] = {
    **{base: Recipe(base) for base in BASES},
    **{f"{base}+{method}": Recipe(base, method) for base in BASES for method in ALONG_TRIPLES},
    "gear": Recipe("hybrid", "gear"),
    "prism": Recipe("hybrid", "prism"),
    "bridgerag": Recipe("dense", "bridgerag"),
    "bridgerag-p": Recipe("dense", "bridgerag-p"),
}
"""By the name on the command line."""


def method_settings(recipe: Recipe, scope: str, *, answers: bool = True) -> dict[str, Any]:
    """All that decides a method's results beside the models and the data, plain values; see `make_retriever`."""
    base, method = recipe
    found: dict[str, Any] = {"base": base}
    if method is None:
        return {**found, "depth": DEPTH}
    if method in ALONG_TRIPLES:
        found |= {"score": "EncodedText"} if method == "naive-text" else {}
        found |= {"prompts": prompts_hash("bgr.gear")} if method in ASKING else {}
        return {**found, "method": method, "gear": asdict(_gear_settings(method))}
    found["prompts"] = prompts_hash("bgr.prism" if method == "prism" else "bgr.bridgerag")
    if method == "prism":
        from bgr.retrievers.prism.prism_settings import PAPER as PRISM

        candidates = ALL if scope == "question" else PRISM.candidates
        found |= {} if answers else {"answers": False}
        return {**found, "method": method, "prism": asdict(PRISM) | {"candidates": candidates}}
    from bgr.retrievers.bridgerag.bridgerag_settings import PAPER as BRIDGE

    return {**found, "method": method, "bridgerag": asdict(BRIDGE)}


def make_retriever(
    recipe: Recipe, parts: Parts, sentences: Mapping[str, tuple[str, ...]], *, answers: bool = True
) -> PassageRetriever:
    """The method over the parts' corpus.

    Args:
        recipe: the method.
        parts: what it is made of.
        sentences: of its passages by id, where the data split them.
        answers: whether PRISM's call for an answer is wanted; GEAR's comes with a call that it needs, others give none.
    """
    from eval.passages.run import SearchRetriever

    base, method = recipe
    search: Search = getattr(parts, base)
    if method is None:
        return SearchRetriever(search, DEPTH)
    if method in ALONG_TRIPLES:
        return _along_triples(method, search, parts)
    if method == "prism":
        from bgr.retrievers.prism.agent import Prism
        from bgr.retrievers.prism.prism_settings import PAPER

        within = isinstance(parts, PartsWithin)
        settings = replace(PAPER, candidates=max(1, len(parts.corpus))) if within else PAPER
        return Prism(parts.asks, parts.corpus, search, settings, sentences=sentences, answers=answers)
    from bgr.retrievers.bridgerag.agent import BridgeRag

    return BridgeRag(parts.asks, parts.corpus, search, judge="probability" if method == "bridgerag-p" else "scores")


def _along_triples(method: str, search: Search, parts: Parts) -> PassageRetriever:
    from bgr.retrievers.gear.agent import Gear
    from bgr.retrievers.gear.naive import NaiveGe
    from bgr.retrievers.gear.scores import EncodedText
    from bgr.retrievers.gear.sync import SyncGe

    settings = _gear_settings(method)
    if method in NAIVE:
        score = EncodedText(parts.index) if method == "naive-text" else None
        return NaiveGe(search, parts.index, settings, score=score)
    sync = SyncGe(parts.asks, parts.corpus, search, parts.index, settings)
    return sync if method == "sync" else Gear(sync)


def _gear_settings(method: str) -> GearSettings:
    """The paper's; ``naive-plain`` without the diversity of beams (Table 4)."""
    from bgr.retrievers.gear.gear_settings import PAPER

    return replace(PAPER, beam=replace(PAPER.beam, diverse=False)) if method == "naive-plain" else PAPER
