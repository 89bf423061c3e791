"""Names in texts, and the texts of a name."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.mentions import Mentions, NameFinder, capitalized, name_key
from bgr.errors import DataError

TEXTS = [
    "Persona was directed by Ingmar Bergman.",
    "Watching Last of the Dogmen takes 113 minutes.",
    "Ingmar Bergman was born in Uppsala.",
    "The film Made was made in the USA, as was Last of the Dogmen.",
    "Fårö, an island, was the home of Ingmar Bergman.",
]
KNOWN = ["Persona", "Made", "Uppsala", "Faro"]


@pytest.fixture
def mentions():
    return Mentions.build(TEXTS, KNOWN)


def names(found, numbers):
    return [found.finder.names[number] for number in numbers]


def test_titles_and_shared_runs_of_capitals_are_names(mentions):
    assert set(mentions.finder.names) == {"persona", "made", "uppsala", "faro", "ingmar bergman", "last of the dogmen"}
    assert [names(mentions, mentions.of_text(n)) for n in range(5)] == [
        ["persona", "ingmar bergman"],
        ["last of the dogmen"],
        ["ingmar bergman", "uppsala"],
        ["made", "last of the dogmen"],
        ["faro", "ingmar bergman"],
    ]
    number = mentions.finder.names.index("ingmar bergman")
    assert mentions.of_name(number).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("question", "strict", "wanted"),
    [
        ("Who was born in UPPSALA?", True, ["uppsala"]),
        ("who made persona", True, []),
        ("who made persona", False, ["made", "persona"]),
        ("what did ingmar bergman do", False, ["ingmar bergman"]),
        ("Bergman?", False, []),
        ("", True, []),
    ],
)
def test_names_of_questions(mentions, question, strict, wanted):
    assert names(mentions, mentions.finder.find(question, strict=strict)) == wanted


def test_the_longest_name_counts():
    finder = NameFinder([name_key(one) for one in ("New York", "New York City", "York", "City Hall")])
    assert [finder.names[n] for n in finder.find("New York City Hall in New York, York.")] == [
        "new york city",
        "new york",
        "york",
    ]


def test_a_name_that_is_always_part_of_a_longer_one_hides_no_shorter_one():
    texts = ["Pieces of Gold is long.", "Pieces of Gold is new.", "Gold is heavy.", "Gold is soft."]
    found = Mentions.build(texts, ["Of Gold", "Gold"])
    assert "of gold" not in found.finder.names
    assert names(found, found.finder.find("melting point of gold", strict=False)) == ["gold"]


def test_as_it_is_typed_a_name_begins_with_a_small_word_or_after_it():
    finder = NameFinder([name_key(one) for one in ("The Alien", "Alien", "Alien Nation", "Nation")])
    assert [finder.names[n] for n in finder.find("who saw the alien nation", strict=False)] == [
        "the alien",
        "alien nation",
    ]
    assert [finder.names[n] for n in finder.find("Who saw The Alien Nation?")] == ["the alien", "nation"]


def test_runs_end_at_marks_and_small_words():
    assert capitalized("We saw The Lord of the Rings, Alien and it.") == ({"the lord of the rings", "alien"}, "we")
    assert capitalized("In 1999 Fargo won.") == ({"1999 fargo"}, "in 1999 fargo")
    assert capitalized("Who won?") == (set(), "who")
    assert capitalized("as John A. Davis said. It is") == ({"john a davis", "it"}, "")


def test_the_first_word_of_a_text_is_part_of_a_name_if_it_is_none_of_everyday():
    texts = [
        "Starring Leslie Cheung, the film is short.",
        "Starring Leslie Cheung, the other one is long.",
        *[f"Those starring in {number} were few." for number in range(5)],
        "Internal Affairs is short.",
        "Internal Affairs is in English.",
        "In Bruges is short.",
        "They saw In Bruges.",
        "In Sweden it is cold.",
        "In Sweden it rains.",
    ]
    found = Mentions.build(texts)
    first = [names(found, found.of_text(number)) for number in (0, 7, 9, 11)]
    assert first == [["leslie cheung"], ["internal affairs"], ["in bruges"], ["sweden"]]


def test_rare_words_are_names_without_a_capital():
    texts = [f"Element {number} weighs little." for number in range(2000)]
    texts[7], texts[8], texts[9] = "Gallium weighs little.", "Chemists write gallium as Ga.", "The oxide of indium."
    found = Mentions.build(texts)
    assert names(found, found.of_text(7)) == names(found, found.of_text(8)) == ["gallium"]
    assert names(found, found.of_text(9)) == []  # in a single text
    assert names(found, found.finder.find("How heavy is gallium?")) == ["gallium"]


@given(
    st.lists(st.text(st.sampled_from("ABab .é'1"), max_size=12), max_size=8),
    st.lists(st.text(st.sampled_from("ABab é"), max_size=5), max_size=5),
)
def test_tables_agree_with_a_plain_search(texts, known):
    found = Mentions.build(texts, known)
    for number in range(len(texts)):
        of_text = found.of_text(number).tolist()
        assert of_text == found.finder.find(texts[number])
        for name in of_text:
            assert number in found.of_name(name)
            words = re.findall(r"\w+", name_key(texts[number]) or texts[number].lower())
            assert all(word in words for word in found.finder.names[name].split(" ")) or len(words) > 16
    assert len(found.names) == len(found.texts)


def test_saved_and_opened(mentions, tmp_path):
    mentions.save(tmp_path)
    again = Mentions.open(tmp_path)
    assert list(again.finder.names) == list(mentions.finder.names)
    assert all(np.array_equal(again.of_text(n), mentions.of_text(n)) for n in range(len(mentions)))
    (tmp_path / "texts.npy").write_bytes((tmp_path / "texts.npy").read_bytes()[:-4])
    with pytest.raises(DataError, match=r"texts\.npy"):
        Mentions.open(tmp_path)
    np.save(tmp_path / "texts.npy", np.zeros(2, dtype=np.int32))
    with pytest.raises(DataError, match="do not fit together"):
        Mentions.open(tmp_path)
    (tmp_path / "names.txt").unlink()
    with pytest.raises(DataError, match=r"names\.txt: cannot be read"):
        Mentions.open(tmp_path)
