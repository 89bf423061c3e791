import pytest

from bgr.errors import CheckpointError
from training.loader import Part, SimilarLengths, StepLoader, WholeLoader, share_out

LENGTHS = [(7 * i) % 11 for i in range(21)]  # 21 questions: the last step of 8 has 5


ALONE = Part()


def loader(batch_size, part=ALONE, *, seed=0, epoch=0, lengths=LENGTHS):
    order = SimilarLengths(lengths, batch_size * part.batches, seed=seed, pool=2)
    order.set_epoch(epoch)
    return StepLoader(order, lambda rows, weight: (rows, weight), part)


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
@pytest.mark.parametrize("questions", range(1, 8))
def test_the_weighted_mean_over_batches_is_the_mean_over_questions(questions, parts):
    losses = [3.0 * i * i - i for i in range(questions)]
    batches = share_out(range(questions), parts)
    assert len(batches) == parts
    assert sorted(row for rows, weight in batches if weight for row in rows) == list(range(questions))
    assert all(rows for rows, _ in batches)
    numbers = [len(rows) if weight else 0 for rows, weight in batches]
    assert max(numbers) - min(numbers) <= 1
    means = [weight * sum(losses[row] for row in rows) / len(rows) for rows, weight in batches]
    assert sum(means) / parts == pytest.approx(sum(losses) / questions)
    if questions % parts == 0:
        assert {weight for _, weight in batches} == {1.0}


@pytest.mark.parametrize(("processes", "accumulate"), [(1, 1), (2, 1), (1, 2), (2, 2), (4, 2)])
def test_a_step_has_the_same_questions_for_any_number_of_processes(processes, accumulate):
    size = 8 // (processes * accumulate)
    parts = [Part(process, processes, accumulate) for process in range(processes)]
    for epoch in range(2):
        given = [list(loader(size, part, epoch=epoch)) for part in parts]
        assert {len(batches) for batches in given} == {len(loader(size, parts[0]))} == {3 * accumulate}
        whole = [sorted(rows) for rows, _ in loader(8, epoch=epoch)]
        for step, rows in enumerate(whole):
            turns = range(step * accumulate, (step + 1) * accumulate)
            mine = [batches[turn] for batches in given for turn in turns]
            assert sorted(row for part, weight in mine if weight for row in part) == rows
            assert sum(weight for _, weight in mine) == pytest.approx(processes * accumulate)


@pytest.mark.parametrize("part", [Part(), Part(1, 2, 1), Part(0, 2, 2)])
def test_an_epoch_goes_on_behind_any_batch(part):
    whole = list(loader(2, part, epoch=3))
    for cut in range(len(whole) + 1):
        first = loader(2, part, epoch=3)
        begun = iter(first)
        assert [next(begun) for _ in range(cut)] == whole[:cut]
        second = loader(2, part)
        second.load_state_dict(first.state_dict() | ({"epoch": 3} if not cut else {}))
        rest = iter(second)
        second.sampler.set_epoch(3)  # Lightning tells the epoch after it made the iterator
        assert list(rest) == whole[cut:]
        assert second.state_dict()["given"] == len(whole)
        second.sampler.set_epoch(4)
        assert list(second) == list(loader(2, part, epoch=4))  # once only


def test_one_process_may_go_on_where_two_were():
    first = loader(4, Part(0, 2))
    next(iter(first))
    second = loader(8)
    second.load_state_dict(first.state_dict())
    assert list(second) == list(loader(8))[1:]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (loader(4), "questions a step 8, accumulation 1; now it is"),
        (loader(4, Part(0, 1, 2)), "accumulation 2"),
        (loader(8, seed=1), "seed 1"),
        (loader(8, lengths=LENGTHS[1:]), "questions 20"),
    ],
)
def test_an_epoch_does_not_go_on_with_other_steps(other, said):
    first = loader(8)
    next(iter(first))
    other.load_state_dict(first.state_dict())
    with pytest.raises(CheckpointError, match=said) as error:
        next(iter(other))
    assert "\n" not in str(error.value)
    other.load_state_dict(first.state_dict())
    other.sampler.set_epoch(1)
    assert len(list(other)) == len(other)  # from an epoch's beginning it may


def test_everything_in_order():
    whole = WholeLoader("abcde", 2, "".join)
    assert list(whole) == ["ab", "cd", "e"]
    assert len(whole) == 3
