"""What a scenario says to a model: sources, capacity, delay, parameters, and when they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qcnlab._core import AnalysisError
from qcnlab.analysis.dcqcn import Dcqcn
from qcnlab.analysis.ecm import Ecm
from qcnlab.analysis.place import Place, find
from qcnlab.analysis.qcn import Qcn
from qcnlab.facts import base

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.api import Scenario

LARGEST_SHARE = 150 / 18.5
"""How much more often the sampling table of QCN samples at full feedback than without."""
CLOCKS = {"both": "byte counter and timer", "byte_counter": "byte counter", "timer": "timer"}

Model = Qcn | Ecm | Dcqcn


@dataclass(frozen=True)
class Phase:
    """A time during which the bottleneck has one capacity."""

    name: str
    """`"outside the hotspot"`, `"hotspot"` or `"whole run"`."""
    start_s: float
    """Beginning, s."""
    end_s: float
    """End, s."""
    capacity_bps: float
    """Capacity, bit/s."""


@dataclass(frozen=True)
class Setting:
    """A scenario as a model sees it."""

    name: str
    """The scenario's name."""
    title: str
    """Its title."""
    scheme: str
    """Name of the scheme."""
    phases: tuple[Phase, ...]
    """Capacities in order of time, the warm-up left out."""
    line_rate_bps: float
    """What a source can send at most, bit/s."""
    place: Place
    """Where it congests."""
    tree: dict[str, Any]
    """The resolved scenario."""

    def model(self, phase: Phase) -> Model:
        """Give the model of a phase.

        Raises `AnalysisError` if the sources cannot fill the link: there is no equilibrium then.
        """
        model = MODELS[self.scheme](self.tree, self.place, phase)
        most = model.sources * self.line_rate_bps
        if most <= phase.capacity_bps:
            raise AnalysisError(
                f"{self.name}, {phase.name}: no equilibrium: {model.sources} sources send at most "
                f"{most / 1e9:g} Gb/s and the link carries {phase.capacity_bps / 1e9:g} Gb/s; "
                "it is not congested"
            )
        return model

    def congested(self) -> Phase:
        """Give the phase to look at: the first hotspot, or the whole run if there is none."""
        hot = [phase for phase in self.phases if phase.name == "hotspot"]
        return (hot or list(self.phases))[0]

    def left_out(self) -> tuple[str, ...]:
        """Name what the scenario has and the model has not."""
        words = ["jitter and the quantizer's steps", "the spread of the sources' rates"]
        if self.scheme == "dcqcn":
            words[0] = "the sources' alpha at the start, taken as 1"
            return (*words, "single CNPs, only their mean", "hyper increase", "the buffer's end")
        words.append("drops: a frame that is dropped is not sampled, so a full buffer lasts longer")
        receiver = self.tree["scheme"]["rp"]
        if self.scheme != "ecm":
            if receiver["clock"] == "both":
                words.append("timer and hyper-active increase")
            if receiver.get("short_cycles"):
                words.append("short cycles in active increase")
            if receiver.get("target_rate_reduction"):
                words.append("target rate reduction")
        elif base(receiver["drift_every"]) > 0:
            words.append("drift")
        if self.tree["feedback"]["kind"] != "ideal":
            words.append("the way of the messages through the fabric")
        return tuple(words)


def read(scenario: Scenario) -> Setting:
    """Read a scenario; raises `AnalysisError` if no model describes it, and says why."""
    tree = scenario.to_dict()
    place, scheme = find(tree), tree["scheme"]["name"]
    if isinstance(place, str):
        raise AnalysisError(f"{scenario.name}: no model: {place}")
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
    kinds = {entry["kind"] for entry in tree["traffic"]} - {"saturated", "constant"}
    _refuse_unless(
        not kinds,
        scenario.name,
        f"traffic of kind '{', '.join(sorted(kinds))}'; the model's sources send at their rate",
    )
    frames = {entry["frame"] for entry in tree["traffic"]}
    _refuse_unless(
        len(frames) == 1, scenario.name, f"frames of several sizes ({', '.join(sorted(frames))})"
    )
    return Setting(
        name=scenario.name,
        title=scenario.title,
        scheme=scheme,
        phases=_phases(tree, place.rate_bps),
        line_rate_bps=_line_rate(tree),
        place=place,
        tree=tree,
    )


def _refuse_unless(fits: bool, name: str, why: str) -> None:
    if not fits:
        raise AnalysisError(f"{name}: no model: {why}")


def _phases(tree: dict[str, Any], capacity: float) -> tuple[Phase, ...]:
    begin, end = base(tree["warmup"]), base(tree["duration"])
    hot = sorted(
        (base(entry["from"]), min(base(entry["until"]), end), base(entry["rate"]))
        for entry in tree.get("hotspot", [])
    )
    if not hot:
        return (Phase("whole run", begin, end, capacity),)
    phases: list[Phase] = []
    for start, until, rate in hot:
        if start > begin:
            phases.append(Phase("outside the hotspot", begin, start, capacity))
        phases.append(Phase("hotspot", start, until, rate))
        begin = until
    if begin < end:
        phases.append(Phase("outside the hotspot", begin, end, capacity))
    return tuple(phases)


def _line_rate(tree: dict[str, Any]) -> float:
    rates = [base(tree["topology"]["rate"])]
    for entry in tree["traffic"]:
        rates += [base(entry[key]) for key in ("rate", "max_rate") if key in entry]
    if "max_rate" in tree["scheme"]["rp"]:
        rates.append(base(tree["scheme"]["rp"]["max_rate"]))
    return min(rates)


def _qcn(tree: dict[str, Any], place: Place, phase: Phase) -> Qcn:
    frame = base(tree["traffic"][0]["frame"])
    point, receiver = tree["scheme"]["cp"], tree["scheme"]["rp"]
    set_point, w, levels = base(point["set_point"]), float(point["w"]), 2 ** int(point["fb_bits"])
    full = (1 + 2 * w) * set_point
    per_level = full / (levels - 1)
    if point["quantizer"] == "msb":
        per_level = 2 ** int(full).bit_length() / levels
    probability = frame / base(point["sample_base"])
    return Qcn(
        sources=place.sources,
        capacity_bps=phase.capacity_bps,
        delay_s=place.rtt_s,
        frame_bytes=frame,
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


def _ecm(tree: dict[str, Any], place: Place, phase: Phase) -> Ecm:
    point, receiver = tree["scheme"]["cp"], tree["scheme"]["rp"]
    return Ecm(
        sources=place.sources,
        capacity_bps=phase.capacity_bps,
        delay_s=place.rtt_s,
        set_point_bytes=base(point["set_point"]),
        w=float(receiver["w"]),
        frame_bytes=base(tree["traffic"][0]["frame"]),
        sample_bytes=base(point["sample_base"]),
        gi=float(receiver["gi"]),
        gd=float(receiver["gd"]),
        rate_unit_bps=base(receiver["rate_unit"]),
    )


def _dcqcn(tree: dict[str, Any], place: Place, phase: Phase) -> Dcqcn:
    point, receiver = tree["scheme"]["cp"], tree["scheme"]["rp"]
    return Dcqcn(
        sources=place.sources,
        capacity_bps=phase.capacity_bps,
        delay_s=place.rtt_s,
        frame_bytes=base(tree["traffic"][0]["frame"]),
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


MODELS: dict[str, Callable[[dict[str, Any], Place, Phase], Model]] = {
    "qcn": _qcn,
    "qcn_byte_counter": _qcn,
    "ecm": _ecm,
    "dcqcn": _dcqcn,
}
"""The model of each scheme that has one."""
