"""Processes under test: waited for until they have done something, and measured by processor time.

A clock on the wall says how busy the machine is. What a process does after it was asked to end is
told by the time that it had on a processor since.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

# How long a test waits for something that never comes.
PATIENCE_S = 120
# The processor time in which a process ends that is asked to.
PROMPT_S = 1.0


def wait_until(done: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until `done`; fail if `process` ends before that, or if it takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert process is None or process.poll() is None, "it ended before"
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_s(process: subprocess.Popen[str]) -> float:
    """Return the processor time that a running process has had, s."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        pytest.skip("there is no /proc that tells how long a process ran")
    fields = stat.read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")


def wait_for_work(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait until a process has had so much processor time from now on."""
    begun = processor_s(process)
    wait_until(lambda: processor_s(process) >= begun + seconds, process)


@dataclass(frozen=True)
class Ended:
    """How a process ended that was sent a signal."""

    returncode: int
    out: str
    err: str
    # Processor time that it had after the signal, s.
    after_s: float


def end(process: subprocess.Popen[str], signal: int) -> Ended:
    """Send a signal to a process and wait for its end."""
    children, before = _of_children(), processor_s(process)
    process.send_signal(signal)
    try:
        out, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    after = _of_children() - children - before
    return Ended(process.returncode, out or "", err or "", after)
