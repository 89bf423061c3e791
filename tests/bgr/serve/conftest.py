"""A server on loopback in this process, over a small pipeline and over systems that are slow or fail."""

import subprocess
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import pytest
import uvicorn

from bgr.collection.collection import Collection
from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.pipeline import BgrPipeline
from bgr.reader.answer import Answer
from bgr.serve.answering import Answering
from bgr.serve.app import create_app
from bgr.serve.connections import TimedProtocol
from bgr.serve.options import ServeOptions
from bgr.serve.server import address, listening
from bgr.serve.service import Service
from bgr.serve.sources import Bm25System, GraphSystem, Sources

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden .", "Alpha has 3 people ."]
EXAMPLE = Example("e1", "Where was Persona made ?", tuple(FACTS), EvidenceGraph([(ROOT, 2)]), "Sweden", (), "query")


class Gate:
    """A system that answers when it is let; `asked` is set when a batch has begun. It finds the last fact."""

    description, answers, directed = "waits", True, False

    def __init__(self):
        self.asked, self.open, self.batches = threading.Event(), threading.Event(), []

    def answer_all(self, queries, collection, pool):
        self.batches.append([query.question for query in queries])
        self.asked.set()
        assert self.open.wait(60)
        return [answer(query, text="yes") for query in queries]


class Broken:
    """A system that cannot answer a question with the word "bad"."""

    description, answers, directed = "fails", True, False

    def answer_all(self, queries, collection, pool):
        if any("bad" in query.question for query in queries):
            raise ZeroDivisionError("a secret")
        return [answer(query, text="good") for query in queries]


def answer(query, text):
    graph, none = EvidenceGraph([(ROOT, len(query.facts) - 1)]), EvidenceGraph()
    facts = tuple(query.facts)
    return Answer(query.question, facts, graph, none, none, 1.0, (), has_reader=True, text=text, confidence=0.5)


@pytest.fixture(scope="session")
def sources(pruned_checkpoint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve") / "films"
    documents = [{"id": f"p{n}", "title": "", "text": one} for n, one in enumerate(FACTS)]
    collection = Collection.build(documents, folder, encoder=None)
    systems = {
        "bgr": GraphSystem(BgrPipeline.from_pretrained(pruned_checkpoint), "a small one"),
        "broken": Broken(),
        "bm25": Bm25System(),
    }
    return Sources(systems, {"films": collection}, {EXAMPLE.id: EXAMPLE})


@contextmanager
def run_server(sources, *, host="127.0.0.1", more=None, body_seconds=None, load=None, connection=None, **options):
    """A server with these options; gives its client, its URL, its service, and ``stop()``. `load` is for a reload, and
    `connection` has times of `TimedProtocol`."""
    chosen = ServeOptions(**options)
    served = Sources({**sources.systems, **(more or {})}, sources.collections, sources.examples)
    service = Service(Answering(served, max_facts=chosen.max_facts, pool=chosen.pool), chosen, load=load)
    app = create_app(service)
    if body_seconds is not None:
        app.app.body_seconds = body_seconds
    with listening(host, 0) as listener:
        protocol = type("Connection", (TimedProtocol,), connection or {})
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=10, http=protocol)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        url = address(listener)

        def stop():
            server.should_exit = True
            thread.join(30)
            service.stop(30)

        try:
            with httpx.Client(base_url=url, timeout=30) as client:
                yield SimpleNamespace(client=client, url=url, service=service, stop=stop)
        finally:
            stop()
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def served(sources):
    """A server that the tests of a module share."""
    with run_server(sources) as server:
        yield server


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def served_process(sources):
    """``served_process(port, *words)``: `bgr serve` over a small collection in a process of its own, when it listens:
    the process, its URL, and the lines of standard error so far."""
    folder, started = sources.collections["films"].folder, []

    def start(port, *words):
        command = [sys.executable, "-m", "bgr", "serve", "--port", str(port), "--collection", f"films={folder}"]
        process = subprocess.Popen([*command, *map(str, words)], stderr=subprocess.PIPE, text=True)
        started.append(process)
        lines = []
        while not (lines and lines[-1].startswith("listening on ")):
            line = process.stderr.readline()
            assert line, f"the server has ended: {lines}"
            lines.append(line)
        url = lines[-1].removeprefix("listening on ").partition(",")[0]
        return SimpleNamespace(process=process, url=url, lines=lines)

    yield start
    for process in started:
        process.kill()
        process.communicate()
