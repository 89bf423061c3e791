"""Drawings: text trees, boxes without overlap, and untrusted text that stays text."""

import random
import struct
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree

import pytest

from bgr.errors import BgrError
from bgr.graph.draw import draw, tree_text
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.graph.layout import BOX_WIDTH, PAD, lay_out
from bgr.utils.text_layout import MAX_LINES, clean, text_width, wrap

FACTS = [
    "Ingmar Bergman directed Winter Light.",
    "Max von Sydow appears in Winter Light.",
    "Winter Light was first shown in 1963.",
    "Winter Light runs for 81 minutes.",
    "Persona was made in Sweden.",
]
QUESTION = "How long is the film of 1963 that Ingmar Bergman directed?"
JOIN = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (1, 2), (2, 3)], {(ROOT, 0): 0.987, (1, 2): 0.5})
HOSTILE = '<script>alert("1")</script> & $x^2$ \x1b[31mred\x00 </title></svg>'


def random_graph(rng: random.Random, facts: int) -> EvidenceGraph:
    nodes = rng.sample(range(facts), facts)
    edges = []
    for place, node in enumerate(nodes):
        edges += [(p, node) for p in rng.sample([ROOT, *nodes[:place]], rng.randint(1, min(2, place + 1)))]
    return EvidenceGraph(edges, {edge: rng.random() for edge in edges})


def test_tree_marks_joins_and_scores():
    assert tree_text(JOIN, FACTS, QUESTION).splitlines() == [
        f"Q: {QUESTION}",
        "├─ 0.99 [0] Ingmar Bergman directed Winter Light.",
        "│  └─ [2] Winter Light was first shown in 1963.",
        "│     └─ [3] Winter Light runs for 81 minutes.",
        "└─ [1] Max von Sydow appears in Winter Light.",
        "   └─ 0.50 [2] (see above)",
    ]
    assert tree_text(EvidenceGraph(), FACTS, QUESTION).splitlines()[1:] == ["(no evidence)"]


def test_tree_of_a_very_long_chain():
    chain = EvidenceGraph([(n - 1, n) for n in range(2000)])
    assert len(tree_text(chain, ["fact"] * 2000, "q").splitlines()) == 2001


def test_control_characters_never_reach_the_terminal():
    text = tree_text(EvidenceGraph([(ROOT, 0)]), [HOSTILE + "\r\nsecond line"], HOSTILE)
    assert not {"\x1b", "\x00", "\r"} & set(text)
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize("seed", range(6))
def test_boxes_do_not_overlap_and_arrows_point_right(seed):
    rng = random.Random(seed)
    facts = [" ".join(rng.choices(FACTS, k=rng.randint(1, 4))) for _ in range(24)]
    graph, gold = random_graph(rng, rng.randint(1, 24)), random_graph(rng, rng.randint(1, 24))
    for reference in (None, gold):
        picture = lay_out(graph, facts, QUESTION, reference)
        for a, b in combinations(picture.boxes, 2):
            apart_x = abs(a.x - b.x) >= (a.width + b.width) / 2
            assert apart_x or abs(a.y - b.y) >= (a.height + b.height) / 2, (a, b)
        for box in picture.boxes:
            assert box.width / 2 <= box.x <= picture.width - box.width / 2
            assert box.height / 2 <= box.y <= picture.height - box.height / 2
            assert all(text_width(line) <= BOX_WIDTH - 2 * PAD for line in box.lines)
        places = {box.node: box.x for box in picture.boxes}
        for arrow in picture.arrows:
            assert all(0 <= x <= picture.width and 0 <= y <= picture.height for x, y in arrow.points)
            if reference is None:
                assert places[arrow.edge[0]] < places[arrow.edge[1]]


def test_states_against_gold():
    gold = EvidenceGraph([(ROOT, 0), (0, 2), (2, 3), (ROOT, 4)])
    picture = lay_out(JOIN, FACTS, QUESTION, gold)
    states = {"right": {(ROOT, 0), (0, 2), (2, 3)}, "wrong": {(ROOT, 1), (1, 2)}, "missed": {(ROOT, 4)}}
    for state, edges in states.items():
        assert {arrow.edge for arrow in picture.arrows if arrow.state == state} == edges
    assert {box.node: box.state for box in picture.boxes} == {
        ROOT: "root",
        0: "right",
        1: "wrong",
        2: "right",
        3: "right",
        4: "missed",
    }


def test_gold_that_runs_the_other_way_round_is_drawn():
    picture = lay_out(EvidenceGraph([(ROOT, 0), (0, 1)]), FACTS, "q", EvidenceGraph([(ROOT, 1), (1, 0)]))
    assert {arrow.edge for arrow in picture.arrows} == {(ROOT, 0), (0, 1), (ROOT, 1), (1, 0)}


