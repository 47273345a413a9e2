"""Clusters of Dask and Ray, as executors of `concurrent.futures`."""

from __future__ import annotations

import os
import re
import socket
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from qcnlab.errors import Error, MissingPackage

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Crew:
    """Workers that tasks are handed to.

    Attributes
    ----------
    executor : concurrent.futures.Executor
        Takes tasks.
    workers : callable
        Counts the workers.
    ship : callable
        Returns what stands for an argument of many tasks: on a cluster it goes to each worker once.
    """

    executor: Executor
    workers: Callable[[], int]
    ship: Callable[[Any], Any] = lambda argument: argument


NAMED = re.compile(r"(?P<engine>dask|ray)(?:://(?P<address>[^/]+:\d+))?")
WORDS = "dask, ray, dask://HOST:PORT or ray://HOST:PORT"

MOST_PORT = 65_535
PATIENCE_S = 5.0
"""How long a scheduler may take to accept a connection."""


def is_cluster(name: str) -> bool:
    """Return whether a name is one of a cluster: `dask`, `ray`, `dask://host:8786`.

    >>> is_cluster("ray://host:10001"), is_cluster("dusk")
    (True, False)
    """
    return NAMED.fullmatch(name) is not None


@contextmanager
def named(name: str, jobs: int | None) -> Iterator[Crew]:
    """Yield the workers of the cluster of this name.

    Without an address it is a cluster of this machine, for as long as the body runs. Raises `Error`
    where no cluster answers, and `MissingPackage`.
    """
    matched = NAMED.fullmatch(name)
    engine, address = (matched["engine"], matched["address"]) if matched else ("", None)
    module = {"dask": "distributed", "ray": "ray"}[engine]
    if address and find_spec(module) is not None:
        # Before the import, which takes seconds.
        _reach(name, address)
    try:
        package: Any = import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"--on {name} needs {error.name}: pip install 'qcnlab[{engine}]'"
        ) from error
    with (_dask if engine == "dask" else _ray)(package, address, jobs) as crew:
        yield crew


def _reach(name: str, address: str) -> None:
    """Raise `Error` if nothing takes a connection at `address` within `PATIENCE_S`.

    Clients of Dask and Ray try for minutes, and print what they tried.
    """
    host, _, port = address.rpartition(":")
    if int(port) > MOST_PORT:
        raise Error(f"--on {name}: {port} is no port: they go to {MOST_PORT}")
    faults: list[str] = []

    def connect() -> None:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE_S).close()
        except OSError as error:
            faults.append(error.strerror or str(error))

    # Names are looked up without a bound in time.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    if thread.is_alive():
        faults.append(f"nothing in {PATIENCE_S:g} s")
    if faults:
        raise Error(f"--on {name}: nobody answers at {address} ({faults[0]}); is it running there?")


def client_crew(client: Any, jobs: int | None) -> Crew:
    """Return the workers of a client of Dask."""
    return Crew(
        client.get_executor(pure=False),
        lambda: jobs or sum(client.nthreads().values()) or 1,
        # The result of a task can be made again where the worker that has it dies.
        lambda argument: client.submit(_same, argument, pure=False),
    )


def _same(argument: Any) -> Any:
    return argument


@contextmanager
def _dask(distributed: Any, address: str | None, jobs: int | None) -> Iterator[Crew]:
    if address:
        try:
            client = distributed.Client(f"tcp://{address}", timeout="10s")
        except (OSError, ValueError) as error:
            raise Error(f"no scheduler of Dask answers at {address}: {error}") from error
        with client:
            yield client_crew(client, jobs)
        return
    with (
        distributed.LocalCluster(
            n_workers=jobs or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client_crew(client, jobs)


class _Ray(Executor):
    """Tasks of Ray. A task whose worker dies is given to another one."""

    def __init__(self, ray: Any) -> None:
        self._remote = ray.remote(max_retries=-1, num_cpus=1)(_call)

    def submit(self, work: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        """Hand out a task."""
        future: Future[Any] = self._remote.remote(work, *arguments).future()
        return future


def _call(work: Any, *arguments: Any) -> Any:
    return work(*arguments)


@contextmanager
def _ray(ray: Any, address: str | None, jobs: int | None) -> Iterator[Crew]:
    own = not ray.is_initialized()
    if own:
        how: dict[str, str | int | bool] = {"address": f"ray://{address}"}
        if address is None:
            cpus = jobs or os.cpu_count() or 1
            how = {"address": "local", "num_cpus": cpus, "include_dashboard": False}
        try:
            with warnings.catch_warnings():
                # What it warns of is in the error, too.
                warnings.simplefilter("ignore")
                ray.init(log_to_driver=False, logging_level="ERROR", **how)
        # Ray raises all kinds, a bare Exception among them, when it does not start.
        except Exception as error:
            where = f"at {address}" if address else "here"
            raise Error(f"no cluster of Ray answers {where}: {error}") from error
    try:
        yield Crew(
            _Ray(ray), lambda: jobs or int(ray.cluster_resources().get("CPU", 1)) or 1, ray.put
        )
    finally:
        if own:
            ray.shutdown()
