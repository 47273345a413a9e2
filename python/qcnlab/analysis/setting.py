"""What a scenario says to a model: sources, capacity, delay, parameters, and when they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qcnlab._core import AnalysisError
from qcnlab.analysis.dcqcn import Dcqcn
from qcnlab.analysis.ecm import Ecm
from qcnlab.analysis.left_out import left_out
from qcnlab.analysis.place import Crowd, Phase, Place, find
from qcnlab.analysis.qcn import Qcn
from qcnlab.facts import base

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.api import Scenario

LARGEST_SHARE = 150 / 18.5
"""How much more often the sampling table of QCN samples at full feedback than without."""

Model = Qcn | Ecm | Dcqcn


@dataclass(frozen=True)
class Setting:
    """A scenario as a model sees it."""

    name: str
    """The scenario's name."""
    title: str
    """Its title."""
    scheme: str
    """Name of the scheme."""
    place: Place
    """Where it congests, and when."""
    tree: dict[str, Any]
    """The resolved scenario."""

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Capacities in order of time, the warm-up left out."""
        return self.place.phases

    def model(self, phase: Phase) -> Model:
        """Give the model of a phase.

        Raises `AnalysisError` if the sources cannot fill the link: there is no equilibrium then.
        """
        crowd = self.crowd(phase)
        most = len(crowd.sends_bps) * self.line_rate_bps(phase)
        if most <= phase.capacity_bps:
            raise AnalysisError(
                f"{self.name}, {phase.name}: no equilibrium: limiters let at most "
                f"{most / 1e9:g} Gb/s pass and {self.place.port} carries "
                f"{phase.capacity_bps / 1e9:g} Gb/s; raise scheme.rp.max_rate"
            )
        return MODELS[self.scheme](self.tree, crowd)

    def congested(self) -> Phase:
        """Give the phase to look at: the first hotspot that congests, or else the first phase."""
        crowded = [phase for phase in self.phases if phase.crowd is not None]
        return ([phase for phase in crowded if phase.name == "hotspot"] or crowded)[0]

    def crowd(self, phase: Phase) -> Crowd:
        """Give who meets in a phase; raises `AnalysisError` if it is not congested."""
        if phase.crowd is None:
            raise AnalysisError(
                f"{self.name}, {phase.name}: no equilibrium: {self.place.port} is not congested"
            )
        return phase.crowd

    def line_rate_bps(self, phase: Phase) -> float:
        """Give what a source sends at most in a congested phase, bit/s; the sources' mean."""
        sends = self.crowd(phase).sends.mean
        limit = self.tree["scheme"]["rp"].get("max_rate")
        return sends if limit is None else min(sends, base(limit))

    def left_out(self) -> tuple[str, ...]:
        """Name what the scenario has and the model has not."""
        return left_out(self.scheme, self.tree, self.crowd(self.congested()))


def read(scenario: Scenario) -> Setting:
    """Read a scenario; raises `AnalysisError` if no model describes it, and says why."""
    tree = scenario.to_dict()
    scheme = tree["scheme"]["name"]
    _refuse_unless(
        scheme in MODELS,
        scenario.name,
        f"scheme '{scheme}' has no model here; qcn, qcn_byte_counter, ecm and dcqcn have",
    )
    receiver = tree["scheme"]["rp"]
    if scheme == "dcqcn":
        as_published = receiver["form"] == "published" and receiver["cut_share"] == 0.5
        _refuse_unless(
            as_published and "byte_reset" in receiver,
            scenario.name,
            "the model has the published form, a cut of alpha / 2, and a byte counter",
        )
    elif scheme != "ecm":
        _refuse_unless(
            receiver["clock"] != "timer",
            scenario.name,
            "the model raises rates by the byte counter, and scheme.rp.clock is 'timer'",
        )
    return Setting(scenario.name, scenario.title, scheme, find(scenario), tree)


def _refuse_unless(fits: bool, name: str, why: str) -> None:
    if not fits:
        raise AnalysisError(f"{name}: no model: {why}")


def _loop(tree: dict[str, Any], crowd: Crowd) -> dict[str, Any]:
    """Give what every model wants to know of the crowd."""
    return {
        "sources": len(crowd.sends_bps),
        "capacity_bps": crowd.capacity_bps,
        "delay_s": crowd.delay_s(tree["scheme"]["name"]).mean,
        "frame_bytes": crowd.frame_bytes.mean,
    }


def _qcn(tree: dict[str, Any], crowd: Crowd) -> Qcn:
    point, receiver = tree["scheme"]["cp"], tree["scheme"]["rp"]
    set_point, w, levels = base(point["set_point"]), float(point["w"]), 2 ** int(point["fb_bits"])
    full = (1 + 2 * w) * set_point
    per_level = full / (levels - 1)
    if point["quantizer"] == "msb":
        per_level = 2 ** int(full).bit_length() / levels
    probability = crowd.frame_bytes.mean / base(point["sample_base"])
    return Qcn(
        **_loop(tree, crowd),
        set_point_bytes=set_point,
        w=w,
        gain_per_byte=float(receiver["gd"]) / per_level,
        sampling_probability=probability,
        sampling_probability_max=min(0.999, probability * LARGEST_SHARE),
        cycle_bytes=base(receiver["byte_reset"]),
        fast_recovery_cycles=int(receiver["threshold"]),
        ai_rate_bps=base(receiver["ai_rate"]),
        first_cycle="kept",
    )


def _ecm(tree: dict[str, Any], crowd: Crowd) -> Ecm:
    point, receiver = tree["scheme"]["cp"], tree["scheme"]["rp"]
    return Ecm(
        **_loop(tree, crowd),
        set_point_bytes=base(point["set_point"]),
        w=float(receiver["w"]),
        sample_bytes=base(point["sample_base"]),
        gi=float(receiver["gi"]),
        gd=float(receiver["gd"]),
        rate_unit_bps=base(receiver["rate_unit"]),
    )


def _dcqcn(tree: dict[str, Any], crowd: Crowd) -> Dcqcn:
    point, receiver = tree["scheme"]["cp"], tree["scheme"]["rp"]
    return Dcqcn(
        **_loop(tree, crowd),
        k_min_bytes=base(point["k_min"]),
        k_max_bytes=base(point["k_max"]),
        p_max=float(point["p_max"]),
        g=float(receiver["g"]),
        cut_interval_s=base(receiver["cnp_interval"]),
        alpha_interval_s=base(receiver["alpha_period"]),
        timer_s=base(receiver["time_reset"]),
        cycle_bytes=base(receiver["byte_reset"]),
        fast_recovery_cycles=int(receiver["threshold"]),
        ai_rate_bps=base(receiver["ai_rate"]),
    )


MODELS: dict[str, Callable[[dict[str, Any], Crowd], Model]] = {
    "qcn": _qcn,
    "qcn_byte_counter": _qcn,
    "ecm": _ecm,
    "dcqcn": _dcqcn,
}
"""The model of each scheme that has one."""
