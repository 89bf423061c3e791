import pytest
import torch

from bgr.models.batching import Sentences, make_batch
from bgr.models.ragged import EncodedRows
from bgr.models.state_cache import cache_encoded
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query

FACTS = [
    "Paris is the capital of France .",
    "Persona was made in Sweden .",
    "Rome is the capital of Italy .",
    "Alpha has 3 people .",
    "Sweden",
]
QUERIES = [
    Query("In which country was Persona made ?", FACTS[:4]),
    Query("What is the capital of France ?", [FACTS[0], FACTS[2], FACTS[4]]),
]


def logits(model, tokenizer, facts):
    questions = Sentences((q.question for q in QUERIES), tokenizer, max_tokens=64)
    batch = make_batch(questions, facts, [(q.question, q.facts) for q in QUERIES])
    reading = model.encode_batch(batch.questions, batch.facts, batch.candidates)
    paths = model.start(reading)
    one = model.extend(reading, paths, torch.tensor([0, 1]), torch.tensor([2, 1]))
    return torch.cat([model.match(reading, paths), model.match(reading, one)])


@pytest.mark.parametrize("settings", [{}, {"frozen_layers": 2, "width": 24, "context_layers": 1}], ids=str)
def test_kept_facts_give_the_same_logits(make_retriever, tokenizer, tmp_path, settings):
    model = make_retriever("forward", **settings)
    fresh, kept = (Sentences(FACTS, tokenizer, max_tokens=64) for _ in range(2))
    cache_encoded(kept, model, tmp_path)
    assert isinstance(kept.rows, EncodedRows)
    assert kept.rows.flat.dtype == torch.float16
    assert kept.rows.flat.shape == (len(fresh.rows.flat), model.config.width)
    with torch.no_grad():
        torch.testing.assert_close(
            logits(model, tokenizer, kept), logits(model, tokenizer, fresh), atol=1e-2, rtol=1e-2
        )


def test_the_file_is_found_again_and_only_by_the_same_model_and_facts(make_retriever, tokenizer, tmp_path):
    def files(model, facts):
        cache_encoded(Sentences(facts, tokenizer, max_tokens=64), model, tmp_path)
        return {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npy")}

    once = files(make_retriever(), FACTS)
    assert len(once) == 1
    assert files(make_retriever(), FACTS) == once
    assert len(files(make_retriever(seed=1), FACTS)) == 2
    assert len(files(make_retriever(), FACTS[:3])) == 3
    assert not list(tmp_path.glob("*.part"))


def test_an_interrupted_write_is_not_taken_for_whole(make_retriever, tokenizer, tmp_path, monkeypatch):
    model = make_retriever()
    monkeypatch.setattr("bgr.models.state_cache.CHUNK", 2)
    encode, calls = model.encode, []

    def stops(rows):
        calls.append(rows)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return encode(rows)

    monkeypatch.setattr(model, "encode", stops)
    with pytest.raises(KeyboardInterrupt):
        cache_encoded(Sentences(FACTS, tokenizer, max_tokens=64), model, tmp_path)
    assert not list(tmp_path.glob("*.npy"))
    monkeypatch.undo()
    kept = Sentences(FACTS, tokenizer, max_tokens=64)
    cache_encoded(kept, model, tmp_path)
    fresh = Sentences(FACTS, tokenizer, max_tokens=64)
    with torch.no_grad():
        torch.testing.assert_close(kept.rows.flat.float(), model.encode(fresh.rows).flat, atol=1e-2, rtol=1e-2)


def test_the_pipeline_finds_the_same_graphs(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    before = pipeline.retrieve_directions(QUERIES)
    pipeline.keep_facts(FACTS, tmp_path / "facts")
    kept = pipeline.retrieve_directions(QUERIES)
    assert [(f.forward.graph, f.backward.graph) for f in kept] == [(f.forward.graph, f.backward.graph) for f in before]
    for one, two in zip(before, kept, strict=True):
        assert two.forward.odds == pytest.approx(one.forward.odds, abs=1e-2)
    other = [Query("In which country was Persona made ?", ["Persona was made in Italy .", FACTS[0]])]
    assert pipeline.retrieve_directions(other) == BgrPipeline.from_pretrained(small_checkpoint).retrieve_directions(
        other
    )


def test_kept_facts_are_what_the_pipeline_reads(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    pipeline.keep_facts(FACTS, tmp_path / "facts")
    pipeline.kept[0].rows.flat[:] = float("nan")
    graphs = pipeline.retrieve_directions(QUERIES)
    assert not any(odds == odds for odds in graphs[0].forward.odds.values())
