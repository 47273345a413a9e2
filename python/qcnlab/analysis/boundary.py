"""The edge of stability over N: linear theory, the fluid model with clamps, and the packets.

The edge of packets and fluid is the shortest RTT, of those run, from which on the queue of the
bottleneck swings by a quarter of its level (standard deviation) or more; between two RTTs it is
found by linear interpolation. The level is the set point, or where DCQCN's queue rests with so many
sources; where its ramp of marks ends below that, it rests nowhere and there is no edge. The
packets' own noise is taken off: what their queue varies at the shortest RTT that is run, as a
variance. That RTT should be far below the edge, or the loop swells the noise. Where the fluid,
which has no noise, swings as much there too, it is a swing and no noise, and nothing is taken off:
no RTT is stable. The first second of a packet run and half a second of a fluid run are left out, so
a swing that dies out after the start is none.

The packets run on a star: N saturated sources with links as fast as the bottleneck's or, if that is
more, the scenario's, one port of the bottleneck's capacity, ideal feedback and a buffer of 1 MB (of
DCQCN 10 MB), because the models have no drops. QCN runs by the byte counter alone, with whole
cycles and without target rate reduction, because its model has neither timer, hyper-active increase
nor short cycles. DCQCN runs without drift, and its receiver is next to the port, so that the RTT of
the star is that of its marks. No source of QCN may send more than twice its share: sources that
start at the line rate are cut so unevenly that their rates differ for seconds, and
with unequal rates the queue is calmer. The fluid is one-sided, with all clamps, the same bound of
the rates, sampling fixed at its base probability (QCN's table stays there up to an eighth of full
feedback), QCN's own rule for the first cycle, cycles with a memory, and feedback spread by the
arrivals of whole frames; `noise=False` leaves that out. ECM runs without drift. The fluid of DCQCN
knows no noise of single marks: at 40 Gb/s, with ten sources, it rests up to 68 us (from four
different starts, up to 60 us), while the packets swing at 400 to 600 Hz from 16 us on.
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

    from qcnlab.analysis.place import Crowd
    from qcnlab.analysis.setting import Model, Setting
    from qcnlab.api import Scenario

SOURCES = (2, 5, 10, 20, 50, 100)
FACTORS = (0.1, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.5, 1.7, 2.0, 2.3)
FALLBACK_S = 40e-6
"""What stands for linear theory's edge where it has none: a tenth to 2.3 times this is run."""
SWING = 0.25
"""Share of its level by which the queue swings at the edge."""
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
    """Standard deviation of the queue beyond noise over its level, packets; the median of the runs,
    shape (sources, RTTs); NaN for sources that rest nowhere."""
    fluid_swing: Array
    """The same for the fluid, which has no noise."""
    rests: bool = False
    """Whether the level is where the queue rests, for want of a set point."""

    def ratio(self) -> Array:
        """Give the packets' edge over the fluid's; shape (sources,)."""
        return np.asarray(self["packets_s"] / self["fluid_s"])

    def behaviour(self, name: str) -> tuple[str, ...]:
        """Say for each N what `"packets"` or `"fluid"` do over the RTTs that were run.

        `"steady"` at each of them, `"swings"` at each, `"turns unstable"` between two, `"steady
        again"` at the longest, or `"no rest"`: no queue marks enough. Raises `AnalysisError` for
        another name.
        """
        swings = {"packets": self.packets_swing, "fluid": self.fluid_swing}
        if name not in swings:
            raise AnalysisError(f"'{name}' has no behaviour; packets and fluid have")
        return tuple(_behaviour(row) for row in swings[name])

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
    """Find the edge of stability for each number of sources at the scenario's bottleneck.

    `sources`: numbers N; `rtts_s`: RTTs, s, rising; `reps`: packet runs of each pair; `seed`: the
    scenario's own if not given; `jobs`: threads; `noise`: whether the fluid's feedback is spread by
    the arrivals of frames (`Qcn.arrival_spread_bytes`). The packets run on a star with the
    bottleneck of the scenario; what of it is switched off is said at the head of this module.
    Raises `AnalysisError` for a scenario no model describes, for RTTs that do not rise, and where
    none of the numbers of sources rests.
    """
    import qcnlab

    known = setting.read(scenario)
    if not sources or min(sources) < 1 or reps < 1:
        raise AnalysisError("a sweep needs one source and one replication at least")
    crowd = _widest(known)
    models = [setting.MODELS[known.scheme](known.tree, crowd).with_(sources=n) for n in sources]
    levels = np.array([_level(model) for model in models])
    linear = np.array([_linear(each) for each in models])
    if rtts_s is None:
        rtts_s = _rtts_s(linear)
    if len(rtts_s) < 2 or not all(0 < a < b for a, b in pairwise(rtts_s)):
        raise AnalysisError("the RTTs of a sweep must be above 0, rise, and be two or more")
    if np.isnan(levels).all():
        loops_of(models[0])
    stars = {
        (i, j): _star(known, crowd, sources[i], rtts_s[j])
        for i, j in np.ndindex(len(sources), len(rtts_s))
        if not math.isnan(levels[i])
    }
    packets = np.full((len(sources), len(rtts_s)), math.nan)
    results = qcnlab.run_many(stars.values(), reps=reps, seed=seed, jobs=jobs)
    for place, result in zip(stars, results, strict=True):
        packets[place] = _packets_std(result)
    lines_bps = [_line_rate(known, crowd, n) for n in sources]
    fluid = _fluid_swings(models, levels, rtts_s, lines_bps, noise)
    own = np.where(fluid[:, :1] < SWING, packets[:, :1], 0)
    packets = np.sqrt(np.maximum(packets**2 - own**2, 0)) / levels[:, None]
    columns = {
        "sources": np.array(sources, dtype=float),
        "linear_s": linear,
        "fluid_s": np.array([edge(rtts_s, row) for row in fluid]),
        "packets_s": np.array([edge(rtts_s, row) for row in packets]),
    }
    units = {name: "s" for name in columns if name != "sources"}
    rests = known.scheme == "dcqcn"
    return Boundary(_heading(known, crowd), columns, units, tuple(rtts_s), packets, fluid, rests)


