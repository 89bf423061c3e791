"""`bgr bench gpu`: the paper's setting on a GPU, trained for some minutes and measured."""

from __future__ import annotations

import platform
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr import __version__
from bgr.cli import child_process
from bgr.errors import BgrError
from bgr.utils.atomic_io import read_json, write_json

if TYPE_CHECKING:
    from eval.bench.measure import BenchResult
    from eval.bench.options import GpuBenchOptions

DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class Size:
    """Sizes of a run: encoder, questions of the dataset, of the benchmarks and on dev, and the steps between two logged
    losses."""

    model: str
    questions: int
    measured: int
    dev: int
    log: int


SIZES = {"cuda": Size("random-bert-base", 2_000, 64, 200, 10), "cpu": Size("random-bert-tiny", 60, 4, 4, 1)}


def bench_gpu(options: GpuBenchOptions) -> BenchResult:
    """Run all steps in ``options.out``.

    Returns:
        The machine, the numbers of the benchmarks and the last metrics of the training, which are in ``summary.json``
        too.

    Raises:
        BgrError: there is no such device, a step failed, or the folder exists.
    """
    import torch

    from bgr.utils.atomic_io import is_empty
    from bgr.utils.devices import pick_device
    from eval.bench.measure import BenchResult
    from eval.bench.options import RANDOM
    from eval.bench.setting import write_random_encoder
    from eval.report.curves import plot_curves, read_curves

    device, size, out = pick_device(options.device), SIZES[options.device], options.out
    if out.exists() and not options.overwrite and not is_empty(out):
        raise BgrError(f"{out}: exists already; give --overwrite to replace its files")
    out.mkdir(parents=True, exist_ok=True)
    model = options.model or size.model
    random = model in RANDOM
    encoder = str(write_random_encoder(model, out / "encoder")) if random else model
    started = time.perf_counter()
    steps = _Steps(out)
    atlas, data, run = out / "atlas", out / "data", out / "run"
    count = ["--questions", str(options.questions or size.questions), "--seed", str(options.seed), "--overwrite"]
    steps.run("atlas", "atlas", "--out", atlas, *count)
    build = ["--recipe", "paper", "--seed", options.seed, "--overwrite"]
    steps.run("data", "data", "build", "--kqapro", atlas, "--out", data, *build)
    setting = ["--data", data, "--model", model, "--model-config", "paper", "--no-plain", "--device", options.device]
    setting += ["--questions", size.measured, "--rounds", 2, "--seed", options.seed, "--json"]
    for name in ("train", "infer"):
        for precision in ("32", "bf16"):
            steps.run(f"bench-{name}-{precision}", "bench", name, *setting, "--precision", precision, json=True)
    words = ["--config", "paper", "--data", data, "--out", run, "--overwrite", "--seed", options.seed]
    words += [f"--model.encoder={encoder}", f"--model.pretrained={str(not random).lower()}"]
    words += [f"--data.dev_limit={size.dev}", f"--trainer.log_every_n_steps={size.log}"]
    words += [f"--trainer.accelerator={options.device}", f"--trainer.max_time={_clock(options.minutes / 2)}"]
    steps.run("train", "train", "retriever", *words, "--json")
    logs = {name: run / "training" / name / "csv" / "metrics.csv" for name in DIRECTIONS}
    about = _machine(device, torch.__version__)
    about |= {"encoder": model, "weights": "random: the scores say nothing of the method" if random else "pretrained"}
    plot_curves(logs, out / "curve.png", f"config paper, {model}, {about['device']}, {options.minutes:g} minutes")
    training = {}
    for name, log in logs.items():
        curves = read_curves(log)
        training[name] = {metric: values[-1] for metric, (_, values) in curves.items() if values}
        training[name] |= {"first_loss": curves["train/loss"][1][0], "steps": 1 + int(curves["train/loss"][0][-1])}
    used = {
        name: read_json(out / f"{name}.json")["utilization"][0] for name in steps.seconds if name.startswith("bench-")
    }
    seconds = {**steps.seconds, "all": time.perf_counter() - started}
    summary = {"machine": about, "utilization": used, "training": training, "seconds": seconds}
    write_json(out / "summary.json", summary)
    return BenchResult(_text(summary, out), summary)


class _Steps:
    """Commands of `bgr`, each in a process that frees its memory, with their output in a file of the folder."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.seconds: dict[str, float] = {}

    def run(self, name: str, *command: object, json: bool = False) -> None:
        """Run `bgr` with these words; its output becomes ``NAME.json`` or ``NAME.log``; BgrError if it fails."""
        words: Sequence[str] = list(map(str, command))
        print(f"$ bgr {shlex.join(words)}", flush=True)
        began = time.perf_counter()
        log = self.out / f"{name}.log"
        with log.open("w", encoding="utf-8") as errors:
            output = (self.out / f"{name}.json").open("w", encoding="utf-8") if json else errors
            code = subprocess.run(**child_process(words), stdout=output, stderr=errors, check=False).returncode
            if json:
                output.close()
        if code:
            last = (log.read_text(encoding="utf-8").strip().splitlines() or ["no output"])[-1]
            raise BgrError(f"stopped at: bgr {shlex.join(words)}: {last} (see {log})")
        self.seconds[name] = time.perf_counter() - began
        print(f"[{self.seconds[name]:.0f} s]", flush=True)


def _clock(minutes: float) -> str:
    """A duration as Lightning reads it: days, hours, minutes, seconds."""
    seconds = max(1, round(60 * minutes))
    return f"00:{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _machine(device: Any, version: str) -> dict[str, Any]:
    import torch

    from bgr.utils.devices import cores

    on_gpu = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu else platform.processor() or platform.machine(),
        "memory_gb": torch.cuda.get_device_properties(device).total_memory / 1e9 if on_gpu else None,
        "cores": cores(),
        "torch": version,
        "cuda": torch.version.cuda,
        "bgr": __version__,
    }


def _text(summary: Mapping[str, Any], out: Path) -> str:
    lines = [", ".join(f"{name} {value}" for name, value in summary["machine"].items() if value is not None)]
    for name, one in summary["utilization"].items():
        lines.append(
            f"{name}: {one['questions_per_second']:.1f} questions a second, {one['share_of_peak']:.0%} of the peak of "
            f"{one['peak_tflops']:.3g} TFLOP/s, {one['memory_gb']:.2f} GB"
        )
    for name, one in summary["training"].items():
        scores = ", ".join(f"{metric} {value:.3f}" for metric, value in one.items() if metric.startswith("dev/"))
        loss = f"loss {one['first_loss']:.3f} to {one['train/loss']:.3f}"
        lines.append(f"training, {name}: {one['steps']} steps, {loss}, {scores}")
    return "\n".join([*lines, f"{out / 'summary.json'}, {out / 'curve.png'}; {summary['seconds']['all']:.0f} s"])
