"""The page of `bgr serve` in Chromium, over the released weights: ten tasks of a user, and what must hold in each."""

import json
import re
import shutil
import signal

import pytest

from bgr.collection.collection import Collection
from bgr.pipeline import BgrPipeline
from bgr.released import checkpoint_folder
from bgr.serve.sources import Bm25System, GraphSystem, Sources, _examples
from tests.bgr.serve.conftest import run_server

pytestmark = pytest.mark.workflow
sync_api = pytest.importorskip("playwright.sync_api")

FACTS = [
    "Directed by Ridley Scott, Alien came out in 1979.",
    "Blade Runner is the work of director Ridley Scott.",
    "The release of Blade Runner came in 1982.",
    "Legend was directed by Ridley Scott.",
    "Legend came out in 1985.",
    "Fargo was directed by Joel Coen.",
]
QUESTION = "Which film by the director of Alien came out in 1982?"
ANSWER = "Blade Runner"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "films"
    documents = [{"id": f"p{n}", "title": "", "text": one} for n, one in enumerate(FACTS)]
    collection = Collection.build(documents, folder, encoder=None)
    pipeline = BgrPipeline.from_pretrained(checkpoint_folder())
    systems = {"bgr": GraphSystem(pipeline, "the released weights"), "bm25": Bm25System()}
    return Sources(systems, {"films": collection}, _examples(None))


@pytest.fixture(scope="module")
def server(released):
    with run_server(released) as server:
        yield server


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


def is_problem(message):
    """Whether a line of the console is an error of the page; the browser also tells of each failed request."""
    return message.type == "error" and not re.search("status of|ERR_|net::|Failed to load resource", message.text)


@pytest.fixture
def browse(chromium):
    """``browse(server)``: its page, ready. No page may report an error of its own or reach another host."""
    contexts, problems = [], []

    def open_page(server, fragment="", *, ready="#system option", **options):
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda one: problems.extend([one.text] * is_problem(one)))
        page.on("request", lambda one: problems.extend([one.url] * (not one.url.startswith(("blob:", server.url)))))
        page.goto(server.url + "/" + fragment)
        page.wait_for_selector(ready, state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def ask(page, question=QUESTION):
    page.fill("#question", question)
    page.click("#submit")
    page.wait_for_selector("#results[aria-busy=false] .result")


def own_facts(page, facts):
    page.check("input[name=source][value=facts]")
    page.fill("#facts", "\n".join(facts))


def upload(page, name, content):
    page.check("input[name=source][value=facts]")
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content})


def headline(page, at=0):
    return page.locator(".result .headline").nth(at).inner_text()


