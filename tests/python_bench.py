"""Run tests in forks of a process that has imported the package and collected its tests.

A mutant inside a function takes the place of the function's code in a fork, which then runs the
tests that it is given: nothing is imported or collected anew. A mutant elsewhere, or in a function
that importing calls, is written into its file, and a fork that has imported only the large
libraries runs pytest.

A test may take `TIMES` the processor seconds that it takes where nothing is planted, and `LEAST_S`
at least: the clock would count what other programs of the machine do.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import CodeType, FunctionType
from typing import IO, TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import FrameType

LIBRARIES = ("matplotlib.pyplot", "pandas", "polars", "pyarrow", "scipy.integrate", "control")
# A test may take so many times what it takes where nothing is planted, and so long at least, s.
TIMES = 8
LEAST_S = 30
# By the clock, for a test that waits and takes no processor time, s.
WAIT_S = 3600
OUT_OF_TIME = 124
TASKS = Path("/proc/self/task")
NOT_HERE = 125
"""The exit code where a mutant cannot take the place of a function's code."""

Seconds = dict[str, float]
# The lines of functions that a test reaches, as `PATH:LINE`; the first line of each that it enters.
Reached = dict[str, list[str]]
Task = dict[str, Any]


def functions(code: CodeType) -> Iterator[CodeType]:
    """Return the code of the functions of a module and its classes, without those inside them."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_flags & inspect.CO_OPTIMIZED:
                yield each
            else:
                yield from functions(each)


def replaced(path: str, old: str, new: str) -> tuple[CodeType, CodeType] | None:
    """Return a function's code in `old` and in `new`, the source of a mutant.

    `None` where no function has changed: a default has, or a constant of the module.
    """
    before, after = (
        list(functions(compile(text, path, "exec", dont_inherit=True))) for text in (old, new)
    )
    if len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            if one != other:
                return one, other
    return None


def plant(old: CodeType, new: CodeType) -> int:
    """Put code `new` into the functions that have code `old`; return how many there are."""

    def position(code: CodeType) -> tuple[str, str, int]:
        return code.co_filename, code.co_qualname, code.co_firstlineno

    count = 0
    for each in gc.get_objects():
        if type(each) is FunctionType and position(each.__code__) == position(old):
            each.__code__ = new
            count += 1
    return count


def allow(test: str, usual: Seconds) -> None:
    """Bound the processor time of the test that begins."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    more = max(LEAST_S, TIMES * usual.get(test, 0.0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + more) + 1, hard))


class Recorder:
    """A pytest plugin that writes down what each test takes, and the lines that it reaches.

    What a fixture reaches counts for all tests that use it, and nothing that functions remember
    outlives a test. What importing reaches stands under no test's name.
    """

    def __init__(self) -> None:
        self.root = f"{Path.cwd()}/"
        self.folder = f"{self.root}python/"
        self.seconds: Seconds = {}
        self.reached: Reached = {}
        self.of_fixtures: dict[int, set[str]] = {}
        self.begin()

    def begin(self) -> None:
        """Forget the lines reached so far."""
        self.now: set[str] = set()
        self.missing: dict[int, set[int]] = {}

    def trace(self) -> None:
        """Begin to write down what is reached, in every thread."""
        threading.settrace(self.enter)
        sys.settrace(self.enter)

    def collected(self) -> None:
        """Keep what importing has reached."""
        self.reached[""] = sorted(self.now)

    def lines_left(self, code: CodeType) -> set[int]:
        """Return the lines of a function that have not been reached."""
        if id(code) not in self.missing:
            lines = {line for _, _, line in code.co_lines() if line is not None}
            self.missing[id(code)] = lines - {code.co_firstlineno}
        return self.missing[id(code)]

    def add(self, code: CodeType, line: int) -> None:
        """Write down a line of a function."""
        self.now.add(f"{code.co_filename.removeprefix(self.root)}:{line}")

    def enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Write down a function of the package; ask for its lines while some are left."""
        code = frame.f_code
        if not (code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(self.folder)):
            return None
        self.add(code, code.co_firstlineno)
        return self.step if self.lines_left(code) else None

    def step(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Write down a line; ask for no more when it is the last one left."""
        left = self.lines_left(frame.f_code)
        if event == "line" and frame.f_lineno in left:
            left.remove(frame.f_lineno)
            self.add(frame.f_code, frame.f_lineno)
        frame.f_trace_lines = bool(left)
        return self.step

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Write down what a fixture reaches."""
        before = self.now
        self.begin()
        value = yield
        self.of_fixtures.setdefault(id(fixturedef), set()).update(self.now)
        self.now |= before
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """Write down what a test takes and reaches."""
        forget()
        self.begin()
        begun = time.process_time()
        self.trace()
        value = yield
        sys.settrace(None)
        self.seconds[item.nodeid] = time.process_time() - begun
        for fixtures in item._fixtureinfo.name2fixturedefs.values():
            for fixture in fixtures:
                self.now |= self.of_fixtures.get(id(fixture), set())
        self.reached[item.nodeid] = sorted(self.now)
        return value


def forget() -> None:
    """Empty what the functions of the package and of the tests remember."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("qcnlab", "test_", "made_up_book", "conftest")):
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def pools() -> list[str]:
    """Return the threads of this process that work for polars: in a fork nobody would do so.

    None where the system does not list threads so.
    """
    if not TASKS.exists():
        return []
    names = [(task / "comm").read_text().strip() for task in TASKS.iterdir()]
    return sorted(name for name in names if re.fullmatch(r"polars-\d+", name))


