"""Every page and picture that a command writes, of hostile texts, in a browser: nothing runs, nothing is loaded."""

import json
import shutil
from dataclasses import replace

import pytest

from bgr.cli import main
from bgr.graph.draw import draw
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

from ..conftest import toy_examples

EVIL = [
    "</script><script>window.owned = 1</script>",
    "</title></style></textarea><svg onload='window.owned = 1'><script>window.owned = 1</script></svg>",
    '" onmouseover="window.owned = 1" autofocus onfocus=\'window.owned = 1\' x="',
    "<img src=x onerror=window.owned=1><iframe srcdoc='<script>parent.owned = 1</script>'></iframe>",
    "[link](javascript:window.owned=1) <a href=javascript:window.owned=1>link</a> <base href=//evil.example>",
    "${window.owned = 1} {{ 7 * 7 }} {% include 'x' %} <!-- --> ]]> &lt;script&gt; url(//evil.example/x)",
]
"""Scripts, SVG, attributes, elements that load, addresses, and templates."""


def hostile(name, count):
    for number, example in enumerate(toy_examples(count, name)):
        text = EVIL[number % len(EVIL)]
        facts = tuple(f"{fact} {text} {n}" for n, fact in enumerate(example.facts))
        yield replace(
            example, id=f"{name}{number}{text}", question=f"{text} {example.question}", facts=facts, answer=text
        )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages and pictures of `bgr evaluate`, `bgr compare` (graphs and passages) and of drawings."""
    from bgr.data.reasongraphqa.io.dataset import write_dataset

    home = tmp_path_factory.mktemp("injection")
    splits = {name: list(hostile(name, count)) for name, count in (("train", 6), ("dev", 6), ("test", 6))}
    write_dataset(home / "data", splits, [], {"name": EVIL[0]})
    data = ["--data", str(home / "data")]
    assert main(["evaluate", *data, "--baselines", "bm25", "random", "--out", str(home / "evaluation")]) == 0
    systems = ["--systems", f"<b onclick>={home / 'evaluation'}:bm25", f"random={home / 'evaluation'}:random"]
    assert main(["compare", *data, *systems, "--samples", "20", "--out", str(home / "graphs")]) == 0
    paragraphs = [
        {"idx": n, "title": text, "paragraph_text": f"{text} Persona was made in Sweden .", "is_supporting": n < 2}
        for n, text in enumerate(EVIL)
    ]
    step = {"id": 1, "question": EVIL[0], "answer": EVIL[1], "paragraph_support_idx": 0}
    steps = [step, {**step, "id": 2, "paragraph_support_idx": 1}]
    posed = [
        {"id": f"2hop__{n}{text}", "question": f"{text} Persona ?", "answer": text, "answer_aliases": [text],
         "answerable": True, "paragraphs": paragraphs, "question_decomposition": steps}
        for n, text in enumerate(EVIL)
    ]  # fmt: skip
    (home / "passages.json").write_text(json.dumps(posed))
    words = ["compare", "--data", str(home / "passages.json"), "--systems", "bm25", "--samples", "20"]
    assert main([*words, "--out", str(home / "passages")]) == 0
    graph = EvidenceGraph([(ROOT, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], {(ROOT, 0): 0.5})
    for ending in ("html", "svg"):
        draw(graph, EVIL, f"{EVIL[0]} {EVIL[1]}", home / f"graph.{ending}")
    return home


def pages(home):
    return sorted(path for ending in ("html", "svg") for path in home.rglob(f"*.{ending}"))


@pytest.mark.workflow
def test_nothing_of_hostile_texts_runs_in_any_page(written):
    if (
        browser := next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    ) is None:
        pytest.skip("needs Chromium")
    from playwright.sync_api import sync_playwright

    found = [path.relative_to(written).as_posix() for path in pages(written)]
    assert {"graph.html", "graph.svg", "graphs/report.html", "passages/traces.html"} <= set(found)
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()
        asked, dialogs = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        for path in pages(written):
            asked.clear()
            page.goto(path.as_uri())
            page.wait_for_timeout(200)
            for element in page.locator("button, summary, tr, option, [tabindex]").all()[:40]:
                element.dispatch_event("click")
                element.dispatch_event("mouseover")
            assert page.evaluate("window.owned") is None, path
            assert page.evaluate("window.frames.length") == 0, path
            bad = "script:not([src]):not([type]):is(svg *), [onload], [onerror], [onclick], [onmouseover], base, iframe"
            assert page.locator(f"{bad}, a[href^='javascript:' i]").count() == 0, path
            assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == [], path
        chromium.close()
    assert dialogs == []
