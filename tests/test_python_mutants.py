"""Mutants of Python: which there are, and that one takes the place of a function's code."""

from __future__ import annotations

import resource
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import python_bench
import python_mutants

SOURCE = """\
MOST = 5


def remember(function):
    return function


class Meter:
    @remember
    def charge(self, x, most=1200):
        if x > most and not self.off:
            return most
        return [each * 2 for each in x * [-1]]

    off = False
"""


def changed(about: str) -> str:
    """Return the source with the one mutant that is described so."""
    [mutant] = [m for m in python_mutants.mutants("meter.py", SOURCE) if m.about == about]
    octets = SOURCE.encode()
    return (octets[: mutant.start] + mutant.text.encode() + octets[mutant.end :]).decode()


def meter(path: str) -> Any:
    """Return a meter of a module of its own."""
    names: dict[str, Any] = {}
    exec(compile(SOURCE, path, "exec", dont_inherit=True), names)
    return names["Meter"]()


def planted(about: str) -> Any:
    """Return a meter in whose module the mutant has taken the place of a function's code."""
    other, mine = meter("other.py"), meter(about)
    pair = python_bench.replaced(about, SOURCE, changed(about))
    assert pair
    assert python_bench.plant(*pair) == 1
    assert other.charge(3) == [-2, -2, -2]
    return mine


def test_every_mutant_of_a_file() -> None:
    told = [mutant.name for mutant in python_mutants.mutants("meter.py", SOURCE)]
    assert told == [
        "meter.py:1:8: replace 5 with 6 in <module>",
        "meter.py:5:12: replace function with None in remember",
        "meter.py:10:30: replace 1200 with 2400 in charge",
        "meter.py:11:21: replace and with or in charge",
        "meter.py:11:14: replace > with >= in charge",
        "meter.py:11:25: replace not with  in charge",
        "meter.py:12:20: replace most with None in charge",
        "meter.py:13:16: replace [each * 2 for each in x * [-1]] with None in charge",
        "meter.py:13:22: replace * with / in charge",
        "meter.py:13:24: replace 2 with 3 in charge",
        "meter.py:13:40: replace * with / in charge",
        "meter.py:13:43: replace - with  in charge",
        "meter.py:13:44: replace 1 with 2 in charge",
        "meter.py:15:11: replace False with True in <module>",
    ]


def test_a_mutant_takes_the_place_of_a_functions_code() -> None:
    # 3 * [-1] are three times -1, each doubled. 1201 is more than 1200, and 1200 is not.
    assert meter("meter.py").charge(3) == [-2, -2, -2]
    assert planted("replace 2 with 3 in charge").charge(3) == [-3, -3, -3]
    assert planted("replace - with  in charge").charge(3) == [2, 2, 2]
    assert planted("replace > with >= in charge").charge(1200) == 1200
    assert planted("replace most with None in charge").charge(1201) is None
    assert planted("replace and with or in charge").charge(0) == 1200


@pytest.mark.parametrize(
    "about",
    ["replace 5 with 6 in <module>", "replace 1200 with 2400 in charge",
     "replace False with True in <module>"],
)  # fmt: skip
def test_what_importing_works_out_cannot_take_its_place(about: str) -> None:
    assert python_bench.replaced("meter.py", SOURCE, changed(about)) is None


def test_a_line_of_a_function_and_its_statement() -> None:
    told = [python_mutants.function_lines(SOURCE, line) for line in (1, 4, 5, 8, 9, 10, 13, 15)]
    assert told == [set(), {4}, {4}, set(), {9}, {9}, {9}, set()]
    inner = "def f():\n    @g\n    def h():\n        return 1\n    return h\n"
    assert python_mutants.function_lines(inner, 4) == {1, 2}
    # A header is no part of a body, and a decorator belongs to its function.
    assert python_mutants.statement_lines(SOURCE, 11) == {11}
    assert python_mutants.statement_lines(SOURCE, 10) == {9, 10}
    assert python_mutants.statement_lines(SOURCE, 1) == {1}
    lines = "def f(x):\n    return (\n        x\n        + 1\n    )\n"
    assert python_mutants.statement_lines(lines, 4) == {2, 3, 4, 5}


