"""The edge of stability over N: linear theory, the fluid model with clamps, and the packets.

The edge of packets and fluid is the shortest RTT, of those that are run, from which on the queue of
the bottleneck swings by a quarter of its level (standard deviation) or more; between two RTTs it is
found by linear interpolation. The level is the set point. DCQCN has none: there the level is the
queue in equilibrium with so many sources. Where its ramp of marks ends below that, there is neither
an equilibrium nor an edge.

The packets' own noise is subtracted, as a variance: it is the variance of their queue at the
shortest RTT that is run. That RTT should be far below the edge, where the loop does not amplify the
noise. A deviation less than a quarter above the noise does not count as a swing, whatever remains
of it: with two sources of DCQCN the noise is as large as the level, and a growth by 4 % would leave
a quarter. If the fluid, which has no noise, swings as much at the shortest RTT, nothing is
subtracted, and no RTT is stable. The first second of a packet run and half a second of a fluid run
are left out, so that a swing which dies out after the start does not count.

Where noise is large, `flows_factor` M tells it from a limit cycle: M times the flows, capacity,
buffer and thresholds have the same fluid, and the noise falls as 1 / sqrt(M), while a limit cycle
stays. Two sources of DCQCN at 4, 16, 24, 60 and 110 us have a deviation of 0.99, 1.01, 0.99, 1.11
and 1.13 levels; with M = 16 it is 0.29, 0.30, 0.31, 0.37 and 0.54. They are steady up to 60 us and
swing at 110, which M = 1 does not show. Ten sources at 4, 16, 24 and 40 us have 0.31, 0.36, 0.53
and 0.60 levels with M = 1, and 0.15, 0.22, 0.43 and 0.61 with M = 16: at 24 us, where the fluid is
bistable, single marks throw few flows off their rest at once, and many after some tenths of a
second. (One run each, of 0.3 s for ten sources and 0.4 s for two; `benches/dcqcn_edge.py`.)

The packets run on a star with the bottleneck's capacity and ideal feedback. Its N sources are
saturated, with links as fast as the bottleneck or, if that is more, as in the scenario. The buffer
is 1 MB, and 10 MB for DCQCN, because the models have no drops. QCN runs by the byte counter alone,
with whole cycles and without target rate reduction, because its model has neither timer,
hyper-active increase nor short cycles. ECM and DCQCN run without drift. DCQCN's receiver is next to
the port, so that the star's RTT is the delay of its marks. No source of QCN may send more than
twice its share: sources that start at the line rate are cut so unevenly that their rates differ for
seconds, and unequal rates calm the queue.

The fluid is one-sided, with all clamps and the same bound of the rates. QCN's has fixed sampling at
its base probability (its table stays there up to an eighth of full feedback), the first cycle kept,
cycles with a memory, and feedback spread by the arrivals of whole frames; `noise=False` leaves the
spread out. The fluid of DCQCN has no noise of single marks. It runs from several states
(`Dcqcn.starts`): at 40 Gb/s its rest with ten sources holds up to 62 us, and from 20 us on a limit
cycle of half the level stands beside it, which the start at the line rates does not reach. Where
one start swings and another does not, the fluid is bistable.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qcnlab._core import AnalysisError
from qcnlab.analysis import modelled
from qcnlab.analysis.responses import Array, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from qcnlab.analysis.bottleneck import Contenders
    from qcnlab.analysis.model import ScenarioModel
    from qcnlab.analysis.modelled import ModelledScenario
    from qcnlab.api import Scenario

SOURCES = (2, 5, 10, 20, 50, 100)
FACTORS = (0.1, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.5, 1.7, 2.0, 2.3)
FALLBACK_S = 40e-6
"""Stands for the edge of linear theory where it has none, s."""
SWING = 0.25
"""Share of its level by which the queue swings at the edge."""
GROWTH = 1.25
"""Least deviation of a swing, as a multiple of the packets' noise."""
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
    """Standard deviation of the packets' queue beyond noise over its level, the median of the runs;
    shape (sources, RTTs); NaN for sources without an equilibrium."""
    fluid_swing: Array
    """The same for the fluid, which has no noise; of several starts the smallest."""
    has_set_point: bool = True
    """Whether the level is a set point; otherwise it is the queue in equilibrium."""
    fluid_largest_swing: Array | None = None
    """The fluid's largest swing of several starts; `None` for one start."""

    def bistable(self) -> NDArray[np.bool_]:
        """Return whether the fluid rests from one start and swings from another.

        Returns
        -------
        ndarray of bool
            Shape (sources, RTTs).
        """
        if self.fluid_largest_swing is None:
            return np.zeros(self.fluid_swing.shape, dtype=bool)
        return np.asarray((self.fluid_swing < SWING) & (self.fluid_largest_swing >= SWING))

    def ratio(self) -> Array:
        """Return the packets' edge over the fluid's; shape (sources,)."""
        return np.asarray(self["packets_s"] / self["fluid_s"])

    def behaviour(self, name: str) -> tuple[str, ...]:
        """Return in a word, for each N, how the queue behaves over the RTTs that were run.

        Parameters
        ----------
        name : {"packets", "fluid"}
            Whose queue.

        Returns
        -------
        tuple of str
            `"steady"` at each RTT, `"swings"` at each, `"turns unstable"` between two, `"steady
            again"` at the longest, or `"no rest"` without an equilibrium.

        Raises
        ------
        AnalysisError
            Another name.
        """
        swings = {"packets": self.packets_swing, "fluid": self.fluid_swing}
        if name not in swings:
            raise AnalysisError(f"'{name}' has no behaviour; packets and fluid have")
        return tuple(_behaviour(row) for row in swings[name])

    def plot(self) -> Figure:
        """Return a figure of the three edges over N, with a mark for each packet run."""
        from qcnlab.analysis.boundary_figure import boundary_figure

        return boundary_figure(self, SWING)


