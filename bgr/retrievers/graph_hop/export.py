"""Write one self-contained checkpoint folder with its model card."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch

from bgr.errors import CheckpointError
from bgr.models.checkpoint import load_tokenizer, save_part
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.pool_ranker import PoolRanker
from bgr.models.retriever import BgrRetriever
from bgr.models.truncation import truncation_text
from bgr.reader.loading import load_reader, reader_of
from bgr.reader.reader import READER, Reader
from bgr.retrievers.graph_hop.checkpoint import Settings, load_ranker, load_retriever
from bgr.retrievers.graph_hop.known_words import KnownWords
from bgr.retrievers.graph_hop.options import RANKER, ExportOptions
from bgr.utils.atomic_io import output_folder, read_json


def export(options: ExportOptions) -> Path:
    """Copy what inference needs from a training run.

    Returns:
        The new folder, as in `bgr.retrievers.graph_hop.checkpoint`, with ``reader/`` if there is one.

    Raises:
        DataError: the reader's folder holds no reader, or the new folder exists.
        CheckpointError: the run or the reader lacks a file or its weights do not fit, a file has no metrics, or those
            of a split that another one has, or the encoder cannot be named.
    """
    settings = Settings.load(options.run)
    settings = replace(settings, metrics={**settings.metrics, **_test_metrics(options.metrics, settings.data_hash)})
    models = {direction: load_retriever(options.run, direction) for direction in DIRECTIONS}
    tokenizer = load_tokenizer(options.run)
    if options.reader is None:
        reader = reader_of(options.run, device="cpu")
    else:
        reader = load_reader(options.reader, device="cpu")
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        words = KnownWords.of(options.run)
        parts = Parts(models, tokenizer, settings, reader, words, load_ranker(options.run))
        write_checkpoint(folder, parts, half=options.half, without_encoder=options.without_encoder)
    return options.out


class Parts(NamedTuple):
    """Everything that a checkpoint folder holds: the models by direction, with all digits of their weights, and the
    rest as `bgr.pipeline.BgrPipeline` has it."""

    models: Mapping[str, BgrRetriever]
    tokenizer: Any
    settings: Settings
    reader: Reader | None
    words: KnownWords | None
    ranker: PoolRanker | None = None


def write_checkpoint(folder: Path, parts: Parts, *, half: bool, without_encoder: bool) -> None:
    """Write a checkpoint with its model card to an existing empty folder; `output_folder` adds the hashes.

    Args:
        half: store the weights in fp16; the models are converted.
        without_encoder: store the name of the packaged encoder in place of its weights.

    Raises:
        CheckpointError: the encoder cannot be named.
        BgrError: the reader is a language model, which cannot be stored.
    """
    for direction, model in parts.models.items():
        # only the weights change type; a threshold keeps its value
        stored = torch.nn.Module.half(model) if half else model
        save_part(stored, folder / direction, folder, by_name=without_encoder)
    _unused(parts.tokenizer).save_pretrained(folder)
    parts.settings.save(folder)
    if parts.words is not None:
        parts.words.save(folder)
    if parts.ranker is not None:
        parts.ranker.save_pretrained(folder / RANKER)  # small, and its numbers are kept as they are
    if parts.reader is not None:
        (folder / READER).mkdir()
        parts.reader.save(folder / READER, half=half, checkpoint=folder)
    forward, backward = (parts.models[direction].config for direction in DIRECTIONS)
    card = model_card(parts.settings, forward, backward, reader=parts.reader, ranker=parts.ranker)
    (folder / "README.md").write_text(card, encoding="utf-8")


def _unused(tokenizer: Any) -> Any:
    """A copy without the limits of length that a tokenizer of `tokenizers` keeps from its last call."""
    tokenizer = copy.deepcopy(tokenizer)
    if (core := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        core.no_truncation()
        core.no_padding()
    return tokenizer


def _test_metrics(paths: Sequence[Path], data_hash: str) -> dict[str, dict[str, Any]]:
    """The metrics by split, whose name has that of the data unless the checkpoint was trained on them."""
    metrics: dict[str, dict[str, Any]] = {}
    for path in paths:
        record = read_json(path)
        try:
            about = record["about"]
            found, split, data = about["data_hash"], str(about["split"]), Path(about["data"]).name
            systems = {str(name): dict(parts["all"]) for name, parts in record["systems"].items()}
        except (KeyError, TypeError, AttributeError):
            raise CheckpointError(f"{path}: not a metrics.json of bgr evaluate") from None
        name = split if found == data_hash else f"{split} of {data}"
        if name in metrics:
            raise CheckpointError(f"{path}: another file has metrics of {name}, too")
        metrics[name] = systems
    return metrics


def model_card(
    settings: Settings,
    forward: BgrConfig,
    backward: BgrConfig,
    *,
    reader: Reader | None = None,
    ranker: PoolRanker | None = None,
) -> str:
    """The checkpoint's README, with the metrics it was exported with."""
    lines = [
        "---",
        "library_name: bgr",
        "license: apache-2.0",
        "language: en",
        "pipeline_tag: question-answering",
        "tags: [graph-hop, evidence-graph, retrieval, question-answering]",
        "---",
        "",
        "# BGR retriever",
        "",
        "Two BERT retrievers, one from the question to the evidence and one back, merged into an evidence graph.",
        "",
        "```python",
        "from bgr import BgrPipeline",
        "",
        'found = BgrPipeline.from_pretrained("this/folder").answer(question, facts)',
        "print(found.graph.order(), found.text, found.confidence)",
        "```",
        "",
        "| setting | value |",
        "| --- | --- |",
        f"| encoder | BERT, {forward.encoder.num_hidden_layers} layers, width {forward.encoder.hidden_size} |",
        f"| thresholds | forward {forward.threshold}, backward {backward.threshold} |",
        f"| reconstruction | {_reconstruction(settings)} |",
        f"| longest question, fact | {forward.question_tokens}, {forward.fact_tokens} tokens |",
        *([f"| longer texts in training | {truncation_text(settings.truncation)} |"] if settings.truncation else []),
        f"| reader | {'none: graphs without answers' if reader is None else reader.description} |",
        *([f"| candidates of a collection | ranker, the first {ranker.config.keep} are read |"] if ranker else []),
        f"| trained on data | {settings.recipe or 'recipe unknown'}, SHA-256 `{settings.data_hash}` |",
        f"| written by | bgr {version('bgr')} |",
        "",
        "## Metrics",
        "",
        *_metrics_table(settings.metrics),
        "",
        "GM, GS: exact and structural graph match; F1 of the evidence set. Means over questions.",
        "What is asked in other words than in the data it was trained on, or about other things, is found less often.",
    ]
    return "\n".join(lines) + "\n"


