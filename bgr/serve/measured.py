"""Counts and times of requests."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any

from bgr.serve.limits import App, Message, Receive, Send
from bgr.serve.metrics import Metrics

PAGE, OTHER = "page", "other"


class Measured:
    """Wraps an application, and adds each request to the metrics."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            route = _route(scope)
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.request_seconds.labels(route).observe(time.perf_counter() - started)


def _route(scope: MutableMapping[str, Any]) -> str:
    """The template of the path: a client must not be able to add names to the metrics."""
    template = getattr(scope.get("route"), "path", None)
    if template:
        return str(template)
    return PAGE if scope["method"] in ("GET", "HEAD") else OTHER