def test_ask(server, browse):
    page = browse(server)
    page.fill("#question", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".result")
    assert headline(page) == ANSWER
    assert page.locator("svg.graph [data-node]").count() == 4
    assert page.locator(".why mark").all_inner_texts() == [ANSWER]
    assert "Both directions found the same graph." in page.locator(".why").inner_text()
    assert page.locator("#status").inner_text() == f"Answer: {ANSWER}. 3 facts of evidence."
    # the graph by keyboard: open the details of a fact, and come back
    node = page.locator("svg.graph .answers")
    node.focus()
    page.keyboard.press("Enter")
    assert FACTS[2] in page.locator(".details").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".details").is_hidden()
    assert page.evaluate("document.activeElement.classList.contains('answers')")
    with page.expect_download() as saved:
        page.click("text=Save PNG of the graph")
    with open(saved.value.path(), "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    with page.expect_download() as saved:
        page.click("text=Save JSON")
    with open(saved.value.path(), encoding="utf-8") as file:
        assert json.load(file)["answer"] == ANSWER


def test_an_example_with_its_gold_graph(server, browse):
    page = browse(server)
    page.check("input[name=source][value=example]")
    page.fill("#example-filter", "Bruckheimer")
    page.select_option("#example", "train-000067")
    page.click("#submit")
    page.wait_for_selector(".result")
    assert "Gold answer: Pirates of the Caribbean: At World's End" in page.locator(".answer").inner_text()
    page.get_by_role("tab", name=re.compile("Gold")).click()
    assert page.locator("svg.graph [data-node]").count() == 3


def test_paste_facts(server, browse):
    page = browse(server)
    own_facts(page, FACTS)
    assert page.locator("#facts-count").inner_text() == "6 facts"
    ask(page)
    assert headline(page) == ANSWER
    ask(page, "Who is the president of France?")
    assert headline(page) == "Not answerable"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("facts.pdf", b"%PDF", "unknown kind of file; allowed: .txt, .csv, .tsv, .jsonl"),
        ("facts.txt", b"\xff\xfe\x00", "cannot be read as UTF-8 text"),
        ("facts.txt", "Ann came.".encode("utf-16-le"), "holds NUL characters"),
        ("facts.txt", b" \n", "no facts"),
        ("facts.jsonl", b'{"text": "one"}\n{"text": 1}\n', "line 2: no text"),
        ("facts.jsonl", b"{'text'}", "line 1: is not JSON"),
        ("facts.csv", b'text\n"open', "line 2: the quote is not closed"),
    ],
)
def test_upload_a_bad_file(server, browse, name, content, problem):
    page = browse(server)
    own_facts(page, FACTS)
    upload(page, name, content)
    page.wait_for_selector("#file-problem:visible")
    line = page.locator("#file-problem").inner_text()
    assert line.startswith(f"{name}: ")
    assert problem in line
    assert line.endswith("Nothing was changed.")
    ask(page)  # nothing was lost
    assert headline(page) == ANSWER


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("facts.txt", "\n".join(FACTS)),
        ("facts.csv", "id,text\r\n" + "\r\n".join(f'{n},"{one}"' for n, one in enumerate(FACTS))),
        ("facts.jsonl", "\n".join(json.dumps({"id": n, "fact": one}) for n, one in enumerate(FACTS))),
    ],
)
def test_upload_a_good_file(server, browse, name, content):
    page = browse(server)
    upload(page, name, content.encode())
    page.wait_for_selector("#uploaded:visible")
    assert page.locator("#facts-count").inner_text() == f"0 facts typed, 6 from {name}"
    ask(page)
    assert headline(page) == ANSWER


def test_ten_thousand_facts(server, browse):
    page = browse(server)
    many = [*FACTS, *(f"Film {n} was directed by person {n % 977}." for n in range(10_000 - len(FACTS)))]
    upload(page, "many.txt", "\n".join(many).encode())
    page.wait_for_selector("#uploaded:visible")
    page.fill("#question", QUESTION)
    started = page.evaluate("performance.now()")
    assert page.locator("#facts-count").inner_text() == "0 facts typed, 10,000 from many.txt"
    assert page.evaluate("performance.now()") - started < 2_000  # typing stays fluid
    page.click("#submit")
    page.wait_for_selector(".result", timeout=60_000)
    assert headline(page) == ANSWER
    upload(page, "more.txt", "\n".join([*many, "One more."]).encode())
    page.click("#submit")
    page.wait_for_selector("#problem:visible")
    assert page.locator("#problem").inner_text() == "10,001 facts, allowed: 10,000."


def test_script_tags_stay_text(server, browse):
    page = browse(server)
    page.evaluate("window.harmed = false")
    evil = [
        "Blade Runner<script>window.harmed = true</script> is the work of director Ridley Scott.",
        'Directed by Ridley Scott, Alien<img src=x onerror="window.harmed = true"> came out in 1979.',
        "The release of Blade Runner</svg><svg onload=alert(1)> came in 1982.",
        '"><a href="javascript:window.harmed = true">Legend</a> came out in 1985.',
    ]
    own_facts(page, evil)
    ask(page, 'Which film by the director of Alien<b onclick="window.harmed = true"> came out in 1982?')
    shown = page.locator(".result")
    shown.locator("summary").first.click()
    assert page.locator(".result script, .result img, .result b[onclick], .result a[href^=javascript]").count() == 0
    assert "<b onclick=" in page.locator(".asked").inner_text()
    assert page.evaluate("window.harmed") is False
    linked = browse(server, "#q=%3Cscript%3Ealert(1)%3C%2Fscript%3E&c=%22%3E%3Cimg%20src%3Dx%3E")
    linked.wait_for_selector("#problem:visible")
    assert 'the collection “"><img src=x>”' in linked.locator("#problem").inner_text()


