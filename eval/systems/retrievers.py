"""The retriever of each system on passages, and the settings that its results depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bgr.errors import BgrError
from bgr.llm.prompts import prompts_hash
from bgr.retrievers.base import Retriever
from bgr.retrievers.graph_hop.options import POOL
from bgr.retrievers.scope import Scope
from bgr.retrievers.search import CANDIDATES, SearchRetriever, TwoStage
from bgr.utils.json_utils import repr_short
from bgr.utils.options import MachineOptions
from eval.run.run_system import Bound, System
from eval.systems.method_settings import MethodSettings, changed, parse_changes
from eval.systems.options import CompareOptions, ResourceOptions
from eval.systems.resources import Resources
from eval.systems.spec import FOLLOWING_TRIPLES, GOLD, HIPPORAG, IRCOT, NAIVE, NOTHING, RERANKERS, Method, SystemSpec

if TYPE_CHECKING:
    from bgr.data.multihop.assemble import MultihopData

HOPS = "hops"
"""The search of a checkpoint with a pruner."""

DEPTH = 50
"""Number of passages of a base search; R@15 needs 15, the others are for readers of the results."""

ALL = "all"
"""Candidates of PRISM if each question has its own passages: it chooses from the context, as in the paper."""


def passage_systems(
    specs: Sequence[SystemSpec], data: MultihopData, resources: Resources, options: CompareOptions
) -> list[System]:
    """The systems with their settings; models and indices are built only if a question is left to run."""
    found = [
        System(
            name=spec.label,
            settings=_settings(spec, resources, options),
            make=partial(_make, spec, data, resources, options),
            within=options.scope == "question" and not spec.is_bound,
            answers=None if options.reader is None else partial(resources.answers, alone=spec.label == NOTHING),
        )
        for spec in specs
    ]
    resources.about["settings"] = {one.name: dict(one.settings) for one in found}
    return found


def _settings(spec: SystemSpec, resources: Resources, options: CompareOptions) -> dict[str, Any]:
    method = spec.method
    settings: dict[str, Any] = {"scope": options.scope}
    if method is not None:
        chosen = settings_of(spec, options.settings)
        settings |= method_settings(method, str(options.scope), chosen, answers=options.reader is None)
    elif spec.is_llm_graph:
        settings |= llm_settings(spec, options.data)
    elif not spec.is_bound:
        settings |= place_settings(spec, options, seed=options.seed)
    if method is None and not spec.is_bound and options.scope == "corpus":
        by_hops = spec.place is not None and _searches_by_hops(spec)
        settings |= {"base": HOPS, "candidates": POOL} if by_hops else {"base": "hybrid", "candidates": CANDIDATES}
    if settings.get("base", "bm25") not in ("bm25", HOPS):
        settings["encoder"] = resources.encoder.identity()
        if resources.half:
            settings["vectors"] = "float16"
    if method is not None and method.follows_triples:
        settings["triples"] = resources.triples_hash
    if (method is not None and method.asks) or spec.is_llm_graph:
        settings["llm"] = resources.backend(resources.llm_spec).name
    if options.reader is not None:
        settings["reader"] = resources.reader_settings
    return settings


def _searches_by_hops(spec: SystemSpec) -> bool:
    """Whether a place is a checkpoint that finds its candidates hop by hop (`BgrPipeline.search_over`)."""
    from bgr.models.config import BgrConfig
    from bgr.models.loading import read_config

    config = spec.path / "forward" / "config.json"
    return not spec.is_baseline and config.is_file() and read_config(config, BgrConfig).prune > 0


def _make(spec: SystemSpec, data: MultihopData, resources: Resources, options: CompareOptions) -> Retriever:
    method = spec.method
    if spec.is_bound:
        return Bound(data.corpus, gold=spec.name == GOLD)
    if method is not None:
        if options.scope == "question":
            resources.prepare(vectors=method.base != "bm25", triples=method.follows_triples)
        chosen = settings_of(spec, options.settings)
        return make_retriever(method, resources, chosen, answers=options.reader is None)
    retriever = load_llm_graph(spec, resources) if spec.is_llm_graph else load_place(spec, options, seed=options.seed)
    if options.scope == "question":
        return retriever
    from bgr.pipeline import BgrPipeline

    if isinstance(retriever, BgrPipeline):
        return retriever.over(resources.collection)
    return TwoStage.over(resources.collection, retriever, count=CANDIDATES)


SECTIONS = {
    **dict.fromkeys(FOLLOWING_TRIPLES, "gear"),
    "prism": "prism",
    "bridgerag": "bridgerag",
    "bridgerag-p": "bridgerag",
    IRCOT: "ircot",
    **dict.fromkeys(RERANKERS, "rerank"),
    "hipporag": "hipporag",
    "hipporag+ircot": "ircot",
}
"""The part of `MethodSettings` that a method has, and whose prompts it uses."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "naive-plain": {"beam.diverse": False},  # GEAR's Table 4
    "naive-text": {"score": "text"},
    "setr": {"form": "set"},
}
"""Methods that are others with changed settings."""


