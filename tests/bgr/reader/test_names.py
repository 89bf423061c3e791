"""Names by their capital letters, and by the words that two sentences share."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.reader.evidence import EvidenceTexts, Told, evidence_batch
from bgr.reader.names import WAYS, Shared, name_spans, shared_runs, words_of


@pytest.mark.parametrize(
    ("text", "name", "ways"),
    [
        ("A writer of Güeros is Ann.", "Güeros", (1, 1, 1, 0)),
        ("Snake in the Eagle's Shadow has a length of 98 minutes.", "Snake in the Eagle's Shadow", (0, 1, 1, 0)),
        ("Few saw Free China: The Courage to Believe.", "Free China: The Courage to Believe", (0, 0, 1, 0)),
        ("Planes for Daet use Daet Airport.", "Daet Airport", (1, 1, 1, 0)),
        ("It was he who directed Merry Christmas, Mr. Lawrence.", "Merry Christmas, Mr. Lawrence", (0, 0, 1, 0)),
        ("A writer of Alphaville is Jean-Luc Godard.", "Jean-Luc Godard", (1, 1, 1, 0)),
        ("The director of Kamikaze 1989 is Ann.", "Kamikaze 1989", (1, 1, 1, 0)),
        ("Ann acted in Them! and left.", "Them!", (0, 0, 0, 1)),
        ("Ann acted in Faust (2011 film) and left.", "Faust (2011 film)", (0, 0, 0, 1)),
        ("The director of Mooz-lum, a film, is Ann.", "Mooz-lum", (0, 0, 1, 0)),
        ("Mandan sets its clocks by America/North_Dakota/Center.", "America/North_Dakota/Center", (0, 0, 1, 0)),
        ("Ann wrote Strippers vs Werewolves.", "Strippers vs Werewolves", (0, 1, 1, 0)),
        ("Featuring Randy Quaid, it ran.", "Randy Quaid", (1, 1, 1, 0)),  # without the first word
    ],
)
def test_ways_to_find_a_name(text, name, ways):
    start = text.index(name)
    assert name_spans(text)[start, start + len(name)] == ways


def test_every_name_begins_and_ends_with_a_capital_or_a_digit():
    text = "In the 12th year of The Wars, of which ALPHA-9 and the rest are (see Beta!) a part, it ended."
    found = name_spans(text)
    assert found
    for (start, end), ways in found.items():
        words = text[start:end].split()
        assert all(word.strip("(!,-")[0].isupper() or word[0].isdigit() for word in (words[0], words[-1]))
        assert len(ways) == WAYS
        assert any(ways)


@pytest.mark.parametrize("text", ["", "nothing here is one", "…", "ß"])
def test_no_name(text):
    assert name_spans(text) == {}


def test_names_are_found_among_the_tokens_of_several_questions(tokenizer):
    from bgr.models.batching import Sentences

    told = [
        Told(
            "Who wrote Alpha Two?",
            ("Alpha Two was written by Ann.", "The fan of Alpha Two is Ann."),
            (1, 1),
            (True,) * 2,
        ),
        Told("What?", ("Beta ended.",), (1,), (True,)),
    ]
    facts = Sentences([fact for one in told for fact in one.facts], tokenizer, max_tokens=32)
    questions = Sentences([one.question for one in told], tokenizer, max_tokens=32)
    texts = EvidenceTexts(facts, questions, tokenizer, limits=(32, 32))
    _, evidence = evidence_batch(questions, facts, texts, told)
    flat = [(fact, *span) for one in told for fact in one.facts for span in texts.spans[fact]]
    found = [
        (flat[a][0][flat[a][1] : flat[b][2]], *map(bool, ways[-4:]))
        for (a, b), ways in zip(evidence.names.tolist(), evidence.ways.tolist(), strict=True)
    ]
    # whether another sentence has it, none of those around it, and whether the question or another fact shares it
    assert set(found) == {
        ("Alpha Two", True, True, True, True),
        ("Two", True, False, False, False),  # without the first word
        ("Ann", True, True, False, True),
        ("The", False, False, False, False),
        ("Beta", False, False, False, False),
    }
    assert evidence.names[:, 0].tolist() == sorted(evidence.names[:, 0].tolist())
    assert len(evidence.case) == len(flat)


def runs(question, *facts):
    found = shared_runs(words_of(question), [words_of(fact) for fact in facts])
    return [{fact[a:b]: shared for (a, b), shared in row.items()} for fact, row in zip(facts, found, strict=True)]


def test_a_name_in_small_letters_ends_where_the_other_sentence_goes_on():
    one, two = runs(
        "Which film?", "Mauvais sang, in French, was made.", "It takes an hour to see Mauvais sang from start."
    )
    assert one["Mauvais sang"] == two["Mauvais sang"] == Shared(question=False, fact=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ethyl 3-hexenoate", "Ethyl 3-hexenoate boils early."),
        ("Brand upon the Brain!", "The words of Brand upon the Brain! came late."),
        ("Sign o' the Times", "Ann acted in Sign o' the Times."),
        ("Totally F***ed Up", "Totally F***ed Up is long."),
        ("germanium(IV) sulfide", "Germanium(IV) sulfide is one."),
    ],
)
def test_whatever_its_letters_are(name, text):
    [row] = runs(f"Is {name} it?", text)
    place = text.lower().index(name.lower())
    assert row[text[place : place + len(name)]] == Shared(question=True, fact=False)


def test_small_words_and_common_ones_are_no_names():
    [row] = runs("Who is the director of Alpha?", "Ann is the director of Alpha.")
    assert set(row) == {"director of Alpha", "Alpha"} or set(row) == {"is the director of Alpha"}
    assert runs("who is it?", "who is it not?") == [{}]


@given(st.integers(0, 10_000))
def test_a_run_is_in_both_and_cannot_be_longer(seed):
    draw = random.Random(seed)
    one, two = (" ".join(draw.choice(["A", "b", "c", "of", ","]) for _ in range(8)) for _ in range(2))
    [row] = runs(one, two)
    for run in row:
        assert run.lower() in one.lower()
        assert any(letter.isupper() for letter in run)
    whole = [word for word in two.split() if word == "A"]
    if whole and "A" in one.split():
        assert row
