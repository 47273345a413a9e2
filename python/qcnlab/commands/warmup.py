"""Where the initial transient ends: MSER-5 on the queue of the bottleneck, and `qcnlab warmup`.

The initial transient is the start of a run, before the queue is in its steady state. MSER (White
1997) leaves out so many values from the start that the standard error of the mean
of the rest, as if they were independent, is least. MSER-5 takes means of five values first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from qcnlab import _core, api
from qcnlab.cli.options import Changes, File, Jobs, Json, Reps, Seed, print_json
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.results.result import Result

BATCH = 5
"""Values in a mean."""
LEAST = 10
"""Means that a series needs."""


@dataclass(frozen=True)
class Transient:
    """The initial transient of one replication.

    Attributes
    ----------
    end_s : float or None
        Where it ends; `None` if it does not end in the first half of the series.
    mean_bytes : float or None
        Mean of the queue after it.
    """

    replication: int
    end_s: float | None
    mean_bytes: float | None


def mser5(values: Sequence[float]) -> int | None:
    """Return how many values the initial transient has; `None` if it is longer than the first half.

    Examples
    --------
    Ten values of 100 and then 190 that alternate between 0 and 2: the first two means of five are
    100, the others 0.8 or 1.2. With both left out the mean is 1 and the error least.

    >>> mser5([100.0] * 10 + [0.0, 2.0] * 95)
    10
    >>> mser5([float(k) for k in range(200)]) is None
    True
    """
    import numpy as np

    count = len(values) // BATCH
    if count < LEAST:
        return None
    means = np.asarray(values[: count * BATCH], dtype=float).reshape(count, BATCH).mean(axis=1)
    # Sums over the last k means, for each k at once.
    number = np.arange(1, count + 1)
    last = means[::-1] - means[-1]
    squares = np.cumsum(last**2) - np.cumsum(last) ** 2 / number
    error = np.maximum(squares, 0.0) / number**2
    half = count // 2
    # The error with d means left out stands at count - 1 - d.
    cut = int(np.argmin(error[::-1][:half]))
    return None if cut >= half - 1 else cut * BATCH


def transients(result: Result) -> list[Transient]:
    """Return the initial transient of each replication, from the queue before the first hotspot.

    Parameters
    ----------
    result : Result
        A run with tables.

    Returns
    -------
    list of Transient
        In the order of replications.
    """
    import polars as pl

    known = result.tree
    until = min((_seconds(each["from"]) for each in known.get("hotspot", [])), default=math.inf)
    port = result.summary.bottleneck.port
    rows = result.queues.to_polars().filter(
        (pl.col("port").cast(pl.String) == port) & (pl.col("time_s") < until)
    )
    told = []
    for (number,), part in rows.group_by("replication", maintain_order=True):
        queue, times = part["queue_bytes"].to_numpy(), part["time_s"].to_numpy()
        cut = mser5(queue.astype(float).tolist())
        if cut is None:
            told.append(Transient(int(str(number)), None, None))
        else:
            told.append(Transient(int(str(number)), float(times[cut]), float(queue[cut:].mean())))
    return told


def _seconds(value: str) -> float:
    known = _core.quantity(value)
    return known[0] if known else 0.0


def warmup(
    scenario: File,
    changes: Changes = None,
    seed: Seed = None,
    reps: Reps = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Tell how long a run takes to settle, which numbers leave out.

    A run starts with empty queues and senders at full rate, so its first milliseconds are not what
    lasts. It tells when the queue of the bottleneck has settled (by the rule MSER-5), and whether
    the scenario's warmup is long enough.
    """
    ready = api.load(scenario).with_(*(changes or []))
    told = transients(api.run(ready, reps=reps, seed=seed, jobs=jobs))
    ends = [each.end_s for each in told if each.end_s is not None]
    longest = max(ends, default=None)
    own = _seconds(str(ready.to_dict()["warmup"]))
    if as_json:
        print_json({
            "warmup_s": own,
            "suggested_s": longest if len(ends) == len(told) else None,
            "replications": [vars(each) for each in told],
        })  # fmt: skip
        return
    print(f"{ready.name}: the queue of the bottleneck, before the first hotspot if there is one")
    if longest is not None:
        means = [each.mean_bytes for each in told if each.mean_bytes is not None]
        print(
            f"the initial transient ends after {text.number(1000 * median(ends))} ms "
            f"[{text.number(1000 * min(ends))}..{text.number(1000 * longest)}] in {len(ends)} of "
            f"{text.counted(len(told), 'replication')}; after it the queue is "
            f"{text.number(median(means))} B [{text.number(min(means))}..{text.number(max(means))}]"
        )
    if len(ends) < len(told):
        print(
            f"in {len(told) - len(ends)} it does not end in the first half: make the run longer, "
            "or take it that this queue does not settle"
        )
    elif longest is not None:
        enough = "is enough" if own >= longest else "is too short: -s warmup="
        more = "" if own >= longest else f"'{text.number(1000 * longest)} ms'"
        print(f"the scenario's warm-up of {text.number(1000 * own)} ms {enough}{more}")
