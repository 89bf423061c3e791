"""Small inputs of every command, made by the commands themselves; and the server of a language model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ..bgr.cli.conftest import capital_questions
from ..conftest import small_bert, word_tokenizer, write_encoder, write_toy_data
from ..mutations.world import write_source
from . import forks

TRAINER = """
trainer:
  max_epochs: {epochs}
  accelerator: cpu
  num_sanity_val_steps: 0
  enable_model_summary: false
  enable_progress_bar: false
"""
RETRIEVER = """seed_everything: 3
model:
  context_layers: 1
  words: true
  rows: 2
  links: 4
  numbers: true
  relevance: true
  completeness: true
  prune: 4
  loss: zlpr
  encoder: {encoder}
  frozen_layers: 1
  width: 64
  dropout: 0.2
  learning_rate: 3.0e-3
  encoder_learning_rate: 1.0e-3
data:
  batch_size: 6"""
BASELINE = """seed_everything: 3
model:
  kind: dpr
  encoder: {encoder}
  frozen_layers: 1
  width: 64
  dropout: 0.0
  learning_rate: 3.0e-3
data:
  batch_size: 6"""
READER = """seed_everything: 3
model:
  layers: 1
  encoder: {encoder}
  frozen_layers: 1
  width: 64
  dropout: 0.0
  learning_rate: 3.0e-3
data:
  batch_size: 6"""
VERBALIZER = """seed_everything: 3
model: {{vocabulary: 300, width: 32, layers: 1, heads: 2, feed_forward: 64, learning_rate: 1.0e-2}}
data: {{pairs: 60, dev_pairs: 10, batch_size: 20}}"""

QUESTION = "What is the capital of the country where Persona was made ?"
TEXTS = [
    "Persona was made in Sweden .", "alpha is the capital of Sweden .", "Paris is the capital of France .",
    "Rome is the capital of Italy .", "Bergman directed Persona .", "Radium has 7 people .",
    "Paris lies in France .", "Rome lies in Italy .",
]  # fmt: skip
QUESTIONS = [QUESTION, "What is the capital of France ?", "Who directed Persona ?", "How many people has Radium ?"]


def make(world: Path, llm: str) -> Path:
    """Write all inputs to a new folder, with replies of the server `llm`; about half a minute."""
    world.mkdir(parents=True)
    made = forks.run(lambda: _plain(world), world / "log")
    assert made.code == 0, made.error
    for name, words in _COMMANDS.items():
        filled = [word.format(world=world, question=QUESTION, llm=llm) for word in words.split(" | ")]
        ended = forks.run(forks.command(filled, {"BGR_CACHE": str(world / "cache")}), world / "log")
        assert ended.code == 0, f"{name}: {ended.error[-2000:]}"
    return world


_COMMANDS = {
    "run": "train | retriever | --config | {world}/retriever.yaml | --data | {world}/data | --out | {world}/run",
    "baseline": "train | baseline | --config | {world}/baseline.yaml | --data | {world}/data"
    " | --out | {world}/baseline",
    "reader": "train | reader | --config | {world}/reader.yaml | --data | {world}/data | --out | {world}/reader",
    "verbalizer": "train | verbalizer | --config | {world}/verbalizer.yaml | --kqapro | {world}/source"
    " | --out | {world}/verbalizer",
    "checkpoint": "export | --run | {world}/run | --reader | {world}/reader | --out | {world}/checkpoint",
    "collection": "collection | build | --corpus | {world}/corpus.jsonl | --triples | {world}/openie.json"
    " | --encoder | {world}/encoder | --out | {world}/collection",
    "hops": "ask | --checkpoint | {world}/checkpoint | --collection | {world}/collection | --json | {question}",
    "evaluation": "evaluate | --checkpoint | {world}/checkpoint | --data | {world}/data | --out | {world}/evaluation",
    "built": "data | build | --kqapro | {world}/source | --similarity | {world}/encoder | --out | {world}/built",
    "facts": "collection | build | --corpus | {world}/built | --encoder | {world}/encoder | --out | {world}/facts",
    "released": "data | convert | {world}/data | {world}/released | --to | released",
    "compared": "compare | --data | {world}/passages.json | --samples | 20 | --systems | llm-edges | --llm | {llm}"
    " | --replay | {world}/replies.db | --out | {world}/compared",
}
"""Parts of the world that commands write, in order."""


def _plain(world: Path) -> int:
    tokenizer = word_tokenizer()
    write_encoder(world / "encoder", tokenizer, small_bert(tokenizer))
    write_source(world / "source")
    write_toy_data(world / "data", 18, 6, 6)
    for name, text, epochs in (
        ("retriever", RETRIEVER, 2),
        ("baseline", BASELINE, 2),
        ("reader", READER, 2),
        ("verbalizer", VERBALIZER, 2),
    ):
        filled = text.format(encoder=world / "encoder") + TRAINER.format(epochs=epochs)
        (world / f"{name}.yaml").write_text(filled)
    _lines(world / "corpus.jsonl", [{"id": f"p{n}", "title": "", "text": text} for n, text in enumerate(TEXTS[:6])])
    _lines(world / "more.jsonl", [{"id": f"m{n}", "title": "", "text": text} for n, text in enumerate(TEXTS[6:])])
    triples = [[["Persona", "made in", "Sweden"]], [["alpha", "capital of", "Sweden"]], *([] for _ in TEXTS[2:6])]
    docs = [
        {"idx": f"p{n}", "passage": text, "extracted_entities": [], "extracted_triples": found}
        for n, (text, found) in enumerate(zip(TEXTS, triples, strict=False))
    ]
    (world / "openie.json").write_text(json.dumps({"docs": docs}))
    _lines(
        world / "asked.jsonl", [{"id": f"q{n}", "question": text} for n, text in enumerate(QUESTIONS * 20) if n < 70]
    )
    own = [{"id": f"q{n}", "question": text, "facts": TEXTS} for n, text in enumerate(QUESTIONS)]
    _lines(world / "own.jsonl", own)
    labelled = [
        {
            "id": f"q{n}",
            "split": split,
            "question": f"{n} {QUESTION}",
            "facts": TEXTS[:4],
            "graph": {"nodes": [0, 1], "edges": [[-1, 0], [0, 1]]},
            "answer": "alpha",
        }
        for n, split in enumerate(["train"] * 6 + ["dev"] * 3 + ["test"] * 3)
    ]
    _lines(world / "labelled.jsonl", labelled)
    (world / "facts.txt").write_text("\n".join(TEXTS) + "\n")
    posed, found = capital_questions(4)
    (world / "passages.json").write_text(json.dumps(posed))
    (world / "triples.json").write_text(json.dumps(found))
    return 0


def _lines(path: Path, records: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


class Server:
    """The language model of the tests, which answers with objects of the schema, in a process of its own: threads of
    this one would forbid forks."""

    def __init__(self, *, malformed: bool = False) -> None:
        self._write = (
            "tests.campaign.replies import write" if malformed else "tests.bgr.cli.conftest import reply_to as write"
        )

    def __enter__(self) -> str:
        """Start it; gives its address as ``--llm`` takes it."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {self._write}\n{_SERVE}"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        return f"http://127.0.0.1:{port}/v1#tiny"

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


_SERVE = """
from collections import Counter
from http.server import ThreadingHTTPServer
from tests.bgr.cli.conftest import USAGE, handler
http = ThreadingHTTPServer(("127.0.0.1", 0), handler(write, Counter(), USAGE))
print(http.server_port, flush=True)
http.serve_forever()
"""