class Collected:
    """A pytest plugin that answers tasks with the tests that were collected."""

    def __init__(self, recorder: Recorder, answers: IO[str]) -> None:
        self.recorder, self.answers = recorder, answers

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer the tasks of standard input until it ends."""
        sys.settrace(None)
        self.recorder.collected()
        tests = {item.nodeid: item for item in session.items}
        started = pools()

        def run(task: Task) -> int:
            if started:
                print(f"collecting starts {', '.join(started)}: let tests work on frames, not")
                print("what pytest collects, such as their parameters")
                return 3
            usual: Seconds = task.get("usual", {})
            if "record" in task:
                session.config.pluginmanager.register(self.recorder)
            else:
                pair = replaced(task["path"], task["old"], task["new"])
                if pair is None or not plant(*pair):
                    return NOT_HERE
            items = [tests[name] for name in usual or tests]
            for item, following in zip(items, [*items[1:], None], strict=True):
                if usual:
                    allow(item.nodeid, usual)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    return 1
            if "record" in task:
                known = [self.recorder.seconds, self.recorder.reached]
                Path(task["record"]).write_text(json.dumps(known), encoding="utf-8")
            return 0

        serve(run, self.answers)
        return True


class Ordered:
    """A pytest plugin that runs the tests of `usual` in its order, and bounds their time."""

    def __init__(self, usual: Seconds) -> None:
        self.usual = usual
        self.rank = {test: number for number, test in enumerate(usual)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that are asked for, in their order.

        A mutant may rename tests, which are named after values: where one is missing all are kept,
        and those with new names come first.
        """
        if self.rank.keys() <= {item.nodeid for item in items}:
            items[:] = [item for item in items if item.nodeid in self.rank]
        items.sort(key=lambda item: self.rank.get(item.nodeid, -1))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Bound the time of a test."""
        allow(nodeid, self.usual)


def anew(task: Task) -> int:
    """Import, collect and run the tests of a task."""
    sys.dont_write_bytecode = True
    words = ["-x", "-p", "no:cacheprovider", *task["files"]]
    return int(pytest.main(words, plugins=[Ordered(task["usual"])]))


def serve(run: Callable[[Task], int], answers: IO[str]) -> None:
    """Answer each line of standard input, a task, by what `run` makes of it in a fork."""
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
            child = fork(run, json.loads(line), folder, said)
            waiting = threading.Timer(WAIT_S, os.killpg, (child, signal.SIGKILL))
            waiting.start()
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            waiting.cancel()
            if code in (-signal.SIGXCPU, -signal.SIGKILL):
                code = OUT_OF_TIME
            said.seek(0)
            words = said.read().decode(errors="replace")
        print(json.dumps([code, words]), file=answers, flush=True)


def fork(run: Callable[[Task], int], task: Task, folder: str, said: IO[bytes]) -> int:
    """Begin a task in a fork; return its process."""
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        os.setsid()
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
        for stream in (1, 2):
            os.dup2(said.fileno(), stream)
        code = run(task)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(files: list[str]) -> None:
    """Collect the tests of files and answer tasks; without files each task names its own."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if files:
        recorder = Recorder()
        recorder.trace()
        words = ["-s", "-p", "no:cacheprovider", *files]
        sys.exit(pytest.main(words, plugins=[Collected(recorder, answers)]))
    for name in LIBRARIES:
        importlib.import_module(name)
    serve(anew, answers)


class Bench:
    """The process that answers tasks, in a clone, with an interpreter and an environment."""

    def __init__(self, python: Path, tree: Path, files: list[str]) -> None:
        environment = os.environ | {
            "PYTHONPATH": f"{tree / 'python'}:{tree / 'tests'}",
            "MPLBACKEND": "agg",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            [str(python), str(Path(__file__).resolve()), *files],
            cwd=tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, task: Task) -> tuple[int, str]:
        """Have a task done; return the exit code and what was said."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin and stdout
        print(json.dumps(task), file=stdin, flush=True)
        code, said = json.loads(stdout.readline())
        return code, said


if __name__ == "__main__":
    main(sys.argv[1:])
