#!/usr/bin/env python3
"""Measure what a sweep costs beside its runs: here, on Dask and Ray, and at 10,000 and 10^6 runs.

    python benches/sweeps.py [--only overhead] [--svg docs/img/sweep-cost.svg] [--json FILE]

Processor times are of the process and all its children, because on a shared machine only these tell
the same twice. Ray is left out where it is not installed.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ONE_SOURCE = "one-source-into-9g-rtt10us"
LENGTHS_MS = (10, 100, 1000)
"""Simulated times of a run."""
RUNS = {10: 4000, 100: 800, 1000: 120}
"""Runs in a sweep, by their length."""
ENGINES = {"threads": "threads of the process", "dask": "Dask", "ray": "Ray"}
WORKERS = 2
POINTS, ROWS = 10_000, 1_000_000
GIB = 2**30


def axis(key: str, count: int, unit: str, least: int = 1) -> str:
    """Return an axis of so many values from the least on."""
    return f"{key}=" + ",".join(f"{n} {unit}" for n in range(least, least + count))


HOTSPOT, FABRIC = "og-hotspot-2src-10g-to-500m-rtt10us", "link-failure-leaf-spine-100g"
DRY = {
    "seeds, RTTs": (HOTSPOT, ["seed=1..1000", axis("topology.rtt", 100, "us")]),
    "sources, RTTs": (HOTSPOT, ["topology.sources=1..100", axis("topology.rtt", 1000, "us")]),
    "gains, rates of increase": (
        HOTSPOT, ["scheme.cp.w=1..100", axis("scheme.rp.ai_rate", 1000, "Mb/s")],
    ),
    "buffers, frames": (
        HOTSPOT, [axis("topology.buffer", 400, "KB", 100), axis("traffic.frame", 250, "B", 64)],
    ),
    "rates of links": (
        HOTSPOT,
        [axis("topology.rate", 400, "Gb/s"), axis("topology.bottleneck_rate", 250, "Gb/s")],
    ),
    "delays in a fabric with PFC": (
        FABRIC, [axis("topology.delay", 400, "ns"), axis("topology.trunk_delay", 250, "ns")],
    ),
}  # fmt: skip
"""Dry runs of 10^5 points by what varies."""

Row = dict[str, Any]


class Cost(NamedTuple):
    """What a command took."""

    wall_s: float
    cpu_s: float
    rss_gib: float


def family_cpu_s() -> float:
    """Return the processor time of this process and of its children that are alive."""
    import psutil

    total = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def command(*words: str) -> Cost:
    """Run a command of this interpreter and return what it took."""
    started = time.perf_counter()
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, *words],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(process, 0)
    if status:
        sys.exit(f"failed: {' '.join(words)}")
    wall_s = time.perf_counter() - started
    return Cost(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / GIB)


@contextmanager
def engine(name: str, workers: int) -> Iterator[object]:
    """Yield what `qcnlab.sweep` takes as `on`: nothing for threads, or a cluster here."""
    if name == "dask":
        import distributed

        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
    elif name == "ray":
        # Ray runs its workers at niceness 15, which on a shared machine measures the others.
        os.environ.setdefault("RAY_worker_niceness", "0")
        import ray

        ray.init(
            address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False,
            logging_level="ERROR",
        )  # fmt: skip
        try:
            yield "ray"
        finally:
            ray.shutdown()
    else:
        yield None


def measure(on: object, length_ms: int, runs: int, workers: int) -> tuple[float, float]:
    """Make a sweep of short runs; return its time on the wall and its processor time."""
    import qcnlab

    scenario = qcnlab.load(ONE_SOURCE).with_(f"duration={length_ms} ms", "warmup=1 ms")
    vary = {"seed": list(range(runs))}
    wall, cpu = time.perf_counter(), family_cpu_s()
    qcnlab.sweep(scenario, vary=vary, reps=1, jobs=workers, on=on, progress=False)
    return time.perf_counter() - wall, family_cpu_s() - cpu


def overhead(rounds: int, engines: list[str]) -> list[Row]:
    """Measure sweeps of short and long runs with each engine, and with one worker and two."""
    rows = []
    for name in engines:
        words = ENGINES[name]
        if name == "ray" and find_spec("ray") is None:
            print("Ray is not installed: pip install 'qcnlab[ray]'", file=sys.stderr)
            continue
        for workers in (1, WORKERS):
            with engine(name, workers) as on:
                measure(on, 10, 200, workers)
                for length_ms in LENGTHS_MS:
                    runs = RUNS[length_ms]
                    each = [measure(on, length_ms, runs, workers) for _ in range(rounds)]
                    wall_s, cpu_s = (
                        statistics.median(column) for column in zip(*each, strict=True)
                    )
                    rows.append({
                        "engine": name, "workers": workers, "length_ms": length_ms, "runs": runs,
                        "wall_s": wall_s, "cpu_s": cpu_s, "load": os.getloadavg()[0],
                    })  # fmt: skip
                    print(
                        f"{words:24s}{workers} workers, runs of {length_ms:4d} ms: "
                        f"{1e3 * cpu_s / runs:7.2f} ms CPU and {1e3 * wall_s / runs:7.2f} ms a run",
                        flush=True,
                    )
    return rows


def at_scale() -> list[Row]:
    """Measure a sweep of 10,000 points, one of 10^6 rows, and a dry run of 10^5 points."""
    rows = []
    short = ("-s", "duration=10 ms", "-s", "warmup=1 ms")
    sweep = ("-m", "qcnlab", "sweep", ONE_SOURCE, *short)
    with tempfile.TemporaryDirectory() as parent:
        out = Path(parent) / "out"

        def add(what: str, cost: Cost) -> None:
            files = [path.stat().st_size for path in out.rglob("*.*") if path.is_file()]
            rows.append({"what": what, **cost._asdict(), "folder_mb": sum(files) / 1e6})
            print(
                f"{what:44s}{cost.wall_s:7.1f} s wall {cost.cpu_s:7.1f} s CPU "
                f"{cost.rss_gib:6.2f} GiB {sum(files) / 1e6:8.1f} MB",
                flush=True,
            )

        grid = ("--vary", "topology.rtt=" + ",".join(f"{n} us" for n in range(1, 101)))
        grid += ("--vary", f"seed=1..{POINTS // 100}")
        add(f"{POINTS:,} points", command(*sweep, *grid, "--reps", "1", "-o", str(out)))
        for what, (scenario, keys) in DRY.items():
            axes = [word for key in keys for word in ("--vary", key)]
            cost = command("-m", "qcnlab", "sweep", scenario, *axes, "--dry-run")
            add(f"100,000 points, --dry-run: {what}", cost)
        add("qcnlab --version", command("-m", "qcnlab", "--version"))
    with tempfile.TemporaryDirectory() as parent:
        out = Path(parent) / "rows"
        me = str(Path(__file__).resolve())
        add(f"{ROWS:,} rows written", command(me, "--write", str(out)))
        add(f"{ROWS:,} rows opened, one column asked for", command(me, "--open", str(out)))
    return rows


def write(out: Path) -> None:
    """Write the folder of a sweep of 10^6 runs whose metrics are drawn and not simulated."""
    import numpy as np

    import qcnlab
    from qcnlab.sweeps.grid import build
    from qcnlab.sweeps.running import describe
    from qcnlab.sweeps.store import Store

    scenario = qcnlab.load(ONE_SOURCE)
    vary = {"topology.rtt": [f"{n} us" for n in range(1, 101)], "seed": list(range(1000))}
    grid = build(scenario, (), vary, seeded=False, progress=False)
    store = Store(out, describe(grid, ROWS // len(grid), None, "benches/sweeps.py"))
    dice = np.random.default_rng(1)
    with store.opened():
        _, wanted = store.runs.missing(store.runs.parts)
        batch = []
        for run in wanted:
            batch.append((run, dice.random(len(store.known["metrics"])).tolist()))
            if len(batch) == 100:
                store.add(batch)
                batch = []
        store.settle(store.runs.parts)
        store.finish()


def open_one(out: Path) -> None:
    """Open that folder and ask for the mean of one column by one key."""
    import polars as pl

    import qcnlab

    by_rtt = qcnlab.open_sweep(out).scan().group_by("topology.rtt_s").agg(pl.col("drops").mean())
    assert by_rtt.collect().height == 100


def draw(rows: list[Row], path: Path) -> None:
    """Draw the processor time of a run with each engine over that of the run alone."""
    from matplotlib.figure import Figure

    alone = {
        row["length_ms"]: row["cpu_s"] / row["runs"]
        for row in rows
        if row["engine"] == "threads" and row["workers"] == 1
    }
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for marker, (name, words) in zip("o^s", ENGINES.items(), strict=True):
        own = [row for row in rows if row["engine"] == name and row["workers"] == WORKERS]
        if own:
            x = [1e3 * alone[row["length_ms"]] for row in own]
            y = [1e3 * row["cpu_s"] / row["runs"] for row in own]
            axes.plot(x, y, marker=marker, label=f"{words}, {WORKERS} workers")
    ends = [1e3 * min(alone.values()), 1e3 * max(alone.values())]
    axes.plot(ends, ends, color="0.6", lw=1, ls="--", label="the run alone, one thread")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="processor time of a run alone (ms)",
        ylabel="processor time of a run in a sweep (ms)",
    )  # fmt: skip
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Measure, print, and keep what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("overhead", "scale"))
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--svg", type=Path, help="draw the overhead here")
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        return write(options.write)
    if options.open:
        return open_one(options.open)
    rows: dict[str, list[Row]] = {}
    if options.only in (None, "overhead"):
        rows["overhead"] = overhead(options.rounds, options.engines or list(ENGINES))
    if options.only in (None, "scale"):
        rows["scale"] = at_scale()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.svg and "overhead" in rows:
        draw(rows["overhead"], options.svg)
    return None


if __name__ == "__main__":
    main()
