"""The server under faults: slow and vanishing clients, models that are loaded again, and a thread that dies."""

import contextlib
import gc
import json
import os
import signal
import socket
import threading
import time
from dataclasses import replace

import httpx
import pytest

from bgr.collection.collection import Collection
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from tests.bgr.serve.conftest import FACTS, Gate, answer, run_server

QUESTION = {"question": "Who ?", "facts": FACTS}


class Named:
    """A system that answers with its name."""

    answers, directed = True, False

    def __init__(self, name):
        self.name = self.description = name

    def answer_all(self, queries, collection, pool):
        return [answer(query, text=self.name) for query in queries]


class Everything:
    """A system that finds all facts."""

    description, answers, directed = "all", True, False

    def answer_all(self, queries, collection, pool):
        [query] = queries
        found = answer(query, text="yes")
        return [replace(found, graph=EvidenceGraph((ROOT, number) for number in range(len(query.facts))))]


class Deadly:
    """A system at which the thread ends."""

    description, answers, directed = "ends", True, False

    def answer_all(self, queries, collection, pool):
        raise SystemExit(3)


def ask(client, **request):
    return client.post("/v1/answer", json={**QUESTION, **request})


def asking(server, found, *, path="/v1/answer", headers=None, **request):
    """A thread that sends a request and adds the response to `found`."""

    def send():
        body = {} if path == "/v1/reload" else {**QUESTION, **request}
        found.append(httpx.post(f"{server.url}{path}", json=body, headers=headers, timeout=60))

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def wait_until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def connected(server):
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=30)


def cut(connection):
    """Whether the server closes the connection."""
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


# ---- slow and vanishing clients


