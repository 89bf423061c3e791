"""`bgr export`."""

from __future__ import annotations

from bgr.cli.parser import Command, Output
from bgr.retrievers.graph_hop.options import ExportOptions


def command() -> Command:
    return Command(
        summary="write one self-contained checkpoint folder",
        description="The folder holds weights, configs, tokenizer, settings and a model card of a training run.",
        options=ExportOptions,
        run=run,
        example="bgr export --run work/run --reader work/reader --out work/checkpoint",
        json=False,
    )


def run(options: ExportOptions) -> Output:
    from bgr.retrievers.graph_hop.export import export

    folder = export(options)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
    return Output(f"checkpoint in {folder}, {size:.0f} MiB")