def settings_of(spec: SystemSpec, given: Sequence[str]) -> MethodSettings:
    """The settings of a system: those that are `given` for all (``--settings``), with the changes of its name.

    Raises:
        BgrError: a setting is not valid.
    """
    settings, name = MethodSettings.read(given), spec.method.name if spec.method is not None else None
    if name is None:
        if spec.changes:
            raise BgrError(f"--systems: {spec.label}: a search has no settings")
        return settings
    changes = dict(VARIANTS.get(name, {}))
    changes |= parse_changes(spec.changes, f"--systems: {spec.label}") if spec.changes else {}
    return changed(settings, {SECTIONS[name]: changes}, f"--systems: {spec.label}")


DEFAULT = MethodSettings()


def method_settings(
    method: Method, scope: str, settings: MethodSettings = DEFAULT, *, answers: bool = True
) -> dict[str, Any]:
    """Everything that a method's results depend on besides the models and the data, as plain values."""
    found: dict[str, Any] = {"base": method.base}
    name = method.name
    if name is None:
        return {**found, "depth": DEPTH}
    section = SECTIONS[name]
    found |= {"prompts": prompts_hash(f"bgr.{section}")} if method.asks else {}
    found |= {"method": name, section: asdict(getattr(settings, section))}
    if name == "prism":
        found |= {} if answers else {"answers": False}
        found[section] |= {"candidates": ALL} if scope == "question" else {}
    if name == "hipporag+ircot":
        found |= {"hipporag": asdict(settings.hipporag), "hipporag_prompts": prompts_hash("bgr.hipporag")}
    return found


def make_retriever(
    method: Method, resources: Resources, settings: MethodSettings = DEFAULT, *, answers: bool = True
) -> Retriever:
    """The method over the whole collection; without `answers`, PRISM asks for no answer (GEAR's answer comes with
    a call that it needs anyway)."""
    scope = Scope.over(resources.collection, method.base, triples=method.follows_triples)
    name = method.name
    if name is None:
        return SearchRetriever(scope, DEPTH)
    if name in NAIVE:
        from bgr.retrievers.gear.sync import NaiveGe

        return NaiveGe(scope, settings.gear)
    if name in FOLLOWING_TRIPLES:
        from bgr.retrievers.gear.agent import Gear
        from bgr.retrievers.gear.sync import SyncGe

        kind = SyncGe if name == "sync" else Gear
        return kind(resources.llm, scope, settings.gear)
    if name == "prism":
        from bgr.retrievers.prism.agent import Prism

        return Prism(resources.llm, scope, settings.prism, sentences=resources.sentences, answers=answers)
    if name in RERANKERS:
        from bgr.retrievers.rerank.agent import Rerank

        return Rerank(resources.llm, scope, settings.rerank)
    if name == IRCOT or name in HIPPORAG:
        return _walk_or_chain(name, resources, scope, settings)
    from bgr.retrievers.bridgerag.agent import BridgeRag

    judge: Literal["probability", "scores"] = "probability" if name == "bridgerag-p" else "scores"
    return BridgeRag(resources.llm, scope, settings.bridgerag, judge=judge)


def _walk_or_chain(name: str, resources: Resources, scope: Scope, settings: MethodSettings) -> Retriever:
    """HippoRAG, IRCoT, or IRCoT whose retriever is HippoRAG."""
    from bgr.retrievers.hipporag.agent import HippoRag
    from bgr.retrievers.ircot.agent import Ircot

    walk = HippoRag(resources.llm, scope, settings.hipporag) if name in HIPPORAG else None
    if walk is not None and name == "hipporag":
        return walk
    return Ircot(resources.llm, scope, settings.ircot, retriever=walk)


