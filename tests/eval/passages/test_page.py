"""The page of traces has the right data, and untrusted text stays text."""

import json
import re
from dataclasses import replace

import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.usage import Price, Usage
from eval.compare.passages import compare_passages
from eval.report.page import Explorer, render
from eval.report.passages import as_document
from eval.report.traces import MAX_CHARACTERS, MAX_PASSAGES, page_data
from eval.run.passage_scores import score
from eval.run.question_result import QuestionResult

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def comparison(data):
    first = replace(data.questions[0], question=EVIL, graph=EvidenceGraph([(ROOT, 0), (0, 1)]))
    data = replace(data, questions=(first, *data.questions[1:]))
    usage = Usage(calls=1, cached=1, failed=1, tokens_in=30, tokens_out=4)
    steps = (
        {"step": "read", "round": 1, "facts": [EVIL], "failure": "no list", "usage": usage.to_json()},
        {"step": "long", "text": "x" * (MAX_CHARACTERS + 50)},
    )
    graph = EvidenceGraph([(ROOT, 1), (1, 0)])
    found = [
        QuestionResult(q.id, ("p0", "p7"), (2.0, 1.0), EVIL, usage, 1.5, steps, graph=graph) for q in data.questions
    ]
    lists = [QuestionResult(q.id, tuple(f"p{n}" for n in range(10)), (0.0,) * 10) for q in data.questions]
    systems = [score(f"{EVIL}graph", found, data), score("list", lists, data)]
    return compare_passages(systems, data, {}, samples=50, price=Price(1, 2))


def test_data_of_a_question(comparison):
    data = page_data(comparison)
    question = data["questions"][0]
    names = [title or text for title, text in data["passages"]]
    assert [names[place] for place in question["gold"]] == ["text 0", "text 1"]
    assert question["edges"] == [[-1, 0], [0, 1]]
    graph, ranked = question["systems"]
    assert ([names[place] for place in graph["places"]], graph["edges"]) == (["text 0", "text 7"], [[-1, 1], [1, 0]])
    assert graph["usage"] == "1.50 s, 2 calls, 30 + 4 tokens, cost 0.000038, 1 failed"
    assert graph["scores"] == "R@2 50, R@5 50, R@10 50, R@15 50, F1 50, GM 0, QA EM 0"
    assert (ranked["edges"], ranked["answer"], len(ranked["places"]), ranked["more"]) == (None, None, 10, 0)
    (label, text, failed), (plain, long, fine) = graph["trace"]
    assert (label, failed) == ("round 1: read (30 + 4 tokens): no list", True)
    assert json.loads(text) == {"facts": [EVIL], "failure": "no list"}
    assert (plain, fine) == ("long", False)
    assert len(long) < MAX_CHARACTERS + 40
    assert long.endswith("characters more")


def test_a_long_list_is_cut(data):
    corpus = Corpus(Passage(f"p{number}", "", f"text {number}") for number in range(MAX_PASSAGES + 3))
    data = replace(data, corpus=corpus)
    sizes = {"long": MAX_PASSAGES + 3, "full": MAX_PASSAGES}
    systems = [
        score(
            name,
            [QuestionResult(q.id, tuple(f"p{n}" for n in range(size)), (0.0,) * size) for q in data.questions],
            data,
        )
        for name, size in sizes.items()
    ]
    page = page_data(compare_passages(systems, data, {}, samples=50))
    shown = [page["passages"][place][1] for place in page["questions"][0]["systems"][0]["places"]]
    assert shown == [f"text {n}" for n in range(MAX_PASSAGES)]
    for question in page["questions"]:
        assert [(len(one["places"]), one["more"]) for one in question["systems"]] == [(15, 3), (15, 0)]


def test_text_of_strangers_stays_text(comparison, tmp_path):
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG")
    page = render(as_document(comparison, {"A & B": picture}), Explorer("traces", page_data(comparison)))
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert page.count("</script>") == 3  # the data and two scripts
    hashes = re.search(r"script-src ([^;]*);", page).group(1)
    assert hashes.startswith("'sha256-")
    assert "unsafe-inline" not in hashes
    inside = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
    assert json.loads(inside)["questions"][0]["question"] == EVIL
    assert 'alt="A &amp; B"' in page
