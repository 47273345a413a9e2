"""Measures that a claim names: the metrics of the core, over the whole run or a window.

A measure with a window is the core's metric over that window (`qcnlab.runs.windows`). The measures
of whole tables of messages, which are the book's own, are computed here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from qcnlab import _core, catalogue
from qcnlab.book import completion
from qcnlab.book.models import MEASURES as OF_MODELS
from qcnlab.results.result import Result
from qcnlab.runs.facts import base, facts
from qcnlab.runs.windows import in_window


@dataclass(frozen=True)
class Measure:
    """A number that a claim can name."""

    unit: str
    about: str
    windowed: str
    """The core's metric over a window; empty: the measure has no window."""
    core: bool
    """Whether the measure exists for the whole run."""
    scale: float = 1.0
    """Factor from `unit` to `shown`, for tables."""
    shown: str = ""
    """The unit in tables; `unit` if empty."""
    missing: float = math.nan
    """Stands for a window without a value."""


SIX_FRAMES, HELD_S = 9000, 0.010


def _cuts_while_available(result: Result, replication: int) -> float:
    """Return the number of cuts from a port whose queue had been short for 10 ms.

    The queue must be short at the message, too: the sampled frame itself may make it long.
    """
    set_point = facts(result).set_point_bytes or 0.0
    mine = pl.col("replication") == replication
    messages = (
        result.table("messages")
        .to_polars()
        .filter(mine & (pl.col("fb") < 0) & (pl.col("q_off_bytes") > set_point - SIX_FRAMES))
    )
    queue = result.table("queues").to_polars().filter(mine)
    long = queue.filter(pl.col("queue_bytes") >= SIX_FRAMES)["time_s"].to_numpy()
    times = messages["time_s"].to_numpy()
    before = np.searchsorted(long, times, "right") - 1
    since = (
        np.where(before >= 0, times - long[np.maximum(before, 0)], times) if len(long) else times
    )
    return float((since > HELD_S + 1e-3).sum())


def _push_backs(result: Result, replication: int) -> float:
    """Return the number of messages that are no feedback of congestion."""
    messages = result.table("messages").to_polars().filter(pl.col("replication") == replication)
    return float((messages["kind"].cast(pl.String) == "push-back").sum())


LINKS = 4
"""Links from a source to the congestion point two switches on, and back."""


def _late_messages(result: Result, replication: int) -> float:
    """Return the share of cuts that a source is told of before the last one can have shown."""
    delay_s = base(result.tree["topology"]["delay"])
    mine = (pl.col("replication") == replication) & (pl.col("fb") < 0)
    cuts = result.table("messages").to_polars().filter(mine).sort("source", "time_s")
    since = cuts.select(pl.col("time_s").diff().over("source"))["time_s"].drop_nulls().to_numpy()
    return float(np.mean(since < LINKS * delay_s)) if len(since) else math.nan


HAI_STEP_BPS, FRAME_BITS = 25e6, 12_000


def _hai_after(result: Result, replication: int) -> float:
    """Return the fewest frames sent from a cut to the first hyper-active increase after it.

    From samples of the limiters' rates: a rate that falls is a cut, and a step of the target by
    more than 25 Mb/s is hyper-active increase, since an active one adds 5. What is sent between
    the sample after the one and the sample before the other counts.
    """
    mine = pl.col("replication") == replication
    rates = result.table("rates").to_polars().filter(mine)
    fewest = math.inf
    for part in rates.partition_by("source"):
        time, rate = part["time_s"].to_numpy(), part["current_rate_bps"].to_numpy().astype(float)
        target = part["target_rate_bps"].to_numpy().astype(float)
        sent = np.concatenate(([0.0], np.cumsum(rate[:-1] * np.diff(time)))) / FRAME_BITS
        cuts = 1 + np.flatnonzero(np.diff(rate) < 0)
        limited = rate[1:] < rate.max()
        steps = 1 + np.flatnonzero((np.diff(target) > HAI_STEP_BPS) & limited)
        cut = np.searchsorted(cuts, steps - 1, "right") - 1
        heard = cut >= 0
        since = sent[steps[heard] - 1] - sent[cuts[cut[heard]]]
        _, first = np.unique(cut[heard], return_index=True)
        fewest = min([fewest, *since[first]])
    return fewest if math.isfinite(fewest) else math.nan