def boundary(
    scenario: Scenario,
    *,
    sources: Sequence[int] = SOURCES,
    rtts_s: Sequence[float] | None = None,
    reps: int = 3,
    seed: int | None = None,
    jobs: int | None = None,
    noise: bool = True,
    flows_factor: int = 1,
) -> Boundary:
    """Find the edge of stability for each number of sources at the scenario's bottleneck.

    The packets run on a star with the bottleneck of the scenario. The head of this module says
    what of the scenario is switched off.

    Parameters
    ----------
    scenario : Scenario
        A scenario that a model describes.
    sources : sequence of int
        Numbers N of sources; by default 2, 5, 10, 20, 50 and 100.
    rtts_s : sequence of float, optional
        RTTs, s, rising; by default a tenth to 2.3 times the median edge of linear theory.
    reps : int
        Packet runs of each pair of N and RTT.
    seed : int, optional
        By default the scenario's own.
    jobs : int, optional
        Threads; by default all cores.
    noise : bool
        Whether the fluid's feedback is spread by the arrivals of frames
        (`Qcn.arrival_spread_bytes`).
    flows_factor : int
        Of the packets, how many times the flows, capacity, buffer and thresholds: noise falls as
        one over its root, and a limit cycle stays. DCQCN alone takes more than 1.

    Returns
    -------
    Boundary
        The edges of linear theory, fluid and packets over N.

    Raises
    ------
    AnalysisError
        No model describes the scenario, the RTTs do not rise, or none of the numbers of sources
        has an equilibrium.
    """
    from qcnlab.api import run_many

    known = modelled.read(scenario)
    if not sources or min(sources) < 1 or reps < 1:
        raise AnalysisError("a sweep needs one source and one replication at least")
    if flows_factor < 1:
        raise AnalysisError(f"flows_factor is {flows_factor}; it must be 1 or more")
    contenders = _highest_capacity(known)
    base = known.kind.from_scenario(known.base["scheme"], contenders)
    models = [base.with_(sources=n) for n in sources]
    levels = np.array([model.queue_level() for model in models])
    linear = np.array([_linear(each) for each in models])
    if rtts_s is None:
        rtts_s = _rtts_s(linear)
    if len(rtts_s) < 2 or not all(0 < a < b for a, b in pairwise(rtts_s)):
        raise AnalysisError("the RTTs of a sweep must be above 0, rise, and be two or more")
    if np.isnan(levels).all():
        models[0].loops()
    stars = {
        (i, j): _star(known, contenders, models[i], rtts_s[j], flows_factor)
        for i, j in np.ndindex(len(sources), len(rtts_s))
        if not math.isnan(levels[i])
    }
    packets = np.full((len(sources), len(rtts_s)), math.nan)
    results = run_many(stars.values(), reps=reps, seed=seed, jobs=jobs)
    for index, result in zip(stars, results, strict=True):
        packets[index] = _packets_std(result) / flows_factor
    lines_bps = [_line_rate(known, contenders, n) for n in sources]
    fluid, largest = _fluid_swings(models, levels, rtts_s, lines_bps, noise)
    own = np.where(fluid[:, :1] < SWING, packets[:, :1], 0)
    packets = beyond_noise(packets, own, levels[:, None])
    columns = {
        "sources": np.array(sources, dtype=float),
        "linear_s": linear,
        "fluid_s": np.array([edge(rtts_s, row) for row in fluid]),
        "packets_s": np.array([edge(rtts_s, row) for row in packets]),
    }
    units = {name: "s" for name in columns if name != "sources"}
    return Boundary(
        title=_heading(known, contenders),
        columns=columns,
        units=units,
        rtts_s=tuple(rtts_s),
        packets_swing=packets,
        fluid_swing=fluid,
        has_set_point=known.kind.HAS_SET_POINT,
        fluid_largest_swing=largest,
    )


def beyond_noise(deviation: Array, noise: Array, level: Array) -> Array:
    """Return the deviation beyond noise over the level, below `SWING` where it grew too little.

    Shares that `GROWTH` does not confirm are cut to just below `SWING`.
    """
    share = np.sqrt(np.maximum(deviation**2 - noise**2, 0)) / level
    unconfirmed = (deviation < GROWTH * noise) & (share >= SWING)
    return np.asarray(np.where(unconfirmed, np.nextafter(SWING, 0), share))


