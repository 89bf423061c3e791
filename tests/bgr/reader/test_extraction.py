"""From scores to answers, with scores that are made by hand."""

import pytest
import torch

from bgr.models.extractive_reader import (
    INSIDE,
    KINDS,
    LONGEST_SPAN,
    OPERATORS,
    PAIR,
    ExtractiveReaderConfig,
    ReaderScores,
)
from bgr.models.numbers import token_numbers
from bgr.reader.evidence import FactTexts, cases
from bgr.reader.extraction import choose_names, extract

CONFIG = ExtractiveReaderConfig(labels=["cast member", "capital"], units=["", "minute"])
QUESTION = "Does Alpha run for just about 1,000 minutes ?"
FACTS = ["Alpha runs for 1,120 minutes .", "Beta runs for 90 minutes ."]
LOW, HIGH = -9.0, 9.0
NAN = float("nan")


def words_of(text):
    """The characters of each word, as tokens with special tokens around them, and their numbers."""
    row, at = [(0, 0)], 0
    for word in text.split():
        row.append((at, at + len(word)))
        at += len(word) + 1
    row.append((0, 0))
    return row, [float(text[a:b].replace(",", "")) if text[a:b][:1].isdigit() else NAN for a, b in row]


def texts(question=QUESTION):
    spans, numbers = zip(*map(words_of, FACTS), strict=True)
    return FactTexts(FACTS, spans, numbers, question, *words_of(question))


def scores(
    kind,
    *,
    yes=0.0,
    operator="=",
    most=0.0,
    around=(),
    label=((0.0, 0.0), (0.0, 0.0)),
    support=(LOW, LOW),
    start=(),
    end=(),
    quantity=(),
    asked=(),
    unit=1,
    question=QUESTION,
):
    """High scores at the given tokens, counted over both facts, or over the question."""
    here = texts(question)
    lengths = [len(row) for row in here.spans]
    total = sum(lengths)

    def high(places, count):
        return torch.full((count,), LOW).index_fill(0, torch.tensor(places, dtype=torch.long), HIGH)

    def at(places, numbers):
        numbers = torch.tensor(numbers)
        return high(places, len(numbers)).masked_fill(numbers.isnan(), float("-inf"))

    return ReaderScores(
        kind=high([KINDS.index(kind)], len(KINDS))[None],
        yes=torch.tensor([yes]),
        operator=high([OPERATORS.index(operator)], len(OPERATORS))[None],
        asked_operator=torch.zeros(len(here.asked_spans), len(OPERATORS)).index_fill(
            1, torch.tensor([OPERATORS.index(one) for one in around], dtype=torch.long), 3 * HIGH
        ),
        most=torch.tensor([most]),
        label=torch.tensor(label),
        support=torch.tensor(support),
        start=high(start, total),
        end=high(end, total),
        first=torch.zeros(total, PAIR),
        last=torch.zeros(total, PAIR),
        length=torch.zeros(LONGEST_SPAN),
        named=torch.zeros(1),
        names=torch.tensor([[9, 10]]),
        quantity=at(quantity, [one for row in here.numbers for one in row]),
        unit=high([unit], 2).expand(total, 2),
        asked=at(asked, here.asked_numbers),
        asked_lengths=torch.tensor([len(here.asked_spans)]),
        lengths=torch.tensor(lengths),
        question=torch.zeros(2, dtype=torch.long),
        case=torch.tensor([one for fact, row in zip(FACTS, here.spans, strict=True) for one in cases(fact, row)]),
        distance=torch.tensor([7.0]),
    )


def answer(*args, question=QUESTION, **kwargs):
    [found] = extract(scores(*args, question=question, **kwargs), [texts(question)], CONFIG)
    return found


def test_a_span_is_cut_out_of_its_fact():
    found = answer("span", start=[9], end=[10])
    assert (found.text, found.support) == ("Beta runs", (1,))
    assert [(one.fact, one.start, one.end) for one in found.spans] == [(1, 0, 9)]


def test_a_span_does_not_cross_facts_or_end_before_it_starts():
    assert answer("span", start=[9], end=[3]).text not in ("", None)
    assert " . " not in answer("span", start=[2], end=[12]).text


