"""A batch gives the same as each question alone, and searches equal their slow definitions."""

import itertools

import pytest
import torch

from bgr.graph.evidence_graph import ROOT
from bgr.models.ragged import Ragged
from bgr.retrievers.baselines.beam import MARGIN, FoundPath, PathTable, beam_search, best_of_each, graph_of
from bgr.retrievers.baselines.ssg import NEW_CHAIN, allowed, chains

KINDS = ("dpr", "grr", "mdr", "ssg")


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_finds_what_each_question_finds_alone(kind, make_baseline, batch_of, samples):
    model = make_baseline(kind, beam=2, max_depth=3)
    together = model.search(batch_of())
    for found, sample in zip(together, samples, strict=True):
        alone = model.search(batch_of([sample]))[0]
        assert [path.facts for path in found.paths] == [path.facts for path in alone.paths]
        assert [path.score for path in found.paths] == pytest.approx([path.score for path in alone.paths], abs=1e-5)
        assert found.limits == alone.limits
        assert {fact for path in found.paths for fact in path.facts} <= set(range(len(sample[1])))
        assert all(len(set(path.facts)) == len(path.facts) for path in found.paths)


@pytest.mark.parametrize("kind", ["grr", "mdr"])
def test_logits_of_paths_equal_those_of_each_path_alone(kind, make_baseline, batch_of, samples):
    model, batch = make_baseline(kind), batch_of()
    reading = model.encode_batch(batch)
    rows = [(0, []), (1, [4]), (1, [2, 0]), (2, [1]), (0, [1, 2])]
    table = torch.tensor([facts + [-1] * (2 - len(facts)) for _, facts in rows])
    together = model.logits(reading, PathTable(torch.tensor([q for q, _ in rows]), table))
    for logits, (question, facts) in zip(together, rows, strict=True):
        shape = torch.tensor([facts], dtype=torch.long).view(1, len(facts))
        alone = model.logits(reading, PathTable(torch.tensor([question]), shape))[0]
        assert torch.allclose(logits, alone, atol=1e-5)
        closed = {0} if not facts else {fact + 1 for fact in facts}
        closed |= set(range(len(samples[question][1]) + 1, 6))
        assert {column for column in range(6) if logits[column] == -torch.inf} == closed


def test_mdr_reads_the_facts_of_a_path_in_order(make_baseline, batch_of):
    model, batch = make_baseline("mdr"), batch_of()
    reading = model.encode_batch(batch)
    paths = PathTable(torch.tensor([1, 1, 1]), torch.tensor([[0, 3], [3, 0], [0, -1]]))
    queries = model.queries(reading, paths)
    questions, facts = model.token_states(batch)
    numbers = batch.candidates[1]
    parts = [questions.select(torch.tensor([1])).flat + model.kind.weight[0]]
    parts += [facts.select(numbers[[place]]).flat + model.kind.weight[1] for place in (0, 3)]
    flat = torch.cat(parts)
    alone = model.query(model.context(Ragged(flat, torch.tensor([len(flat)]))))
    assert torch.allclose(queries[0], alone[0], atol=1e-5)
    assert not torch.allclose(queries[0], queries[2], atol=1e-3)


def test_ssg_logits_equal_those_of_each_beginning(make_baseline, batch_of):
    model = make_baseline("ssg")
    reading = model.encode_batch(batch_of())
    written = torch.tensor([[1, 2, 0, 3], [5, 0, 5, 4], [2, 1, -1, -1]])
    together = model.logits(reading, written)
    for length in range(5):
        assert torch.allclose(model.logits(reading, written[:, :length])[:, -1], together[:, length], atol=1e-5)