DROPS = "bottleneck_drops"
"""The core's name of drops over a window: those at the bottleneck, not those of all queues."""
SHOWN: dict[str, tuple[float, str]] = {
    "queue_mean_bytes": (1e-3, "KB"),
    "queue_std_bytes": (1e-3, "KB"),
    "queue_max_bytes": (1e-3, "KB"),
    "queue_spread_bytes": (1e-3, "KB"),
    "queue_empty_frac": (100, "%"),
    "rate_swing": (100, "%"),
}
"""Factor and unit of a measure in tables, where they are not the metric's."""
WINDOWED = (
    "queue_mean_bytes",
    "queue_std_bytes",
    "queue_max_bytes",
    "queue_empty_frac",
    "bottleneck_gbps",
    "jain",
    "rate_ratio",
)
"""Metrics of the whole run that the book takes over windows, too."""


def _all() -> dict[str, Measure]:
    table: dict[str, Measure] = {}
    for metric in json.loads(_core.window_metrics()):
        name, never = metric["name"], math.inf if metric["unit"] == "ms" else math.nan
        table[name] = Measure(
            metric["unit"], metric["about"], name, False, *SHOWN.get(name, (1.0, "")), never
        )
    for metric in catalogue.metrics():
        name, unit = metric.name, metric.unit
        windowed = DROPS if name == "drops" else name if name in WINDOWED else ""
        shown = SHOWN.get(name, (1e-3, "KB") if unit == "B" else (1.0, ""))
        missing = math.inf if name == "rate_ratio" else math.nan
        table[name] = Measure(unit, metric.about, windowed, True, *shown, missing)
    for name, about in OF_MODELS.items():
        table[name] = Measure("", about, "", True)
    for name, (about, _) in OF_TABLES.items():
        table[name] = Measure("", about, "", True)
    for name, (unit, about, _) in completion.MEASURES.items():
        table[name] = Measure(unit, about, "", True)
    return table


OF_TABLES: dict[str, tuple[str, Callable[[Result, int], float]]] = {
    "cuts_while_available": (
        "Messages of negative feedback sent while the queue had been below six frames for 11 ms.",
        _cuts_while_available,
    ),
    "hai_after_frames": (
        "Fewest frames of 1500 octets that a limiter sends from a cut to hyper-active increase.",
        _hai_after,
    ),
    "late_messages": (
        "Share of messages of negative feedback that a port two links away sends a source within a "
        "round trip, 4 times topology.delay, of the one before.",
        _late_messages,
    ),
    "push_backs": ("Messages of a port without bandwidth that is not congested.", _push_backs),
}
"""Measures of whole tables; the case keeps its messages or rates."""

MEASURES: dict[str, Measure] = _all()
"""Every measure by name."""


def known(name: str) -> bool:
    """Return whether there is a measure of this name."""
    return name in MEASURES


def values(
    result: Result,
    of: str,
    during: tuple[float, float] | None,
    flows: str = "",
    limit: float | None = None,
) -> list[float]:
    """Return the measure of every replication; a time that never came is infinite."""
    measure = MEASURES[of]
    if of in OF_TABLES:
        count = result.summary.replications
        return [OF_TABLES[of][1](result, rep) for rep in range(count)]
    if of in completion.MEASURES:
        count = result.summary.replications
        return [completion.MEASURES[of][2](result, rep, limit) for rep in range(count)]
    if during is None:
        missing = math.inf if measure.unit == "ms" else math.nan
        each = list(result.summary.metrics[of].values)
    elif not measure.windowed:
        raise KeyError(f"{of} cannot be taken over a window")
    else:
        missing = measure.missing
        each = in_window(result, measure.windowed, during, flows=flows.split(), limit=limit or 0.0)
    return [missing if value is None else float(value) for value in each]