@pytest.mark.workflow
@pytest.mark.parametrize(
    "sent", [b"", b"GET /v1/health HTT", b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "]
)
def test_headers_that_do_not_come(sources, sent):
    with run_server(sources, connection={"header_seconds": 0.3}) as server, connected(server) as slow:
        slow.sendall(sent)
        assert cut(slow)
        assert server.client.get("/v1/health").status_code == 200


def test_headers_that_come_drop_by_drop(sources):
    with run_server(sources, connection={"header_seconds": 0.4}) as server, connected(server) as slow:
        slow.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n")
        began = time.monotonic()

        def drip():
            while time.monotonic() < began + 20:  # each drop would start the time anew
                slow.sendall(b"X-Drop: 1\r\n")
                time.sleep(0.05)

        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            drip()


@pytest.mark.workflow
def test_a_second_request_has_its_own_time_for_headers(sources):
    with run_server(sources, connection={"header_seconds": 1.0}) as server, connected(server) as slow:
        request = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(3):
            slow.sendall(request)
            reply = b""
            while b'"token"' not in reply:  # the last field
                reply += slow.recv(10_000)
            time.sleep(0.5)  # together more than the time
        slow.sendall(request[:-10])
        assert cut(slow)


@pytest.mark.workflow
def test_a_question_that_takes_long_is_not_cut(sources, gate):
    with run_server(sources, more={"gate": gate}, connection={"header_seconds": 0.2}) as server:
        timer = threading.Timer(0.8, gate.open.set)
        timer.start()
        assert ask(server.client, system="gate").status_code == 200


@pytest.mark.workflow
def test_a_response_that_is_not_read(sources):
    """The response has the documents of the collection, more than the buffers of both sides hold."""
    texts = [f"{number} " + 20_000 * "a " for number in range(400)]
    body = json.dumps({"question": "Who ?", "facts": texts, "system": "all"}).encode()
    head = b"POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(body)
    settings = {"connection": {"read_seconds": 0.3}, "max_bytes": 100_000_000}
    with run_server(sources, more={"all": Everything()}, **settings) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        deaf.sendall(head + body)
        wait_until(lambda: server.service.metrics.questions.labels("all", "answered")._value.get())
        time.sleep(1.0)
        size, began = 0, time.monotonic()
        with contextlib.suppress(ConnectionResetError):
            while part := deaf.recv(1 << 20):
                size += len(part)
        assert size < len(body)
        assert time.monotonic() - began < 4  # not cut as an idle connection


@pytest.mark.workflow
def test_clients_that_vanish_leave_no_files_no_work_and_no_log(sources, gate, monkeypatch, caplog):
    with run_server(sources, more={"gate": gate}) as server:
        worker, futures = server.service.worker, []
        submit = worker.submit
        monkeypatch.setattr(worker, "submit", lambda items: futures.extend(found := submit(items)) or found)
        first = threading.Thread(
            target=lambda: httpx.post(f"{server.url}/v1/answer", json={**QUESTION, "system": "gate"})
        )
        first.start()
        assert gate.asked.wait(30)
        server.client.get("/v1/health")
        before = len(os.listdir("/proc/self/fd"))
        body = b'{"question": "gone", "facts": ["a"], "system": "gate"}'
        head = b"POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += b"Content-Length: %d\r\n\r\n"
        for number in range(40):
            with connected(server) as gone:
                gone.sendall((head % len(body) + body)[: None if number % 2 else 120])
                if number % 2:  # it is in the queue before the client goes
                    wait_until(lambda whole=2 + number // 2: len(futures) == whole)
            wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)
        wait_until(lambda: all(future.cancelled() for future in futures[1:]))
        gate.open.set()
        first.join(30)
        wait_until(lambda: server.service.worker.pending == 0)
        assert gate.batches == [["Who ?"]]
    gc.collect()  # asyncio logs an exception that nobody looked at when its future is deleted
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


# ---- reloading


def loading(sources, *names):
    """A `load` that gives sources whose default system is the next of the names; an error as a name is raised."""
    left = list(names)

    def load():
        name = left.pop(0)
        if isinstance(name, Exception):
            raise name
        return replace(sources, systems={"named": Named(name), **sources.systems})

    return load


@pytest.mark.workflow
def test_a_reload_without_a_lost_request(sources, monkeypatch):
    """Clients ask all the time; the answers change from the first models to the last, and none fails."""
    monkeypatch.setenv("BGR_TOKEN", "t")
    names = [f"model {n}" for n in range(1, 5)]
    first = loading(sources, "model 0")()
    header = {"authorization": "Bearer t"}
    found, over = [[] for _ in range(4)], threading.Event()
    with run_server(first, load=loading(sources, *names)) as server:

        def client(mine):
            with httpx.Client(base_url=server.url, timeout=30, headers=header) as own:
                while not over.is_set():
                    mine.append(ask(own, system="named"))

        threads = [threading.Thread(target=client, args=(mine,)) for mine in found]
        for thread in threads:
            thread.start()
        for name in names:
            assert server.client.post("/v1/reload", json={}, headers=header).json()["status"] == "ready"
            assert ask(httpx.Client(base_url=server.url, headers=header), system="named").json()["answer"] == name
        over.set()
        for thread in threads:
            thread.join(30)
        wait_until(lambda: not server.service._former)
    for mine in found:
        assert mine
        assert {one.status_code for one in mine} == {200}
        said = [one.json()["answer"] for one in mine]
        assert said == sorted(said)


def test_what_waits_is_answered_by_the_former_models(sources, monkeypatch):
    monkeypatch.setenv("BGR_TOKEN", "t")
    header, gate = {"authorization": "Bearer t"}, Gate()
    first = replace(sources, systems={"named": gate})
    found = []
    with run_server(first, load=loading(sources, "new")) as server:
        first_asked = asking(server, found, headers=header)
        assert gate.asked.wait(30)
        assert server.client.post("/v1/reload", json={}, headers=header).json()["queue"] == 1
        assert ask(server.client, system="named", **{}).status_code == 401
        assert ask(httpx.Client(base_url=server.url, headers=header)).json()["answer"] == "new"
        gate.open.set()
        first_asked.join(30)
        assert found[0].json()["answer"] == "yes"
        wait_until(lambda: not server.service._former)


def test_models_that_cannot_be_loaded_change_nothing(sources, monkeypatch):
    monkeypatch.setenv("BGR_TOKEN", "t")
    header = {"authorization": "Bearer t"}
    load = loading(sources, DataError("it is\ndamaged"), "new")
    with run_server(loading(sources, "old")(), load=load) as server:
        refused = server.client.post("/v1/reload", json={}, headers=header)
        assert (refused.status_code, refused.json()) == (422, {"error": "it is damaged"})
        with httpx.Client(base_url=server.url, headers=header) as client:
            assert ask(client).json()["answer"] == "old"
            assert client.post("/v1/reload", json={}).status_code == 200
            assert ask(client).json()["answer"] == "new"


def test_a_reload_at_a_time(sources, monkeypatch):
    monkeypatch.setenv("BGR_TOKEN", "t")
    header, began, go = {"authorization": "Bearer t"}, threading.Event(), threading.Event()

    def load():
        began.set()
        assert go.wait(30)
        return sources

    with run_server(sources, load=load) as server:
        first = asking(server, [], path="/v1/reload", headers=header)
        assert began.wait(30)
        second = server.client.post("/v1/reload", json={}, headers=header)
        assert (second.status_code, second.json()["error"]) == (409, "the models are being loaded already")
        go.set()
        first.join(30)


def test_without_a_token_nobody_reloads(sources):
    with run_server(sources, load=lambda: sources) as server:
        refused = server.client.post("/v1/reload", json={})
        assert (refused.status_code, refused.json()["error"]) == (
            403,
            "this server has no token; send its process SIGHUP",
        )


# ---- a thread that dies


def test_a_thread_that_dies_fails_all_that_waits_at_once(sources):
    died = threading.Event()
    with run_server(sources, more={"deadly": Deadly()}) as server:
        server.service.on_death = died.set
        refused = ask(server.client, system="deadly")
        assert (refused.status_code, refused.json()["error"]) == (503, "the server has failed, and ends")
        assert died.wait(30)
        assert ask(server.client).json()["error"] == "the server has failed, and ends"
        assert server.service.pending == 0


@pytest.mark.workflow
def test_the_process_reloads_at_a_signal(served_process, pruned_checkpoint):
    server = served_process(0, "--checkpoint", pruned_checkpoint)
    server.process.send_signal(signal.SIGHUP)
    assert server.process.stderr.readline() == "loading the models again\n"
    while (line := server.process.stderr.readline()) != "the models are loaded\n":
        assert line
    question = {"question": "Where was Persona made ?"}
    assert httpx.post(f"{server.url}/v1/answer", json=question, timeout=60).status_code == 200
    server.process.terminate()
    assert server.process.wait(60) == 0


@pytest.mark.workflow
def test_the_process_ends_with_the_thread(pruned_checkpoint, tmp_path):
    """A system that ends the thread, as only a fault of a library could."""
    import subprocess
    import sys

    Collection.build(FACTS, tmp_path / "facts", encoder=None)
    words = ["serve", "--port", "0", "--checkpoint", str(pruned_checkpoint), "--collection", f"facts={tmp_path}/facts"]
    code = f"""
import sys
from bgr.pipeline import BgrPipeline
from bgr.cli import main
def answer_all(self, queries, **more):
    if queries[0].question.startswith("Where"):
        raise SystemExit(9)
    return real(self, queries, **more)
real, BgrPipeline.answer_all = BgrPipeline.answer_all, answer_all
sys.exit(main({words!r}))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    lines = []
    while not (lines and lines[-1].startswith("listening on ")):
        lines.append(process.stderr.readline())
        assert lines[-1]
    url = lines[-1].removeprefix("listening on ").partition(",")[0]
    found = httpx.post(f"{url}/v1/answer", json={"question": "Where ?", "facts": FACTS}, timeout=60)
    assert found.status_code == 503
    assert process.wait(60) == 1
    last = process.stderr.read().strip().splitlines()[-1]
    assert last.startswith("bgr serve: error: the thread with the models has ended by an error")
