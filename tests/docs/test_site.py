"""The built site: no warning, nothing from the network, and a search that answers a newcomer's questions."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import bgr
from bgr import retrievers

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]

QUESTIONS = {
    "How do I use my own documents?": {"facts.html", "faq.html"},
    "What does γ do?": {"glossary.html", "faq.html", "evaluation.html"},
    "Can I train on a GPU?": {"faq.html", "training.html"},
    "How do I know that nothing was found?": {"facts.html", "faq.html"},
    "How do I start a server?": {"faq.html", "serve.html"},
    "What do GM and GS mean?": {"glossary.html", "faq.html", "evaluation.html"},
    "How large may my collection be?": {"faq.html", "search.html"},
    "Which licence?": {"faq.html"},
    "How do I use an LLM as a reader?": {"reader.html", "faq.html"},
    "How do I compare retrievers?": {"systems.html", "faq.html"},
}
"""Question to the pages that answer it; one of the first two results must be among them."""

OTHER_WORDS = {
    "answer questions from a file of sentences": {"facts.html"},
    "agreement threshold of both directions": {"glossary.html", "evaluation.html"},
    "train with several devices": {"training.html"},
    "no evidence, not answerable": {"facts.html", "retriever.html"},
    "serve an HTTP API": {"faq.html", "cli.html", "serve.html"},
    "graph edit distance": {"glossary.html", "evaluation.html"},
    "half a million sentences": {"search.html"},
    "licenses of the data packages": {"atlas.html", "faq.html"},
    "language model takes the answer from the graph": {"reader.html"},
    "baselines with bootstrap intervals": {"systems.html", "results.html"},
}
"""The same questions in words that no heading of the frequent questions has."""

# lunr, which the site uses, leaves such words out too
STOP_WORDS = set(
    "a an and are as at be by can do does for from have how i in is it me my of on or that the this to was"
    " what when where which who will with you your".split()
)
TITLE_WEIGHT = 10


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` builds it, without a network: a proxy that does not exist takes all requests."""
    out = tmp_path_factory.mktemp("site") / "site"
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **closed, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


def test_each_public_name_is_in_the_reference(site):
    described = set(re.findall(r'id="bgr\.[\w.]*?(\w+)"', (site / "api.html").read_text(encoding="utf-8")))
    assert set(bgr.__all__) | set(retrievers.MODULES) <= described


def test_pages_load_nothing_from_elsewhere(site):
    loading = re.compile(r"""<(?:script|img|iframe|link|source)\b[^>]*?(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""")
    for page in site.rglob("*.html"):
        assert loading.findall(page.read_text(encoding="utf-8")) == [], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


def words(text):
    text = re.sub(r"<[^>]+>", " ", text).lower()
    return [
        re.sub(r"(?<=\w\w\w)(?:ing|ed|es|s|e)$", "", word)
        for word in re.findall(r"[^\W_]+", text)
        if word not in STOP_WORDS
    ]


class Bm25:
    """BM25 over the sections of the site, whose titles count more, as in the search of the site."""

    def __init__(self, sections):
        self.pages = [section["location"].partition("#")[0] for section in sections]
        texts = [words(one["title"]) * TITLE_WEIGHT + words(one["text"]) for one in sections]
        self.boosts = [section.get("boost", 1.0) for section in sections]
        self.counts = [Counter(text) for text in texts]
        self.lengths = [len(text) for text in texts]
        self.mean = sum(self.lengths) / len(texts)
        self.frequency = Counter(word for count in self.counts for word in count)

    def pages_for(self, question):
        """Pages in the order of their best section."""
        asked = words(question)
        scores = {}
        for page, boost, count, length in zip(self.pages, self.boosts, self.counts, self.lengths, strict=True):
            score = boost * sum(self.weight(word, count[word], length) for word in asked)
            scores[page] = max(score, scores.get(page, 0.0))
        return sorted(scores, key=lambda page: -scores[page])

    def weight(self, word, count, length, k=1.2, b=0.75):
        n = self.frequency[word]
        idf = math.log(1 + (len(self.counts) - n + 0.5) / (n + 0.5))
        return idf * count * (k + 1) / (count + k * (1 - b + b * length / self.mean))


@pytest.fixture(scope="module")
def search(site):
    return Bm25(json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"])


@pytest.mark.parametrize(("question", "pages"), [*QUESTIONS.items(), *OTHER_WORDS.items()])
def test_search_finds_the_page_of_a_newcomers_question(search, question, pages):
    first = search.pages_for(question)[:2]
    assert set(first) & pages, first


@pytest.fixture(scope="module")
def browse(site):
    """``browse(question)``: the pages that the site's own search finds, opened from the folder as a reader may do."""
    problems = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.extend([request.url] * request.url.startswith("http")))
        page.goto((site / "index.html").as_uri())
        field, results = page.locator(".md-search__input"), page.locator(".md-search-result__item > a:first-of-type")
        field.click()

        def find(question):
            field.fill("")
            field.press("End")
            results.first.wait_for(state="detached")
            field.fill(question)
            field.press("End")
            results.first.wait_for(state="attached")
            links = results.evaluate_all("links => links.map(one => one.href)")
            return list(dict.fromkeys(re.search(r"/site/([^?#]+)", link)[1] for link in links))

        yield find
        browser.close()
    assert problems == []


@pytest.mark.parametrize(("question", "pages"), QUESTIONS.items())
def test_the_sites_own_search_finds_the_page(browse, question, pages):
    assert set(browse(question)[:2]) & pages


def test_the_sites_own_search_finds_pages_by_other_words(browse):
    missed = [question for question, pages in OTHER_WORDS.items() if not set(browse(question)[:2]) & pages]
    assert len(missed) <= 2, missed
