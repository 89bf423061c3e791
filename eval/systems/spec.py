"""Names of systems on the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from bgr.errors import BgrError
from bgr.utils.error_text import did_you_mean, did_you_mean_path
from bgr.utils.json_utils import repr_short

BASELINES = ("bm25", "random")
"""Baselines that need no folder."""

Base = Literal["bm25", "dense", "hybrid"]
BASES: tuple[Base, ...] = ("bm25", "dense", "hybrid")
NAIVE = ("naive", "naive-plain", "naive-text")
"""NaiveGE; without diverse beams (the paper's Table 4); with each sequence of triples encoded as text, as in the paper
(the others average the vectors of its triples)."""

IRCOT = "ircot"
RERANKERS = ("rerank", "setr")
"""A model that orders the first passages of the base search; one that selects a set of them."""

FOLLOWING_TRIPLES = (*NAIVE, "sync", "gear")
HIPPORAG = ("hipporag", "hipporag+ircot")
"""HippoRAG, alone and as the retriever of IRCoT."""

ASKING = ("sync", "gear", "prism", "bridgerag", "bridgerag-p", IRCOT, *RERANKERS, *HIPPORAG)
"""Methods that call a language model."""

LLM_GRAPHS = tuple(f"llm-{form}" for form in ("edges", "chains", "parents", "steps", "arrows"))
"""A language model that writes the graph in one call, in one of five forms, after a few examples."""

GOLD, NOTHING = BOUNDS = ("gold", "nothing")
"""The gold evidence, and no evidence: with a reader, the upper and the lower bound."""


class Method(NamedTuple):
    """A base search, and the method on top of it, if any."""

    base: Base
    name: str | None = None

    @property
    def follows_triples(self) -> bool:
        return self.name in (*FOLLOWING_TRIPLES, *HIPPORAG)

    @property
    def asks(self) -> bool:
        return self.name in ASKING


METHODS: Mapping[str, Method] = {
    **{base: Method(base) for base in BASES},
    **{f"{base}+{name}": Method(base, name) for base in BASES for name in (*FOLLOWING_TRIPLES, IRCOT, *RERANKERS)},
    "gear": Method("hybrid", "gear"),
    "prism": Method("hybrid", "prism"),
    "bridgerag": Method("dense", "bridgerag"),
    "bridgerag-p": Method("dense", "bridgerag-p"),
    **{name: Method("dense", name) for name in HIPPORAG},
}
"""Retrievers of passages by their names."""

KNOWN = (*METHODS, *LLM_GRAPHS, *BOUNDS)
"""All systems on passages that have names; others are given as folders."""


@dataclass(frozen=True)
class SystemSpec:
    """A name in `KNOWN`, whose place is ``None``, a method with changed settings (``[NAME=]METHOD@KEY=VALUE,…``, whose
    `changes` are the text after ``@``), or a system of the form ``[NAME=]PLACE[:PART]``: a folder, a file or
    one of `BASELINES`; the part is a system of an evaluation, a rule of a checkpoint, or how k is chosen."""

    name: str | None
    place: str | None = None
    part: str | None = None
    changes: str = ""
    title: str | None = None

    @property
    def path(self) -> Path:
        return Path(self.place or "")

    @property
    def is_baseline(self) -> bool:
        return self.place in BASELINES

    @property
    def is_evaluation(self) -> bool:
        """True if the place holds predictions; every file counts as such."""
        return self.path.is_file() or (self.path / "predictions.jsonl").is_file()

    @property
    def label(self) -> str:
        """The name for tables."""
        if self.changes:
            return self.title or f"{self.name}@{self.changes}"
        return self.name or self.path.name + (f":{self.part}" if self.part else "")

    @property
    def method(self) -> Method | None:
        return METHODS.get(self.name or "") if self.place is None else None

    @property
    def is_llm_graph(self) -> bool:
        return self.place is None and self.name in LLM_GRAPHS

    @property
    def is_bound(self) -> bool:
        return self.place is None and self.name in BOUNDS

    @classmethod
    def parse_method(cls, text: str) -> SystemSpec | None:
        """A method with changed settings; ``None`` for any other text."""
        before, at, changes = text.partition("@")
        title, _, name = before.rpartition("=")
        return cls(name, changes=changes, title=title or None) if at and name in METHODS else None

    @classmethod
    def parse(cls, text: str) -> SystemSpec:
        """Split a text into name, place and part. A place that exists has no part, even if it has colons.

        Raises:
            BgrError: the place is empty or does not exist.
        """
        name, equals, rest = text.partition("=")
        if not equals or "/" in name or Path(text).exists():
            name, rest = "", text
        place, colon, part = rest.rpartition(":")
        if not colon or Path(rest).exists():
            place, part = rest, ""
        if not place or (equals and rest is not text and not name.strip()):
            raise BgrError(f"--systems {repr_short(text)}: allowed: [NAME=]PLACE[:PART]")
        if place not in BASELINES and not Path(place).exists():
            raise BgrError(
                f"--systems {repr_short(text)}: {place} does not exist; a place is a folder of bgr evaluate, a "
                "checkpoint, "
                f"a trained baseline, {' or '.join(BASELINES)}{suggested(place, BASELINES)}"
            )
        return cls(name or None, place, part or None)


def suggested(text: str, known: Collection[str]) -> str:
    """The end of a message on a system that is neither known nor a folder: the name or folder that was probably
    meant."""
    return did_you_mean(text, known) or did_you_mean_path(Path(text))


def parse_specs(texts: Sequence[str], *, option: str = "--systems", known: Collection[str] = KNOWN) -> list[SystemSpec]:
    """Systems on passages: names in `known`, and folders.

    Raises:
        BgrError: a text is neither, or two systems have the same name.
    """
    found = [
        SystemSpec(text) if text in known else SystemSpec.parse_method(text) or _of_folder(text, option, known)
        for text in texts
    ]
    for label, count in Counter(one.label for one in found).items():
        if count > 1:
            raise BgrError(f"{option}: {repr_short(label)} is there twice, allowed: each once")
    return found


def _of_folder(text: str, option: str, known: Collection[str]) -> SystemSpec:
    try:
        spec = SystemSpec.parse(text)
    except BgrError:
        raise BgrError(
            f"{option}: unknown system {repr_short(text)}, known: {', '.join(known)}, [NAME=]FOLDER"
            f"{suggested(text, known)}"
        ) from None
    if spec.is_evaluation:
        raise BgrError(
            f"{option}: {repr_short(text)} holds finished graphs; name the checkpoint, it is run on passages"
        )
    if spec.label in known:
        raise BgrError(
            f"{option}: {repr_short(text)} would have the name of another system; give it its own: NAME=FOLDER"
        )
    return spec
