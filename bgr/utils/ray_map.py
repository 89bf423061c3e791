"""The same work on many items, in this process or by the workers of a Ray cluster, as one job of Ray Data."""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from bgr.errors import BgrError
from bgr.utils.json_utils import one_line
from bgr.utils.options import Metavar, Options, OptionsError, Positive

Item = TypeVar("Item")
Result = TypeVar("Result")

LOCAL, AUTO = "local", "auto"
"""Addresses: workers on this machine alone, and the cluster that this machine belongs to."""

TRIES = 3
"""How often an item is given to another worker after the process of one has died."""

REACHED = 10.0
"""Seconds to wait for the port of a cluster."""


@dataclass(frozen=True, kw_only=True)
class RayOptions(Options):
    """Workers of a Ray cluster.

    Args:
        ray: spread the work over Ray: local (processes on this machine), auto (the cluster of this machine), or
            HOST:PORT (default: this process alone).
        ray_workers: number of workers (default: one for each GPU, or as many as there are cores for).
    """

    ray: Annotated[str, Metavar("ADDRESS")] | None = None
    ray_workers: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ray is not None and self.ray not in (LOCAL, AUTO) and not re.fullmatch(r"[^\s:/]+:\d{1,5}", self.ray):
            raise OptionsError(f"--ray: {self.ray!r}: allowed: {LOCAL}, {AUTO}, or HOST:PORT of a cluster")

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.ray is None and self.ray_workers is not None:
            yield "--ray-workers is a number of workers of --ray, which is missing"


def map_work(
    load: Callable[[], Callable[[Item], Result]],
    items: Iterable[Item],
    options: RayOptions | None = None,
    *,
    device: str | None = None,
) -> Iterator[Result]:
    """The results of all items, in order, each as soon as it and those before it are there.

    A worker computes with as many threads as this process, so that it finds the same bytes on the same kind of
    processor. The item of a worker whose process dies is given to another one. A worker loads what it needs itself: a
    path must lead to the same files on all machines.

    Args:
        load: makes the function of an item; called once in each worker. It and all items and results can be pickled.
        options: ``None`` as without `RayOptions.ray`, for this process alone.
        device: of a model; a worker has a GPU of its own if the cluster has some, unless this is ``"cpu"``.

    Raises:
        BgrError: raised by `load` or its function; or Ray is not installed, does not answer, or has too few cores.
    """
    if options is None or options.ray is None:
        return map(load(), items)
    return _spread(load, list(items), options.ray, options.ray_workers, device)


def anywhere(spec: str) -> str:
    """The absolute path of what exists here, for a process in another folder; any other text as it is."""
    return os.path.abspath(spec) if os.path.exists(spec) else spec


def _spread(
    load: Callable[[], Callable[[Item], Result]],
    items: Sequence[Item],
    address: str,
    workers: int | None,
    device: str | None,
) -> Iterator[Result]:
    import torch

    threads = torch.get_num_threads()
    ray = _import_ray()
    if not items:
        return
    with _connected(ray, address, workers, threads), _one_line_errors(ray, address):
        gpu = device is None or device.startswith("cuda")
        count, share = _room(ray.cluster_resources(), workers, threads, gpu=gpu)
        pack = ray.cloudpickle.dumps
        rows = ray.data.from_items([{"item": pack(item)} for item in items], override_num_blocks=len(items))
        pool = ray.data.ActorPoolStrategy(size=min(count, len(items)), max_tasks_in_flight_per_actor=2)
        given = (pack(load), _version(), threads)
        with warnings.catch_warnings():
            # Ray 2.64 is to replace the two limits; without them it would try for ever
            warnings.simplefilter("ignore", DeprecationWarning)
            job = rows.map(
                Worker, fn_constructor_args=given, compute=pool, max_restarts=TRIES, max_task_retries=TRIES, **share
            )
        for row in job.iter_rows():
            result, error = ray.cloudpickle.loads(row["result"])
            if error is not None:
                raise error
            yield result


class Worker:
    """The process of a worker, which loads its function with its first item.

    Errors that the user can fix are results, so that they arrive as they were raised.
    """

    def __init__(self, load: bytes, version: str, threads: int) -> None:
        self._load, self._version, self._threads = load, version, threads
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        from ray import cloudpickle

        result = problem = None
        try:
            if self._work is None:
                self._work = self._loaded()
            result = self._work(cloudpickle.loads(row["item"]))
        except BgrError as error:
            problem = error
        return {"result": cloudpickle.dumps((result, problem))}

    def _loaded(self) -> Callable[[Any], Any]:
        import torch
        from ray import cloudpickle

        if self._version != _version():
            where = f"a worker of Ray on {socket.gethostname()}"
            raise BgrError(f"{where} has bgr {_version()}, allowed: {self._version}, as here")
        torch.set_num_threads(self._threads)
        work: Callable[[Any], Any] = cloudpickle.loads(self._load)()
        return work


def _version() -> str:
    # not imported, since `bgr` itself imports what needs this module
    return str(sys.modules["bgr"].__version__)


def _import_ray() -> Any:
    # nothing about the run leaves the machine, and what Ray's own processes log stays in its files
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise BgrError(f"--ray: {one_line(error)} (pip install 'bgr[scale]')") from None
    return ray


@contextmanager
def _connected(ray: Any, address: str, workers: int | None, threads: int) -> Iterator[None]:
    """Join the cluster, or start one of this machine; one that the caller has joined already is used and stays."""
    context = ray.data.DataContext.get_current()
    before = context.execution_options.preserve_order, context.enable_progress_bars
    context.execution_options.preserve_order, context.enable_progress_bars = True, False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    ours = not ray.is_initialized()
    if ours:
        if address not in (LOCAL, AUTO):
            _check_port(address)
        cores = (workers * threads if workers else os.cpu_count() or 1) if address == LOCAL else None
        try:
            ray.init(address, num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # a start that takes too long raises the class itself
            raise BgrError(f"--ray {address}: {one_line(error)}") from None
    try:
        yield
    finally:
        context.execution_options.preserve_order, context.enable_progress_bars = before
        if ours:
            ray.shutdown()


def _check_port(address: str) -> None:
    """Ray would try to reach a cluster for minutes, and then end the process."""
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=REACHED).close()
    except (OSError, OverflowError) as error:
        raise BgrError(f"--ray {address}: no cluster answers there: {one_line(error)}") from None


def _room(resources: dict[str, float], workers: int | None, threads: int, *, gpu: bool) -> tuple[int, dict[str, float]]:
    """The number of workers, and the share of the cluster that each of them has."""
    share: dict[str, float] = {"num_cpus": threads}
    room = int(resources.get("CPU", 0)) // threads
    what = f"{resources.get('CPU', 0):g} cores, {threads} for each worker (OMP_NUM_THREADS)"
    if gpu and resources.get("GPU"):
        share["num_gpus"] = 1
        room = min(room, int(resources["GPU"]))
        what += f", and {resources['GPU']:g} GPUs"
    if not 1 <= (workers or room) <= room:
        raise BgrError(f"--ray-workers: {workers or 1:,} wanted, allowed: up to {room:,}; the cluster has {what}")
    return workers or room, share


@contextmanager
def _one_line_errors(ray: Any, address: str) -> Iterator[None]:
    try:
        yield
    except ray.exceptions.RayTaskError:
        raise  # an error in this package, with its traceback
    except ray.exceptions.RayError as error:
        raise BgrError(f"--ray {address}: {one_line(error)}") from None
