from html.parser import HTMLParser

import pytest

from bgr.collection.corpus import Passage
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.reader.answer import Answer
from bgr.reader.reader import Span
from bgr.retrievers.base import SHOWN, RetrievalResult, star

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</svg></text>\u202e\x00<style>*{color:red}</style>"
GRAPH = EvidenceGraph([(ROOT, 0), (0, 1)], {(ROOT, 0): 0.9})


class Reading(HTMLParser):
    """The elements, attributes and texts of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text = set(), [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def answer(text="1922", facts=("Persona is a film.", "It was made in 1922."), question="When?", **more):
    more = {"has_reader": True, "text": text, "confidence": 0.5, **more}
    return Answer(question, facts, GRAPH, GRAPH, GRAPH, 1.0, (), **more)


def harmless(html):
    page = Reading(html)
    assert page.tags <= {
        "div",
        "p",
        "b",
        "i",
        "ol",
        "li",
        "svg",
        "g",
        "path",
        "defs",
        "text",
        "use",
        "clippath",
        "rect",
    }
    assert not [(name, value) for name, value in page.attributes if name.startswith("on")]
    links = [value for name, value in page.attributes if name.endswith("href") or name == "src"]
    assert all(link.startswith("#") for link in links)
    return page


def test_an_answer_shows_its_graph():
    page = harmless(answer(spans=(Span(1, 15, 19),), warnings=("strange words",))._repr_html_())
    assert "svg" in page.tags
    for shown in ("Answer: 1922 (confidence 0.50)", "Persona is a film.", "0.90", "warning: strange words"):
        assert shown in page.text
    # what the answer was read from
    assert "#ffe08a" in answer(spans=(Span(1, 15, 19),))._repr_html_()
    assert "#ffe08a" not in answer()._repr_html_()


def test_without_evidence_there_is_no_picture():
    found = Answer("When?", (), EvidenceGraph(), EvidenceGraph(), EvidenceGraph(), 1.0, (), has_reader=True)
    page = harmless(found._repr_html_())
    assert "svg" not in page.tags
    assert "no evidence" in page.text


@pytest.mark.parametrize(
    "shown",
    [
        answer(EVIL, (EVIL, EVIL), EVIL, warnings=(EVIL,), spans=(Span(0, 0, 8),)),
        RetrievalResult(GRAPH, searched=[EVIL, EVIL], answer=EVIL),
        RetrievalResult(star([0]), searched=[EVIL], ranking=((0, 1.0),), is_list=True, answer=EVIL),
        RetrievalResult(GRAPH, searched=[Passage("a", EVIL, EVIL)] * 2),
    ],
)
def test_texts_cannot_break_out(shown):
    page = harmless(shown._repr_html_())
    assert "<script>alert(1)</script>" in page.text.replace("\n", "")
    assert "\u202e" not in page.text
    assert "\x00" not in page.text


def test_a_graph_alone_shows_numbers():
    page = harmless(GRAPH._repr_html_())
    assert "[0]" in page.text
    assert "[1]" in page.text
    assert "[1]" in harmless(RetrievalResult(GRAPH)._repr_html_()).text
    assert "no evidence" in EvidenceGraph()._repr_html_()


def test_a_result_shows_texts_of_a_large_collection():
    searched = [Passage(str(n), "Title", f"text {n}") for n in range(5_000)]
    graph = EvidenceGraph([(ROOT, 4_000), (4_000, 7)])
    text = harmless(RetrievalResult(graph, searched=searched)._repr_html_()).text
    assert "text 4000" in text
    assert "text 7" in text


def test_a_ranked_list_is_a_list():
    texts = [f"text number {n}." for n in range(SHOWN + 2)]
    ranking = tuple((n, 1 / (n + 1)) for n in range(len(texts)))
    page = harmless(RetrievalResult(star([0]), searched=texts, ranking=ranking, is_list=True)._repr_html_())
    assert "svg" not in page.tags
    assert f"text number {SHOWN - 1}." in page.text
    assert f"text number {SHOWN}." not in page.text
    assert "and 2 more" in page.text
    assert "(0.333)" in page.text