def test_two_systems(server, browse):
    page = browse(server)
    page.select_option("#against", "bm25")
    ask(page)
    assert page.locator(".result").count() == 2
    assert [headline(page, at) for at in (0, 1)] == [ANSWER, "Evidence alone"]
    # both at once, since the page may still be scrolling to them
    places = "all => all.map((one) => one.getBoundingClientRect().toJSON())"
    left, right = page.locator(".result").evaluate_all(places)
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_a_narrow_screen(server, browse):
    page = browse(server, viewport={"width": 360, "height": 740}, has_touch=True)
    page.select_option("#against", "bm25")
    ask(page)
    for name in ("facts", "example"):
        page.check(f"input[name=source][value={name}]")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    tops = page.locator(".result").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert tops[0] < tops[1]


def test_the_server_stops_in_the_middle(browse, served_process):
    server = served_process(0)
    page = browse(server)
    own_facts(page, FACTS)
    page.fill("#question", QUESTION)
    server.process.send_signal(signal.SIGSTOP)
    page.click("#submit")
    sync_api.expect(page.locator("#timer")).to_have_text(re.compile(r"0\.[3-9] s"))
    server.process.kill()
    page.wait_for_selector("#problem:visible")
    assert "The server cannot be reached. Nothing was lost." in page.locator("#problem").inner_text()
    assert page.input_value("#facts") == "\n".join(FACTS)
    again = served_process(int(server.url.rpartition(":")[2]))
    page.click("text=Try again")
    page.wait_for_selector(".result")
    assert headline(page) == ANSWER
    again.process.terminate()
    assert again.process.wait(30) == 0
    page.click("#submit")
    page.wait_for_selector("#problem:visible")
    assert (page.input_value("#question"), headline(page)) == (QUESTION, ANSWER)


def test_a_slow_question_is_cancelled(released, browse, gate):
    with run_server(released, more={"gate": gate}, timeout=1) as server:
        page = browse(server)
        own_facts(page, FACTS)
        page.select_option("#system", "gate")
        page.fill("#question", QUESTION)
        page.click("#submit")
        assert gate.asked.wait(30)
        assert page.locator("#submit").is_disabled()
        page.keyboard.press("Escape")
        sync_api.expect(page.locator("#status")).to_have_text(re.compile("^Cancelled"))
        assert re.fullmatch(r"\d+\.\d s", page.locator("#timer").inner_text())
        assert page.input_value("#question") == QUESTION
        page.click("#submit")  # and what takes longer than the server allows
        page.wait_for_selector("#problem:visible")
        assert "no answer within 1 s" in page.locator("#problem").inner_text()
        gate.open.set()


def test_a_link_opens_the_same_question(server, browse):
    page = browse(server)
    own_facts(page, FACTS)
    ask(page)
    link = page.input_value("#link")
    other = browse(server, "#" + link.partition("#")[2])
    other.wait_for_selector(".result")
    assert headline(other) == ANSWER
    assert other.input_value("#facts") == "\n".join(FACTS)
    own_facts(page, [*FACTS, "A long one. " * 800])
    ask(page)
    sync_api.expect(page.locator("#link")).to_have_value(re.compile("left=7"))
    third = browse(server, "#" + page.input_value("#link").partition("#")[2])
    third.wait_for_selector("#problem:visible")
    assert "The link does not hold its 7 facts" in third.locator("#problem").inner_text()


def test_a_token_is_asked_for(released, browse, monkeypatch):
    monkeypatch.setenv("BGR_TOKEN", "secret")
    with run_server(released) as server:
        monkeypatch.delenv("BGR_TOKEN")
        page = browse(server, ready="#token")
        page.fill("#token", "secret")
        page.keyboard.press("Tab")
        page.wait_for_selector("#system option", state="attached")
        ask(page)
        assert headline(page) == ANSWER


def test_every_control_has_a_name(server, browse):
    page = browse(server)
    ask(page)
    for source in ("collection", "example", "facts"):
        page.check(f"input[name=source][value={source}]")
        nameless = page.evaluate(
            """[...document.querySelectorAll('input, select, textarea, button, summary')]
               .filter((one) => !one.labels?.length && !one.textContent.trim() && !one.getAttribute('aria-label'))
               .map((one) => one.outerHTML)"""
        )
        assert nameless == []


def test_the_description_of_the_api(server, browse):
    page = browse(server)
    page.click("text=HTTP API")
    page.wait_for_selector("text=POST /v1/answer")
    assert page.locator("#routes h2").all_inner_texts()[:2] == ["POST /v1/answer", "POST /v1/batch"]
    for link in page.locator("a[href^='#type-']").evaluate_all("all => all.map((one) => one.getAttribute('href'))"):
        assert page.locator(link).count() == 1
