import multiprocessing
from dataclasses import replace

import pytest
import torch

from bgr.errors import DataError
from bgr.models.batching import Sentences, make_batch
from bgr.models.ragged import EncodedRows, Ragged, Rows
from bgr.models.state_cache import StateCache, cache_encoded
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
    assert kept.states.table.dtype == torch.float16
    rows = kept.take(range(len(kept)))
    assert isinstance(rows, EncodedRows)
    assert rows.flat.shape == (len(fresh.rows.flat), model.config.width)
    with torch.no_grad():
        torch.testing.assert_close(
            logits(model, tokenizer, kept), logits(model, tokenizer, fresh), atol=1e-2, rtol=1e-2
        )


class Cache:
    """A cache of the token ids themselves in place of states, which counts what is computed."""

    def __init__(self, folder, setting=""):
        self.cache = StateCache(folder, [torch.ones(3)], setting=setting, width=1, name="ids")
        self.calls = []

    def compute(self, rows):
        self.calls.append(rows.flat.tolist())
        return Ragged(rows.flat[:, None].float(), rows.lengths)

    def states(self, *rows):
        ids = Rows.from_lists(rows)
        stored, use = self.cache.states(ids, self.compute)
        assert stored.select(torch.arange(len(rows)), ids).flat.flatten().tolist() == ids.flat.tolist()
        backwards = torch.arange(len(rows)).flip(0)
        assert (
            stored.select(backwards, ids.select(backwards)).flat.flatten().tolist()
            == ids.select(backwards).flat.tolist()
        )
        return use.found, use.computed


def test_only_new_sentences_are_computed(tmp_path):
    cache = Cache(tmp_path)
    assert cache.states([1, 2], [3], [1, 2]) == (0, 2)
    assert cache.states([4], [3], [5, 6, 7]) == (1, 2)
    assert cache.states([5, 6, 7], [1, 2], [4], [3]) == (4, 0)
    assert cache.calls == [[1, 2, 3], [4, 5, 6, 7]]
    # of another process
    assert Cache(tmp_path).states([3], [1, 2, 3]) == (1, 1)
    assert Cache(tmp_path, "other layers").states([3]) == (0, 1)


def test_other_weights_have_other_states(make_retriever, tokenizer, tmp_path):
    for seed in (0, 1, 0):
        cache_encoded(Sentences(FACTS, tokenizer, max_tokens=64), make_retriever(seed=seed), tmp_path)
    assert len(list(tmp_path.glob("forward-*"))) == 2


@pytest.mark.parametrize("lost", ["states", "index", "both"])
def test_what_a_killed_process_left_is_computed_again(tmp_path, lost):
    Cache(tmp_path).states([1, 2], [3], [4, 5])
    [folder] = tmp_path.iterdir()
    whole = {name: (folder / name).read_bytes() for name in ("states.bin", "index.bin")}
    for size in range(len(whole["index.bin"])):
        for name, raw in whole.items():
            kept = raw[: size * len(raw) // len(whole["index.bin"])] if lost in (name[:6].strip("."), "both") else raw
            (folder / name).write_bytes(kept)
        assert sum(Cache(tmp_path).states([1, 2], [3], [4, 5], [6])) == 4
        assert Cache(tmp_path).states([6], [4, 5], [1, 2], [3]) == (4, 0)


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_a_computation_that_is_stopped_resumes_with_the_same_chunks(tmp_path, monkeypatch, stop):
    monkeypatch.setattr("bgr.models.state_cache.CHUNK", 2)
    rows = [[number] for number in range(9)]
    whole, parts = Cache(tmp_path / "whole"), Cache(tmp_path / "parts")
    whole.states(*rows)
    compute = parts.compute

    def stops(part):
        if len(parts.calls) == stop:
            raise KeyboardInterrupt
        return compute(part)

    monkeypatch.setattr(parts, "compute", stops)
    with pytest.raises(KeyboardInterrupt):
        parts.states(*rows)
    done = parts.calls[:stop]
    again = Cache(tmp_path / "parts")
    assert again.states(*rows) == (2 * len(done), 9 - 2 * len(done))
    assert done + again.calls == whole.calls


def fill(folder, number):
    """Numbers from 0 to 59, in an order of this process's own."""
    rows = [[i, i] for i in range(60)]
    for start in range(0, 60, 10):
        Cache(folder).states(*rows[number : start + number + 10])


def test_processes_share_a_cache(tmp_path):
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=fill, args=(tmp_path, number)) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4
    assert Cache(tmp_path).states(*([i, i] for i in range(60))) == (60, 0)
    [states] = tmp_path.glob("*/states.bin")
    assert states.stat().st_size == 60 * 2 * 2  # each of them once


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/ids-.*: cannot be written: Not a directory"):
        Cache(tmp_path / "file")


def test_the_pipeline_reads_kept_facts_alike(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint, precision="32")
    before = pipeline.retrieve_directions(QUERIES)
    pipeline.keep_facts(FACTS, tmp_path / "facts")
    kept = pipeline.retrieve_directions(QUERIES)
    for one, two in zip(before, kept, strict=True):
        for direction in ("forward", "backward"):
            # random weights tell the facts hardly apart: later steps may follow another one
            first, second = (getattr(found, direction).steps[()] for found in (one, two))
            assert second.odds == pytest.approx(first.odds, abs=1e-2)
    other = [Query("In which country was Persona made ?", ["Persona was made in Italy .", FACTS[0]])]
    assert pipeline.retrieve_directions(other) == BgrPipeline.from_pretrained(
        small_checkpoint, precision="32"
    ).retrieve_directions(other)


def test_kept_facts_are_what_the_pipeline_reads(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    pipeline.keep_facts(FACTS, tmp_path / "facts")
    states = pipeline.kept[0].states
    pipeline.kept[0].states = replace(states, table=torch.full_like(states.table, torch.nan))
    graphs = pipeline.retrieve_directions(QUERIES)
    assert not any(odds == odds for odds in graphs[0].forward.odds.values())
