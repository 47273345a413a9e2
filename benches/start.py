#!/usr/bin/env python3
"""Print the CPU time of whole commands that do little: user and system time of the process.

Each command runs in turn, once to have byte code and files cached and then so many rounds; what is
told is the median. A run is the smallest shipped scenario, 10 ms of it, and its run folder.

    python benches/start.py [--rounds 7] [--python PYTHON]
"""

import argparse
import os
import shlex
import statistics
import sys
import tempfile

STAR = "one-source-into-9g-rtt10us"
COMMANDS = {
    "--version": 0,
    "--help": 0,
    "run --help": 0,
    "no-such-command": 2,
    f"run {STAR} --no-such-option": 2,
    "run no-such-scenario": 2,
    "run no/such/file.toml": 2,
    f"run {STAR} -s no.such.key=1": 2,
    "check no-such-scenario": 2,
    f"check {STAR}": 0,
    "list schemes": 0,
    "list scenarios": 0,
    "list metrics": 0,
    "list parameters": 0,
    "explain Q_EQ": 0,
    "fct no-such-folder": 2,
    "report no-such-folder": 2,
    "plot no-such-folder": 2,
    "conform cp no-such-file": 2,
    "live run no-such-scenario": 2,
    f"run {STAR} -s duration=10ms -s warmup=1ms": 0,
}
"""What follows `qcnlab`, and its exit code."""


def cpu_s(program: list[str], exit_code: int) -> float:
    """Run a program without output and return its CPU seconds.

    Raises
    ------
    RuntimeError
        If it ends with another exit code.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        process = os.posix_spawn(
            program[0],
            program,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing, stream) for stream in range(3)],
        )
    finally:
        os.close(nothing)
    _, status, used = os.wait4(process, 0)
    ended = os.waitstatus_to_exitcode(status)
    if ended != exit_code:
        raise RuntimeError(f"{shlex.join(program)} ended with {ended} instead of {exit_code}")
    return used.ru_utime + used.ru_stime


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the CPU time of short commands.")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each command; 7")
    parser.add_argument("--python", default=sys.executable, help="the interpreter; this one")
    options = parser.parse_args(arguments)
    seconds: dict[str, list[float]] = {line: [] for line in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(options.rounds + 1):
            for line, exit_code in COMMANDS.items():
                program = [options.python, "-m", "qcnlab", *shlex.split(line)]
                used = cpu_s(program, exit_code)
                if number:
                    seconds[line].append(used)
        os.chdir("/")
    width = max(map(len, COMMANDS))
    print(f"{'qcnlab ...':{width}s}  CPU s  (range of {options.rounds})")
    for line, used in seconds.items():
        low, high = min(used), max(used)
        print(f"{line:{width}s}  {statistics.median(used):.3f}  ({low:.3f} to {high:.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
