"""The page's data are right and cannot break out of it; a browser filters, selects and draws both graphs."""

import json
import re
import shutil
import subprocess

import pytest

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import RetrievalResult
from eval.compare.compare import compare
from eval.report.comparison import as_document, page_data
from eval.report.page import Explorer, json_for_script, render
from eval.run.evaluate import Predictions, evaluate

EVIL = (
    "</script><script>document.body.dataset.evil='yes'</script><img src=x onerror=\"document.body.dataset.evil='yes'\">"
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture
def page(examples, imperfect, tmp_path):
    """Question 3 has texts of an attacker; every other prediction is wrong; answers are right and wrong in turn."""
    odd = examples[3]
    facts = tuple(f"{EVIL}{number}" for number in range(len(odd.facts)))
    examples[3] = Example(EVIL, f"Why {EVIL} ${{data}} $title?", facts, odd.graph, EVIL, (), odd.type)
    systems = {
        "mine": Predictions(imperfect, 3.0, ["yes", EVIL] * 15),
        "<b>empty</b>": Predictions([RetrievalResult(EvidenceGraph())] * len(examples)),
    }
    found = compare(evaluate(systems, examples), examples, "mine", {"data": EVIL}, samples=20)
    path = tmp_path / "report.html"
    path.write_text(render(as_document(found, {}), Explorer("graphs", page_data(found))), encoding="utf-8")
    return path


def payload(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())[1])


def test_the_data_is_that_of_the_evaluations(page, examples, imperfect):
    data = payload(page)
    assert len(data["questions"]) == 30
    for example, result, question in zip(examples, imperfect, data["questions"], strict=True):
        assert (question[0], question[1], question[6]) == (example.id, example.question, example.answer)
        assert tuple(data["facts"][number] for number in question[7]) == example.facts
        assert set(zip(question[8][::2], question[8][1::2], strict=True)) == example.graph.edges
        edges = question[9][0][0]
        assert set(zip(edges[::3], edges[1::3], strict=True)) == result.graph.edges
        right = result.graph.edges == example.graph.edges
        assert (question[9][0][3] < 0) == (right and question[9][0][5])
        assert question[9][1] == [[], 0, question[9][1][2], data["kinds"].index("missed_fact"), None, None]


def test_nothing_breaks_out(page):
    text = page.read_text()
    assert text.count("</script>") == 5  # the data and four scripts, no more
    assert 'onerror="' not in text
    assert "<b>empty" not in text
    assert "http" not in re.search(r"Content-Security-Policy\" content=\"([^\"]*)", text)[1]
    assert json.loads(json_for_script(["<>&\u2028", EVIL])) == ["<>&\u2028", EVIL]
    assert "<" not in json_for_script(EVIL)


def browse(page, fragment, *options):
    """The page's DOM after its scripts have run."""
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [*command, profile, *options, f"{page.as_uri()}#{fragment}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    body = re.search(r"<body([^>]*)>", done.stdout)[1]
    return dict(re.findall(r'data-([a-z-]+)="([^"]*)"', body)), done.stdout


needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"
)


@pytest.mark.workflow
@needs_browser
def test_a_browser_filters_chooses_and_draws(page, examples, imperfect):
    wanted = [
        number
        for number, example in enumerate(examples)
        if number % 2 and example.structure == "MC-MH" and example.type == "comparison"
    ]
    number = wanted[-1]
    example, found = examples[number], imperfect[number].graph
    shown, dom = browse(page, f"system=mine&error=failed&type=comparison&structure=MC-MH&question={example.id}")
    assert shown["ready"] == "yes"
    assert int(shown["listed"]) == len(wanted)
    assert shown["question"] == example.id
    assert int(shown["gold-nodes"]) == len(example.graph.nodes) + 1
    assert int(shown["gold-edges"]) == len(example.graph.edges)
    assert int(shown["predicted-nodes"]) == len(found.nodes) + 1
    assert int(shown["predicted-edges"]) == len(found.edges)
    right = len(found.edges & example.graph.edges)
    sides = (right, len(found.edges) - right, len(example.graph.edges) - right)
    assert tuple(int(shown[side]) for side in ("right", "wrong", "missed")) == sides
    for pane in ("gold", "predicted"):  # Cytoscape has put its canvases there
        assert re.search(rf'id="{pane}"[^>]*>.*?<canvas', dom, re.DOTALL)


@pytest.mark.workflow
@needs_browser
def test_a_browser_shows_an_attackers_texts_as_texts(page, examples):
    shown, dom = browse(page, "system=%3Cb%3Eempty%3C/b%3E&find=why")
    assert shown["question"].startswith("&lt;/script&gt;") or shown["question"] == EVIL.replace('"', "&quot;")
    assert "evil" not in shown
    assert (shown["predicted-nodes"], shown["predicted-edges"]) == ("1", "0")
    assert int(shown["gold-edges"]) == len(examples[3].graph.edges)
    assert '<img src="x"' not in dom


@pytest.mark.workflow
@needs_browser
def test_a_browser_finds_nothing(page):
    shown, _ = browse(page, "find=zzzz&question=q1&type=nonsense")
    assert (shown["listed"], shown["question"]) == ("0", "")


def test_root_is_what_the_page_takes_it_for():
    assert ROOT == -1  # assets/graphs.js
