"""The summary of a run: what was run, how each replication ended, metrics and counters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from qcnlab.metrics import MetricValues, metrics
from qcnlab.records import ByName, Record, read
from qcnlab.runs.collective_runs import CollectiveRun, EndedRun


@dataclass(frozen=True, slots=True)
class Ending(Record):
    """When a replication ended, and why.

    Attributes
    ----------
    end_s : float
        Seconds from its start.
    why : str
        ``"duration"``, ``"drained"`` (the last flow of a size finished) or ``"deadlock"``.
    circle : tuple of str
        Of a deadlock: the stopped ports, each waiting for the next and the last for the first.
    closed_s : float, optional
        Of a deadlock: when the last of them was stopped, s.
    """

    end_s: float
    why: Literal["duration", "drained", "deadlock"]
    circle: tuple[str, ...] = ()
    closed_s: float | None = None


@dataclass(frozen=True, slots=True)
class BottleneckPort(Record):
    """The port that metrics of one port are about.

    Attributes
    ----------
    port : str
        Its name, ``switch->host1``.
    rate_bps : float
        Its rate outside hotspots, bit/s.
    buffer_bytes : float, optional
        Its buffer in octets; `None` without a limit.
    """

    port: str
    rate_bps: float
    buffer_bytes: float | None


@dataclass(frozen=True, slots=True)
class Counters(Record):
    """What all replications of a run counted together.

    `None` stands for what was not counted: a run without packets counts `events`, `frames_sent` and
    `frames_delivered` alone, and the folder of an earlier version may lack some
    (`Summary.lacks` names them).

    Attributes
    ----------
    frame_hops, events : int
        Frames that crossed a link, once for each; events of the engine.
    frames_sent, frames_delivered, frames_dropped, frames_refused : int
        Frames of traffic: what sources sent, what reached its sink, what the network lost, what
        found the queue of its source full.
    pause_frames, storm_frames : int
        Pause frames that buffers sent, and those of storms.
    watchdog_drops, link_drops : int
        Frames lost to a watchdog, and to links that failed.
    packets_trimmed : int
        Packets that were cut to their heads.
    messages_sent, messages_heard, messages_ignored, messages_lost : int
        Messages of congestion points, and what became of them.
    """

    frame_hops: int | None
    events: int
    frames_sent: int
    frames_delivered: int
    frames_dropped: int | None = None
    frames_refused: int | None = None
    pause_frames: int | None = None
    storm_frames: int | None = None
    watchdog_drops: int | None = None
    link_drops: int | None = None
    packets_trimmed: int | None = None
    messages_sent: int | None = None
    messages_heard: int | None = None
    messages_ignored: int | None = None
    messages_lost: int | None = None


@dataclass(frozen=True, slots=True)
class Summary(Record):
    """What `summary.json` holds: equal for equal scenario, seed and replications.

    Attributes
    ----------
    scenario, title : str
        The scenario's name and title.
    hash : str
        SHA-256 of the resolved scenario, in hexadecimal.
    seed, replications : int
        The seed, and how many runs it was used for.
    scheme : str
        The scheme's name.
    preset : str, optional
        The preset of its parameters; `None` for a scheme without.
    flows : int
        How many flows one replication has.
    ends : tuple of Ending
        When and why each replication ended.
    bottleneck : BottleneckPort
        The port that metrics of one port are about.
    metrics : ByName of MetricValues
        Each metric by its name: ``summary.metrics["jain"].median``.
    counters : Counters
        Totals over all replications.
    flow_level : bool
        Whether it is of a run without packets.
    collectives : tuple of CollectiveRun
        The collective operations of each replication; those that ended are `EndedRun`.
    """

    scenario: str
    title: str
    hash: str
    seed: int
    replications: int
    scheme: str
    preset: str | None
    flows: int
    ends: tuple[Ending, ...]
    bottleneck: BottleneckPort
    metrics: ByName[MetricValues]
    counters: Counters
    flow_level: bool = False
    collectives: tuple[EndedRun | CollectiveRun, ...] = ()

    @classmethod
    def read(cls, tree: object, where: str = "summary.json") -> Summary:
        """Return the summary that JSON holds.

        Parameters
        ----------
        tree : object
            As `json.loads` gives it.
        where : str, default "summary.json"
            What it was read from, for messages.

        Raises
        ------
        ValueError
            If a key is missing, or a value is not of its type; it names the place.
        """
        summary = read(cls, tree, where)
        if len(summary.ends) != summary.replications:
            raise ValueError(
                f"{where}: {len(summary.ends)} ends are of {summary.replications} replications"
            )
        for name, metric in summary.metrics.items():
            if len(metric.values) != summary.replications:
                raise ValueError(
                    f"{where}: metrics.{name} has {len(metric.values)} values for "
                    f"{summary.replications} replications"
                )
        return summary

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the version that ran it did not have yet, as ``metrics.NAME``, ``counters.NAME``.

        Empty for runs of this version. Run the scenario again to have it.
        """
        missing = [f"metrics.{each.name}" for each in metrics() if each.name not in self.metrics]
        if not self.flow_level:
            missing += [
                f"counters.{field.name}"
                for field in fields(Counters)
                if getattr(self.counters, field.name) is None
            ]
        return tuple(missing)

    @property
    def deadlocked(self) -> list[int]:
        """The replications that ended in a deadlock, counted from 0."""
        return [index for index, end in enumerate(self.ends) if end.why == "deadlock"]

    @property
    def has_sized_flows(self) -> bool:
        """Whether flows of a size started in any replication."""
        return "started" in self.metrics and bool(self.metrics["started"].max)

    def to_dict(self) -> dict[str, object]:
        """Return the summary as `summary.json` holds it.

        Returns
        -------
        dict of str to object
            Dictionaries, lists, text, numbers, `True`, `False` and `None`; without what the version
            that ran it did not have.
        """
        # Not super(): a class with slots is made twice.
        tree = Record.to_dict(self)
        if self.flow_level:
            counters = {each.name: getattr(self.counters, each.name) for each in fields(Counters)}
            tree["counters"] = counters
        return tree
