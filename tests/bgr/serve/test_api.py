"""The HTTP API of `bgr serve`, over real connections."""

import json
import socket
import threading
import time

import httpx
import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from bgr import __version__
from bgr.pipeline import BgrPipeline
from bgr.serve.app import invalid
from bgr.serve.schema import AnswerResponse, AskRequest, BatchRequest
from bgr.utils.json_utils import MAX_TEXT
from tests.bgr.serve.conftest import EXAMPLE, FACTS, run_server

QUESTION = "In which country was Persona made ?"


def ask(client, **request):
    return client.post("/v1/answer", json=request)


def error(response):
    body = response.json()
    assert list(body) == ["error"]
    assert "\n" not in body["error"]
    return response.status_code, body["error"]


def test_over_given_facts(served, pruned_checkpoint):
    found = AnswerResponse.model_validate(ask(served.client, question=f"  {QUESTION}\n", facts=FACTS).json())
    wanted = BgrPipeline.from_pretrained(pruned_checkpoint).answer(QUESTION, FACTS)
    assert (found.question, found.system, found.source, found.collection) == (QUESTION, "bgr", "facts", None)
    assert (found.graph.nodes, found.count) == (wanted.graph.order(), len(FACTS))
    assert {(edge.source, edge.target) for edge in found.graph.edges} == set(wanted.graph.edges)
    assert {edge.target: edge.score for edge in found.forward.edges} == pytest.approx(
        {b: score for (_, b), score in wanted.forward.scores.items()}
    )
    shown = {*wanted.graph.nodes, *wanted.forward.nodes, *wanted.backward.nodes}
    assert {one.number: one.text for one in found.candidates} == {number: FACTS[number] for number in shown}
    assert (found.answer, found.has_reader, found.gold) == (None, False, None)


def test_over_a_collection(served):
    found = ask(served.client, question=QUESTION, pool=2).json()
    assert (found["source"], found["collection"]) == ("collection", "films")
    assert 1 <= found["count"] <= 2
    assert {one["id"] for one in found["candidates"]} <= {"p0", "p1", "p2", "p3"}
    named = ask(served.client, question=QUESTION, pool=2, collection="films").json()
    assert {**found, "milliseconds": None} == {**named, "milliseconds": None}


def test_an_example_has_its_gold_graph(served):
    listed = served.client.get("/v1/examples").json()
    assert [(one["id"], one["question"]) for one in listed] == [("e1", EXAMPLE.question)]
    whole = served.client.get("/v1/examples/e1").json()
    assert (whole["facts"], whole["answer"]) == (FACTS, "Sweden")
    found = ask(served.client, example="e1", system="bm25").json()
    assert (found["question"], found["source"]) == (EXAMPLE.question, "example")
    assert found["gold"] == whole["graph"] == {"nodes": [2], "edges": [{"source": -1, "target": 2, "score": None}]}
    assert (found["gold_answer"], found["forward"], found["agreement"]) == ("Sweden", None, None)
    assert found["graph"]["nodes"][0] == 2
    assert error(served.client.get("/v1/examples/e2")) == (404, "no example 'e2'")


def test_bm25_leaves_out_what_shares_no_word(served):
    found = ask(served.client, question="Persona", facts=FACTS, system="bm25").json()
    assert (found["graph"]["nodes"], found["has_reader"]) == ([2], False)
    assert ask(served.client, question="Qwertz", facts=FACTS, system="bm25").json()["graph"]["nodes"] == []
    found = ask(served.client, question="Persona", system="bm25").json()
    assert [one["text"] for one in found["candidates"]] == ["Persona was made in Sweden ."]


def test_what_there_is(served):
    systems = served.client.get("/v1/systems").json()
    assert [(one["name"], one["answers"]) for one in systems] == [("bgr", False), ("broken", True), ("bm25", False)]
    assert served.client.get("/v1/collections").json() == [{"name": "films", "texts": 4}]
    health = served.client.get("/v1/health").json()
    assert (health["status"], health["version"], health["queue"]) == ("ready", __version__, 0)
    assert health["limits"] == {"facts": 10_000, "bytes": 10_000_000, "queue": 128, "seconds": 60.0}
    described = served.client.get("/openapi.json").json()
    assert {"/v1/answer", "/v1/batch", "/v1/health", "/v1/examples/{id}"} <= set(described["paths"])
    assert described["paths"]["/v1/answer"]["post"]["responses"]["429"]["description"].startswith("the queue is full")


