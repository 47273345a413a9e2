"""What the pages of live measurements share: how often a run is made, when, where, and lines."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Hashable, Sequence

ROOT = Path(__file__).resolve().parent.parent
Experiment = TypeVar("Experiment", bound="Hashable")
Run = TypeVar("Run")


@dataclass(frozen=True)
class Rule:
    """When a bench has made enough live runs; `docs/concepts/live.md` has it in words.

    Attributes
    ----------
    valid : int
        Runs with valid timing that are wanted of each experiment.
    tries : int
        Runs of an experiment at most.
    minutes : float
        Once so many are over no run begins; each experiment is run once nevertheless.
    """

    valid: int = 2
    tries: int = 8
    minutes: float = 13.0


def rule_options(parser: argparse.ArgumentParser) -> None:
    """Let a command line set the rule."""
    usual = Rule()
    parser.add_argument(
        "--valid", type=int, default=usual.valid, help=f"valid runs wanted ({usual.valid})"
    )
    parser.add_argument(
        "--tries", type=int, default=usual.tries, help=f"runs of each at most ({usual.tries})"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=usual.minutes,
        help=f"begin no run after so many minutes ({usual.minutes:g})",
    )


def run_in_turn(
    experiments: Sequence[Experiment],
    run: Callable[[Experiment, int], Run],
    is_valid: Callable[[Run], bool],
    rule: Rule,
    now: Callable[[], float] = time.monotonic,
) -> dict[Experiment, list[Run]]:
    """Run each experiment as often as the rule says, in turn.

    In each round those without a valid run come first.

    Parameters
    ----------
    experiments : sequence
        What to run.
    run : callable
        Runs an experiment once; is told how many runs of it there were before.
    is_valid : callable
        Whether the timing of a run is.
    rule : Rule
        When there are enough.
    now : callable
        Seconds of a clock.

    Returns
    -------
    dict
        All runs of each experiment, in the order in which they were made.
    """
    runs: dict[Experiment, list[Run]] = {each: [] for each in experiments}
    last = now() + 60 * rule.minutes

    def valid(each: Experiment) -> int:
        return sum(is_valid(one) for one in runs[each])

    def wants(each: Experiment) -> bool:
        return len(runs[each]) < rule.tries and valid(each) < rule.valid

    while wanting := [each for each in experiments if wants(each)]:
        each = min(wanting, key=lambda one: (len(runs[one]), valid(one)))
        if runs[each] and now() >= last:
            break
        runs[each].append(run(each, len(runs[each])))
    return runs


def chosen(experiments: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the experiments with these names, or all without any; ends the program at another."""
    known = [each.name for each in experiments]
    if unknown := sorted(set(names) - set(known)):
        sys.exit(f"no experiment {', '.join(unknown)}; there are {', '.join(known)}")
    return [each for each in experiments if not names or each.name in names]


def machine_ticks() -> tuple[int, int]:
    """Return how long the CPUs of this machine were busy so far, and how long there were, ticks."""
    line = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
    ticks = [int(word) for word in line.split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def with_load(run: Callable[[], Run]) -> Run:
    """Run something live; note in the result how busy other programs kept the machine meanwhile.

    That is a share of all CPUs, in `meta["live"]["others_share"]`.
    """
    before = machine_ticks()
    result: Any = run()
    busy, ticks = (after - then for after, then in zip(machine_ticks(), before, strict=True))
    own = result.meta["live"]["timing"]["cpu_share"] / (os.cpu_count() or 1)
    result.meta["live"]["others_share"] = max(0.0, busy / max(ticks, 1) - own)
    return result  # type: ignore[no-any-return]


def stood_still(result: Any) -> str:
    """Return in words how long the machine stood still in a run, and how busy others kept it."""
    stopped = result.meta["live"]["timing"]["clock_stopped"]
    others = result.meta["live"]["others_share"]
    return (
        f"stood still {stopped['times']} times, {stopped['total_ms']:.0f} ms in all "
        f"({100 * stopped['share']:.2f} %), {stopped['longest_ms']:.1f} ms at most; "
        f"others took {100 * others:.0f} % of the CPUs"
    )


def is_valid(result: Any) -> bool:
    """Return whether the timing of a live run lies within the limits."""
    return bool(result.meta["live"]["timing"]["valid"])


def outside(result: Any) -> str:
    """Return the first limit that a run passed, and how many more."""
    first, *more = result.meta["live"]["timing"]["reasons"]
    return f"{first}; {len(more)} more" if more else str(first)


def when_and_where() -> str:
    """Return the day, the build and the machine."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    today = datetime.datetime.now(tz=datetime.UTC).date()
    machine = f"{platform.system()} {platform.release().split('-')[0]}, {os.cpu_count()} CPUs"
    return f"{today} at commit {commit}; {machine}"


def written_by(target: str) -> str:
    """Return by which target of the Makefile, when, on which build and machine a page was made."""
    return f"Written by `make {target}` on {when_and_where()}"


def wrapped(paragraph: str) -> str:
    """Return a paragraph in lines of a page's width."""
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def counted_by(when: str, runs: Sequence[Any]) -> str:
    """Return a line of a page: when runs were made, and how many of them are valid."""
    return f"* {when}: {sum(map(is_valid, runs))} of {len(runs)} runs valid"


def parts_of(page: str) -> dict[str, str]:
    """Return the parts of a page by their headings of the second level."""
    _, *parts = f"\n{page}".split("\n## ")
    return {part.split("\n", 1)[0]: f"## {part.rstrip()}" for part in parts}


def counts_of(part: str) -> list[str]:
    """Return the lines of a part that say when runs were made before."""
    return [line for line in part.splitlines() if line.startswith("* ") and " runs valid" in line]
