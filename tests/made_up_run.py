"""Summaries of runs that nobody made, for tests by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.metrics import MetricValues, metrics
from qcnlab.records import ByName
from qcnlab.runs.summary import BottleneckPort, Counters, Ending, Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.runs.meta import Meta

PORT = BottleneckPort("p", 1e9, None)


def made_up_summary(
    *,
    scenario: str = "made",
    scheme: str = "none",
    preset: str | None = None,
    seed: int = 1,
    flows: int = 1,
    ends: Sequence[float | Ending] = (1e-3,),
    bottleneck: BottleneckPort = PORT,
    metrics: Mapping[str, Sequence[float | None]] | None = None,
) -> Summary:
    """Return a summary with these ends, one for each replication, and these values of metrics."""
    return Summary(
        scenario=scenario,
        title="",
        hash="0" * 64,
        seed=seed,
        replications=len(ends),
        scheme=scheme,
        preset=preset,
        flows=flows,
        ends=tuple(end if isinstance(end, Ending) else Ending(end, "duration") for end in ends),
        bottleneck=bottleneck,
        metrics=ByName(
            {name: made_up_metric(name, values) for name, values in (metrics or {}).items()}
        ),
        counters=Counters(frame_hops=0, events=0, frames_sent=0, frames_delivered=0),
    )


META: Meta = {
    "format": 0,
    "scenario": "made up",
    "hash": "0" * 64,
    "seed": 1,
    "replications": 1,
    "versions": {"qcnlab": "0", "python": "0", "polars": "0"},
    "command": ["qcnlab"],
    "date": "2026-01-01T00:00:00+00:00",
    "wall_s": 0.0,
    "cpu_s": 0.0,
    "units": {},
}
"""How a run was made that was not."""


def made_up_metric(name: str, values: Sequence[float | None]) -> MetricValues:
    """Return a metric of these values, with its unit where it is one of ours."""
    units = {each.name: each.unit for each in metrics()}
    return MetricValues.of(units.get(name, ""), values)