def place_settings(spec: SystemSpec, options: ResourceOptions, *, seed: int = 0) -> dict[str, Any]:
    """Everything that the graphs of a checkpoint or baseline depend on: its files, by content, and the part; seed and
    precision unless they are the default.

    Raises:
        BgrError: the folder holds no model, or the part is unknown.
    """
    from bgr.retrievers.baselines.baseline_config import SETTINGS
    from bgr.retrievers.graph_hop.reconstruction import check_rule

    if spec.is_baseline:
        return {"baseline": spec.place} | ({"seed": seed} if spec.place == "random" and seed else {})
    settings = {"files": _hash(spec.path), "part": spec.part}
    if spec.part is not None and not (spec.path / SETTINGS).is_file():
        check_rule(spec.part)  # before other systems are run
    return settings | ({"precision": options.precision} if options.precision is not None else {})


def load_place(spec: SystemSpec, options: MachineOptions, *, seed: int = 0) -> Retriever:
    """A checkpoint with one of its rules, or a baseline.

    Raises:
        BgrError: the folder is damaged, or the part is unknown.
    """
    from bgr.pipeline import BgrPipeline
    from bgr.retrievers.baselines.baseline_config import SETTINGS

    if spec.is_baseline or (spec.path / SETTINGS).is_file():
        return next(iter(load_baseline_rows(spec, options, seed=seed).values()))
    pipeline = BgrPipeline.from_pretrained(spec.path, device=options.device, precision=options.precision)
    if spec.part is not None:
        pipeline.settings = replace(pipeline.settings, rule=spec.part)
    return pipeline


def load_baseline_rows(spec: SystemSpec, options: MachineOptions, *, seed: int = 0) -> dict[str, Retriever]:
    """The rows of a baseline by name: two for a single-hop baseline whose k is not given (see `baseline_rows`), else
    one.

    Raises:
        BgrError: the folder is damaged, or the part is unknown.
    """
    from bgr.retrievers.baselines.trained import baseline_rows, load_baseline, untrained

    if spec.is_baseline:
        if spec.part is not None:
            raise BgrError(f"--systems: {spec.place} has no part {repr_short(spec.part)}")
        return {spec.name or str(spec.place): untrained(str(spec.place), None, seed)}
    if spec.name is None and spec.part is None:
        return baseline_rows(spec.path, device=options.device, precision=options.precision)
    if spec.part not in (None, "gold", "dev"):
        raise BgrError(f"--systems: {spec.place}: part {repr_short(spec.part)}, allowed: gold, dev (how k is chosen)")
    k: Literal["gold", "dev"] = "dev" if spec.part == "dev" else "gold"
    name = spec.name or f"{spec.path.name}, k of {k}"
    return {name: load_baseline(spec.path, device=options.device, precision=options.precision, k=k)}


def llm_settings(spec: SystemSpec, data: Path) -> dict[str, Any]:
    """Everything that the graphs of a language model depend on besides the model."""
    from bgr.data.reasongraphqa.io.dataset import dataset_hash
    from bgr.retrievers.llm_graph.prompts import DEFAULT

    return {
        "form": str(spec.name).removeprefix("llm-"),
        "llm_graph": asdict(DEFAULT),
        "examples": dataset_hash(data) if data.is_dir() else None,
        "prompts": prompts_hash("bgr.llm_graph"),
    }


def load_llm_graph(spec: SystemSpec, resources: Resources) -> Retriever:
    """A language model that is shown examples of the dataset's train split, or no examples if the data are a file."""
    from bgr.data.reasongraphqa.io.dataset import load_split
    from bgr.retrievers.llm_graph.forms import FORMS
    from bgr.retrievers.llm_graph.retriever import LlmGraph

    data = resources.options.data
    examples = load_split(data, "train") if data.is_dir() else ()
    return LlmGraph(resources.llm, FORMS[str(spec.name).removeprefix("llm-")], examples)


def _hash(folder: Path) -> str:
    """The hash of a model's files, without the logs of training and the reader, on which its graphs do not depend."""
    from bgr.retrievers.baselines import baseline_config as settings
    from bgr.retrievers.graph_hop import checkpoint
    from bgr.utils.hashing import hash_files

    paths = [path.relative_to(folder) for pattern in ("*.safetensors", "*.json") for path in folder.rglob(pattern)]
    names = sorted(str(path) for path in paths if path.parts[0] not in ("training", "reader"))
    if not {checkpoint.SETTINGS, settings.SETTINGS} & set(names):
        raise BgrError(f"{folder}: holds no model; allowed: a checkpoint or a trained baseline")
    return hash_files(folder, names)
