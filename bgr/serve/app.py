"""The HTTP API, version 1, and the page."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from bgr import __version__
from bgr.errors import BgrError
from bgr.serve.limits import Guard
from bgr.serve.metrics import Measured
from bgr.serve.schema import (
    AnswerResponse,
    AskRequest,
    BatchRequest,
    BatchResponse,
    CollectionInfo,
    Example,
    ExampleInfo,
    Failure,
    Graph,
    Health,
    Limits,
    SystemInfo,
)
from bgr.serve.service import GoneError, LateError, ReloadError, Service, one_line
from bgr.serve.worker import DiedError, FullError, StoppedError
from bgr.utils.json_utils import MAX_SHOWN, json_problem, repr_short, unique_keys

PAGE = Path(__file__).with_name("page")
CLIENT_GONE = 499
"""Status, in logs and metrics alone, of a request whose client did not wait."""

FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Failure, "description": text}
    for status, text in {
        401: "a token is required",
        413: "the request is too large",
        422: "the request is not valid",
        429: "the queue is full; see Retry-After",
        503: "the server is stopping",
        504: "the answer took too long",
    }.items()
}


class _JsonRequest(Request):
    """A request whose body is read as any JSON is (`bgr.utils.json_utils`)."""

    async def json(self) -> Any:
        """The body's value.

        Raises:
            json.JSONDecodeError: a syntax error, which the API reports with its place.
            HTTPException: another problem.
        """
        body = await self.body()
        try:
            return json.loads(body.decode("utf-8"), object_pairs_hook=unique_keys)
        except json.JSONDecodeError:
            raise
        except UnicodeDecodeError:
            raise HTTPException(422, "the body is not UTF-8") from None
        except (RecursionError, ValueError) as error:
            raise HTTPException(422, f"the body is not valid JSON: {json_problem(error)}") from None


class _JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return handled


def create_app(service: Service) -> Measured:
    """The ASGI application."""
    options, token = service.options, service.options.token
    api = FastAPI(
        title="BGR",
        version=__version__,
        summary="Answers with their evidence graphs.",
        docs_url=None,
        redoc_url=None,
        responses=FAILURES,
    )
    api.router.route_class = _JsonRoute
    limits = Limits(facts=options.max_facts, bytes=options.max_bytes, queue=options.max_queue, seconds=options.timeout)

    @api.post("/v1/answer")
    async def answer(request: Request, asked: AskRequest) -> AnswerResponse:
        """Answer one question with its evidence graph."""
        return await service.answer(request, asked)

    @api.post("/v1/batch")
    async def batch(request: Request, asked: BatchRequest) -> BatchResponse:
        """Answer several questions together."""
        return BatchResponse(results=await service.answer_batch(request, asked.requests))

    @api.get("/v1/systems")
    async def systems() -> list[SystemInfo]:
        """The systems, the default first."""
        return [
            SystemInfo(name=name, description=one.description, answers=one.answers)
            for name, one in service.answering.sources.systems.items()
        ]

    @api.get("/v1/collections")
    async def collections() -> list[CollectionInfo]:
        """The collections, the default first."""
        return [
            CollectionInfo(name=name, texts=len(one)) for name, one in service.answering.sources.collections.items()
        ]

    @api.get("/v1/examples")
    async def examples() -> list[ExampleInfo]:
        """Questions with a gold graph."""
        return [ExampleInfo.of(one) for one in service.answering.sources.examples.values()]

    @api.get("/v1/examples/{id}", responses={404: {"model": Failure, "description": "no such example"}})
    async def example(id: str) -> Example:
        """A question with its candidates, gold graph and answer."""
        one = service.answering.sources.examples.get(id)
        if one is None:
            raise HTTPException(404, f"no example {repr_short(id)}")
        return Example.of(one, facts=list(one.facts), answer=one.answer, graph=Graph.of(one.graph))

    @api.get("/v1/health")
    async def health() -> Health:
        """Whether the server answers, and its limits."""
        worker = service.worker
        return Health(
            status="stopping" if worker.stopped else "ready",
            version=__version__,
            queue=service.pending,
            limits=limits,
            token=bool(token),
        )

    @api.post(
        "/v1/reload",
        responses={
            403: {"model": Failure, "description": "the server has no token"},
            409: {"model": Failure, "description": "the models cannot be loaded now"},
        },
    )
    async def reload() -> Health:
        """Load the models again and answer with them. Needs a token; without one, send the process SIGHUP."""
        if not token:
            raise HTTPException(403, "this server has no token; send its process SIGHUP")
        await service.reload()
        return await health()

    @api.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @api.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(PAGE / "docs.html")

    _add_handlers(api, service)
    api.mount("/", StaticFiles(directory=PAGE, html=True))
    guard = Guard(api, max_bytes=options.max_bytes, token=token, local=options.is_local)
    return Measured(guard, service.metrics)


def _add_handlers(api: FastAPI, service: Service) -> None:
    """Every failure is one line of JSON: ``{"error": …}``."""
    handler = Callable[[Request, Any], Awaitable[JSONResponse]]

    def failing(kind: type[Exception] | int, status: int, text: Callable[[Any], str]) -> None:
        async def handle(request: Request, error: Any) -> JSONResponse:
            return JSONResponse({"error": text(error)}, status)

        api.add_exception_handler(kind, handle)

    async def full(request: Request, error: FullError) -> JSONResponse:
        worker = service.worker
        seconds = max(1, math.ceil(worker.pending * worker.seconds_each))
        text = f"{worker.pending} questions wait, allowed: {service.options.max_queue}; try again in {seconds} s"
        return JSONResponse({"error": text}, 429, {"Retry-After": str(seconds)})

    async def http(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    answers: dict[type[Exception], handler] = {FullError: full, HTTPException: http}
    for kind, handle in answers.items():
        api.add_exception_handler(kind, handle)
    failing(RequestValidationError, 422, invalid)
    failing(BgrError, 422, one_line)
    failing(ReloadError, 409, one_line)
    failing(StoppedError, 503, lambda error: "the server is stopping")
    failing(DiedError, 503, lambda error: "the server has failed, and ends")
    failing(LateError, 504, str)
    failing(GoneError, CLIENT_GONE, lambda error: "the client did not wait")
    failing(Exception, 500, one_line)


def invalid(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request, in one line: where, what, and what was given."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"the body is not valid JSON at character {first['loc'][-1]}: {first['ctx']['error']}"
    where = ".".join(_short(str(part)) for part in first["loc"] if part != "body")
    text = first["msg"].removeprefix("Value error, ")
    given = first.get("input")
    value = f", not {repr_short(given)}" if isinstance(given, str | int | float | bool) else ""
    return " ".join(f"{where}: {text}{value}".removeprefix(": ").split())


def _short(key: str) -> str:
    """A key of a request, abbreviated if it is long: an unknown one may be as long as the request."""
    return key if len(key) <= MAX_SHOWN else f"{key[: MAX_SHOWN - 1]}…"
