"""The reader: its input text, batches, confidence, files and invalid input."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file, save_file

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.reader.loading import reader_of
from bgr.reader.reader import NOT_ANSWERABLE, ReaderInput
from bgr.reader.seq2seq import ReaderSettings, Seq2seqReader, linearize

FACTS = ("Persona was made in Sweden.", "Stockholm is the capital of Sweden.", "Rome is in Italy.")
ITEMS = [
    ReaderInput("What is the capital?", FACTS, EvidenceGraph([(ROOT, 0), (0, 1)])),
    ReaderInput("Where was Persona made?", FACTS, EvidenceGraph([(ROOT, 0)])),
    ReaderInput("Where was Persona made?", FACTS, EvidenceGraph()),
    ReaderInput("What is Rome?", FACTS, EvidenceGraph([(ROOT, 2), (ROOT, 0), (ROOT, 1)])),
]


def near(one, other):
    return [a.text for a in one] == [a.text for a in other] and all(
        math.isclose(a.confidence, b.confidence, abs_tol=1e-5) for a, b in zip(one, other, strict=True)
    )


def test_a_batch_equals_one_at_a_time_in_any_order(make_reader):
    reader = make_reader()
    together = reader.answer(ITEMS)
    assert near(together, [reader.answer([item])[0] for item in ITEMS])
    assert near(together[::-1], reader.answer(ITEMS[::-1], batch_size=2))
    assert reader.answer([]) == []


def test_without_evidence_there_is_no_answer(make_reader):
    reader = make_reader()
    assert reader.answer(ITEMS)[2] == NOT_ANSWERABLE
    # the model itself can still be called
    assert reader.read(["question: Where was Persona made? evidence:"])[0].confidence > 0


def test_confidence_is_the_mean_token_probability(make_reader):
    """Compare with the model called token by token."""
    reader = make_reader()
    [answer] = reader.read(["question: Where was Persona made?"])
    source = reader.tokenizer("question : where was <extra_id_0> made ?", return_tensors="pt")["input_ids"]
    written, logs = [0], []
    while len(logs) < 5 and written[-1] != 1:
        with torch.no_grad():
            logits = reader.model(input_ids=source, decoder_input_ids=torch.tensor([written])).logits[0, -1]
        written.append(int(logits.argmax()))
        logs.append(float(logits.log_softmax(-1).max()))
    assert answer.confidence == pytest.approx(math.exp(sum(logs) / len(logs)), abs=1e-5)


def test_an_answer_is_never_longer_than_said(make_reader):
    reader = make_reader(longest_answer=2)
    rows = reader._generate([reader.tokenizer("where was <extra_id_0>")["input_ids"]] * 3)
    assert all(len(text.split()) <= 2 for text, _ in rows)


def test_saved_and_loaded_it_answers_alike(make_reader, tmp_path):
    reader = make_reader(structure=False, most_tokens=9)
    reader.save(tmp_path)
    loaded = Seq2seqReader.from_pretrained(tmp_path, device="cpu", precision="32")
    assert loaded.settings == reader.settings
    assert near(loaded.answer(ITEMS), reader.answer(ITEMS))


def test_a_checkpoint_may_hold_no_reader(make_reader, tmp_path):
    assert reader_of(tmp_path) is None
    (tmp_path / "reader").mkdir()
    with pytest.raises(BgrError, match=r"reader\.json: no such file"):
        reader_of(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 9}, "not a reader of format 1"),
        ({"colour": 1}, "unknown field 'colour'"),
        ({"slots": 1}, "slots is 1, allowed: a valid boolean"),
        ({"words": [1]}, "words.0 is 1, allowed: a valid string"),
        ({"most_tokens": 0}, "most_tokens is 0, allowed: greater than or equal to 1"),
        ({"longest_answer": "7"}, "longest_answer is '7'"),
    ],
)
def test_bad_settings_are_one_line(tmp_path, change, said):
    ReaderSettings().save(tmp_path)
    record = json.loads((tmp_path / "reader.json").read_text())
    (tmp_path / "reader.json").write_text(json.dumps(record | change))
    with pytest.raises(BgrError) as error:
        ReaderSettings.load(tmp_path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("damage", ["cut off", "not finite", "no tokenizer", "other vocabulary"])
def test_damaged_files_are_one_line(make_reader, tmp_path, damage):
    make_reader().save(tmp_path)
    weights = tmp_path / "model.safetensors"
    if damage == "cut off":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif damage == "not finite":
        tensors = load_file(weights)
        tensors["shared.weight"][3, 3] = float("nan")
        save_file(tensors, weights, metadata={"format": "pt"})
    elif damage == "no tokenizer":
        (tmp_path / "tokenizer.json").unlink()
    else:
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": 5}))
    with pytest.raises(BgrError) as error:
        Seq2seqReader.from_pretrained(tmp_path)
    assert str(tmp_path) in str(error.value)


CHAIN_FACTS = ("A leads to B.", "B is 3.", "C is 5.", "unused")


def test_plain_text_holds_the_evidence_alone_in_the_order_of_reasoning():
    graph = EvidenceGraph([(ROOT, 2), (2, 0), (0, 1)])
    text = linearize("How  many?", CHAIN_FACTS, graph, structure=False)
    assert text == "question: How many? evidence: C is 5. A leads to B. B is 3."


def test_the_structure_stands_in_words():
    graph = EvidenceGraph([(ROOT, 0), (0, 1), (ROOT, 2)])
    text = linearize("Which?", CHAIN_FACTS, graph, structure=True)
    assert text == "question: Which? evidence: A leads to B. Then: B is 3. On the other hand: C is 5."


def test_chains_that_meet_go_on_with_then():
    graph = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (1, 2)])
    text = linearize("Q", CHAIN_FACTS, graph, structure=True)
    assert text.endswith("A leads to B. On the other hand: B is 3. Then: C is 5.")


def test_linearized_without_evidence():
    assert linearize("Why?", CHAIN_FACTS, EvidenceGraph(), structure=True) == "question: Why? evidence:"
