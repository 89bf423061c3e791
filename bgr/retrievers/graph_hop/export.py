"""Write one self-contained checkpoint folder with its model card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from bgr.errors import CheckpointError
from bgr.models.checkpoint import load_tokenizer, save_part
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.truncation import truncation_text
from bgr.reader.loading import load_reader, reader_of
from bgr.reader.reader import READER, Reader
from bgr.retrievers.graph_hop.checkpoint import Settings, load_retriever
from bgr.retrievers.graph_hop.known_words import KnownWords
from bgr.retrievers.graph_hop.options import ExportOptions
from bgr.utils.atomic_io import output_folder, read_json
from bgr.utils.checksums import write_sums


def export(options: ExportOptions) -> Path:
    """Copy what inference needs from a training run.

    Returns:
        The new folder, as in `bgr.retrievers.graph_hop.checkpoint`, with ``reader/`` if there is one.

    Raises:
        DataError: the reader's folder holds no reader, or the new folder exists.
        CheckpointError: the run or the reader lacks a file or its weights do not fit, the metrics belong to other
            data, or the encoder cannot be named.
    """
    settings = Settings.load(options.run)
    if options.metrics is not None:
        metrics = _test_metrics(options.metrics, settings)
        settings = replace(settings, metrics={**settings.metrics, **metrics})
    models = {direction: load_retriever(options.run, direction) for direction in DIRECTIONS}
    tokenizer = load_tokenizer(options.run)
    if options.reader is None:
        reader = reader_of(options.run, device="cpu")
    else:
        reader = load_reader(options.reader, device="cpu")
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        for direction, model in models.items():
            # only the weights change type; a threshold keeps its value
            stored = torch.nn.Module.half(model) if options.half else model
            save_part(stored, folder / direction, folder, by_name=options.without_encoder)
        tokenizer.save_pretrained(folder)
        settings.save(folder)
        if (words := KnownWords.of(options.run)) is not None:
            words.save(folder)
        if reader is not None:
            (folder / READER).mkdir()
            reader.save(folder / READER, half=options.half, checkpoint=folder)
        card = model_card(settings, models["forward"].config, models["backward"].config, reader=reader)
        (folder / "README.md").write_text(card, encoding="utf-8")
        write_sums(folder)
    return options.out


def _test_metrics(path: Path, settings: Settings) -> dict[str, Any]:
    record = read_json(path)
    try:
        found, split = record["about"]["data_hash"], str(record["about"]["split"])
        systems = {str(name): dict(parts["all"]) for name, parts in record["systems"].items()}
    except (KeyError, TypeError, AttributeError):
        raise CheckpointError(f"{path}: not a metrics.json of bgr evaluate") from None
    if found != settings.data_hash:
        raise CheckpointError(f"{path}: measured on data {found}, the checkpoint was trained on {settings.data_hash}")
    return {split: systems}


def model_card(settings: Settings, forward: BgrConfig, backward: BgrConfig, *, reader: Reader | None = None) -> str:
    """The checkpoint's README, with the metrics it was exported with."""
    lines = [
        "---",
        "library_name: bgr",
        "license: apache-2.0",
        "tags: [graph-hop, evidence-graph, retrieval, question-answering]",
        "---",
        "",
        "# BGR retriever",
        "",
        "Two BERT retrievers, one from the question to the evidence and one back, merged into an evidence graph.",
        "",
        "```python",
        "from bgr.pipeline import BgrPipeline",
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
        f"| trained on data | {settings.recipe or 'recipe unknown'}, SHA-256 `{settings.data_hash}` |",
        f"| written by | bgr {version('bgr')} |",
        "",
        "## Metrics",
        "",
        *_metrics_table(settings.metrics),
        "",
        "GM, GS: exact and structural graph match; F1 of the evidence set. Means over questions.",
        "Trained on generated English questions over the facts of one knowledge base; other text is out of its domain.",
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
                rows.append(f"| {split} | {name} | {cells} |")
    return rows