def test_spans_are_whole_words_of_one_fact():
    """Against a plain loop over all pairs of tokens."""
    torch.manual_seed(0)
    some = scores("span")
    total = len(some.case)
    noise = {"start": torch.randn(total), "end": torch.randn(total), "length": torch.randn(LONGEST_SPAN)}
    noise |= {"named": torch.tensor([2.5, 1.0]), "names": torch.tensor([[1, 2], [9, 10]])}
    noise |= {"first": torch.randn(total, PAIR), "last": torch.randn(total, PAIR)}
    case = some.case.clone()
    case[3] = INSIDE
    some = ReaderScores(**{**vars(some), **noise, "case": case})
    begin, tokens = 0, int(some.lengths[0])
    table = some.spans(begin, tokens)
    for a in range(tokens):
        for b in range(tokens):
            allowed = 0 < a <= b < tokens - 1 and case[a] != INSIDE and case[b + 1] != INSIDE
            name = 2.5 * ((a, b) == (1, 2))
            value = (
                name
                + some.start[a]
                + some.end[b]
                + some.first[a] @ some.last[b] / PAIR**0.5
                + some.length[max(0, b - a)]
            )
            assert float(table[a, b]) == pytest.approx(float(value) if allowed else float("-inf"), abs=1e-5)


def test_a_text_in_two_facts_is_more_probable_than_each():
    twice = scores("span", start=[2, 10], end=[2, 10])  # "runs" in both, as sure as one another
    [found] = extract(twice, [texts()], CONFIG)
    assert found.text == "runs"
    assert found.confidence > 0.99


@pytest.mark.parametrize(("operator", "text"), [(">", "yes"), ("<", "no"), ("=", "no"), ("!=", "yes")])
def test_a_number_is_verified_against_that_of_the_question(operator, text):
    found = answer("verify", operator=operator, quantity=[4], asked=[7])
    assert (found.text, found.support) == (text, (0,))
    assert [FACTS[one.fact][one.start : one.end] for one in found.spans] == ["1,120 minutes"]
    assert found.confidence > 0.9


@pytest.mark.parametrize(("token", "text"), [(1, "yes"), (9, "no")])
def test_words_are_verified_by_whether_the_question_has_them(token, text):
    assert answer("verify", operator="said", start=[token], end=[token]).text == text


def verified(question, value, scored=(0.0, 0.0, 0.0, 0.0, 0.0)):
    """The answer to a question that ends with a number, given the scores of the operators (all 0 by default)."""
    fact = f"Alpha runs for {value} minutes ."
    spans, numbers = words_of(fact)
    asked_spans, asked = words_of(question)
    here = FactTexts([fact], [spans], [numbers], question, asked_spans, asked)
    some = vars(scores("verify", quantity=[4], asked=[7])) | {
        "operator": torch.tensor([scored]),
        "asked": torch.tensor(asked).nan_to_num(float("-inf")),
        "asked_operator": torch.zeros(len(asked), len(OPERATORS)),
        "asked_lengths": torch.tensor([len(asked)]),
    }
    rows = {name: some[name][: len(spans)] for name in ("start", "end", "first", "last", "quantity", "unit", "case")}
    one = {"support": some["support"][:1], "label": some["label"][:1], "lengths": torch.tensor([len(spans)])}
    one |= {"question": torch.zeros(1, dtype=torch.long), "names": torch.zeros(0, 2, dtype=torch.long)}
    [found] = extract(ReaderScores(**{**some, **rows, **one, "named": torch.zeros(0)}), [here], CONFIG)
    return found.text


@pytest.mark.parametrize(
    ("words", "less", "same", "greater"),
    [
        ("more than", "no", "no", "yes"),
        ("over", "no", "no", "yes"),
        ("at least", "no", "yes", "yes"),
        ("shorter than", "yes", "no", "no"),
        ("no more than", "yes", "yes", "no"),
        ("exactly", "no", "yes", "no"),
        ("other than", "yes", "no", "yes"),
    ],
)
def test_the_words_before_a_number_say_how_it_compares(words, less, same, greater):
    question = f"Does Alpha run for {words} 90"
    assert [verified(question, value) for value in (80, 90, 100)] == [less, same, greater]


def test_words_that_the_reader_was_not_trained_on_decide_against_its_scores():
    scored = [3.0, -13.0, -3.0, 4.0, -6.0]  # for "at most" it would say "greater"
    found = [verified("Does Alpha run for at most 90", value, scored) for value in (80, 90, 100)]
    assert found == ["yes", "yes", "no"]


