"""A checkpoint finds and answers on the device what it does on the CPU, and is calibrated there."""

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.io.dataset import read_split
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.reconstruction import RULES, reconstruct
from training.data_module import BgrDataModule
from training.retriever.calibrate import THRESHOLDS, best_threshold, calibrated, decode_dev

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden .", "Alpha has 3 people ."]


@pytest.fixture
def questions(toy_data):
    return [Query(e.question, e.facts) for e in read_split(toy_data, "test")]


def near_odds(one, other):
    assert one.graph == other.graph
    assert one.odds.keys() == other.odds.keys()
    assert all(one.odds[edge] == pytest.approx(other.odds[edge], abs=1e-3) for edge in one.odds)


def test_both_directions_and_all_rules(on_device, random_checkpoint, questions):
    near = BgrPipeline.from_pretrained(random_checkpoint, device="cpu", precision="32").retrieve_directions(questions)
    with on_device() as device:
        pipeline = BgrPipeline.from_pretrained(random_checkpoint, device=device, precision="32")
        far = pipeline.retrieve_directions(questions)
    for one, other in zip(near, far, strict=True):
        near_odds(one.forward, other.forward)
        near_odds(one.backward, other.backward)
        for rule in RULES:
            graphs = [reconstruct(each.forward, each.backward, rule, 0.5).graph for each in (one, other)]
            assert graphs[0] == graphs[1], rule


def test_kept_facts(on_device, random_checkpoint, questions, tmp_path):
    facts = [fact for query in questions for fact in query.facts]
    near = BgrPipeline.from_pretrained(random_checkpoint, device="cpu", precision="32").retrieve(questions)
    with on_device() as device:
        pipeline = BgrPipeline.from_pretrained(random_checkpoint, device=device, precision="32")
        pipeline.keep_facts(facts, tmp_path)
        found = pipeline.retrieve(questions)
    assert [one.graph for one in found] == [one.graph for one in near]


def test_a_whole_collection_is_searched_hop_by_hop(on_device, pruned_checkpoint, tmp_path):
    documents = [{"id": f"p{n}", "title": "", "text": one} for n, one in enumerate(FACTS)]
    collection = Collection.build(documents, tmp_path / "films", encoder=None)
    asked = ["Where was Persona made ?", "Where lies Rome ?"]

    def texts(pipeline):
        hits = pipeline.search_over(collection).search(asked, 3)
        return [one.indices.tolist() for one in hits], [
            a.graph for a in pipeline.answer_all([*map(Query, asked)], collection=collection)
        ]

    near = texts(BgrPipeline.from_pretrained(pruned_checkpoint, device="cpu", precision="32"))
    with on_device() as device:
        assert texts(BgrPipeline.from_pretrained(pruned_checkpoint, device=device, precision="32")) == near


def test_bfloat16_on_the_device(chosen, random_checkpoint, questions):
    """Rounding moves odds, not by much."""
    full = BgrPipeline.from_pretrained(random_checkpoint, device=chosen, precision="32").retrieve_directions(questions)
    half = BgrPipeline.from_pretrained(random_checkpoint, device=chosen, precision="bf16").retrieve_directions(
        questions
    )
    for one, other in zip(full, half, strict=True):
        shared = one.forward.odds.keys() & other.forward.odds.keys()
        assert shared
        assert all(one.forward.odds[edge] == pytest.approx(other.forward.odds[edge], abs=0.1) for edge in shared)


@pytest.mark.parametrize("frozen", [0, 1])
def test_states_thresholds_and_calibration(
    on_device, make_retriever, toy_data, tokenizer, tmp_path, monkeypatch, frozen
):
    monkeypatch.setattr("bgr.utils.devices.fast_bfloat16", lambda device: False)  # else each device rounds in its way

    def chosen(device):
        data = BgrDataModule(str(toy_data))
        data.progress = False
        results = []
        for number, direction in enumerate(("forward", "backward")):
            model = make_retriever(direction, seed=number, frozen_layers=frozen, relevance=True, completeness=True)
            torch.nn.Module.to(model, device)
            data.prepare(tokenizer, model, tmp_path / str(device))
            assert best_threshold(model, data) in THRESHOLDS
            model.config.threshold = 0.5
            results.append(decode_dev(model, data))
        return results, calibrated(*results, data.splits["dev"])

    near = chosen(torch.device("cpu"))
    with on_device() as device:
        far = chosen(device)
    for results, others in zip(near[0], far[0], strict=True):
        for one, other in zip(results, others, strict=True):
            near_odds(one, other)
            assert one.completeness == pytest.approx(other.completeness, abs=1e-2)
    for direction in ("forward", "backward"):
        assert far[1].calibration[direction] == pytest.approx(near[1].calibration[direction], abs=1e-2)


def test_an_encoder_decoder(on_device, close):
    """The form of the readers and verbalizers: loss, gradients and greedy texts."""
    torch.manual_seed(0)
    model = T5ForConditionalGeneration(
        T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
    ).eval()
    ids, labels = torch.randint(2, 50, (3, 7)), torch.randint(2, 50, (3, 5))
    loss = model(input_ids=ids, labels=labels).loss
    loss.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        near = model(input_ids=ids, labels=labels).logits
    model.zero_grad()
    with on_device() as device:
        model.to(device)
        model.tie_weights()  # the stand-in for a GPU has new parameters
        found = model(input_ids=ids.to(device), labels=labels.to(device))
        found.loss.backward()
        close(loss, found.loss)
        close(near, found.logits)
        for name, p in model.named_parameters():
            close(gradients[name], p.grad, name)
