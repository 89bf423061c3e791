"""Training of a reader: T5 on questions with evidence, from scratch or from a checkpoint (paper, section 5.3)."""

from __future__ import annotations

import json
from pathlib import Path

from bgr import __version__
from bgr.reader.reader import Reader
from bgr.reader.slots import PLACEHOLDERS
from bgr.utils.devices import fast_bfloat16, pick_device
from training.run import Run, check_folder, prepare_folder
from training.seq2seq.data import train_tokenizer, word_tokenizer
from training.seq2seq.module import Seq2seqModule, fit_seq2seq, parse_seq2seq
from training.seq2seq.reader_data import ReaderData


def train_reader(run: Run, *, overwrite: bool = False) -> dict[str, float]:
    """Train, keep the epoch with the highest dev score, and save it to ``run.out``.

    The default precision is bfloat16 if it is fast on the device.

    Args:
        run: the training run; `data` is a dataset folder.
        overwrite: replace ``run.out`` if it exists.

    Returns:
        ``dev_exact``: share of dev answers reproduced exactly from gold evidence; ``pairs``: number of training pairs;
        ``left_out``: number of questions whose answers placeholders cannot express.

    Raises:
        BgrError: a setting, the dataset or the initial model is invalid; nothing is written in this case.
    """
    check_folder(run, overwrite=overwrite)
    precision = "bf16-mixed" if fast_bfloat16(pick_device()) else "32-true"
    cli = parse_seq2seq(run, ReaderData, "reader", monitor="dev/score", mode="max", precision=precision)
    module: Seq2seqModule = cli.model
    data: ReaderData = cli.datamodule
    data.setup()
    slots = data.settings.slots
    if slots:
        module.start(lambda _: word_tokenizer([*PLACEHOLDERS, *data.settings.words]), more=PLACEHOLDERS)
    else:
        texts = (text for pair in data.pairs["train"] for text in pair)
        module.start(lambda vocabulary: train_tokenizer(texts, vocabulary))
    data.tokenize(data.pairs, module.tokenizer, max_tokens=data.settings.most_tokens)
    prepare_folder(run, overwrite=overwrite)
    best = fit_seq2seq(run, cli)
    data.settings.save(run.out)
    metrics = {"dev_exact": best, "pairs": len(data.pairs["train"]), "left_out": data.left_out}
    (run.out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    (run.out / "README.md").write_text(model_card(module, data, metrics), encoding="utf-8")
    check(run.out)
    return metrics


def check(folder: Path) -> None:
    """Load the written folder as users will."""
    Reader.from_pretrained(folder, device="cpu")


def model_card(module: Seq2seqModule, data: ReaderData, metrics: dict[str, float]) -> str:
    """The checkpoint's README."""
    settings = data.settings
    start = module.hparams["init"] or "random weights, own tokenizer"
    rows = {
        "model": f"{module.model.config.model_type}, {sum(w.numel() for w in module.model.parameters()):,} weights",
        "started from": start,
        "training pairs": f"{metrics['pairs']:,}",
        "graph structure in words": "yes" if settings.structure else "no",
        "names and quantities": "placeholders" if settings.slots else "text",
        "maximum input, answer": f"{settings.most_tokens}, {settings.longest_answer} tokens",
        "dev answers exactly correct, gold evidence": f"{metrics['dev_exact']:.1%} of {len(data.pairs['dev']):,}",
        "trained on data": f"SHA-256 `{settings.data_hash}`",
        "written by": f"bgr {__version__}",
    }
    lines = [
        "---",
        "library_name: transformers",
        "license: apache-2.0",
        "tags: [question-answering, reasongraphqa]",
        "---",
        "",
        "# Reader: question and evidence graph to answer",
        "",
        "```python",
        "from bgr.reader.reader import Reader, ReaderInput",
        "",
        'answers = Reader.from_pretrained("this/folder").answer([ReaderInput(question, facts, graph)])',
        "```",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {value} |" for name, value in rows.items()),
    ]
    return "\n".join(lines) + "\n"
