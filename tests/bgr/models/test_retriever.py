import random

import pytest
import torch

from bgr.models.batching import Batch
from bgr.models.ragged import Rows
from eval.bench.reference.plain_model import PlainRetriever

QUESTIONS = [[2, 20, 21, 22, 23, 3], [2, 24, 25, 3]]
FACTS = [[2, 30, 31, 3], [2, 32, 33, 34, 35, 3], [2, 36, 3], [2, 20, 31, 23, 3]]
CANDIDATES = [[0, 1, 3], [2, 1, -1]]  # fact 1 is shared; the second question has fewer

OURS = {"width": 24, "words": True, "rows": 2, "links": 3, "numbers": True, "context_layers": 2, "relevance": True}
SETTINGS = [{}, *({name: value} for name, value in OURS.items()), OURS | {"completeness": True}]
"""The paper's model, each change alone, and all of them."""


@pytest.fixture
def batch():
    questions, facts = Rows.from_lists(QUESTIONS), Rows.from_lists(FACTS)
    # 1997 and 12.5 in the first question, 1997 in the second; a date, an equal number and a smaller one in facts
    for rows, numbers in (questions, {1: 1997.0, 3: 12.5, 4: 12.5, 7: 1997.0}), (facts, {1: 1997.3, 5: 12.5, 10: 3.0}):
        rows.numbers[list(numbers)] = torch.tensor(list(numbers.values()))
    return Batch(questions, facts, torch.tensor(CANDIDATES))


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("kept", ["ids", "frozen", "encoded"])
@pytest.mark.parametrize("settings", SETTINGS, ids=",".join)
def test_equals_the_plain_definition(make_retriever, batch, direction, kept, settings):
    model = make_retriever(direction, frozen_layers=int(kept == "frozen"), **settings)
    questions, facts = batch.questions, batch.facts
    plain = PlainRetriever(model)
    slow = plain.encode_batch(questions, facts, batch.candidates)
    if kept == "frozen":
        questions, facts = model.encoder.lower(questions), model.encoder.lower(facts)
    elif kept == "encoded":
        facts = model.encode(facts)
    fast = model.encode_batch(questions, facts, batch.candidates)
    for name in "relevance", "completeness":
        one, other = getattr(fast, name), getattr(slow, name)
        assert (one is None) == (other is None) == (not settings.get(name))
        if one is not None:
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    # level 0, then both questions go to their second candidate, then the first continues to its third
    paths, slow_paths = model.start(fast), plain.start(slow)
    for parents, columns in ([0, 1], [2, 2]), ([0], [3]), ([], []):
        logits = model.match(fast, paths)
        torch.testing.assert_close(logits, plain.match(slow, slow_paths), atol=1e-5, rtol=1e-5)
        if parents:
            steps = torch.tensor(parents), torch.tensor(columns)
            paths, slow_paths = model.extend(fast, paths, *steps), plain.extend(slow, slow_paths, *steps)
            assert torch.equal(paths.last, slow_paths.last)


def test_a_question_does_not_depend_on_its_batch(make_retriever):
    """The authors' code reads the first question's facts from the second question of a batch on."""
    model = make_retriever("forward", frozen_layers=1, **OURS, completeness=True)
    rng = random.Random(0)
    questions = [[2, *(rng.randrange(5, 60) for _ in range(rng.randint(1, 9))), 3] for _ in range(5)]
    facts = [[2, *(rng.randrange(5, 60) for _ in range(rng.randint(1, 12))), 3] for _ in range(9)]
    table = [rng.sample(range(9), rng.randint(2, 6)) for _ in questions]
    widest = max(map(len, table))
    together = model.encode_batch(
        Rows.from_lists(questions),
        Rows.from_lists(facts),
        torch.tensor([row + [-1] * (widest - len(row)) for row in table]),
    )
    every = model.start(together)
    every = model.extend(together, every, torch.arange(5), torch.full((5,), 2))
    logits = model.match(together, every)
    for i, (question, row) in enumerate(zip(questions, table, strict=True)):
        alone = model.encode_batch(
            Rows.from_lists([question]), Rows.from_lists([facts[j] for j in row]), torch.arange(len(row))[None]
        )
        path = model.extend(alone, model.start(alone), torch.tensor([0]), torch.tensor([2]))
        torch.testing.assert_close(logits[i, : len(row) + 1], model.match(alone, path)[0], atol=1e-5, rtol=1e-5)


def test_saved_and_loaded_it_is_the_same(make_retriever, batch, tmp_path):
    model = make_retriever("backward", frozen_layers=1, threshold=0.3)
    model.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path).eval()
    assert (again.config.direction, again.config.frozen_layers, again.config.threshold) == ("backward", 1, 0.3)
    first = model.encode_batch(batch.questions, batch.facts, batch.candidates)
    second = again.encode_batch(batch.questions, batch.facts, batch.candidates)
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True))
    # up to rounding: a loaded tensor may have another memory layout, which changes the order of a sum
    logits = (model.match(first, model.start(first)), again.match(second, again.start(second)))
    torch.testing.assert_close(*logits, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"direction": "sideways"}, "sideways"),
        ({"width": 193}, "multiples of 64"),
        ({"frozen_layers": 3}, "0 to 2"),
        ({"fact_tokens": 999}, "64"),
        ({"completeness": True}, "needs relevance"),
    ],
)
def test_contradictions_are_refused(make_retriever, settings, said):
    with pytest.raises(ValueError, match=said):
        make_retriever(**settings)
