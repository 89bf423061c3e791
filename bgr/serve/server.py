"""The process of `bgr serve`: its socket, its signals, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial
from types import FrameType

import uvicorn

from bgr.errors import BgrError
from bgr.serve.answering import Answering
from bgr.serve.app import create_app
from bgr.serve.connections import TimedProtocol
from bgr.serve.options import ServeOptions
from bgr.serve.service import Service, one_line
from bgr.serve.sources import Sources, open_sources, warm_up
from bgr.serve.worker import one_thread

LAST_SECONDS = 30
"""Time for questions that are being answered when the server is told to stop."""

IDLE_SECONDS = 75
"""Time that a connection may be idle, longer than most proxies keep theirs, which then close first."""

MAX_CONNECTIONS = 1_000
"""Connections at a time; uvicorn answers further ones with status 503."""


def serve(options: ServeOptions) -> None:
    """Serve until a signal (SIGINT, SIGTERM) says to stop; then finish what was begun.

    Raises:
        BgrError: the address cannot be used, or a checkpoint, collection or dataset is missing or damaged.
    """
    with listening(options.host, options.port) as listener:  # before minutes of loading
        thread, load = one_thread(), partial(load_sources, options)
        sources = thread.submit(load).result()
        service = Service(Answering(sources, max_facts=options.max_facts, pool=options.pool), options, thread, load)
        del sources  # a reload drops them
        config = uvicorn.Config(
            create_app(service),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=LAST_SECONDS,
            ws="none",
            http=TimedProtocol,
        )
        server = Server(config, service, address(listener))
        try:
            server.run(sockets=[listener])
        finally:
            service.stop(LAST_SECONDS)
    if server.died:
        raise BgrError("the thread with the models has ended by an error, which is above; start the server again")
    print("stopped", file=sys.stderr)


def load_sources(options: ServeOptions) -> Sources:
    """Open the sources and warm them up; raises as `open_sources`."""
    sources = open_sources(options)
    warm_up(sources)
    return sources


class Server(uvicorn.Server):
    """Says where it listens, ends when it is told to stop or when the thread with the models has died, and loads them
    again at SIGHUP."""

    def __init__(self, config: uvicorn.Config, service: Service, where: str) -> None:
        super().__init__(config)
        self.service, self.where = service, where
        self.died = False
        self._reload: asyncio.Task[None] | None = None
        service.on_death = self._die

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            print(f"listening on {self.where}, Ctrl+C stops", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """In place of uvicorn's, which ends the process by the signal itself once all is done."""
        handlers = {signal.SIGINT: self._stop, signal.SIGTERM: self._stop, signal.SIGHUP: self._reload_models}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True  # the second time
            return
        print("stopping: questions that were asked are answered first", file=sys.stderr, flush=True)
        self.should_exit = True

    def _die(self) -> None:
        self.died = self.should_exit = True

    def _reload_models(self, number: int, frame: FrameType | None) -> None:
        # in the thread of the loop, as all handlers of signals
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(lambda: setattr(self, "_reload", loop.create_task(self._reloaded())))

    async def _reloaded(self) -> None:
        print("loading the models again", file=sys.stderr, flush=True)
        try:
            await self.service.reload()
        except Exception as error:
            text = one_line(error) if isinstance(error, BgrError) else repr(error)
            print(f"bgr serve: error: {text}; the former models stay", file=sys.stderr, flush=True)
        else:
            print("the models are loaded", file=sys.stderr, flush=True)


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; BgrError if the address cannot be used."""
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(place[:2], family=family, backlog=1_024)
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name, such as a..b
        raise BgrError(f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}") from None
    with listener:
        yield listener


def address(listener: socket.socket) -> str:
    """The URL of a socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
