"""Every piece of avoided work gives the result of its plain form."""

import pytest
import torch

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.batching import Batch
from bgr.models.ragged import Rows
from bgr.retrievers.graph_hop.decode import decode
from eval.bench.avoided import OracleRetriever, avoided
from eval.bench.models import BareEncoder

GRAPHS = [EvidenceGraph([(ROOT, 0), (ROOT, 2), (0, 1), (2, 1)]), EvidenceGraph([(ROOT, 1), (1, 0)])]


@pytest.fixture
def batch():
    questions = Rows.from_lists([[2, 20, 21, 22, 23, 3], [2, 24, 25, 3]])
    facts = Rows.from_lists([[2, 30, 31, 3], [2, 32, 33, 34, 35, 3], [2, 36, 3], [2, 20, 31, 23, 3]])
    return Batch(questions, facts, torch.tensor([[0, 1, 3], [2, 1, -1]]))


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("settings", [{"frozen_layers": 0}, {"frozen_layers": 1, "width": 24, "context_layers": 1}])
def test_both_forms_of_every_piece_are_equal(make_retriever, batch, direction, settings):
    model = make_retriever(direction, **settings)
    pieces = avoided(model, batch, GRAPHS, training=False)
    assert len(pieces) == 6 + bool(settings["frozen_layers"])
    for piece in pieces:
        fast, slow = piece.fast(), piece.slow()
        assert fast.isfinite().any()
        torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-5, msg=piece.work)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_gold_walk_finds_the_gold(make_retriever, batch, direction):
    model = make_retriever(direction, max_depth=4)
    reading = model.encode_batch(batch.questions, batch.facts, batch.candidates)
    walk = OracleRetriever(model, GRAPHS)
    assert [result.graph for result in decode(walk, reading)] == GRAPHS
    assert len(walk.steps) == 2


def test_the_floor_reads_every_token_once(make_retriever, batch):
    model = make_retriever()
    states = BareEncoder(model.encoder.bert).forward(batch)
    assert sum(part.shape[0] for part in states) == len(batch.questions) + len(batch.facts)
    together = torch.cat([part.flatten(0, 1) for part in states])
    wanted = torch.cat([model.encoder(batch.questions).flat, model.encoder(batch.facts).flat])
    near = (together[:, None] - wanted[None]).abs().amax(-1).amin(0)
    assert near.max() < 1e-5
