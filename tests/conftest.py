"""What the tests share: a short scenario, and the command line in a folder of its own."""

from __future__ import annotations

import functools
import gc
import io
import os
import signal
import sys
import tomllib
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from qcnlab.cli.commands import COMMANDS, loaded
from qcnlab.cli.program import ENDING_SIGNALS, main

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

# What is collected stays to the end, so nothing of it is worth looking for: a third of the
# time of collection is that, and as much of each look for garbage later.
gc.disable()
ROOT = Path(__file__).resolve().parent.parent
if not Path(qcnlab.__file__).resolve().is_relative_to(ROOT):
    raise RuntimeError(
        f"the tests of {ROOT} import qcnlab from {qcnlab.__file__}; run them with `make test`, "
        "or .venv/bin/python -m pytest"
    )
# In the background of a shell all that the tests start ignores SIGINT; under nohup, SIGHUP.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
HOTSPOT = "og-hotspot-2src-10g-to-500m-rtt10us"
SHORT = (
    "warmup=2 ms",
    "hotspot.0.from=10 ms",
    "hotspot.0.until=25 ms",
    "duration=40 ms",
)
SHORT_FLAGS = tuple(word for change in SHORT for word in ("-s", change))

_LONG: dict[str, dict[str, Any]] = tomllib.loads(
    (ROOT / "tests/long.toml").read_text(encoding="utf-8")
)
# What takes long: node ids, or their beginnings, and what each is for.
LONG: dict[str, str] = _LONG["long"]
# Tests with many draws, and of how many draws each `make test` runs.
DRAWS: dict[str, int] = _LONG["draws"]


def of_list(node: str) -> str | None:
    """Return the entry of `LONG` that a node id falls under."""
    inside = node.removeprefix("tests/")
    wholes = (inside, inside.partition("[")[0], inside.partition("::")[0])
    return next((name for name in wholes if name in LONG), None)


def beyond_draws(nodes: Sequence[str], draws: int) -> set[str]:
    """Return those of a test's nodes that `make test` leaves out: so many stay, evenly spread."""
    stay = min(draws, len(nodes))
    return set(nodes) - {nodes[k * len(nodes) // stay] for k in range(stay)}


# A test that takes longer has failed, s; on a busy machine the slowest that is not long takes a
# minute, and the first of the recipes builds all crates.
LIMIT_S, LONG_LIMIT_S = 300.0, 1800.0


@contextmanager
def limited(name: str, limit_s: float) -> Iterator[None]:
    """Fail what takes too long, where it stands: a child that never ends sets no limit itself."""

    def late(number: int, frame: object) -> None:
        pytest.fail(f"{name} had not ended after {limit_s:g} s")

    before = signal.signal(signal.SIGALRM, late)
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left_s)
        signal.signal(signal.SIGALRM, before)


def of_item(item: pytest.Item) -> tuple[str, float]:
    """Return the name of a test, and how long each of its phases may take, s."""
    return item.nodeid, LIMIT_S if item.get_closest_marker("long") is None else LONG_LIMIT_S


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with limited(*of_item(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with limited(*of_item(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with limited(*of_item(item)):
        return (yield)


# The node ids of what pytest has collected, before `-k` and `-m` leave some out.
COLLECTED = pytest.StashKey[frozenset[str]]()


FIRST = tuple(
    f"test_{name}.py"
    for name in (
        "rust_recipes", "recipes", "executors", "notebooks", "roce_reference",
        "hpcc_fabric_reference", "schemes_fabric_reference", "conform_sender", "examples",
        "analysis_boundary", "startup", "wire_tshark", "sweep", "sweep_parts", "capture",
    )
)  # fmt: skip
"""Files that take long come first, so that no process is left alone with one at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rank = {name: k for k, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))
    config.stash[COLLECTED] = frozenset(item.nodeid for item in items)
    long = {item.nodeid for item in items if of_list(item.nodeid) is not None}
    several: dict[str, list[str]] = {}
    for node in (item.nodeid for item in items if item.nodeid not in long):
        several.setdefault(node.removeprefix("tests/").partition("[")[0], []).append(node)
    # A test that is asked for by its parameters stands alone here, and stays.
    for name in DRAWS.keys() & several.keys():
        long |= beyond_draws(several[name], DRAWS[name])
    for item in items:
        if item.nodeid in long:
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@dataclass(frozen=True)
class Done:
    """What a command said, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class CommandLine:
    """The `qcnlab` command, run in `folder` by this interpreter."""

    folder: Path

    def __call__(self, *arguments: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        before = {number: signal.getsignal(number) for number in (*ENDING_SIGNALS, signal.SIGINT)}
        with (
            chdir(self.folder),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as left,
        ):
            main(arguments)
        for number, handler in before.items():
            signal.signal(number, handler)
        assert isinstance(left.value.code, int)
        return Done(left.value.code, out.getvalue(), err.getvalue())

    def left(self) -> list[str]:
        """Everything in the folder, hidden things too."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


@functools.cache
def every_command() -> dict[str, Any]:
    """Return each command of the command line by its name, after that of its group."""
    commands: dict[str, Any] = {}
    for name in COMMANDS:
        known = loaded(name)
        inner = getattr(known, "commands", None)
        commands |= {f"{name} {each}": inner[each] for each in inner} if inner else {name: known}
    return commands


def command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "qcnlab", *arguments]


def extra(module: str) -> Any:
    """Return a module that only an extra has; where it is missing, skip, but fail in CI."""
    if "QCNLAB_REQUIRE_EXTRAS" in os.environ:
        return import_module(module)
    return pytest.importorskip(module)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def short() -> qcnlab.Scenario:
    return qcnlab.load(HOTSPOT).with_(*SHORT)


@pytest.fixture(scope="session")
def result(short: qcnlab.Scenario) -> qcnlab.Result:
    return qcnlab.run(short, reps=3, seed=5)