def test_a_batch_has_a_result_for_each_request(served):
    requests = [
        {"question": QUESTION, "facts": FACTS},
        {"question": "Who ?", "collection": "none"},
        {"question": "a bad one", "facts": FACTS, "system": "broken"},
        {"question": "a good one", "facts": FACTS, "system": "broken"},
        {"question": QUESTION},
    ]
    found = served.client.post("/v1/batch", json={"requests": requests}).json()["results"]
    single = ask(served.client, **requests[0]).json()
    assert {**found[0], "milliseconds": None} == {**single, "milliseconds": None}
    assert found[1] == {"error": "collection is 'none', allowed: films"}
    assert found[2] == {"error": "the server failed at this question"}
    assert (found[3]["answer"], found[4]["collection"]) == ("good", "films")


WRONG = [
    ({}, "the question is empty"),
    ({"question": "  "}, "the question is empty"),
    ({"question": 3}, "question: Input should be a valid string, not 3"),
    ({"question": "x", "facts": []}, "facts is empty; give at least one"),
    ({"question": "x", "facts": "abc"}, "facts: Input should be a valid list, not 'abc'"),
    ({"question": "x", "facts": ["a", 1]}, "facts.1: Input should be a valid string, not 1"),
    ({"question": "x", "facts": ["a", "b\ud800"]}, "fact 1 is "),
    ({"question": "x" * (MAX_TEXT + 1), "facts": ["a"]}, "question: String should have at most"),
    ({"question": "x", "facts": ["a"] * 10_001}, "10,001 facts, allowed: 10,000"),
    ({"question": "x", "facts": ["a"], "example": "e1"}, "give one of facts, collection and example"),
    ({"question": "x", "facts": ["a"], "pool": 3}, "pool is a number of texts of a collection, and facts is given"),
    ({"question": "x", "example": "e2"}, "example is 'e2', allowed: an id of /v1/examples"),
    ({"question": "x", "system": "gpt"}, "system is 'gpt', allowed: bgr, broken, bm25"),
    ({"question": "x", "collection": "gpt"}, "collection is 'gpt', allowed: films"),
    ({"question": "x", "collection": "films", "pool": 0}, "pool: Input should be greater than or equal to 1, not 0"),
    ({"question": "x", "hops": 3}, "hops: Extra inputs are not permitted, not 3"),
    ({"question": "x", "k" * 100_000: 3}, f"{'k' * 79}…: Extra inputs are not permitted, not 3"),
    ({"question": "x", "\ud800": 3}, "Extra inputs are not permitted, not 3"),
    ([], "Input should be a valid dictionary"),
]


@pytest.mark.parametrize(("request_", "text"), WRONG)
def test_what_is_wrong_is_said_in_one_line(served, request_, text):
    body = json.dumps(request_)
    status, found = error(served.client.post("/v1/answer", content=body, headers={"content-type": "application/json"}))
    assert status == 422
    assert text in found
    assert len(found) < 500


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ({"question": "x", "facts": [1] * 400_000}, "facts.0: "),
        ({"question": "x", **{str(number): 0 for number in range(100_000)}}, "0: "),
        ({"requests": [1] * 400_000}, "requests.0: "),
        ({"requests": [{"question": "x", "facts": [1] * 400} for _ in range(900)]}, "requests.0.facts.0: "),
    ],
)
def test_only_the_first_problem_is_looked_for(request_, where):
    """All of them took a minute and gigabytes, in which nobody else was answered."""
    model = BatchRequest if "requests" in request_ else AskRequest
    with pytest.raises(ValidationError) as caught:
        model.model_validate(request_)
    assert caught.value.error_count() == 1
    assert invalid(RequestValidationError(caught.value.errors())).startswith(where)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"question": "a", "question": "b"}', "the body is not valid JSON: key 'question' is repeated"),
        (b'{"question": "\xff"}', "the body is not UTF-8"),
        (b"[" * 100_000, "the body is not valid JSON: nested too deeply"),
        (b'{"pool": ' + b"9" * 10_000 + b"}", "the body is not valid JSON: a number of thousands of digits"),
    ],
)
def test_the_body_is_read_as_any_json(served, body, text):
    headers = {"content-type": "application/json"}
    status, found = error(served.client.post("/v1/answer", content=body, headers=headers))
    assert status == 422
    assert found.startswith(text)