def test_without_a_number_in_the_question_nothing_is_compared_with_it():
    found = scores("verify", operator=">", yes=HIGH, quantity=[4])
    found = ReaderScores(**{**vars(found), "asked": torch.full_like(found.asked, float("-inf"))})
    [found] = extract(found, [texts()], CONFIG)
    assert found.kind != "verify"


@pytest.mark.parametrize(
    ("text", "spans", "wanted"),
    [
        (
            "Ann's 12th 7up",
            [(0, 0), (0, 3), (3, 4), (4, 5), (6, 8), (8, 10), (11, 12), (12, 14)],
            [0, 2, 0, 1, 3, 4, 3, 4],
        ),
        ("élan vital", [(0, 0), (0, 2), (2, 4), (5, 10)], [0, 1, 4, 1]),
    ],
)
def test_cases_say_where_words_begin(text, spans, wanted):
    assert cases(text, spans) == wanted


def test_a_number_has_its_plain_form_and_unit():
    found = answer("quantity", quantity=[4])
    assert (found.text, [FACTS[one.fact][one.start : one.end] for one in found.spans]) == (
        "1120 minute",
        ["1,120 minutes"],
    )
    assert answer("quantity", quantity=[12], unit=0).text == "90 minute"  # as the fact states, whatever is likely


@pytest.mark.parametrize(
    ("fact", "number", "unit", "text"),
    [
        ("It takes 2 hours .", "2", 1, "2 hours"),
        ("It takes two hours .", "two", 1, "two hours"),
        ("It takes 2 hours and 30 minutes .", "30", 1, "2 hours and 30 minutes"),
        ("It cost $ 1.5 million .", "1.5", 0, "$ 1.5 million"),
        ("It is 142 metres high .", "142", 1, "142 metres"),
        ("It melts at 1,541 °C .", "1,541", 1, "1,541 °C"),
        ("It has 142 rooms .", "142", 1, "142"),  # no word of the likely unit
        ("It is 5 light years away .", "5", 2, "5 light year"),
        ("It costs 9.75 crowns per share .", "9.75", 3, "9.75 crowns"),
        ("It opens at 6 : 30 .", "6", 0, "6"),
        ("It opens at 6:30 pm .", "6:30", 0, "6:30 pm"),
        ("It opens on 20 April .", "20", 0, "20 April"),
        ("It fell in 44 BC .", "44", 0, "44 BC"),
        ("It opened on May 3, 1990 .", "3,", 1, "1990-05-03"),
    ],
)
def test_an_amount_is_what_its_fact_states(monkeypatch, fact, number, unit, text):
    monkeypatch.setattr(CONFIG, "units", ["", "minute", "light year", "percent"])
    place = fact.index(number)
    spans = [(0, 0), (place, place + len(number)), (len(fact) - 1, len(fact)), (0, 0)]
    numbers = token_numbers(fact, spans)
    here = FactTexts([fact], [spans], [numbers], QUESTION, *words_of(QUESTION))
    one = scores("quantity", quantity=[1])
    few = slice(0, 4)
    row = torch.tensor(numbers)
    found = ReaderScores(
        **{
            **vars(one),
            "label": one.label[:1], "support": one.support[:1], "question": one.question[:1],
            "start": one.start[few], "end": one.end[few], "first": one.first[few], "last": one.last[few],
            "case": one.case[few], "lengths": torch.tensor([4]), "names": torch.zeros(0, 2, dtype=torch.long),
            "named": torch.zeros(0),
            "quantity": torch.zeros(4).masked_fill(row.isnan(), float("-inf")),
            "unit": torch.full((4, 4), LOW).index_fill(1, torch.tensor([unit]), HIGH),
        }
    )  # fmt: skip
    [answered] = extract(found, [here], CONFIG)
    assert (answered.text, answered.kind) == (text, "quantity")


@pytest.mark.parametrize(("yes", "text"), [(HIGH, "yes"), (LOW, "no")])
def test_yes_and_no(yes, text):
    found = answer("boolean", yes=yes, support=(HIGH, LOW))
    assert (found.text, found.support, found.distance) == (text, (0,), 7.0)
    assert found.confidence > 0.99


