"""Sentence vectors from a server with OpenAI's protocol (``/v1/embeddings``): vLLM, llama.cpp, Ollama and others."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from bgr.errors import BgrError, DataError
from bgr.llm.backends.server_faults import AnswerTooLong, Refused, check_coding, fault_of, key_in, pause, public_address
from bgr.llm.options import PATIENCE
from bgr.utils.json_utils import parse_json, repr_short

MAX_BYTES = 64 << 20
"""Maximum size of a response."""
_FAULTS = (DataError, Refused, AnswerTooLong, TimeoutError, UnicodeEncodeError)


class EmbeddingServer:
    """Encodes sentences as unit vectors; equal sentences are sent once.

    Args:
        base_url: for example ``http://localhost:8000/v1``.
        model: name of the model on the server.
        query_prefix: text before each query, for models that were trained with an instruction.
        api_key_env: environment variable with the key; it may be unset. The key is never part of a message.
        batch: texts of a request.
        timeout: seconds of one try, up to the last byte of the response.
        retries: further tries after an overloaded server, a timeout or a broken response.
        first_wait: seconds before the second try; the wait doubles each time. ``Retry-After`` takes precedence, up
            to `patience`.
        patience: maximum seconds to wait before another try; a server that asks for more is given up.

    Raises:
        BgrError: the address or the key is invalid.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        query_prefix: str = "",
        api_key_env: str = "OPENAI_API_KEY",
        batch: int = 64,
        timeout: float = 120.0,
        retries: int = 5,
        first_wait: float = 1.0,
        patience: float = PATIENCE,
    ) -> None:
        self.address = public_address(base_url)
        self.model, self.query_prefix, self.batch = model, query_prefix, batch
        self.retries, self.first_wait, self.patience = retries, first_wait, patience
        self.timeout = timeout
        self._key = key_in(api_key_env)
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        self._client = httpx.Client(timeout=timeout, headers=headers)  # does not follow redirects
        self._width = 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, one unit vector for each text.

        Raises:
            BgrError: the server cannot be reached or refuses the request, or its response holds no such vectors.
        """
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return np.zeros((0, self._width or self(["width"]).shape[1]), dtype=np.float32)
        parts = [self._encoded(distinct[first : first + self.batch]) for first in range(0, len(distinct), self.batch)]
        if len({part.shape[1] for part in parts}) > 1:
            raise BgrError(f"{self.address}: vectors of different widths")
        vectors = np.concatenate(parts)
        self._width = vectors.shape[1]
        row_of = {text: row for row, text in enumerate(distinct)}
        return vectors[[row_of[text] for text in texts]]

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """The unit vectors of queries, each after the prefix; see `__call__`."""
        return self([self.query_prefix + text for text in texts])

    def identity(self) -> str:
        """SHA-256 of the model's name and the prefix: the server says no more of its model."""
        return hashlib.sha256(f"server\0{self.model}\0{self.query_prefix}".encode()).hexdigest()

    def _encoded(self, texts: Sequence[str]) -> np.ndarray:
        tried = 0
        while True:
            tried += 1
            try:
                return vectors_of(self._post({"model": self.model, "input": list(texts)}), len(texts))
            except (httpx.HTTPError, httpx.InvalidURL, *_FAULTS) as error:
                fault = fault_of(error, self._key)
                if fault.kind not in ("wait", "retry") or tried > self.retries or (fault.wait or 0.0) > self.patience:
                    raise BgrError(f"{self.address}: embeddings of {self.model}: {fault.text}") from None
                time.sleep(pause(fault, tried, self.first_wait))

    def _post(self, body: dict[str, Any]) -> bytes:
        end = time.monotonic() + self.timeout
        with self._client.stream("POST", f"{self.address}/embeddings", json=body) as response:
            check_coding(response)
            blocks, size = [], 0
            for block in response.iter_bytes():
                blocks.append(block)
                size += len(block)
                if size > MAX_BYTES:
                    raise AnswerTooLong
                if time.monotonic() > end:  # the client's own limit is of each part
                    raise TimeoutError
            content = b"".join(blocks)
            if response.status_code != 200:
                raise Refused(response.status_code, content, response.headers)
            return content


def vectors_of(body: bytes, count: int) -> np.ndarray:
    """The unit vectors ``float32 [count, d]`` in a response, by their ``index``; DataError says what is missing."""
    try:
        answer = parse_json(body.decode("utf-8"), "body")
    except UnicodeDecodeError:
        raise DataError("body: not UTF-8 text") from None
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != count or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"body: no list of {count} embeddings in {repr_short(answer)}")
    pairs = [(row.get("index", number), row.get("embedding")) for number, row in enumerate(rows)]
    found = {number: row for number, row in pairs if type(number) is int}
    if set(found) != set(range(count)):
        raise DataError(f"body: the indices of the embeddings are not 0 to {count - 1}")
    try:
        vectors = np.array([found[number] for number in range(count)], dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        vectors = np.zeros(0, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) if vectors.ndim == 2 else np.zeros(1)
    if vectors.ndim != 2 or not vectors.shape[1] or not (np.isfinite(lengths).all() and lengths.all()):
        raise DataError("body: the embeddings are not lists of finite numbers of one length, other than 0")
    return vectors / lengths