def _heading(known: Setting, crowd: Crowd) -> str:
    """Name the scheme and the capacity, and where the star stands for another topology."""
    heading = f"Edge of stability, {known.scheme}, {crowd.capacity_bps / 1e9:.4g} Gb/s"
    if known.tree["topology"]["kind"] == "star":
        return heading
    return f"{heading}, on a star with the bottleneck {known.place.port}"


def _rtts_s(linear_s: Array) -> list[float]:
    """Give the RTTs to run, s, about linear theory's edges."""
    edges = linear_s[linear_s > 0]
    middle_s = float(np.median(edges)) if edges.size else FALLBACK_S
    return [round(factor * middle_s, 9) for factor in FACTORS]


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


def _level(model: Model) -> float:
    """Give the queue that a model aims at, B; NaN where it rests nowhere."""
    if not isinstance(model, Dcqcn):
        return model.set_point_bytes
    try:
        return float(model.fixed_point().queue_bytes)
    except AnalysisError:
        return math.nan


def _behaviour(row: Array) -> str:
    if np.isnan(row).any():
        return "no rest"
    swings = row >= SWING
    if swings.all() or not swings.any():
        return "swings" if swings.all() else "steady"
    return "turns unstable" if swings[-1] else "steady again"


def _widest(known: Setting) -> Crowd:
    """Give the crowd of the phase that leaves its sources most."""
    return max(
        (phase.crowd for phase in known.phases if phase.crowd is not None),
        key=lambda crowd: crowd.capacity_bps,
    )


def _line_rate(known: Setting, crowd: Crowd, sources: int) -> float:
    """Give the most that one of so many sources may send, bit/s."""
    line = max(crowd.link_bps, crowd.capacity_bps)
    if known.scheme in ("ecm", "dcqcn"):
        return line
    return min(line, MOST_OF_SHARE * crowd.capacity_bps / sources)


def _star(known: Setting, crowd: Crowd, sources: int, rtt_s: float) -> Scenario:
    """Give a star with the scenario's bottleneck and scheme, and nothing else."""
    from qcnlab.api import Scenario

    scheme = copy.deepcopy(known.tree["scheme"])
    receiver = scheme["rp"]
    receiver.pop("max_rate", None)
    if "clock" in receiver:
        scheme["name"] = "qcn_byte_counter"
        receiver |= {"clock": "byte_counter", "short_cycles": False, "target_rate_reduction": False}
        receiver["max_rate"] = f"{_line_rate(known, crowd, sources):.0f} b/s"
    receiver["drift_every"] = "0 s"
    marks = known.scheme == "dcqcn"
    topology = {
        "kind": "star",
        "sources": sources,
        "rate": f"{max(crowd.link_bps, crowd.capacity_bps):.0f} b/s",
        "bottleneck_rate": f"{crowd.capacity_bps:.0f} b/s",
        "rtt": f"{rtt_s * 1e9:.0f} ns",
        "buffer": "10 MB" if marks else "1 MB",
    }
    frame = f"{crowd.frame_bytes.mean:.0f} B"
    tree = {
        "title": known.title,
        "duration": f"{END_S} s",
        "warmup": f"{SETTLED_S} s",
        "seed": known.tree["seed"],
        "topology": topology | ({"sink_delay": "0 s"} if marks else {}),
        "traffic": [{"kind": "saturated", "frame": frame, "start_jitter": "12 us"}],
        "scheme": scheme,
        "record": {"queue_every": f"{EVERY_S * 1e6:.0f} us"},
    }
    return Scenario.from_dict(tree, known.name)


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
    models: Sequence[Model],
    levels: Array,
    rtts_s: Sequence[float],
    lines_bps: Sequence[float],
    noise: bool,
) -> Array:
    from qcnlab.progress import Bar

    swings = np.full((len(models), len(rtts_s)), math.nan)
    with Bar("fluid") as bar:
        for index in np.ndindex(*swings.shape):
            bar((index[0] * len(rtts_s) + index[1]) / swings.size)
            if math.isnan(levels[index[0]]):
                continue
            model = models[index[0]].with_(delay_s=rtts_s[index[1]])
            switches: dict[str, Any] = {}
            if isinstance(model, Qcn):
                switches |= {"sampling": "fixed", "cycles": "remembered"}
                switches["feedback_spread_bytes"] = model.arrival_spread_bytes if noise else 0.0
            switches["line_rate_bps"] = lines_bps[index[0]]
            run = model.fluid(FLUID_END_S, every_s=EVERY_S, **switches)
            settled = run.after(FLUID_SETTLED_S)["queue_bytes"]
            swings[index] = settled.std() / levels[index[0]]
    return swings


def _linear(model: Model) -> float:
    try:
        loops = loops_of(model)
    except AnalysisError:
        if isinstance(model, Dcqcn):
            return math.nan
        raise
    chosen = [loops["as published"]] if isinstance(model, Qcn) else list(loops.values())
    found = [loop.critical_delay() for loop in chosen]
    return min((each for each in found if each is not None), default=math.nan)
