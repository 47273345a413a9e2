"""The edge of stability over N: linear theory, the fluid model with clamps, and the packets.

The edge of packets and fluid is the shortest RTT, of those run, from which on the queue of the
bottleneck swings by a quarter of the set point (standard deviation) or more; between two RTTs it is
found by linear interpolation. The packets' own noise is taken off: what their queue varies at the
shortest RTT that is run, as a variance. That RTT should be far below the edge, or the loop swells
the noise. Where the fluid, which has no noise, swings as much there too, it is a swing and no
noise, and nothing is taken off: no RTT is stable. The first second of a packet run and half a
second of a fluid run are left out, so a swing that dies out after the start is none.

The packets run QCN by the byte counter alone, with whole cycles and without target rate reduction,
saturated sources, ideal feedback and a buffer of 1 MB, because the model has neither timer,
hyper-active increase, short cycles nor drops. No source of QCN may send more than twice its share:
sources that start at the line rate are cut so unevenly that their rates differ for seconds, and
with unequal rates the queue is calmer. The fluid is one-sided, with all clamps, the same bound of
the rates, sampling fixed at its base probability (QCN's table stays there up to an eighth of full
feedback), QCN's own rule for the first cycle, cycles with a memory, and feedback spread by the
arrivals of whole frames; `noise=False` leaves that out. ECM runs without drift.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis import setting
from qcnlab.analysis.dcqcn import Dcqcn
from qcnlab.analysis.overlay import loops_of
from qcnlab.analysis.qcn import Qcn
from qcnlab.analysis.responses import Array, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qcnlab.analysis.setting import Model, Setting
    from qcnlab.api import Scenario

SOURCES = (2, 5, 10, 20, 50, 100)
FACTORS = (0.1, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.5, 1.7, 2.0, 2.3)
SWING = 0.25
"""Share of the set point by which the queue swings at the edge."""
MOST_OF_SHARE = 2
"""Times its share that a source of QCN may send."""
SETTLED_S, END_S, EVERY_S = 1.0, 2.0, 20e-6
FLUID_SETTLED_S, FLUID_END_S = 0.5, 0.8


@dataclass(frozen=True)
class Boundary(Response):
    """`sources`, `linear_s`, `fluid_s`, `packets_s`: where each turns unstable.

    NaN where the edge lies beyond the RTTs that were run: above them, or below where the swing is
    large at each (`packets_swing`, `fluid_swing`). `linear_s` is the published loop's (of
    ECM the first region's).
    """

    rtts_s: tuple[float, ...]
    """RTTs that were run, s."""
    packets_swing: Array
    """Standard deviation of the queue beyond noise over the set point, packets; the median of the
    runs, shape (sources, RTTs)."""
    fluid_swing: Array
    """The same for the fluid, which has no noise."""

    def ratio(self) -> Array:
        """Give the packets' edge over the fluid's; shape (sources,)."""
        return np.asarray(self["packets_s"] / self["fluid_s"])

    def behaviour(self, name: str) -> tuple[str, ...]:
        """Say for each N what `"packets"` or `"fluid"` do over the RTTs that were run.

        `"steady"` at each of them, `"swings"` at each, `"turns unstable"` between two, or
        `"steady again"` at the longest. Raises `AnalysisError` for another name.
        """
        swings = {"packets": self.packets_swing, "fluid": self.fluid_swing}
        if name not in swings:
            raise AnalysisError(f"'{name}' has no behaviour; packets and fluid have")
        return tuple(_behaviour(row >= SWING) for row in swings[name])

    def plot(self) -> Figure:
        """Draw the three edges over N, and what each packet run did."""
        from qcnlab.analysis.boundary_figure import boundary_figure

        return boundary_figure(self)


def boundary(
    scenario: Scenario,
    *,
    sources: Sequence[int] = SOURCES,
    rtts_s: Sequence[float] | None = None,
    reps: int = 3,
    seed: int | None = None,
    jobs: int | None = None,
    noise: bool = True,
) -> Boundary:
    """Find the edge of stability for each number of sources at the scenario's line rate.

    `sources`: numbers N; `rtts_s`: RTTs, s, rising; `reps`: packet runs of each pair; `seed`: the
    scenario's own if not given; `jobs`: threads; `noise`: whether the fluid's feedback is spread by
    the arrivals of frames (`Qcn.arrival_spread_bytes`). What of the scenario is switched off is
    said at the head of this module. Raises `AnalysisError` for a scenario no model describes, and
    for RTTs that do not rise.
    """
    import qcnlab

    known = setting.read(scenario)
    if known.place.port is not None:
        raise AnalysisError(
            f"{known.name}: a sweep changes RTT and sources of a star; this is none"
        )
    if not sources or min(sources) < 1 or reps < 1:
        raise AnalysisError("a sweep needs one source and one replication at least")
    capacity = known.place.rate_bps
    phase = setting.Phase("whole run", 0.0, END_S, capacity)
    model = known.model(phase)
    set_point = _set_point(model)
    models = [model.with_(sources=n) for n in sources]
    linear = np.array([_linear(each) for each in models])
    if rtts_s is None:
        rtts_s = [round(factor * float(np.nanmedian(linear)), 9) for factor in FACTORS]
    if len(rtts_s) < 2 or not all(0 < a < b for a, b in pairwise(rtts_s)):
        raise AnalysisError("the RTTs of a sweep must be above 0, rise, and be two or more")
    scenarios = [_plain(known, n, rtt, capacity) for n in sources for rtt in rtts_s]
    results = qcnlab.run_many(scenarios, reps=reps, seed=seed, jobs=jobs)
    shape = (len(sources), len(rtts_s))
    packets = np.array([_packets_std(result) for result in results]).reshape(shape)
    lines_bps = [_line_rate(known, n, capacity) for n in sources]
    fluid = _fluid_swings(models, rtts_s, lines_bps, noise)
    own = np.where(fluid[:, :1] < SWING, packets[:, :1], 0)
    packets = np.sqrt(np.maximum(packets**2 - own**2, 0)) / set_point
    columns = {
        "sources": np.array(sources, dtype=float),
        "linear_s": linear,
        "fluid_s": np.array([edge(rtts_s, row) for row in fluid]),
        "packets_s": np.array([edge(rtts_s, row) for row in packets]),
    }
    units = {name: "s" for name in columns if name != "sources"}
    heading = f"Edge of stability, {known.scheme}, {capacity / 1e9:g} Gb/s"
    return Boundary(heading, columns, units, tuple(rtts_s), packets, fluid)


def edge(rtts_s: Sequence[float], swing: Array, level: float = SWING) -> float:
    """Give the RTT from which on `swing` is at `level` or more; NaN if it never is.

    Interpolates from the last RTT below; NaN too if none is below, for then the edge is lower.
    """
    below = np.flatnonzero(np.asarray(swing) < level)
    if below.size == 0:
        return math.nan
    last = int(below[-1])
    if last + 1 == len(rtts_s):
        return math.nan
    share = (level - swing[last]) / (swing[last + 1] - swing[last])
    return float(rtts_s[last] + share * (rtts_s[last + 1] - rtts_s[last]))


def _set_point(model: Model) -> float:
    if isinstance(model, Dcqcn):
        raise AnalysisError("a sweep measures by the set point; dcqcn has none")
    return model.set_point_bytes


def _behaviour(swings: NDArray[np.bool_]) -> str:
    if swings.all() or not swings.any():
        return "swings" if swings.all() else "steady"
    return "turns unstable" if swings[-1] else "steady again"


def _line_rate(known: Setting, sources: int, capacity_bps: float) -> float:
    """Give the most that one of so many sources may send, bit/s."""
    if known.scheme == "ecm":
        return known.line_rate_bps
    return min(known.line_rate_bps, MOST_OF_SHARE * capacity_bps / sources)


def _plain(known: Setting, sources: int, rtt_s: float, capacity_bps: float) -> Scenario:
    """Give the scenario with nothing but sources, link and loop."""
    from qcnlab.api import Scenario

    plain = copy.deepcopy(known.tree)
    plain.pop("hotspot", None)
    plain |= {"duration": f"{END_S} s", "warmup": f"{SETTLED_S} s", "feedback": {"kind": "ideal"}}
    rtt = f"{rtt_s * 1e9:.0f} ns"
    plain["topology"] |= {"sources": sources, "rtt": rtt, "buffer": "1 MB"}
    plain["topology"].pop("sink_delay", None)
    frame = plain["traffic"][0]["frame"]
    plain["traffic"] = [{"kind": "saturated", "frame": frame, "start_jitter": "12 us"}]
    plain["record"] |= {"queue_every": f"{EVERY_S * 1e6:.0f} us", "tables": True}
    receiver = plain["scheme"]["rp"]
    if "clock" in receiver:
        plain["scheme"]["name"] = "qcn_byte_counter"
        receiver |= {"clock": "byte_counter", "short_cycles": False, "target_rate_reduction": False}
        receiver["max_rate"] = f"{_line_rate(known, sources, capacity_bps):.0f} b/s"
    else:
        receiver["drift_every"] = "0 s"
    return Scenario.from_dict(plain, known.name)


def _packets_std(result: Any) -> float:
    import polars as pl

    frame = (
        result.queues.to_polars()
        .filter(pl.col("time_s") >= SETTLED_S)
        .group_by("replication")
        .agg(pl.col("queue_bytes").cast(pl.Float64).std(ddof=0).alias("swing"))
    )
    return float(frame["swing"].median())


def _fluid_swings(
    models: Sequence[Model], rtts_s: Sequence[float], lines_bps: Sequence[float], noise: bool
) -> Array:
    from qcnlab.progress import Bar

    swings = np.zeros((len(models), len(rtts_s)))
    with Bar("fluid") as bar:
        for index in np.ndindex(*swings.shape):
            bar((index[0] * len(rtts_s) + index[1]) / swings.size)
            model = models[index[0]].with_(delay_s=rtts_s[index[1]])
            switches: dict[str, Any] = {}
            if isinstance(model, Qcn):
                switches |= {"sampling": "fixed", "cycles": "remembered"}
                switches["feedback_spread_bytes"] = model.arrival_spread_bytes if noise else 0.0
            switches["line_rate_bps"] = lines_bps[index[0]]
            run = model.fluid(FLUID_END_S, every_s=EVERY_S, **switches)
            settled = run.after(FLUID_SETTLED_S)["queue_bytes"]
            swings[index] = settled.std() / _set_point(model)
    return swings


def _linear(model: Model) -> float:
    loops = loops_of(model)
    chosen = [loops["as published"]] if isinstance(model, Qcn) else list(loops.values())
    found = [loop.critical_delay() for loop in chosen]
    return min((each for each in found if each is not None), default=math.nan)