@pytest.mark.parametrize("body", [b"", b"{", b'{"question": "\xff"}', b"[" * 100_000, b'{"question": NaN}', b"null"])
def test_what_is_no_json_is_refused(served, body):
    response = served.client.post("/v1/answer", content=body, headers={"content-type": "application/json"})
    assert error(response)[0] in (400, 422)
    assert served.client.get("/v1/health").json()["status"] == "ready"


def test_a_failure_tells_nothing_of_the_inside(served):
    assert error(ask(served.client, question="a bad one", facts=FACTS, system="broken")) == (
        500,
        "the server failed at this question",
    )


def test_metrics_name_no_path_of_a_client(served):
    served.client.get("/v1/nothing/<script>")
    ask(served.client, question="a good one", facts=FACTS, system="broken")
    text = served.client.get("/metrics").text
    assert "<script>" not in text
    assert 'bgr_questions_total{outcome="answered",system="broken"}' in text
    assert 'bgr_requests_total{route="/v1/answer",status="200"}' in text
    assert "process_resident_memory_bytes" in text


# ---- limits


def test_size(sources):
    with run_server(sources, max_bytes=1_000, max_facts=3) as server:
        big = json.dumps({"question": "x", "facts": ["a" * 2_000]}).encode()
        headers = {"content-type": "application/json"}
        assert error(server.client.post("/v1/answer", content=big, headers=headers))[0] == 413
        parts = (big[at : at + 100] for at in range(0, len(big), 100))  # without a length
        assert error(server.client.post("/v1/answer", content=parts, headers=headers)) == (413, "more than 1,000 bytes")
        assert error(ask(server.client, question="x", facts=FACTS)) == (422, "4 facts, allowed: 3")
        assert ask(server.client, question=QUESTION, facts=FACTS[:3]).status_code == 200


def test_a_body_that_does_not_come(sources):
    with run_server(sources, body_seconds=0.2) as server, socket.create_connection(_place(server)) as slow:
        slow.sendall(b"POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        slow.sendall(b'Content-Length: 100\r\n\r\n{"question"')
        slow.settimeout(10)
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")


def test_other_hosts_and_types_are_refused(served):
    assert error(served.client.get("/", headers={"host": "evil.example:8756"}))[0] == 403
    for host in ("localhost", "localhost:8756", "127.0.0.1", "[::1]:8756", "[::1]"):
        assert served.client.get("/v1/health", headers={"host": host}).status_code == 200
    response = served.client.post("/v1/answer", content=b"{}", headers={"content-type": "text/plain"})
    assert error(response) == (415, "the content type must be application/json")
    assert error(served.client.delete("/v1/answer"))[0] == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.2", 200),
        ("127.0.0.2:8756", 200),
        ("evil.example", 403),
        ("127.0.0.2.evil.example", 403),
        ("128.0.0.2", 403),
        ("", 403),
    ],
)
def test_every_loopback_address_is_a_host_and_nothing_else(served, host, status):
    assert served.client.get("/v1/health", headers={"host": host}).status_code == status


def test_every_response_has_the_headers(served):
    for path in ("/", "/app.js", "/v1/health", "/nothing", "/docs", "/metrics"):
        headers = served.client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers or headers["server"] != "uvicorn/"