def test_facts_are_counted():
    named = {"start": [1, 9], "end": [1, 9]}
    both = answer("count", support=(HIGH, HIGH), **named)
    assert (both.text, both.support) == ("2", (0, 1))
    assert [FACTS[one.fact][one.start : one.end] for one in both.spans] == ["Alpha", "Beta"]
    assert answer("count", support=(LOW, HIGH), **named).text == "1"


def test_what_two_facts_name_is_counted_once():
    # both facts are read to name their 'minutes'
    found = answer("count", support=(HIGH, HIGH), start=[5, 13], end=[5, 13])
    assert (found.text, found.support) == ("1", (0, 1))
    # a doubtful fact about what another one counts anyway takes nothing from the confidence
    alike, apart = ({"start": [a, b], "end": [a, b]} for a, b in ((5, 13), (1, 9)))
    assert answer("count", support=(HIGH, 0.0), **alike).confidence > 0.99
    assert answer("count", support=(HIGH, -0.1), **apart).confidence < 0.6


def test_a_doubtful_name_is_one_that_another_fact_surely_has():
    sure, doubtful = {" senna ": 0.9, " asif kapadia ": 0.1}, {" it ": 0.5, " senna ": 0.4}
    assert choose_names([sure, doubtful], [0, 1]) == [" senna ", " senna "]
    # one that does not count says nothing
    assert choose_names([sure, doubtful], [1]) == [" senna ", " it "]
    # a name that is nobody's most probable one is shared by chance
    north, south = {" north korea ": 0.7, " korea ": 0.3}, {" south korea ": 0.7, " korea ": 0.3}
    assert choose_names([north, south], [0, 1]) == [" north korea ", " south korea "]
    # a part of the most probable name is another one, but not the whole of a part
    first, second = {" halloween ": 1.0}, {" halloween ii ": 0.6, " halloween ": 0.4}
    assert choose_names([first, second], [0, 1]) == [" halloween ", " halloween ii "]
    whole, part = {" the massacre the beginning ": 1.0}, {" the beginning ": 0.6, " the massacre the beginning ": 0.4}
    assert choose_names([whole, part], [0, 1]) == [" the massacre the beginning "] * 2
    assert choose_names([{}, sure], [0, 1]) == [None, " senna "]


def test_no_span_begins_after_a_hyphen(monkeypatch):
    monkeypatch.setattr("tests.bgr.reader.test_extraction.FACTS", [FACTS[0], "Nilo- Beta runs for 90 minutes ."])
    assert answer("span", start=[9, 10], end=[10]).text == "Nilo- Beta"
    here = texts()
    joined = [(a, b) if a < 6 else (a - 1, b - 1) for a, b in here.spans[1]]
    joined = here._replace(facts=[FACTS[0], "Nilo-Beta runs for 90 minutes ."], spans=[here.spans[0], joined])
    [found] = extract(scores("span", start=[10], end=[10]), [joined], CONFIG)
    assert found.text != "Beta"


def test_no_span_begins_or_ends_within_a_number(monkeypatch):
    apart, joined = "Beta opens at 6 : 30 on Monday .", "Beta opens at 6:30 on Monday ."
    monkeypatch.setattr("tests.bgr.reader.test_extraction.FACTS", [FACTS[0], apart])
    assert answer("span", start=[12], end=[12]).text == "6"
    here = texts()
    shift = [max(0, min(2, row - 4)) for row in range(len(here.spans[1]))]
    spans = [(max(0, a - by), max(0, b - by)) for (a, b), by in zip(here.spans[1], shift, strict=True)]
    assert [joined[a:b] for a, b in spans[4:8]] == ["6", ":", "30", "on"]
    here = here._replace(facts=[FACTS[0], joined], spans=[here.spans[0], spans])
    for start, end in (([12], [12, 14]), ([12, 14], [14])):
        [found] = extract(scores("span", start=start, end=end), [here], CONFIG)
        assert found.text == "6:30"


def test_the_words_around_a_number_say_how_it_is_compared():
    assert answer("verify", operator="<", quantity=[4], asked=[7]).text == "no"
    assert answer("verify", operator="<", around=[">"], quantity=[4], asked=[7]).text == "yes"


