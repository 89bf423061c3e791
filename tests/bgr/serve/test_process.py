"""`bgr serve` as a process: its start, and its end by signals."""

import signal
import threading

import httpx
import pytest

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_what_was_asked(served_process, pruned_checkpoint, number):
    server = served_process(0, "--checkpoint", pruned_checkpoint, "--batch-wait", 1_000)
    found, question = [], {"question": "Where was Persona made ?"}
    httpx.post(f"{server.url}/v1/batch", json={"requests": [question] * 2}, timeout=60)  # the next one waits for others
    asking = threading.Thread(
        target=lambda: found.append(httpx.post(f"{server.url}/v1/answer", json=question, timeout=60))
    )
    asking.start()
    with httpx.Client(base_url=server.url) as client:
        while not client.get("/v1/health").json()["queue"]:
            assert asking.is_alive()
    server.process.send_signal(number)  # the question waits for others, for a second
    assert server.process.wait(60) == 0
    asking.join(30)
    assert found[0].status_code == 200
    assert server.process.stderr.read().splitlines() == [
        "stopping: questions that were asked are answered first",
        "stopped",
    ]


def test_secrets_are_not_told(served_process, pruned_checkpoint, monkeypatch):
    monkeypatch.setenv("BGR_TOKEN", "hidden-secret")
    server = served_process(0, "--checkpoint", pruned_checkpoint)
    assert httpx.get(f"{server.url}/v1/systems").status_code == 401
    right = {"authorization": "Bearer hidden-secret"}
    assert httpx.get(f"{server.url}/v1/systems", headers=right).status_code == 200
    server.process.terminate()
    assert "hidden" not in "".join(server.lines) + server.process.stderr.read()
