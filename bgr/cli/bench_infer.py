"""What both directions' graphs cost beside the bare encoders' forward on the same tokens, in one run.

bgr bench infer --data work/data
bgr bench infer --data work/data --model work/checkpoint

A checkpoint's models find their own paths. Others have random weights beside the encoder and are led along the gold's
paths. Then the plain definition, and each piece of work that the model avoids.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.bench_options import add_options, encoder, machine, questions

if TYPE_CHECKING:
    import torch

    from eval.bench.infer import Pair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, batch_size=16, model="a checkpoint, or an encoder in the config's place")


def run(args: argparse.Namespace) -> None:
    from bgr.retrievers.graph_hop.checkpoint import SETTINGS
    from eval.bench.clock import SpeedBench
    from eval.bench.infer import bench_infer

    device, dtype, setting = machine(args)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if (Path(args.model) / SETTINGS).is_file():
            pairs = {"checkpoint": _trained(args, device, dtype)}
        else:
            pairs = _untrained(args, folder, device, dtype)
        drawn = questions(args, "test", folder)
        lines = []
        for form, pair in pairs.items():
            lines += bench_infer(
                form,
                pair,
                drawn,
                folder / form,
                batch_size=args.batch_size,
                rounds=args.rounds,
                plain=not args.no_plain,
                progress=True,
            )
    result = SpeedBench(setting, lines)
    print(json.dumps(result.to_json(), indent=2) if args.json else result)


def _trained(args: argparse.Namespace, device: torch.device, dtype: torch.dtype | None) -> Pair:
    from bgr.pipeline import BgrPipeline
    from eval.bench.infer import Pair

    pipeline = BgrPipeline.from_pretrained(args.model, device=device, precision=args.precision)
    return Pair(pipeline.forward, pipeline.backward, pipeline.tokenizer, trained=True, dtype=dtype)


def _untrained(
    args: argparse.Namespace, folder: Path, device: torch.device, dtype: torch.dtype | None
) -> dict[str, Pair]:
    """A pair for each config."""
    import torch
    import yaml
    from transformers import AutoTokenizer

    from bgr.models.config import DIRECTIONS
    from bgr.utils.configs import find_config
    from bgr.utils.devices import hold_in
    from eval.bench.infer import Pair
    from training.retriever.module import BgrModule

    source, pretrained = encoder(args, folder)
    tokenizer = AutoTokenizer.from_pretrained(source)
    pairs: dict[str, Any] = {}
    for config in map(find_config, args.config or ("paper", "demo")):
        settings = yaml.safe_load(config.read_text(encoding="utf-8"))["model"]
        torch.manual_seed(args.seed)
        forward, backward = (
            BgrModule(**settings | {"encoder": source, "pretrained": pretrained, "direction": direction}).model
            for direction in DIRECTIONS
        )
        for model in (forward, backward):
            torch.nn.Module.to(model, device).eval()
            hold_in(model, args.precision)
        pairs[config.stem] = Pair(forward, backward, tokenizer, trained=False, dtype=dtype)
    return pairs