def test_wrapping():
    assert wrap("", 100) == ("",)
    assert " ".join(wrap(FACTS[0], 100)) == FACTS[0]
    assert "".join(wrap("W" * 60, 100)) == "W" * 60
    long = wrap("word " * 200, 100)
    assert len(long) == MAX_LINES
    assert long[-1].endswith("…")
    assert clean("a\n\tb\x07 c\u202e") == "a b c"


@pytest.mark.parametrize("char", ["a", "W", "映"])
def test_a_word_of_any_length_is_wrapped_at_once(char, must_end):
    lines = wrap(char * 100_000, BOX_WIDTH - 2 * PAD)
    assert len(lines) == MAX_LINES
    assert all(text_width(line) <= BOX_WIDTH - 2 * PAD for line in lines)
    assert "".join(lines) == char * (sum(map(len, lines)) - 1) + "…"


def plain_wrap(text, width):
    """Every piece of every word measured from its start."""
    pieces = []
    for word in text.split():
        while word:
            cut = next(n for n in range(len(word), 0, -1) if text_width(word[:n]) <= width)
            pieces.append(word[:cut])
            word = word[cut:]
    lines = pieces[:1] or [""]
    for piece in pieces[1:]:
        joined = f"{lines[-1]} {piece}"
        lines = [*lines[:-1], joined] if text_width(joined) <= width else [*lines, piece]
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], lines[MAX_LINES - 1][:-1].rstrip() + "…"]
    return tuple(lines)


@pytest.mark.parametrize("seed", range(6))
def test_short_texts_are_wrapped_as_in_the_plain_definition(seed):
    rng = random.Random(seed)
    for _ in range(50):
        text = "".join(rng.choices(rng.choice(["ab il.WMÄA", "abil映画 ", "a "]), k=rng.randint(0, 120)))
        width = rng.uniform(20, 120)
        assert wrap(text, width) == plain_wrap(text, width)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") or name.startswith("on")]

    def handle_data(self, data):
        self.text += data


def test_page_holds_all_text_escaped_and_loads_nothing(tmp_path):
    facts = [HOSTILE, *FACTS[1:]]
    draw(JOIN, facts, HOSTILE, tmp_path / "g.html", EvidenceGraph([(ROOT, 4)]))
    content = (tmp_path / "g.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(content)
    assert "script" not in page.tags
    assert page.tags.count("svg") == page.tags.count("h1") == 1
    assert page.links == []
    assert "default-src 'none'" in content
    assert clean(HOSTILE) in page.text
    text = "".join(page.text.split())  # a box breaks lines
    assert all("".join(fact.split()) in text for fact in FACTS[1:])
    ElementTree.fromstring(content[content.index("<svg") : content.index("</svg>") + 6])


def test_picture_is_written_whatever_the_text(tmp_path):
    draw(JOIN, [HOSTILE, "映画 $ \\frac{", *FACTS[2:]], "$unbalanced {", tmp_path / "g.png", EvidenceGraph())
    header = (tmp_path / "g.png").read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", header[16:24])
    assert width > height > 100
    draw(EvidenceGraph(), FACTS, QUESTION, tmp_path / "empty.png")
    assert (tmp_path / "empty.png").stat().st_size > 1000


def test_the_ending_decides(tmp_path):
    draw(JOIN, FACTS, QUESTION, tmp_path / "g.HTML")
    assert (tmp_path / "g.HTML").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(BgrError, match=r"\.pdf, allowed: \.png, \.svg, \.html"):
        draw(JOIN, FACTS, QUESTION, tmp_path / "g.pdf")


def test_marked_characters_are_found_in_the_wrapped_lines():
    fact = "Stockholm,\tthe  capital of Sweden, lies on fourteen islands between Lake Mälaren and the sea."
    graph = EvidenceGraph([(ROOT, 0)])
    wanted = ["Stockholm", "fourteen islands between Lake Mälaren", "sea"]
    marks = {0: [(fact.index(part), fact.index(part) + len(part)) for part in wanted], 7: [(0, 1)]}
    [_, box] = lay_out(graph, [fact], "Where?", marks=marks).boxes
    shown = [box.lines[line][start:end] for line, start, end in box.marks]
    assert " ".join(shown).split() == [word for part in wanted for word in part.split()]


def test_a_caption_and_marks_are_drawn(tmp_path):
    graph, facts = EvidenceGraph([(ROOT, 0)]), ["Paris lies in France."]
    draw(graph, facts, "Where?", tmp_path / "plain.svg")
    draw(graph, facts, "Where?", tmp_path / "full.svg", caption="Answer: <France>", marks={0: [(14, 20)]})
    draw(graph, facts, "Where?", tmp_path / "full.html", caption="Answer: <France>", marks={0: [(14, 20)]})
    plain, full = ((tmp_path / f"{name}.svg").read_text() for name in ("plain", "full"))
    assert "#ffe08a" in full
    assert "#ffe08a" not in plain
    assert "Answer: &lt;France&gt;" in full
    assert '<p class="answer">Answer: &lt;France&gt;</p>' in (tmp_path / "full.html").read_text()
