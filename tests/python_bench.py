"""Run tests in forks of a process that has imported the large libraries already.

It reads tasks from standard input, a line of JSON each, and answers each with a line: the exit code
of pytest, the processor seconds, and what was said. A test may take `TIMES` the processor seconds
that it takes where nothing is planted, and `LEAST_S` at least: the clock would count what other
programs of the machine do. `tests/python_mutants.py` writes the tasks.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

LIBRARIES = ("matplotlib.pyplot", "pandas", "polars", "pyarrow", "scipy.integrate", "control")
# A test may take so many times what it takes where nothing is planted, and so long at least, s.
TIMES = 8
LEAST_S = 30
# By the clock, for a test that waits and takes no processor time, s.
WAIT_S = 3600
MEMORY_OCTETS = 12 << 30
OUT_OF_TIME = 124

Seconds = dict[str, float]
# The functions that a test enters, as `PATH:LINE` of their first line.
Entered = dict[str, list[str]]


class Timer:
    """A pytest plugin that runs tests in an order and bounds the processor time of each.

    `usual` has the tests in their order, and what they take where nothing is planted.
    """

    def __init__(self, usual: Seconds) -> None:
        self.usual = usual
        self.rank = {test: number for number, test in enumerate(usual)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the tests in order, and leave out the others of their files.

        Where a mutant has renamed tests, all of their files are run, these first.
        """
        if self.rank.keys() <= {item.nodeid for item in items}:
            items[:] = [item for item in items if item.nodeid in self.rank]
        items.sort(key=lambda item: self.rank.get(item.nodeid, -1))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Allow the test that begins its processor time."""
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        more = max(LEAST_S, TIMES * self.usual.get(nodeid, 0.0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + more) + 1, hard))


class Recorder:
    """A pytest plugin that writes down what each test takes, and the functions it enters.

    What a fixture enters counts for all tests that use it, and nothing that functions remember
    outlives a test.
    """

    def __init__(self, folder: str, file: Path) -> None:
        self.folder, self.file = f"{Path(folder).resolve()}/", file
        self.seconds: Seconds = {}
        self.entered: Entered = {}
        self.of_fixtures: dict[int, set[str]] = {}
        self.begun = 0.0
        self.now: set[str] = set()
        sys.settrace(self.enter)

    def pytest_collection_finish(self) -> None:
        """Write down what importing the package and the tests enters, under no test's name."""
        sys.settrace(None)
        self.entered[""] = sorted(self.now)

    def enter(self, frame: FrameType, event: str, argument: Any) -> None:
        """Write down a function that is entered: a trace function that asks for no lines."""
        code = frame.f_code
        if code.co_filename.startswith(self.folder):
            self.now.add(f"{code.co_filename.removeprefix(self.folder)}:{code.co_firstlineno}")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Write down what a fixture enters, besides what those that it uses do."""
        before, self.now = self.now, set()
        value = yield
        self.of_fixtures.setdefault(id(fixturedef), set()).update(self.now)
        self.now |= before
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """Write down what a test takes and enters."""
        forget()
        self.now, self.begun = set(), time.process_time()
        sys.settrace(self.enter)
        value = yield
        sys.settrace(None)
        self.seconds[item.nodeid] = time.process_time() - self.begun
        for fixtures in item._fixtureinfo.name2fixturedefs.values():
            for fixture in fixtures:
                self.now |= self.of_fixtures.get(id(fixture), set())
        self.entered[item.nodeid] = sorted(self.now)
        return value

    def pytest_sessionfinish(self) -> None:
        """Keep all that was written down."""
        self.file.write_text(json.dumps([self.seconds, self.entered]), encoding="utf-8")


def forget() -> None:
    """Empty what the functions of the package and of the tests remember."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("qcnlab", "test_", "made_up_book", "conftest")):
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def tested(task: dict[str, Any]) -> int:
    """Run the tests of a task in this process; return the exit code of pytest."""
    plugin: Timer | Recorder
    if "record" in task:
        plugin = Recorder(task["folder"], Path(task["record"]))
    else:
        plugin = Timer(task["usual"])
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_OCTETS, MEMORY_OCTETS))
    return int(pytest.main(["-x", "-p", "no:cacheprovider", *task["tests"]], plugins=[plugin]))


def fork(task: dict[str, Any], said: IO[bytes]) -> int:
    """Begin a task in a fork; return its process."""
    child = os.fork()
    if child:
        return child
    os.setsid()
    for stream in (1, 2):
        os.dup2(said.fileno(), stream)
    code = 3
    try:
        code = tested(task)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """Run the tests of a task; return its exit code, its processor seconds and what was said."""
    with tempfile.TemporaryFile() as said:
        child = fork(task, said)
        waiting = threading.Timer(WAIT_S, os.killpg, (child, signal.SIGKILL))
        waiting.start()
        _, status, used = os.wait4(child, 0)
        waiting.cancel()
        code = os.waitstatus_to_exitcode(status)
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            code = OUT_OF_TIME
        said.seek(0)
        text = said.read().decode(errors="replace")
    return {"code": code, "seconds": used.ru_utime + used.ru_stime, "said": text}


def main() -> None:
    """Answer the tasks of standard input until it ends."""
    for name in LIBRARIES:
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


class Bench:
    """The process that answers tasks, in a clone, with an interpreter and an environment."""

    def __init__(self, python: Path, tree: Path) -> None:
        environment = os.environ | {
            "PYTHONPATH": f"{tree / 'python'}:{tree / 'tests'}",
            "MPLBACKEND": "agg",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            [str(python), str(Path(__file__).resolve())],
            cwd=tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, task: dict[str, Any]) -> tuple[int, str]:
        """Have a task done; return the exit code and what was said."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin and stdout
        print(json.dumps(task), file=stdin, flush=True)
        said = json.loads(stdout.readline())
        return said["code"], said["said"]


if __name__ == "__main__":
    main()