@pytest.mark.parametrize(
    ("question", "most", "text"),
    [
        ("Which is it ?", HIGH, "Alpha"),
        ("Which is it ?", LOW, "Beta"),
        ("Which is longer ?", LOW, "Alpha"),  # the words decide
        ("Which is shorter ?", HIGH, "Beta"),
        ("Is Alpha longer than Beta ?", LOW, "yes"),
        ("Is Alpha shorter than Beta ?", LOW, "no"),
        ("Is Beta shorter than the other one ?", LOW, "yes"),
        ("Is it longer than Beta ?", LOW, "yes"),
    ],
)
def test_the_one_with_the_most_or_the_least(question, most, text):
    found = answer("choice", question=question, most=most, support=(HIGH, HIGH), start=[1, 9], end=[1, 9])
    assert (found.text, found.kind, found.support) == (text, "choice", (0, 1))
    spans = [FACTS[one.fact][one.start : one.end] for one in found.spans]
    assert sorted(spans)[:2] == ["1,120 minutes", "90 minutes"]


@pytest.mark.parametrize("question", ["Is it longer than the other one ?", "Is it longer ?", "Is Alpha longer ?"])
def test_whether_one_has_more_needs_a_name_and_than(question):
    assert answer("choice", question=question, support=(HIGH, HIGH), start=[1, 9], end=[1, 9]).kind != "choice"


@pytest.mark.parametrize(
    ("question", "number", "text"),
    [
        ("Does Alpha run from 1,000 to 1,200 minutes ?", 4, "yes"),
        ("Does Alpha run between 1,000 and 1,100 minutes ?", 6, "no"),
        ("Does Alpha run for 1,119 minutes ?", 4, "no"),  # no year, in which 1,120 could lie
        ("Does Alpha run for 1,120 feet ?", 4, None),
    ],
)
def test_numbers_are_compared_with_their_units(question, number, text):
    found = answer("verify", question=question, operator="=", quantity=[4], asked=[number + 1])
    assert (found.text if found.kind == "verify" else None) == text


def test_a_label():
    said = (HIGH, LOW), (LOW, HIGH)
    assert answer("label", label=said, support=(LOW, HIGH)).text == "capital"
    found = answer("label", label=said, support=(HIGH, LOW))
    assert (found.text, found.support) == ("cast member", (0,))
    # of two facts that are asked for alike, neither is sure
    assert answer("label", label=said, support=(HIGH, HIGH)).confidence == pytest.approx(0.5, abs=0.01)


def test_nothing():
    found = answer("none")
    assert (found.text, found.kind) == (None, "none")


def test_what_the_evidence_does_not_allow_gives_way_to_the_next_kind():
    without = ExtractiveReaderConfig(units=CONFIG.units)
    some = scores("label", start=[1], end=[1])
    some = ReaderScores(**{**vars(some), "label": torch.zeros(2, 0)})
    [found] = extract(some, [texts()], without)
    assert found.kind != "label"
    assert found.text


def test_random_scores_never_give_an_empty_answer():
    torch.manual_seed(0)
    for _ in range(200):
        base = vars(scores("span"))
        noise = {name: torch.randn_like(part) * 5 for name, part in base.items() if part.is_floating_point()}
        for name in ("quantity", "asked"):
            noise[name] = noise[name].masked_fill(base[name] == float("-inf"), float("-inf"))
        [found] = extract(ReaderScores(**{**base, **noise}), [texts()], CONFIG)
        assert found.text is None or found.text.strip()
        assert found.text != ""
        assert not (found.text or "").startswith("[")
        assert 0 <= found.confidence <= 1 + 1e-6


def test_words_settle_a_count_under_a_condition():
    given = {"support": (HIGH, HIGH), "question": "How many films run for over 100 minutes ?"}
    found = answer("count", **given)
    [span] = found.spans
    assert (found.text, found.support, FACTS[0][span.start : span.end]) == ("1", (0,), "1,120 minutes")
    assert answer("none", **given).text is None  # evidence is missing


def test_code_reads_no_further_than_the_model():
    """A fact may be thousands of times longer than what the model reads of it."""
    here = texts("Which is longer ?")
    longer = here._replace(
        facts=[f"{fact} Gamma runs for 5 minutes ." * 3 for fact in FACTS], question=f"{here.question} or shorter ?"
    )
    given = {"question": here.question, "support": (HIGH, HIGH), "start": [1, 9], "end": [1, 9]}
    [found] = extract(scores("choice", **given), [longer], CONFIG)
    assert (found.text, found.spans) == ("Alpha", answer("choice", **given).spans)
