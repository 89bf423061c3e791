"""A limit on the bytes of an HTTP answer, before anything of it is kept: a faulty server must not fill the memory."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any


class AnswerTooLong(Exception):
    """An answer of more bytes than are allowed."""


class _Limited:
    """The body of an answer, as it comes over the wire, up to a limit."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream, self._most = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for block in self._stream:
            read += len(block)
            if read > self._most:
                raise AnswerTooLong
            yield block

    async def aclose(self) -> None:
        await self._stream.aclose()


def limit_answers(most: int) -> Callable[[Any], Awaitable[None]]:
    """A hook for an HTTP client's answers, whatever their status: the openai client reads those of errors whole.

    Args:
        most: bytes of an answer; one that is longer raises `AnswerTooLong` where it is read.
    """

    async def hook(response: Any) -> None:
        # the client's stream type comes from httpx or from httpx2, whichever this version of openai uses
        base = sys.modules[type(response).__module__.partition(".")[0]].AsyncByteStream
        response.stream = type("LimitedStream", (_Limited, base), {})(response.stream, most)

    return hook


async def read_limited(blocks: AsyncIterator[bytes], most: int) -> bytes:
    """All of an answer; the limit holds here too, where blocks have been decompressed.

    Raises:
        AnswerTooLong: more than `most` bytes.
    """
    body = bytearray()
    async for block in blocks:
        body += block
        if len(body) > most:
            raise AnswerTooLong
    return bytes(body)