def test_the_lines_that_a_test_reaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorder = python_bench.Recorder()
    before = sys.gettrace()
    charge = meter(str(tmp_path / "python/meter.py")).charge
    elsewhere = meter("meter.py").charge
    try:
        recorder.trace()
        charge(1201), elsewhere(3)
        first, recorder.now = recorder.now, set()
        charge(1201), charge(3)
    finally:
        sys.settrace(before)
        threading.settrace(before)
    # Lines 9 to 12, from the decorator on; then line 13 alone is new, and the first line of each
    # function that is entered, of which line 13 is one.
    assert first == {f"python/meter.py:{line}" for line in (9, 11, 12)}
    assert recorder.now == {f"python/meter.py:{line}" for line in (9, 13)}


def test_a_test_has_eight_times_its_processor_seconds_and_thirty_at_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds: list[Any] = []
    monkeypatch.setattr(time, "process_time", lambda: 12.5)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1, 999))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, both: bounds.append(both))
    # 12.5 + 8 * 5.5 = 56.5; 12.5 + 30 = 42.5; a whole second more.
    for test in ("slow", "quick", "unknown"):
        python_bench.allow(test, {"slow": 5.5, "quick": 3.0})
    assert bounds == [(57, 999), (43, 999), (43, 999)]


def test_a_new_run_of_a_part_has_its_tests_in_order() -> None:
    order = python_bench.Ordered({"b": 1.0, "a": 2.0})

    def kept(*names: str) -> list[str]:
        items: Any = [SimpleNamespace(nodeid=each) for each in names]
        order.pytest_collection_modifyitems(items)
        return [item.nodeid for item in items]

    # What is not asked for is left out, unless a test that is asked for has another name now.
    assert kept("a", "other", "b") == ["b", "a"]
    assert kept("a", "renamed") == ["renamed", "a"]
    assert list(python_mutants.quickest({"a": 2.0, "b": 1.0})) == ["b", "a"]


class Clone:
    """A clone that says that every mutant is killed, and waits for the others while it does."""

    def __init__(self, together: threading.Barrier) -> None:
        self.together = together
        self.learnt: list[str] = []
        self.tried: list[str] = []

    def learn(self, names: list[str]) -> None:
        self.learnt += names

    def tested(self, name: str) -> str:
        self.together.wait(30)
        self.tried.append(name)
        return f"caught {name}"


def test_clones_share_the_mutants() -> None:
    """One learns what the tests take, for all; each mutant is tried once, two at a time."""
    together = threading.Barrier(2)
    first, second = Clone(together), Clone(together)
    kept: dict[str, str] = {}
    names = ["a", "b", "c", "d"]
    python_mutants.try_each([first, second], names, kept.__setitem__)  # type: ignore[list-item]
    assert kept == {name: f"caught {name}" for name in names}
    assert (first.learnt, second.learnt) == (names, [])
    assert sorted(first.tried + second.tried) == names


@pytest.mark.skipif(not python_bench.TASKS.exists(), reason="the system does not list threads so")
def test_a_bench_whose_tests_start_a_pool_as_they_are_collected_says_so(tmp_path: Path) -> None:
    """A fork has no thread but one: what asks such a pool would wait for ever."""
    (tmp_path / "test_pool.py").write_text(
        "import polars as pl\n"
        "FRAME = pl.DataFrame({'a': range(9), 'b': range(9)}).filter(pl.col('a') > 3)\n"
        "def test_it(): assert len(FRAME) == 5\n"
    )
    bench = python_bench.Bench(Path(sys.executable), tmp_path, ["test_pool.py"])
    # Its end closes the input, with which the bench ends.
    with bench.process:
        code, said = bench.ask({"record": str(tmp_path / "record")})
    assert code == 3
    assert "collecting starts polars-0" in said
