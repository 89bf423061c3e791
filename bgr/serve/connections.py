"""Connections with limits that uvicorn lacks: on headers that come slowly, and on responses that are not read."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADER_SECONDS = 20.0
"""Time for the headers of a request to arrive, from the connection or the first byte after another request."""

READ_SECONDS = 60.0
"""Time for a client to read the next part of a response."""

_Protocol: Any = AutoHTTPProtocol


class TimedProtocol(_Protocol):
    """A connection that is cut if its client sends headers, or reads a response, too slowly. A body has its own limit
    (`bgr.serve.limits`), and so has an idle connection (uvicorn's ``timeout_keep_alive``)."""

    header_seconds, read_seconds = HEADER_SECONDS, READ_SECONDS

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._headers_due: asyncio.TimerHandle | None = None
        self._read_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._headers_due = self.loop.call_later(self.header_seconds, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:  # the headers are complete
            _cancel(self._headers_due)
            self._headers_due = None
        elif self._headers_due is None:
            self._headers_due = self.loop.call_later(self.header_seconds, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_due = self._read_due or self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._read_due)
        self._read_due = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # the client has not read all, and a connection that closes would wait for it

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._headers_due)
        _cancel(self._read_due)
        super().connection_lost(exc)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
