import pytest

from bgr.errors import CheckpointError
from bgr.retrievers.graph_hop.known_words import FILE, LONGEST, MAX_WORDS, KnownWords

QUESTIONS = ["Who directed the film Persona?", "Who wrote the film Fargo in 1996?", "Is the film Alien long, who says?"]
FACTS = ["Ingmar Bergman directed Persona."]


@pytest.fixture
def known():
    return KnownWords.learn(QUESTIONS)


def test_only_words_of_several_questions_are_learned(known):
    assert known.counts == {"who": 3, "the": 3, "film": 3}


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("Who is the Bergman film?", ""),  # one strange word is no reason
        ("Who directed the film by Ingmar Bergman?", ""),
        ("WHO 2004, the FILM?", ""),
        ("Who dosed the infant?", "2 of 4 words are neither in training questions nor in the facts: dosed, infant"),
        ("誰ですか", "none of the question's words is known"),
        ("Qui chante ?", "none of the question's words is known"),
        ("42?", ""),
    ],
)
def test_warnings(known, question, unknown):
    found = known.warnings(question, FACTS)
    assert bool(found) == bool(unknown)
    assert unknown in "".join(found)


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Who made the flim?", "Who made the film?"),
        (
            "Who made the film that stars tghe person in tghe filmm?",
            "Who made the film that stars the person in the film?",
        ),
        ("Who made the fim?", "Who made the film?"),
        ("who made persna", "who made persona"),  # a word of a fact
        ("Who made the film Persna?", "Who made the film Persna?"),  # a name with a capital
        ("Who made film-no 3fil?", "Who made film-no 3fil?"),
        ("Who's in the film?", "Who's in the film?"),
        ("wer hat den flim gedreht", "wer hat den flim gedreht"),  # strange
        ("who mde", "who made"),
    ],
)
def test_corrections(question, read):
    known = KnownWords(dict.fromkeys("who made the film in that stars person".split(), 3))
    told = {"persona": 2, "personal": 1}
    found, notes = known.corrected(question, lambda word: told.get(word, 0))
    assert found == read
    changed = {(a, b) for a, b in zip(question.split(), read.split(), strict=True) if a != b}
    assert len(notes) == len(changed)


def test_the_most_frequent_word_is_meant():
    words = KnownWords({"film": 9, "firm": 8, "the": 3, "who": 3})
    assert words.corrected("the fim", lambda word: 0) == ("the film", ("“fim” is read as “film”",))


def test_a_long_word_is_left_as_it_is_at_once(known, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "bgr.retrievers.graph_hop.known_words.one_mistake_before", lambda word: asked.append(len(word)) or {}
    )
    for length in (LONGEST, LONGEST + 1, 20_000):
        question = f"who the film {'a' * length}?"
        assert known.corrected(question, lambda word: 0) == (question, ())
    assert asked == [LONGEST]


def test_only_the_first_words_of_a_very_long_question_are_looked_up(known):
    """All of them would take the server's only model thread minutes."""
    letters = "bcdfghjklmnpqrstvwxz"
    # a mistake in one half of a word makes no other one of them
    words = ["who", "the", *(2 * (a + b + c) for a in letters for b in letters for c in letters)]
    told, asked = set(words[::2]), []

    def count(word):
        asked.append(word)
        return int(word in told)

    question = " ".join([*words[:20], "flim", *words[20:]])
    read, notes = known.corrected(question, count)
    assert read == question.replace("flim", "film")
    assert notes == ("“flim” is read as “film”",)
    first = set(words[2 : MAX_WORDS - 1])
    assert first <= set(asked)
    assert not set(asked) & set(words[MAX_WORDS:])
    assert len(asked) < MAX_WORDS * 2 * 26 * 7
    assert known.corrected(" ".join([*words[:MAX_WORDS], "flim"]), count)[1] == ()


def test_the_words_of_two_trainings(known):
    assert (known + KnownWords({"film": 2, "kelvin": 1})).counts == {"who": 3, "the": 3, "film": 5, "kelvin": 1}


def test_stored_beside_a_checkpoint(known, tmp_path):
    assert KnownWords.of(tmp_path) is None
    known.save(tmp_path)
    assert KnownWords.of(tmp_path).counts == known.counts
    (tmp_path / FILE).write_text("film\nwho 7\n", encoding="utf-8")  # an earlier version had no counts
    assert KnownWords.of(tmp_path).counts == {"film": 1, "who": 7}
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match="cannot be read"):
        KnownWords.of(tmp_path)
