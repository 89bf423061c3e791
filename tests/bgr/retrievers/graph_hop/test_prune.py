"""More candidates than the model reads."""

import pytest
import torch

from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.pruner import best_columns
from bgr.models.ragged import Rows
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.retrievers.graph_hop.decode import LIMITS, PRUNED, decode, read, unpruned
from bgr.retrievers.graph_hop.likelihood import DirectionResult

PARTS = {"rows": 2, "links": 2, "relevance": True, "context_layers": 1, "completeness": True, "prune": 3}
QUESTION = "Which city is the capital of France ?"
FACTS = [
    "Paris is the capital of France .",
    "Rome is the capital of Italy .",
    "Persona was made in Sweden .",
    "Radium has 4 people .",
    "Alpha lies in beta .",
]


@pytest.fixture
def batch(tokenizer):
    questions = Sentences([QUESTION], tokenizer, max_tokens=64)
    facts = Sentences(FACTS, tokenizer, max_tokens=64)
    return make_batch(questions, facts, [(QUESTION, FACTS), (QUESTION, FACTS[2:4])])


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_result_is_that_of_the_kept_candidates_with_the_numbers_of_all(make_retriever, batch, direction):
    model = make_retriever(direction, **PARTS)
    long, short = read(model, batch, threshold=0.4, explore=1.0)
    kept = best_columns(model.prune(batch.questions, batch.facts, batch.candidates)[-1], 3)[0].tolist()
    assert kept == sorted(kept)
    assert set(kept) != {0, 1, 2}  # the numbers differ from the places
    rows = Rows.cat([batch.facts.select(torch.tensor([n])) for n in kept])
    alone = Batch(batch.questions.select(torch.tensor([0])), rows, torch.arange(3)[None])
    encoded = model.encode_batch(alone.questions, alone.facts, alone.candidates)
    (found,) = decode(model, encoded, threshold=0.4, explore=1.0)
    assert long.graph == found.graph.relabel(dict(enumerate(kept)))
    assert {node for edge in long.odds for node in edge} <= {-1, *kept}
    assert len(long.steps) == len(found.steps)
    assert PRUNED in long.limits
    assert PRUNED in LIMITS
    assert PRUNED not in short.limits
    assert set(short.graph.nodes) <= {0, 1}


def test_a_result_over_all_candidates_stays_as_it_is():
    result = DirectionResult(graph=None)
    assert unpruned(result, [0, 1], 2) is result


@pytest.mark.parametrize("keep", [False, True])
def test_the_pipeline_prunes_each_direction(make_retriever, tokenizer, batch, tmp_path, keep):
    models = [make_retriever(direction, frozen_layers=1, **PARTS) for direction in ("forward", "backward")]
    pipeline = BgrPipeline(*models, tokenizer, Settings(), device="cpu", precision="32")
    if keep:
        pipeline.keep_facts(FACTS, tmp_path)
    long, short = pipeline.retrieve_directions([Query(QUESTION, FACTS), Query(QUESTION, FACTS[2:4])])
    expected = [
        best_columns(model.prune(batch.questions, batch.facts, batch.candidates)[-1], 3)[0].tolist() for model in models
    ]
    assert list(long.kept) == sorted({*expected[0], *expected[1]})
    assert short.kept is None
    for model, found in zip(models, (long.forward, long.backward), strict=True):
        wanted, _ = read(model, batch)
        assert found.graph == wanted.graph
        assert found.completeness == pytest.approx(wanted.completeness, abs=1e-2 if keep else 1e-4)
    (result, _) = pipeline.retrieve([Query(QUESTION, FACTS), Query(QUESTION, FACTS[2:4])])
    assert result.details["kept"] == list(long.kept)
    assert PRUNED in result.limits