def _reconstruction(settings: Settings) -> str:
    threshold = f", threshold {settings.fused_threshold}" if settings.rule == "fused" else ""
    return f"{settings.rule}, γ = {settings.gamma(settings.rule)}{threshold}"


def _metrics_table(metrics: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    rows = ["| split | system | GM | GS | F1 |", "| --- | --- | --- | --- | --- |"]
    for split, systems in metrics.items():
        for name, row in systems.items():
            if "gm" in row:
                cells = " | ".join(f"{row[key]:.3f}" if key in row else "" for key in ("gm", "gs", "f1"))
                count = f", n = {row['n']:,}" if "n" in row else ""
                rows.append(f"| {split}{count} | {name} | {cells} |")
    return rows


_ADVICE = "load the pipeline with precision='32' to save it"


def exact_model(model: BgrRetriever, source: Path | None) -> BgrRetriever:
    """A copy of one direction that may be changed, with the weights as they were before `bgr.utils.devices.hold_in`
    rounded them: those of its checkpoint folder, if the model still has the same.

    Raises:
        CheckpointError: the weights are rounded, and there is no folder, it is damaged, or it has others.
    """
    if all(weight.dtype != torch.bfloat16 for weight in model.parameters()):
        return copy.deepcopy(model)
    direction = model.config.direction
    if source is None:
        raise CheckpointError(f"the {direction} weights are rounded to bfloat16; {_ADVICE}")
    exact = load_retriever(source, direction)
    held = model.state_dict()
    for name, weight in exact.state_dict().items():
        if not torch.equal(weight.to(held[name].dtype), held[name].cpu()):
            raise CheckpointError(f"{direction}: {name} is rounded to bfloat16 and differs from {source}; {_ADVICE}")
    exact.config = copy.deepcopy(model.config)
    return exact
