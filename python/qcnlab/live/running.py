"""Live runs and what a machine can do of them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from qcnlab import _core
from qcnlab.api import Scenario
from qcnlab.printing.progress import Bar
from qcnlab.records import Record, read
from qcnlab.results.result import Result, from_outcome
from qcnlab.values import MOST_SEED, within

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.runs.live_account import Account

Traffic = Literal["own", "iperf3", "none"]
"""Who makes the traffic of a live run."""
Limiter = Literal["adapter", "htb"]
"""Who paces frames at the rates that reaction points say: the adapter, or the kernel's HTB."""
SCALE = 100
"""How many times slower than its scenario a live run is, unless it gets another number."""
INVALID = "INVALID TIMING"
"""The label of a run whose own measurements lie outside the limits."""
CAPTURE = "capture.pcapng"
"""The name of a capture in a run folder."""
SNAP = 160
"""Octets of each frame that a capture keeps: all of a CNM, and the headers of data."""


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """Something that live runs need or can use, and whether it works.

    Attributes
    ----------
    what, said : str
        What was tried, and what the machine said.
    needed, works : bool
        Whether no live run goes without it, and whether it works.
    remedy : str
        What to do where it does not work.
    """

    what: str
    needed: bool
    works: bool
    said: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Doctor(Record):
    """What a machine can do of live runs.

    Attributes
    ----------
    able : bool
        Whether it can run them at all.
    findings : tuple of Finding
        What was tried.
    """

    able: bool
    findings: tuple[Finding, ...]


def examine() -> Doctor:
    """Try what live runs need.

    A process that is not root enters a user namespace for that, and stays in it.

    Returns
    -------
    Doctor
        What was found.
    """
    return read(Doctor, json.loads(_core.live_doctor()), "the core's answer")


def slowed(scenario: Scenario, scale: int = SCALE) -> Scenario:
    """Return the scenario as it is run live: times longer and rates smaller by `scale`.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    scale : int, default 100
        By how much.

    Returns
    -------
    Scenario
        The same in octets, at another pace.

    Raises
    ------
    ScenarioError
        If a time gets longer than a scenario may have.

    Examples
    --------
    >>> import qcnlab
    >>> from qcnlab import live
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us")
    >>> live.slowed(scenario).to_dict()["topology"]["rtt"]
    '1 ms'
    """
    return Scenario(_core.live_slowed(scenario._core, scale))


def run(
    scenario: Scenario,
    *,
    scale: int = SCALE,
    traffic: Traffic = "own",
    limiter: Limiter = "adapter",
    seed: int | None = None,
    capture: Path | None = None,
    progress: bool | None = None,
    label: str | None = None,
) -> Result:
    """Run a scenario live: on real frames, `scale` times slower than it says.

    Ctrl-C ends it within a second. Nothing is left behind, however the process ends.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    scale : int, default 100
        Times are longer and rates smaller by this.
    traffic : {"own", "iperf3", "none"}, default "own"
        Who makes the scenario's traffic: the data plane, iperf3 (TCP, constant and saturated
        flows), or nobody. Then the network stands for the duration of the scenario, and carries
        what others send.
    limiter : {"adapter", "htb"}, default "adapter"
        Who paces frames at the rates that the reaction points say: the adapter in user space, or
        the kernel's shaper HTB, which takes the data plane's own traffic alone. `meta["live"]`
        has it under ``limiter``, with how far apart frames left.
    seed : int, optional
        Seed of random numbers; the scenario's own by default.
    capture : Path, optional
        File for what all ports sent and hosts received, as pcapng.
    progress : bool, optional
        As in `qcnlab.run`.
    label : str, optional
        What the bar of its progress says; the scenario's name by default.

    Returns
    -------
    Result
        As of a simulated run of ``slowed(scenario, scale)``. `meta["live"]` has what the run
        measured of itself; the title of a run outside the limits begins with ``INVALID TIMING``.

    Raises
    ------
    Error
        If the machine cannot, or the scenario has what the data plane has not.
    """
    seed = within("seed", seed, 0, MOST_SEED)
    started = time.perf_counter()
    with Bar(label or f"{scenario.name}, live", progress) as bar:
        outcome, account = _core.live_run(
            scenario._core,
            scale=scale,
            traffic=traffic,
            limiter=limiter,
            seed=seed,
            capture=None if capture is None else (capture, SNAP),
            progress=bar,
        )
    wall_s = time.perf_counter() - started
    live: Account = json.loads(account)
    label = "" if live["timing"]["valid"] else f"{INVALID}: "
    paced = ", paced by HTB" if limiter == "htb" else ""
    title = outcome.scenario.title or outcome.scenario.name
    result = from_outcome(outcome, wall_s, f"{label}live at 1/{live['scale']}{paced}: {title}")
    result.meta["live"] = live
    return result
