"""Measure a local language model: prompts read and replies of many lengths written, against `generate` of transformers
on the same model, in one run.

  bgr bench llm --llm smollm2 --threads 1
"""

from __future__ import annotations

import argparse
import json

from bgr.cli.counts import natural, positive
from bgr.cli.machine_options import add_machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--llm", required=True, metavar="SPEC", help="smollm2, a .gguf file, a folder, a hub id")
    parser.add_argument("--replies", type=positive, default=16, metavar="N", help="at once; default: 16")
    parser.add_argument("--prompt", type=positive, default=600, metavar="N", help="most tokens; default: 600")
    parser.add_argument("--reply", type=positive, default=200, metavar="N", help="most tokens; default: 200")
    parser.add_argument(
        "--shared", type=natural, default=0, metavar="N", help="tokens more with which all prompts begin; default: 0"
    )
    parser.add_argument("--threads", type=positive, metavar="N", help="of PyTorch; default: its own")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    add_machine(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> None:
    """Load, run, print.

    Raises:
        BgrError: the model cannot be loaded.
    """
    import torch

    from bgr.llm.backends.loading import local_model_path
    from eval.bench.llm import bench_llm

    if args.threads is not None:
        torch.set_num_threads(args.threads)
    found = bench_llm(
        local_model_path(args.llm),
        replies=args.replies,
        prompt=args.prompt,
        reply=args.reply,
        shared=args.shared,
        seed=args.seed,
        device=args.device,
        precision=args.precision,
        progress=True,
    )
    print(json.dumps(found.to_json(), indent=2) if args.json else found)