def test_allowed_pointers_equal_a_slow_walk():
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    written = torch.tensor([[1, 3, NEW_CHAIN, 3, 1, NEW_CHAIN], [2, NEW_CHAIN, 2, 1, -1, -1]])
    found = allowed(written, mask)
    for row, step in itertools.product(range(2), range(7)):
        chain: set[int] = set()
        for pointer in written[row, :step].tolist():
            chain = set() if pointer == NEW_CHAIN else chain | ({pointer} - {-1})
        facts = {p for p in range(1, 5) if mask[row, p] and p not in chain}
        assert set(found[row, step].nonzero().flatten().tolist()) == facts | ({0, 5} if chain else set())


def test_pointers_are_cut_into_chains():
    found = chains([2, 4, NEW_CHAIN, 1, -1], [-1.0, -2.0, -4.0, -8.0, 0.0])
    assert found == [FoundPath((1, 3), -3.0), FoundPath((0,), -8.0)]
    assert chains([-1], [0.0]) == []


def test_a_wide_beam_finds_the_best_paths_of_all():
    """Random log-probabilities that depend on the whole path, against every path there is."""
    facts, depth = 4, 3

    def row(question, path):
        generator = torch.Generator().manual_seed(hash((question, path)) % (1 << 31))
        logits = 2 * torch.randn(1 + facts, generator=generator)
        logits[[0] if not path else [fact + 1 for fact in path]] = -torch.inf
        return logits.log_softmax(0)

    def score(table):
        walked = [tuple(fact for fact in facts if fact >= 0) for facts in table.facts.tolist()]
        return torch.stack([row(q, path) for q, path in zip(table.question.tolist(), walked, strict=True)])

    found = beam_search(score, 3, beam=100, max_depth=depth, device=torch.device("cpu"))
    for question, search in enumerate(found):
        every = {}
        for length in range(1, depth + 1):
            for path in itertools.permutations(range(facts), length):
                steps = [row(question, path[:i])[fact + 1] for i, fact in enumerate(path)]
                every[path] = float(sum(steps) + row(question, path)[0])
        best = max(every.values())
        near = {path: value for path, value in every.items() if value >= best - MARGIN / 2}
        scores = {path.facts: path.score for path in search.paths}
        assert {path: scores[path] for path in near} == pytest.approx(near, abs=1e-4)
        assert search.paths[0].score == pytest.approx(best, abs=1e-4)
        assert list(search.paths) == sorted(search.paths, key=lambda path: -path.score)


def test_a_path_that_would_go_on_at_the_greatest_depth_is_a_limit():
    def score(table):  # always the next fact rather than the end
        open_ = table.open(torch.arange(4).expand(1, 4))
        return torch.tensor([-3.0, 0.0, 0.0, 0.0, 0.0]).masked_fill(~open_, -torch.inf)

    cut = beam_search(score, 1, beam=2, max_depth=2, device=torch.device("cpu"))[0]
    whole = beam_search(score, 1, beam=2, max_depth=9, device=torch.device("cpu"))[0]
    assert (cut.limits, whole.limits) == (("max_depth",), ())
    assert max(len(path.facts) for path in cut.paths) == 2
    assert max(len(path.facts) for path in whole.paths) == 4


def test_best_of_each_equals_a_slow_choice():
    generator = torch.Generator().manual_seed(0)
    owner = torch.randint(0, 5, (40,), generator=generator)
    scores = torch.randint(0, 9, (40,), generator=generator).float()
    kept = []
    for one in range(5):
        rows = [n for n in range(40) if owner[n] == one]
        kept += sorted(rows, key=lambda n: (-float(scores[n]), n))[:3]
    assert best_of_each(owner, scores, 3).tolist() == sorted(kept)


def test_chains_become_a_graph_without_cycles():
    graph, dropped = graph_of([FoundPath((0, 1), 0.5), FoundPath((0, 2), 0.25), FoundPath((1, 0), 0.125)])
    assert graph.edges == {(ROOT, 0), (0, 1), (0, 2), (ROOT, 1)}
    assert dropped == [(1, 0)]
    assert graph.scores[ROOT, 0] == 0.5
    assert graph_of([])[0].edges == frozenset()
