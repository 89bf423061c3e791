"""Documents as sentences."""

import pytest

from bgr.collection.corpus import Corpus, Passage, sentence_corpus, split_sentences
from bgr.errors import BgrError


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two! Three?", ("One.", "Two!", "Three?")),
        (
            "J. R. R. Tolkien wrote it. He left the U.S. in 1930.",
            ("J. R. R. Tolkien wrote it.", "He left the U.S. in 1930."),
        ),
        ("Mr. Smith of Acme Inc. paid $3.50. See No. 7.", ("Mr. Smith of Acme Inc. paid $3.50.", "See No. 7.")),
        ("Born c. 1830, he wrote Op. 23. It won.", ("Born c. 1830, he wrote Op. 23.", "It won.")),
        ("A heading\n\nA text. ", ("A heading", "A text.")),
        ("no end", ("no end",)),
        ("", ()),
        (" \n ", ()),
    ],
)
def test_sentences_are_split(text, wanted):
    assert split_sentences(text) == wanted


def test_no_word_is_lost_in_splitting():
    text = 'He said "no." She (Ann B. Lee, Ph.D.) left at 5 p.m. for St. Louis…  And then?!\tYes: 1,000.5 m. x'
    assert " ".join(split_sentences(text)).split() == text.split()


def test_each_sentence_keeps_the_title_of_its_document():
    found = sentence_corpus(
        Corpus([Passage("a", "T", "First. Second."), Passage("b", "Alone", ""), Passage("c", "", "x")])
    )
    assert found.passages == (
        Passage("a#0", "T", "First."),
        Passage("a#1", "T", "Second."),
        Passage("b", "Alone", ""),
        Passage("c#0", "", "x"),
    )
    with pytest.raises(BgrError, match="two passages have the id 'a#0', by the number of a sentence"):
        sentence_corpus(Corpus([Passage("a", "", "First."), Passage("a#0", "", "")]))