@pytest.mark.parametrize("path", ["/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "//etc/passwd", "/page/", "/."])
def test_only_the_page_is_served(served, path):
    response = httpx.get(served.url + path)
    assert response.status_code == 404 or "<title>BGR" in response.text


def test_a_token(sources, monkeypatch):
    monkeypatch.setenv("BGR_TOKEN", "schlüssel")
    with run_server(sources) as server:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic schl"}):
            response = server.client.get("/v1/systems", headers=headers)
            assert error(response) == (401, "a token is required: Authorization: Bearer TOKEN")
            assert response.headers["www-authenticate"] == "Bearer"
        assert server.client.get("/metrics").status_code == 401
        for path in ("/", "/v1/health"):
            assert server.client.get(path).status_code == 200
        assert server.client.get("/v1/health").json()["token"] is True
        right = {"authorization": "Bearer schlüssel".encode()}
        assert server.client.get("/v1/systems", headers=right).status_code == 200


# ---- the queue


def in_threads(server, count, **request):
    """Send a request several times at once; its statuses when the threads are joined."""
    found = []

    def send():
        with httpx.Client(base_url=server.url, timeout=60) as client:
            found.append(ask(client, **request))

    threads = [threading.Thread(target=send) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, found


def wait_until(true):
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_full_queue_refuses_and_harms_nobody(sources, gate):
    with run_server(sources, more={"gate": gate}, max_queue=4) as server:
        threads, found = in_threads(server, 4, question="Who ?", facts=FACTS, system="gate")
        wait_until(lambda: server.service.worker.pending == 4)
        refused = ask(server.client, question="Who ?", facts=FACTS, system="gate")
        assert error(refused) == (429, "4 questions wait, allowed: 4; try again in 1 s")
        assert refused.headers["retry-after"] == "1"
        many = {"requests": [{"question": "Who ?", "facts": FACTS}] * 5}
        assert error(server.client.post("/v1/batch", json=many)) == (422, "5 requests, allowed: 4")
        assert server.client.get("/v1/health").json()["queue"] == 4
        gate.open.set()
        for thread in threads:
            thread.join(30)
        assert [one.status_code for one in found] == [200] * 4
        assert ask(server.client, question="Who ?", facts=FACTS, system="gate").status_code == 200


def test_questions_that_wait_are_answered_together(sources, gate):
    with run_server(sources, more={"gate": gate}) as server:
        first, _ = in_threads(server, 1, question="first", facts=FACTS, system="gate")
        assert gate.asked.wait(30)
        rest, found = in_threads(server, 6, question="later", facts=FACTS, system="gate")
        wait_until(lambda: server.service.worker.pending == 7)
        gate.open.set()
        for thread in (*first, *rest):
            thread.join(30)
        assert gate.batches == [["first"], ["later"] * 6]
        assert {one.json()["milliseconds"]["waited"] > 0 for one in found} == {True}


def test_a_slow_answer_is_given_up(sources, gate):
    with run_server(sources, more={"gate": gate}, timeout=0.2) as server:
        assert error(ask(server.client, question="Who ?", facts=FACTS, system="gate")) == (
            504,
            "no answer within 0.2 s",
        )
        gate.open.set()


def test_a_client_that_goes_is_not_answered(sources, gate):
    with run_server(sources, more={"gate": gate}) as server:
        first, _ = in_threads(server, 1, question="first", facts=FACTS, system="gate")
        assert gate.asked.wait(30)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(
                f"{server.url}/v1/answer", json={"question": "gone", "facts": FACTS, "system": "gate"}, timeout=0.3
            )
        gone = 'bgr_requests_total{route="/v1/answer",status="499"} 1.0'
        wait_until(lambda: gone in server.client.get("/metrics").text)
        gate.open.set()
        first[0].join(30)
        wait_until(lambda: server.service.worker.pending == 0)
        assert gate.batches == [["first"]]


def test_stopping_answers_what_was_asked(sources, gate):
    with run_server(sources, more={"gate": gate}) as server:
        threads, found = in_threads(server, 2, question="Who ?", facts=FACTS, system="gate")
        wait_until(lambda: server.service.worker.pending == 2)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        time.sleep(0.2)
        gate.open.set()
        for thread in (*threads, stopping):
            thread.join(30)
        assert [one.status_code for one in found] == [200, 200]
        with pytest.raises(httpx.ConnectError):
            server.client.get("/v1/health")


def test_a_stopped_worker_is_told(sources):
    with run_server(sources) as server:
        server.service.worker.stop(10)
        assert error(ask(server.client, question="Who ?", facts=FACTS)) == (503, "the server is stopping")
        assert server.client.get("/v1/health").json()["status"] == "stopping"


def _place(server):
    return "127.0.0.1", int(server.url.rpartition(":")[2])
