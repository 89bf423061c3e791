"""Retrievers of evidence graphs on passages: BGR's checkpoints and baselines by their folders, language models."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.compare_runs import BASELINES, Asked, baselines_of
from bgr.errors import BgrError

if TYPE_CHECKING:
    from bgr.cli.passage_parts import PassageParts
    from bgr.retrievers.base import Retriever

LLM_FORMS = ("edges", "chains", "parents", "steps", "arrows")
LLM_GRAPHS = tuple(f"llm-{form}" for form in LLM_FORMS)
"""One call a question: the graph in one of five forms, after a few examples."""


def place_settings(asked: Asked, args: argparse.Namespace) -> dict[str, Any]:
    """What decides the graphs of a folder's model: its files, by content, and the part that was named; the seed and
    the precision where they are not the default.

    Raises:
        BgrError: the folder holds no model, or no such part.
    """
    from bgr.retrievers.baselines.baseline_config import SETTINGS
    from bgr.retrievers.graph_hop.reconstruction import check_rule

    if asked.place in BASELINES:
        return {"baseline": asked.place} | ({"seed": args.seed} if asked.place == "random" and args.seed else {})
    precision = {"precision": args.precision} if args.precision is not None else {}
    settings = {"files": _hash(asked.path), "part": asked.part, **precision}
    if asked.part is not None and not (asked.path / SETTINGS).is_file():
        check_rule(asked.part)  # before other systems are run
    return settings


def load_place(asked: Asked, args: argparse.Namespace) -> Retriever:
    """A checkpoint with one of its rules, or a baseline.

    Raises:
        BgrError: a folder is damaged, or has no such part.
    """
    from bgr.pipeline import BgrPipeline
    from bgr.retrievers.baselines.baseline_config import SETTINGS

    if asked.place in BASELINES or (asked.path / SETTINGS).is_file():
        return next(iter(baselines_of(asked, args).values()))
    pipeline = BgrPipeline.from_pretrained(asked.path, device=args.device, precision=args.precision)
    if asked.part is not None:
        pipeline.settings = replace(pipeline.settings, rule=asked.part)
    return pipeline


def llm_settings(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """What decides a language model's graphs beside the model: the form, and the data that examples come from."""
    from bgr.llm.prompts import prompts_hash
    from bgr.retrievers.llm_graph.llm_graph_settings import DEFAULT

    return {
        "form": name.removeprefix("llm-"),
        "llm_graph": asdict(DEFAULT),
        "examples": _examples_of(args),
        "prompts": prompts_hash("bgr.llm_graph"),
    }


def load_llm_graph(name: str, parts: PassageParts) -> Retriever:
    """A language model that is shown examples of the dataset's train split, or none where the data is a file."""
    from bgr.data.reasongraphqa.io.dataset import load_split
    from bgr.retrievers.llm_graph.forms import FORMS
    from bgr.retrievers.llm_graph.retriever import LlmGraph

    examples = load_split(parts.args.data, "train") if parts.args.data.is_dir() else ()
    return LlmGraph(parts.asks, FORMS[name.removeprefix("llm-")], examples)


def _examples_of(args: argparse.Namespace) -> str | None:
    from bgr.data.reasongraphqa.io.dataset import dataset_hash

    return dataset_hash(args.data) if args.data.is_dir() else None


def _hash(folder: Path) -> str:
    """Of a model's files; what training left beside them decides nothing."""
    from bgr.retrievers.baselines import baseline_config as settings
    from bgr.retrievers.graph_hop import checkpoint
    from bgr.utils.hashing import hash_files

    paths = [path.relative_to(folder) for pattern in ("*.safetensors", "*.json") for path in folder.rglob(pattern)]
    names = sorted(str(path) for path in paths if path.parts[0] not in ("training", "reader"))
    if not {checkpoint.SETTINGS, settings.SETTINGS} & set(names):
        raise BgrError(f"{folder}: holds no model; allowed: a checkpoint or a trained baseline")
    return hash_files(folder, names)
