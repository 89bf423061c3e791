"""From scores to answers, with scores that are made by hand."""

import pytest
import torch

from bgr.models.extractive_reader import KINDS, ExtractiveReaderConfig, ReaderScores
from bgr.reader.evidence import FactTexts
from bgr.reader.extraction import extract

CONFIG = ExtractiveReaderConfig(labels=["cast member", "capital"], units=["", "minute"])
FACTS = ["Alpha runs for 1,120 minutes .", "Beta runs for 90 minutes ."]
LOW, HIGH = -9.0, 9.0
NAN = float("nan")


def texts():
    """Words as tokens, with special tokens around them."""
    spans, numbers = [], []
    for fact in FACTS:
        row, at = [(0, 0)], 0
        for word in fact.split():
            row.append((at, at + len(word)))
            at += len(word) + 1
        spans.append([*row, (0, 0)])
        value = 1120.0 if fact.startswith("Alpha") else 90.0
        numbers.append([value if FACTS and fact[a:b] in ("1,120", "90") else NAN for a, b in spans[-1]])
    return FactTexts(FACTS, spans, numbers)


def scores(kind, *, yes=0.0, most=0.0, label=(0.0, 0.0), support=(LOW, LOW), start=(), end=(), quantity=(), unit=1):
    """High scores at the given tokens, counted over both facts."""
    lengths = [len(row) for row in texts().spans]
    total = sum(lengths)

    def at(places):
        return torch.full((total,), LOW).index_fill(0, torch.tensor(places, dtype=torch.long), HIGH)

    numbers = torch.tensor([one for row in texts().numbers for one in row])
    return ReaderScores(
        kind=torch.full((1, len(KINDS)), LOW).index_fill(1, torch.tensor([KINDS.index(kind)]), HIGH),
        yes=torch.tensor([yes]),
        most=torch.tensor([most]),
        label=torch.tensor([label]),
        support=torch.tensor(support),
        start=at(start),
        end=at(end),
        quantity=at(quantity).masked_fill(numbers.isnan(), float("-inf")),
        unit=torch.full((total, 2), LOW).index_fill(1, torch.tensor([unit]), HIGH),
        lengths=torch.tensor(lengths),
        question=torch.zeros(2, dtype=torch.long),
    )


def answer(*args, **kwargs):
    [found] = extract(scores(*args, **kwargs), [texts()], CONFIG)
    return found


def test_a_span_is_cut_out_of_its_fact():
    found = answer("span", start=[9], end=[10])
    assert (found.text, found.support) == ("Beta runs", (1,))
    assert [(one.fact, one.start, one.end) for one in found.spans] == [(1, 0, 9)]


def test_a_span_does_not_cross_facts_or_end_before_it_starts():
    assert answer("span", start=[9], end=[3]).text not in ("", None)
    assert " . " not in answer("span", start=[2], end=[12]).text


def test_a_number_has_its_plain_form_and_unit():
    assert answer("quantity", quantity=[4]).text == "1120 minute"
    assert answer("quantity", quantity=[12], unit=0).text == "90"


@pytest.mark.parametrize(("yes", "text"), [(HIGH, "yes"), (LOW, "no")])
def test_yes_and_no(yes, text):
    found = answer("boolean", yes=yes, support=(HIGH, LOW))
    assert (found.text, found.support) == (text, (0,))
    assert found.confidence > 0.99


def test_facts_are_counted():
    assert answer("count", support=(HIGH, HIGH)).text == "2"
    assert answer("count", support=(LOW, HIGH)).text == "1"


@pytest.mark.parametrize(("most", "text"), [(HIGH, "Alpha"), (LOW, "Beta")])
def test_the_one_with_the_most_or_the_least(most, text):
    found = answer("choice", most=most, support=(HIGH, HIGH), start=[1, 9], end=[1, 9])
    assert found.text == text
    assert found.support == (0, 1)
    assert [FACTS[one.fact][one.start : one.end] for one in found.spans] == [text, "1,120", "90"]
    assert found.confidence > 0.9


def test_a_label():
    assert answer("label", label=(LOW, HIGH)).text == "capital"


def test_nothing():
    found = answer("none")
    assert (found.text, found.kind) == (None, "none")


def test_what_the_evidence_does_not_allow_gives_way_to_the_next_kind():
    without = ExtractiveReaderConfig(units=CONFIG.units)
    some = scores("label", start=[1], end=[1])
    some = ReaderScores(**{**vars(some), "label": torch.zeros(1, 0)})
    [found] = extract(some, [texts()], without)
    assert found.kind != "label"
    assert found.text


def test_random_scores_never_give_an_empty_answer():
    torch.manual_seed(0)
    for _ in range(200):
        base = vars(scores("span"))
        noise = {name: torch.randn_like(part) * 5 for name, part in base.items() if part.is_floating_point()}
        noise["quantity"] = noise["quantity"].masked_fill(base["quantity"] == float("-inf"), float("-inf"))
        [found] = extract(ReaderScores(**{**base, **noise}), [texts()], CONFIG)
        assert found.text is None or found.text.strip()
        assert found.text != ""
        assert not (found.text or "").startswith("[")
        assert 0 <= found.confidence <= 1 + 1e-6
