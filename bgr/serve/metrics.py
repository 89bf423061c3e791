"""Metrics of the server, in Prometheus' text format, with the counts and times of its requests."""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from bgr.serve.limits import App, Message, Receive, Send

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
PAGE, OTHER = "page", "other"


class Metrics:
    """Counters and histograms of one server.

    Args:
        pending: number of questions that wait or are being answered.
    """

    def __init__(self, pending: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.requests = Counter(
            "bgr_requests", "Requests by route and status", ["route", "status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            "bgr_request_seconds", "Time of a request", ["route"], buckets=SECONDS, registry=self.registry
        )
        self.questions = Counter(
            "bgr_questions",
            "Questions by system and outcome: answered, nothing (no evidence or no answer), failed",
            ["system", "outcome"],
            registry=self.registry,
        )
        self.batch_sizes = Histogram(
            "bgr_batch_questions", "Questions answered together", buckets=SIZES, registry=self.registry
        )
        queue = Gauge("bgr_queue_questions", "Questions that wait or are being answered", registry=self.registry)
        queue.set_function(pending)

    def text(self) -> bytes:
        """All metrics, in Prometheus' text format."""
        return generate_latest(self.registry)


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