def _heading(known: ModelledScenario, contenders: Contenders) -> str:
    """Return scheme, capacity and the port that the swept star stands for, as text."""
    capacity = f"{contenders.capacity_bps / 1e9:.4g} Gb/s"
    return f"Edge of stability, {known.scheme}, {capacity}, star for {known.bottleneck.port}"


def _rtts_s(linear_s: Array) -> list[float]:
    """Return the RTTs to run, s, about the edges of linear theory."""
    edges = linear_s[linear_s > 0]
    middle_s = float(np.median(edges)) if edges.size else FALLBACK_S
    return [round(factor * middle_s, 9) for factor in FACTORS]


def edge(rtts_s: Sequence[float], swing: Array, level: float = SWING) -> float:
    """Return the RTT from which on `swing` is at `level` or more, interpolated linearly.

    It is NaN if `swing` is below `level` at the last RTT, or never: then the edge lies beyond the
    RTTs.
    """
    below = np.flatnonzero(np.asarray(swing) < level)
    if below.size == 0:
        return math.nan
    last = int(below[-1])
    if last + 1 == len(rtts_s):
        return math.nan
    share = (level - swing[last]) / (swing[last + 1] - swing[last])
    return float(rtts_s[last] + share * (rtts_s[last + 1] - rtts_s[last]))


def _behaviour(row: Array) -> str:
    if np.isnan(row).any():
        return "no rest"
    swings = row >= SWING
    if swings.all() or not swings.any():
        return "swings" if swings.all() else "steady"
    return "turns unstable" if swings[-1] else "steady again"


def _highest_capacity(known: ModelledScenario) -> Contenders:
    """Return the contenders of the phase that leaves them the highest capacity."""
    return max(
        (phase.contenders for phase in known.phases if phase.contenders is not None),
        key=lambda contenders: contenders.capacity_bps,
    )


def _line_rate(known: ModelledScenario, contenders: Contenders, sources: int) -> float:
    """Return the highest rate of one of so many sources, bit/s."""
    line = max(contenders.link_bps, contenders.capacity_bps)
    return min(line, known.kind.MOST_OF_SHARE * contenders.capacity_bps / sources)


def _star(
    known: ModelledScenario,
    contenders: Contenders,
    model: ScenarioModel,
    rtt_s: float,
    factor: int = 1,
) -> Scenario:
    """Return a star with `factor` times the scenario's bottleneck, and its scheme."""
    from qcnlab.api import Scenario

    line_rate = f"{_line_rate(known, contenders, model.sources):.0f} b/s"
    scheme = known.kind.star_scheme(copy.deepcopy(known.tree["scheme"]), line_rate)
    size, unit = known.kind.STAR.get("buffer", "1 MB").split()
    topology = {
        "kind": "star",
        "sources": factor * model.sources,
        "rate": f"{max(contenders.link_bps, contenders.capacity_bps):.0f} b/s",
        "bottleneck_rate": f"{factor * contenders.capacity_bps:.0f} b/s",
        "rtt": f"{rtt_s * 1e9:.0f} ns",
    }
    frame = f"{contenders.frame_bytes.mean:.0f} B"
    tree = {
        "title": known.title,
        "duration": f"{END_S} s",
        "warmup": f"{SETTLED_S} s",
        "seed": known.tree["seed"],
        "topology": topology | known.kind.STAR | {"buffer": f"{factor * int(size)} {unit}"},
        "traffic": [{"arrivals": "saturated", "frame": frame, "start_jitter": "12 us"}],
        "scheme": model.scaled_scheme(scheme, factor),
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
    models: Sequence[ScenarioModel],
    levels: Array,
    rtts_s: Sequence[float],
    lines_bps: Sequence[float],
    noise: bool,
) -> tuple[Array, Array | None]:
    """Return the fluid's smallest swing of several starts, and the largest."""
    from qcnlab.printing.progress import Bar

    swings = np.full((len(models), len(rtts_s)), math.nan)
    largest, several = swings.copy(), False
    with Bar("fluid") as bar:
        for index in np.ndindex(*swings.shape):
            bar((index[0] * len(rtts_s) + index[1]) / swings.size)
            if math.isnan(levels[index[0]]):
                continue
            model = models[index[0]].with_(delay_s=rtts_s[index[1]])
            switches = model.edge_switches(noise) | {"line_rate_bps": lines_bps[index[0]]}
            each = []
            for start in model.starts():
                run = model.fluid(FLUID_END_S, every_s=EVERY_S, start=start, **switches)
                each.append(run.after(FLUID_SETTLED_S)["queue_bytes"].std() / levels[index[0]])
            swings[index], largest[index], several = min(each), max(each), len(each) > 1
    return swings, largest if several else None


def _linear(model: ScenarioModel) -> float:
    """Return the shortest critical delay of the published loops, s; NaN if there is none."""
    try:
        loops = model.published_loops().values()
    except AnalysisError:
        return math.nan
    delays = [loop.critical_delay() for loop in loops]
    return min((each for each in delays if each is not None), default=math.nan)
