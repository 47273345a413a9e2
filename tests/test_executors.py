"""Sweeps on executors: the same bytes as here, whoever does the runs and whoever dies."""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine, extra
from qcnlab.sweeps import clusters, executors, runs
from qcnlab.sweeps.clusters import Crew, client_crew
from qcnlab.values import MOST_SEED

TABLES = ("metrics.parquet", "metrics.csv", "runs.jsonl", "sweep.svg")
VARY: dict[str, list[object]] = {"topology.sources": [2, 3, 4], "topology.rtt": ["10 us", "0.2 ms"]}
REPS = 3
RUNS = 3 * 2 * REPS
# What Dask itself warns of while its processes start and end.
pytestmark = pytest.mark.filterwarnings("default")


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


def sweep(scenario: qcnlab.Scenario, out: Path, on: object) -> qcnlab.Sweep:
    return qcnlab.sweep(scenario, vary=VARY, reps=REPS, seed=3, out=out, on=on)


@pytest.fixture(scope="module")
def here(short: qcnlab.Scenario, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("here") / "out"
    sweep(short, out, None)
    return files(out)


@pytest.fixture(scope="module")
def client() -> Any:
    """A Dask cluster of two processes of this machine."""
    distributed = extra("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_processes_and_threads_give_the_same_bytes(
    short: qcnlab.Scenario, here: dict[str, bytes], tmp_path: Path
) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        sweep(short, tmp_path / "processes", pool)
    with ThreadPoolExecutor(2) as pool:
        sweep(short, tmp_path / "threads", pool)
    assert files(tmp_path / "processes") == here
    assert files(tmp_path / "threads") == here


def test_a_dask_client_gives_the_same_bytes(
    short: qcnlab.Scenario, here: dict[str, bytes], client: Any, tmp_path: Path
) -> None:
    sweep(short, tmp_path / "out", client)
    assert files(tmp_path / "out") == here


def test_the_scenario_goes_to_a_dask_worker_once(
    short: qcnlab.Scenario, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every task gets the same result of one task in the place of the scenario's text."""
    distributed = extra("distributed")
    sent = []

    class Watched(Executor):
        def __init__(self, executor: Executor) -> None:
            self.executor = executor

        def submit(self, work: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            sent.append(arguments[1])
            return self.executor.submit(work, *arguments, **options)

    def watched(client: Any, jobs: int | None) -> Crew:
        crew = client_crew(client, jobs)
        return replace(crew, executor=Watched(crew.executor))

    monkeypatch.setattr(executors, "client_crew", watched)
    sweep(short, tmp_path / "out", client)
    assert len(sent) > 1
    assert isinstance(sent[0], distributed.Future)
    assert all(source is sent[0] for source in sent)


@pytest.mark.parametrize("seed", range(3))
def test_a_dask_worker_that_is_killed_loses_and_doubles_nothing(
    short: qcnlab.Scenario, here: dict[str, bytes], client: Any, tmp_path: Path, seed: int
) -> None:
    out = tmp_path / "out"
    killed: list[int] = []
    dice = random.Random(seed)
    lines = dice.randint(1, 10)

    def kill() -> None:
        journal = out / "runs.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < lines:
            time.sleep(0.005)
        killed.append(dice.choice(list(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    sweep(short, out, client)
    killer.join()
    assert len(killed) == 1
    assert files(out) == here
    assert len((out / "runs.jsonl").read_bytes().splitlines()) == 1 + RUNS


def test_a_dask_worker_that_is_added_changes_no_byte(
    short: qcnlab.Scenario, here: dict[str, bytes], tmp_path: Path
) -> None:
    distributed = extra("distributed")
    out = tmp_path / "out"
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def add() -> None:
            journal = out / "runs.jsonl"
            while not journal.exists() or journal.read_bytes().count(b"\n") < 2:
                time.sleep(0.002)
            cluster.scale(2)

        adder = threading.Thread(target=add)
        adder.start()
        sweep(short, out, client)
        adder.join()
        client.wait_for_workers(2, timeout=60)
    assert files(out) == here


def test_parts_are_the_same_bytes_when_a_dask_worker_is_killed(
    short: qcnlab.Scenario, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "ROWS_IN_A_PART", 5)
    sweep(short, tmp_path / "here", None)
    out = tmp_path / "out"

    def kill() -> None:
        while not (out / "metrics/part-00000.parquet").exists():
            time.sleep(0.002)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    sweep(short, out, client)
    killer.join()
    for path in (tmp_path / "here").rglob("*.*"):
        if path.suffix != ".png":
            there = out / path.relative_to(tmp_path / "here")
            assert there.read_bytes() == path.read_bytes(), there
    assert len(list((out / "metrics").iterdir())) == 4  # 18 runs, 5 in a part


def test_the_command_runs_on_a_cluster(
    here: dict[str, bytes], client: Any, cli: CommandLine
) -> None:
    address = client.scheduler.address.removeprefix("tcp://")
    vary = ("--vary", "topology.sources=2,3,4", "--vary", "topology.rtt=10 us,0.2 ms")
    words = ("sweep", HOTSPOT, *SHORT_FLAGS, *vary, "--reps", str(REPS), "--seed", "3", "-o", "out")
    done = cli(*words, "--on", f"dask://{address}")
    assert done.returncode == 0, done.stderr
    assert files(cli.folder / "out") == here


@pytest.mark.parametrize("seed", [0, MOST_SEED])
def test_the_least_and_the_largest_seed_are_seeds_everywhere(
    short: qcnlab.Scenario, client: Any, tmp_path: Path, seed: int
) -> None:
    """Two runs of one replication, on more threads and processes than there are runs."""
    vary = {"topology.sources": ["2", "3"]}

    def made(name: str, on: object, jobs: int | None = None) -> bytes:
        out = tmp_path / name
        swept = qcnlab.sweep(short, vary=vary, reps=1, seed=seed, jobs=jobs, out=out, on=on)
        assert (swept.seed, swept.runs) == (seed, [1, 1])
        return (out / "metrics.csv").read_bytes()

    here = made("here", None)
    three = short.with_("topology.sources=3")
    alone = qcnlab.run(three, reps=1, seed=seed).summary.metrics
    swept = qcnlab.open_sweep(tmp_path / "here")
    for metric in ("queue_mean_bytes", "queue_std_bytes", "messages"):
        assert swept.over(1, metric).values == alone[metric].values
    own = qcnlab.run(three, reps=1).summary.metrics
    assert own["queue_mean_bytes"].values != alone["queue_mean_bytes"].values
    assert made("jobs", None, jobs=7) == here
    with ThreadPoolExecutor(5) as pool:
        assert made("threads", pool) == here
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as processes:
        assert made("processes", processes, jobs=2) == here
    assert made("dask", client) == here
    # What was made with another seed is not gone on with.
    with pytest.raises(qcnlab.FolderError):
        qcnlab.sweep(short, vary=vary, reps=1, seed=1, out=tmp_path / "here")


def test_ray_takes_seed_zero(short: qcnlab.Scenario, ray: Any, tmp_path: Path) -> None:
    vary = {"topology.sources": ["2", "3"]}
    for name, on in (("here", None), ("ray", "ray")):
        qcnlab.sweep(short, vary=vary, reps=1, seed=0, out=tmp_path / name, on=on)
    assert files(tmp_path / "ray") == files(tmp_path / "here")


class Lost(Executor):
    """Does the first task; the fifteen others handed out with it fail at once."""

    _max_workers = 8

    def __init__(self) -> None:
        self.tasks = 0

    def submit(self, work: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks += 1
        if self.tasks == 1:
            future.set_result(work(*arguments))
        else:
            future.set_exception(RuntimeError("all workers are gone"))
        return future


def test_what_ended_before_the_executor_failed_is_kept(
    short: qcnlab.Scenario, here: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(qcnlab.Error, match="the executor failed: RuntimeError: all workers"):
        sweep(short, out, Lost())
    assert len((out / "runs.jsonl").read_bytes().splitlines()) == 1 + 1
    sweep(short, out, None)
    assert files(out) == here


class Late(Executor):
    """Hands back tasks in the opposite order, and each of them twice."""

    _max_workers = 4

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any]] = []

    def submit(self, work: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        outcome, seconds = work(*arguments)
        self.waiting.append((future, (outcome + outcome, seconds)))
        if len(self.waiting) % 3 == 0:
            self.release()
        else:
            threading.Timer(0.05, self.release).start()
        return future

    def release(self) -> None:
        while self.waiting:
            future, outcome = self.waiting.pop()
            future.set_result(outcome)


def test_tasks_that_come_late_and_twice_change_nothing(
    short: qcnlab.Scenario, here: dict[str, bytes], tmp_path: Path
) -> None:
    sweep(short, tmp_path / "out", Late())
    assert files(tmp_path / "out") == here


def test_a_worker_of_another_build_is_refused(
    short: qcnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = iter(["mine"])
    monkeypatch.setattr(executors, "core_digest", lambda: next(digests, "another"))
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(qcnlab.Error, match="has another build of qcnlab"),
    ):
        sweep(short, tmp_path / "out", pool)
    assert len((tmp_path / "out" / "runs.jsonl").read_bytes().splitlines()) == 1


def test_a_run_that_fails_on_a_worker_names_its_point(
    short: qcnlab.Scenario, tmp_path: Path
) -> None:
    vary: dict[str, list[object]] = {"scheme.name": ["qcn", "python:test_foreign:Raises"]}
    with ThreadPoolExecutor(1) as pool, pytest.raises(qcnlab.Error, match=r"^at scheme\.name=py"):
        qcnlab.sweep(short, vary=vary, reps=1, out=tmp_path / "out", on=pool)
    assert len((tmp_path / "out" / "runs.jsonl").read_bytes().splitlines()) == 1 + 1


@pytest.mark.parametrize(
    ("on", "words"),
    [("dusk", "'dusk' is no cluster"), ("dask://", "is no cluster"), ("ray://h", "is no cluster")],
)
def test_what_is_no_cluster_is_refused(cli: CommandLine, on: str, words: str) -> None:
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, "--vary", "seed=1,2", "--on", on)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert cli.left() == []


ADDRESSES = {
    "nobody listens": (
        "127.0.0.1:{port}",
        ":{port} (Connection refused)",
    ),
    "no such host": ("nowhere.invalid:8786", "nobody answers at nowhere.invalid:8786 ("),
    "no such port": ("127.0.0.1:70000", "70000 is no port: they go to 65535"),
    "a host in brackets": ("[::1]:{port}", "::1"),
}


@pytest.mark.parametrize("engine", ["dask", "ray"])
@pytest.mark.parametrize("case", ADDRESSES)
def test_an_address_where_nobody_answers_is_told_at_once(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, engine: str, case: str
) -> None:
    if engine == "ray" and find_spec("ray") is None:
        monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address, words = ADDRESSES[case]
    on = f"{engine}://{address.format(port=port)}"
    started = time.monotonic()
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, "--vary", "seed=1,2", "-o", "out", "--on", on)
    # Dask's client would wait for half a minute.
    assert time.monotonic() - started < 25
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --on {on}: "), done.stderr
    assert words.format(port=port) in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_address_that_never_answers_is_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "PATIENCE_S", 0.2)
    over = threading.Event()

    def never(*_: object, **__: object) -> None:
        over.wait(30)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", never)
    started = time.monotonic()
    with (
        pytest.raises(qcnlab.Error, match=r"nothing in 0\.2 s"),
        clusters.named("dask://far:8786", None),
    ):
        pass
    assert time.monotonic() - started < 5
    over.set()


def test_what_runs_nothing_is_refused(short: qcnlab.Scenario) -> None:
    with pytest.raises(TypeError, match="5 runs nothing: give 'dask'"):
        qcnlab.sweep(short, vary={"seed": [1]}, on=5)


@pytest.fixture(scope="module")
def ray() -> Any:
    """Ray on two processes of this machine; skipped where it is not installed."""
    # Ray's workers are at niceness 15 otherwise, and starve beside other tests.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    ray = extra("ray")
    for trial in range(3):
        try:
            ray.init(
                address="local",
                num_cpus=2,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
            )
            break
        # Ray gives its own processes half a minute to start, which a busy machine may not keep.
        except Exception:
            ray.shutdown()
            if trial == 2:
                raise
    yield ray
    ray.shutdown()


def test_ray_gives_the_same_bytes(
    short: qcnlab.Scenario, here: dict[str, bytes], ray: Any, tmp_path: Path
) -> None:
    sweep(short, tmp_path / "out", "ray")
    assert ray.is_initialized(), "a cluster that was there is left alone"
    assert files(tmp_path / "out") == here


def test_a_ray_worker_that_is_killed_loses_and_doubles_nothing(
    short: qcnlab.Scenario, here: dict[str, bytes], ray: Any, tmp_path: Path
) -> None:
    """The whole sweep may pass while this thread sleeps; then it is made once more."""
    process = ray.remote(lambda: os.getpid())
    pids = set(ray.get([process.remote() for _ in range(20)]))
    killed: list[int] = []

    def kill(out: Path, ended: threading.Event) -> None:
        journal = out / "runs.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
            time.sleep(0.005)
        # A process of Ray that is at a task is named after it.
        while not killed and not ended.is_set():
            busy = [pid for pid in pids if title(pid).startswith(b"ray::_call")]
            killed.extend(busy[:1])
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    for trial in range(3):
        out, ended = tmp_path / f"out{trial}", threading.Event()
        killer = threading.Thread(target=kill, args=(out, ended), daemon=True)
        killer.start()
        sweep(short, out, "ray")
        ended.set()
        killer.join(timeout=10)
        assert files(out) == here
        assert len((out / "runs.jsonl").read_bytes().splitlines()) == 1 + RUNS
        if killed:
            break
    assert len(killed) == 1


def title(pid: int) -> bytes:
    """Return the name under which a process runs, empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_failure_on_ray_is_told_as_it_is_here(
    short: qcnlab.Scenario, ray: Any, tmp_path: Path
) -> None:
    # The module is found here, and not by Ray's processes.
    vary: dict[str, list[object]] = {"scheme.name": ["qcn", "python:test_foreign:Raises"]}
    with pytest.raises(qcnlab.Error, match="there is no module 'test_foreign'") as raised:
        qcnlab.sweep(short, vary=vary, reps=1, out=tmp_path / "out", on="ray")
    assert "Traceback" not in str(raised.value)
