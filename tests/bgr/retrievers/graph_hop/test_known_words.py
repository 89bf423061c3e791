import pytest

from bgr.errors import CheckpointError
from bgr.retrievers.graph_hop.known_words import FILE, KnownWords

QUESTIONS = ["Who directed the film Persona?", "Who wrote the film Fargo in 1996?", "Is the film Alien long, who says?"]
FACTS = ["Ingmar Bergman directed Persona."]


@pytest.fixture
def known():
    return KnownWords.learn(QUESTIONS)


def test_only_words_of_several_questions_are_learned(known):
    assert known.words == {"who", "the", "film"}


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


def test_stored_beside_a_checkpoint(known, tmp_path):
    assert KnownWords.of(tmp_path) is None
    known.save(tmp_path)
    assert KnownWords.of(tmp_path).words == known.words
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match="cannot be read"):
        KnownWords.of(tmp_path)
