"""`bgr serve`."""

from __future__ import annotations

from bgr.cli.parser import Command, Output
from bgr.errors import BgrError
from bgr.serve.options import ServeOptions


def command() -> Command:
    return Command(
        summary="serve a page and an HTTP API that answer with evidence graphs",
        description="""Questions are answered over a collection, over facts that the client sends, or over the
            candidates of an example. The page is at the address that is printed, the API's description under /docs,
            metrics for Prometheus under /metrics. SIGTERM or Ctrl+C ends it after the questions that were asked are
            answered. If the environment variable BGR_TOKEN is set, clients must send it.""",
        options=ServeOptions,
        run=run,
        json=False,
        example="""bgr serve
            bgr serve --checkpoint work/checkpoint --collection films=work/films --collection law=work/law
            BGR_TOKEN=secret bgr serve --host 0.0.0.0 --system former=work/former --examples work/data""",
    )


def run(options: ServeOptions) -> Output:
    try:
        from bgr.serve.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "prometheus_client", "starlette"):
            raise
        raise BgrError(f"{error.name} is not installed; the server needs bgr[serve]") from None
    serve(options)
    return Output()
