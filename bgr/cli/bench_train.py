"""What a step of training costs beside the bare encoder's forward and backward on the same tokens, in one run.

bgr bench train --data work/data
bgr bench train --data work/data --model random-bert-base --config paper --questions 16

A step is: read, gold paths, loss, gradients, clipping, AdamW. The bare encoder reads the same different sentences in
buckets of like length. Then the plain definition, and each piece of work that the model avoids.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bgr.cli.bench_options import add_options, encoder, machine, questions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, batch_size=8, model="encoder in the config's place")


def run(args: argparse.Namespace) -> None:
    from transformers import AutoTokenizer

    from bgr.utils.configs import find_config
    from eval.bench.clock import SpeedBench
    from eval.bench.train import bench_train
    from training.retriever.timed_steps import TimedSteps

    configs = [find_config(name) for name in args.config or ("paper", "demo")]
    device, dtype, setting = machine(args)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, pretrained = encoder(args, folder)
        tokenizer = AutoTokenizer.from_pretrained(source)
        drawn = questions(args, "train", folder)
        lines = []
        for config in configs:
            steps = TimedSteps(
                config,
                source,
                drawn,
                tokenizer,
                folder / "states",
                pretrained=pretrained,
                batch_size=args.batch_size,
                device=device,
                dtype=dtype,
                seed=args.seed,
            )
            lines += bench_train(config.stem, steps, rounds=args.rounds, plain=not args.no_plain, progress=True)
    result = SpeedBench(setting, lines)
    print(json.dumps(result.to_json(), indent=2) if args.json else result)
