"""Training of a reader: words, pairs, retrieved graphs, and the command from end to end."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from bgr.cli import main
from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics.answers import answer_match
from bgr.models.truncation import Truncation
from bgr.reader.reader import ReaderInput
from bgr.reader.seq2seq import Seq2seqReader
from training.seq2seq.reader import ReaderData, everyday_words, retrieved_graphs

CONFIG = """
seed_everything: 3
model: {{vocabulary: 400, width: {width}, layers: {layers}, heads: 4, feed_forward: 64, learning_rate: {rate}}}
data: {{batch_size: 20, slots: {slots}}}
trainer:
  max_epochs: {epochs}
  accelerator: cpu
  precision: 32-true
  num_sanity_val_steps: 0
  enable_model_summary: false
  enable_progress_bar: false
"""


@pytest.fixture
def train(tmp_path, toy_data):
    def run(out, *more, epochs=1, slots="true", width=32, layers=1, rate="1.0e-2"):
        config = CONFIG.format(epochs=epochs, slots=slots, width=width, layers=layers, rate=rate)
        (tmp_path / "config.yaml").write_text(config)
        words = ["--config", str(tmp_path / "config.yaml"), "--data", str(toy_data), "--out", str(tmp_path / out)]
        return main(["train", "reader", *words, *more])

    return run


def test_everyday_words_are_those_written_small():
    texts = ["Who made Diva? Diva is by Ozon, says the IMDb."] * 30 + ["Tell me of Ozon in May. It is so."] * 30
    words = everyday_words(texts, ["92 minute", "yes", "cast member"] * 30)
    assert {"who", "made", "is", "by", "the", "tell", "me", "of", "minute", "cast", "member", "IMDb"} <= set(words)
    assert not {"diva", "ozon", "may", "Diva"} & set(words)
    assert {"0", "30", "yes", "no"} <= set(words)
    assert words == tuple(sorted(words)) == everyday_words(texts[::-1], ["yes", "cast member", "92 minute"] * 30)


def test_pairs_come_from_gold_graphs(toy_data):
    data = ReaderData(str(toy_data), slots=False, structure=True, limit=7, dev_limit=2)
    data.setup()
    assert (len(data.pairs["train"]), len(data.pairs["dev"])) == (7, 2)
    source, answer = data.pairs["train"][0]
    assert source.endswith("evidence: Persona was made in france . Then: paris is the capital of france .")
    assert answer == "paris"


def test_long_inputs_are_counted_once(toy_data, tokenizer):
    data = ReaderData(str(toy_data), slots=False, structure=True)
    data.setup()
    sources = {source for pairs in data.pairs.values() for source, _ in pairs}
    lengths = sorted(len(row) for row in tokenizer(list(sources))["input_ids"])
    for most in (lengths[0] - 1, lengths[0], lengths[-1]):
        data.tokenize(tokenizer, max_tokens=most)
        assert data.truncation == Truncation(sum(length > most for length in lengths), len(sources))
        assert max(len(source) for source, _ in data.tokens["train"]) <= most
    assert data.truncation.truncated == 0
    data.tokenize(tokenizer)
    assert data.truncation.truncated == 0


def predictions(path, examples, edges=((ROOT, 0, 0.9),), system="fused", **changes):
    rows = [
        {"id": e.id, "question": e.question, "predictions": {system: {"edges": [list(edge) for edge in edges]}}}
        for e in examples
    ]
    path.write_text("".join(json.dumps(row | changes) + "\n" for row in rows))
    return path


def test_retrieved_graphs_are_read_beside_gold_ones(toy_data, tmp_path):
    examples = load_split(toy_data, "train")
    path = predictions(tmp_path / "p.jsonl", examples[:4])
    data = ReaderData(str(toy_data), slots=False, retrieved=str(path))
    data.setup()
    assert len(data.pairs["train"]) == len(examples) + 4
    first = examples[0]
    assert data.pairs["train"][-4] == (f"question: {first.question} evidence: {first.facts[0]}", first.answer)


def test_retrieved_graphs_of_the_test_split_are_refused(toy_data, tmp_path):
    path = predictions(tmp_path / "p.jsonl", load_split(toy_data, "test"))
    with pytest.raises(DataError, match="line 1: 'c0' is not a question of the train split"):
        retrieved_graphs(path, load_split(toy_data, "train"), "fused")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"system": "bm25"}, "line 1: no graph of 'fused'"),
        ({"edges": [(ROOT, 99, 0.5)]}, "line 1: an edge to fact 99, but there are 5 facts"),
        ({"edges": [(3, 4, 0.5)]}, r"line 1: facts \[3, 4\] cannot be reached"),
        ({"edges": ["ab"]}, "line 1: no graph of 'fused'"),
        ({"question": "other"}, "line 1: 'a0' is not a question"),
    ],
)
def test_bad_retrieved_graphs_are_one_line(toy_data, tmp_path, written, said):
    examples = load_split(toy_data, "train")
    path = predictions(tmp_path / "p.jsonl", examples, **written)
    with pytest.raises(DataError, match=said):
        retrieved_graphs(path, examples, "fused")
    with pytest.raises(DataError, match="no such file"):
        retrieved_graphs(tmp_path / "none.jsonl", examples, "fused")


@pytest.mark.parametrize("slots", ["true", "false"])
def test_a_run_is_a_reader_with_card(train, tmp_path, toy_data, capsys, slots):
    assert train("out", "--json", slots=slots) == 0
    metrics = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert json.loads((tmp_path / "out" / "metrics.json").read_text()) == metrics
    assert (metrics["pairs"], metrics["left_out"], metrics["truncated"]) == (30, 0, 0)
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers")
    assert "| longer inputs in training | truncated: 0 of " in card
    assert ("placeholders" in card) == (slots == "true")
    reader = Seq2seqReader.from_pretrained(tmp_path / "out", device="cpu", precision="32")
    examples = load_split(toy_data, "dev")
    answers = reader.answer([ReaderInput(e.question, e.facts, e.graph) for e in examples])
    # generation reproduces the texts that validation counts as exact
    exact = sum(answer_match(a.text, e.answer) for a, e in zip(answers, examples, strict=True)) / len(examples)
    assert exact == pytest.approx(metrics["dev_exact"])
    assert train("out") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert train("more", "--init", str(tmp_path / "out"), slots=slots) == 0


def test_answers_without_evidence(train, tmp_path, toy_data):
    assert train("out") == 0
    reader = Seq2seqReader.from_pretrained(tmp_path / "out", device="cpu", precision="32")
    examples = load_split(toy_data, "dev")
    assert all(
        a.text is None for a in reader.answer([ReaderInput(e.question, e.facts, EvidenceGraph()) for e in examples])
    )
    # the toy questions are all equal, so answers without evidence are too
    assert len({a.text for a in reader.answer_alone([e.question for e in examples])}) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--model.colour=red"], "colour"),
        (["--data.batch_size=0"], "batch_size"),
        (["--init", "/no/such/t5"], "/no/such/t5: no such folder"),
        (["--data", "/no/such/data"], "/no/such/data/train.jsonl: no such file"),
        (["--data.retrieved=/no/such.jsonl"], "/no/such.jsonl: no such file"),
    ],
)
def test_bad_settings_are_one_line_and_write_nothing(train, refused, more, said):
    refused(train("out", *more), said, "out")


def puzzles(count, prefix, rng):
    """Who is older, A or B? And: where does A live? All names are made up, and new ones each time."""

    def name():
        return "".join(rng.choices("bdfgklmnprst", k=3)).capitalize() + rng.choice("aeiou")

    for number in range(count):
        one, other, town, third = (name() for _ in range(4))
        ages = rng.sample(range(10, 90), 2)
        facts = [
            f"{one} is {ages[0]} years of age.",
            f"{other} is {ages[1]} years of age.",
            f"{third} lives in {town}.",
        ]
        if number % 2:
            older = one if ages[0] > ages[1] else other
            question, graph, answer = f"Who is older, {one} or {other}?", [(ROOT, 0), (ROOT, 1)], older
        else:
            question, graph, answer = f"In which town does {third} live?", [(ROOT, 2)], town
        yield Example(f"{prefix}{number}", question, tuple(facts), EvidenceGraph(graph), answer, (), "query")


@pytest.mark.slow
def test_it_learns_names_it_never_saw_and_resumes_as_if_never_stopped(train, tmp_path, monkeypatch, capsys):
    rng = random.Random(0)
    data = tmp_path / "puzzles"
    parts = {"train": 2000, "dev": 200, "test": 200}
    write_dataset(data, {name: list(puzzles(n, name, rng)) for name, n in parts.items()}, [], {})
    sizes = {"width": 64, "layers": 2, "rate": "3.0e-3"}
    assert train("long", "--data", str(data), "--json", epochs=6, **sizes) == 0
    assert json.loads(capsys.readouterr().out.strip().splitlines()[-1])["dev_exact"] > 0.9
    reader = Seq2seqReader.from_pretrained(tmp_path / "long", device="cpu")
    examples = load_split(data, "test")
    gold = reader.answer([ReaderInput(e.question, e.facts, e.graph) for e in examples])
    alone = reader.answer_alone([e.question for e in examples])
    for answers, least, most in ((gold, 0.9, 1.0), (alone, 0.0, 0.35)):
        share = sum(answer_match(a.text, e.answer) for a, e in zip(answers, examples, strict=True)) / len(examples)
        assert least <= share <= most

    class Stopped(Exception):
        pass

    def stop(self):
        if self.current_epoch == 2:
            raise Stopped

    from training.run import Run
    from training.seq2seq.module import Seq2seqModule
    from training.seq2seq.reader import train_reader

    job = Run(tmp_path / "config.yaml", data, tmp_path / "parts")
    with monkeypatch.context() as patch:
        patch.setattr(Seq2seqModule, "on_train_epoch_start", stop)
        with pytest.raises(Stopped):
            train_reader(job)
    train_reader(replace(job, resume=True))
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("long", "parts"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_learning_rate_far_too_high_is_one_line_and_nothing_is_written(train, tmp_path, capsys):
    assert train("run", rate="1.0e+30", epochs=3) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("bgr train: error: reader: the ")
    assert "(--model.learning_rate, --model.matrix_learning_rate)" in said
    assert "no checkpoint was written yet, --overwrite starts again" in said
    assert not list((tmp_path / "run").glob("*.json"))
