"""QCN around its equilibrium.

Alizadeh et al., "Data Center Transport Mechanisms: Congestion Control Theory and IEEE
Standardization", Allerton 2008; Alizadeh, Kabbani, Atikoglu and Prabhakar, "Stability Analysis of
QCN: The Averaging Principle", SIGMETRICS 2011. N equal sources, capacity C and rates in frames/s,
F > 0 is congestion in frames, p a constant sampling probability, d the loop delay:

    q'  = N Rc - C,   F = q - Qeq + w (N Rc - C) / (C p)
    Rc' = -Gd p F(t-d) Rc Rc(t-d) + (Rt - Rc) / 2 Rc(t-d) eta
    Rt' = -p (Rt - Rc) Rc(t-d) + RAI Rc(t-d) zeta
    eta = p / ((1-p)^-n - 1),  zeta = (1-p)^(5 n) eta

Around the equilibrium the delayed rates cancel, and the open loop is

    L(s) = K (1 + s/z) (s + gamma) e^{-s d} / (s (s^2 + beta s + alpha))
    K = Gd p C^2 / N,  z = C p / w,  gamma = p C / N,
    beta = gamma + eta Rt / 2,  alpha = eta zeta RAI C / (2 N)

There every message moves the target to the current rate and restarts the byte counter. In QCN one
that comes in the first cycle does neither (`first_cycle="kept"`). Sources in that cycle, ended at
the rate a = Rc / n, then hold a part of the gap Rt - Rc of their own, and

    L(s) = K (1 + s/z) P e^{-s d} / (s (s (s + a) (s + b) + c P))
    P = s^2 + (a/2 + b) s + a gamma / 2,  b = gamma + eta Rc / 2,  c = eta G
    G = RAI (1-p)^(4 n) eta / (p (1 + n p)),  Rt = Rc + G (1 + n eta)

Neither loop has the timer or hyper-active increase. The fluid model of the core is the same model
before it is made linear, with the bounds of the scheme.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis import checks
from qcnlab.analysis.fluid import numbers
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.model import Equilibrium, ScenarioModel, contender_values
from qcnlab.analysis.polynomials import product, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.analysis.bottleneck import Contenders
    from qcnlab.analysis.fluid import State
    from qcnlab.analysis.model import Switches
    from qcnlab.records import JsonObject

CORE = numbers("qcn")
LARGEST_SHARE = 150 / 18.5
"""How much more often QCN's sampling table samples at full feedback than without feedback."""


@dataclass(frozen=True)
class QcnEquilibrium(Equilibrium):
    """The state in which the linear model rests."""

    target_rate_bps: float
    """Target rate of each source, bit/s."""
    feedback_bytes: float
    """Congestion F that balances the increase, B: how far the queue is above its set point."""


@dataclass(frozen=True)
class Qcn(ScenarioModel):
    """QCN with N equal sources at one bottleneck.

    Defaults are the core's: deck 001's parameters at 10 Gb/s.

    Raises
    ------
    AnalysisError
        A value is out of its range.

    Examples
    --------
    >>> margins = Qcn(sources=10, delay_s=200e-6).margins()
    >>> margins.stable, round(1e6 * margins.critical_delay_s)
    (True, 284)
    """

    NAME: ClassVar[str] = "QCN"
    FLUID: ClassVar[str] = "qcn"
    SCHEMES: ClassVar[tuple[str, ...]] = ("qcn", "qcn_byte_counter")
    MOST_OF_SHARE: ClassVar[float] = 2
    """Sources that start at the line rate are cut unevenly, and their rates differ for seconds."""

    sources: int = int(CORE["sources"])
    """N."""
    capacity_bps: float = CORE["capacity_bps"]
    """C, bit/s."""
    delay_s: float = CORE["delay_s"]
    """Loop delay: source, congestion point and back, s."""
    frame_bytes: float = CORE["frame_bytes"]
    """Octets of a frame."""
    set_point_bytes: float = CORE["set_point_bytes"]
    """Qeq, B."""
    w: float = CORE["w"]
    """Weight of the queue's change."""
    gain_per_byte: float | None = None
    """Relative cut for each byte of F, 1/B; `None`: full feedback (1 + 2 w) Qeq halves the rate."""
    sampling_probability: float = CORE["sampling_probability"]
    """p without congestion; also where the loop is made linear."""
    sampling_probability_max: float = CORE["sampling_probability_max"]
    """p at full feedback, in the fluid model with adaptive sampling."""
    cycle_bytes: float = CORE["cycle_bytes"]
    """Byte counter's cycle, B."""
    fast_recovery_cycles: int = int(CORE["fast_recovery_cycles"])
    """Cycles of fast recovery."""
    ai_rate_bps: float = CORE["ai_rate_bps"]
    """Active increase, bit/s."""
    first_cycle: Literal["restarted", "kept"] = "restarted"
    """What a message in the first byte counter cycle does: as published, or as in QCN."""

    def __post_init__(self) -> None:
        """Refuse values out of their range."""
        checks.above_zero(
            self.NAME,
            sources=self.sources,
            capacity_bps=self.capacity_bps,
            frame_bytes=self.frame_bytes,
            set_point_bytes=self.set_point_bytes,
            cycle_bytes=self.cycle_bytes,
            ai_rate_bps=self.ai_rate_bps,
            gain_per_byte=self.cut_per_byte,
        )
        checks.not_negative(self.NAME, delay_s=self.delay_s, w=self.w)
        if self.first_cycle not in ("restarted", "kept"):
            raise AnalysisError(
                f"{self.NAME}: first_cycle is '{self.first_cycle}'; "
                "it must be 'restarted' or 'kept'"
            )
        checks.probability(
            self.NAME,
            sampling_probability=self.sampling_probability,
            sampling_probability_max=self.sampling_probability_max,
        )

    @property
    def cut_per_byte(self) -> float:
        """Gd for each byte of F, 1/B."""
        if self.gain_per_byte is not None:
            return self.gain_per_byte
        return 0.5 / ((1 + 2 * self.w) * self.set_point_bytes)

    @property
    def arrival_spread_bytes(self) -> float:
        """Standard deviation of F, B, because frames arrive whole.

        N sources that send at equal distances, with random phases, move the queue by
        sqrt(N / 12) frames; F weighs the present sample with 1 + w and the last one with -w.
        """
        w = self.w
        return self.frame_bytes * math.sqrt(self.sources / 12 * ((1 + w) ** 2 + w**2))

    @classmethod
    def refusal(cls, scheme: JsonObject) -> str | None:
        """Return why a scheme is not covered: one that counts no bytes."""
        if scheme["rp"]["clock"] == "timer":
            return "the model raises rates by the byte counter, and scheme.rp.clock is 'timer'"
        return None

    @classmethod
    def from_scenario(cls, scheme: JsonObject, contenders: Contenders) -> Self:
        """Return the model of contenders under QCN, with the first cycle as QCN has it."""
        point, receiver = scheme["cp"], scheme["rp"]
        set_point, w, levels = point["set_point"], float(point["w"]), 2 ** point["fb_bits"]
        full = (1 + 2 * w) * set_point
        per_level = full / (levels - 1)
        if point["quantizer"] == "msb":
            per_level = 2 ** int(full).bit_length() / levels
        probability = contenders.frame_bytes.mean / point["sample_base"]
        return cls(
            **contender_values(cls, contenders),
            set_point_bytes=set_point,
            w=w,
            gain_per_byte=float(receiver["gd"]) / per_level,
            sampling_probability=probability,
            sampling_probability_max=min(0.999, probability * LARGEST_SHARE),
            cycle_bytes=receiver["byte_reset"],
            fast_recovery_cycles=receiver["threshold"],
            ai_rate_bps=receiver["ai_rate"],
            first_cycle="kept",
        )

    @classmethod
    def left_out(cls, scheme: JsonObject) -> Iterator[str]:
        """Return what QCN does and the model does not."""
        receiver = scheme["rp"]
        yield "jitter and the quantizer's steps"
        yield "the spread of the sources' rates"
        yield "drops: a frame that is dropped is not sampled, so a full buffer lasts longer"
        if receiver["clock"] == "both":
            yield "timer and hyper-active increase"
        if receiver.get("short_cycles"):
            yield "short cycles in active increase"
        if receiver.get("target_rate_reduction"):
            yield "target rate reduction"

    @classmethod
    def star_scheme(cls, scheme: JsonObject, line_rate: str) -> JsonObject:
        """Return the byte counter alone: whole cycles, no target rate reduction, bounded rates."""
        scheme = super().star_scheme(scheme, line_rate)
        scheme["name"] = "qcn_byte_counter"
        scheme["rp"] |= {
            "clock": "byte_counter",
            "short_cycles": False,
            "target_rate_reduction": False,
            "max_rate": line_rate,
        }
        return scheme

    def queue_level(self) -> float:
        """Return the set point, B."""
        return self.set_point_bytes

    def noise(self) -> Switches:
        """Return the spread of feedback because frames arrive whole."""
        return {"feedback_spread_bytes": self.arrival_spread_bytes}

    def edge_switches(self, noise: bool) -> Switches:
        """Return fixed sampling and remembered cycles; `noise`: with the spread of feedback."""
        spread = self.arrival_spread_bytes if noise else 0.0
        return {
            "sampling": "fixed",
            "cycles": "remembered",
            "feedback_spread_bytes": spread,
        }

    def description(self) -> str:
        """Return set point, weight, sampling, gain, cycle and increase as text."""
        return (
            f"Qeq {self.set_point_bytes / 1e3:g} KB, w {self.w:g}, "
            f"sampling {100 * self.sampling_probability:.3g} %, "
            f"Gd {self.cut_per_byte * 1e3:.3g} per KB, cycle {self.cycle_bytes / 1e3:g} KB, "
            f"F {self.fast_recovery_cycles}, RAI {self.ai_rate_bps / 1e6:g} Mb/s"
        )

    def initial(self, queue_bytes: float, current_rate_bps: float, target_rate_bps: float) -> State:
        """Return the fluid's initial state for a queue, B, and mean rates of a source, bit/s."""
        return {
            "queue_bytes": queue_bytes,
            "current_rate_bps": current_rate_bps,
            "target_rate_bps": target_rate_bps,
        }

    def equilibrium(self) -> QcnEquilibrium:
        """Return the state of rest at constant sampling.

        Raises
        ------
        AnalysisError
            It would need more than full feedback: there is none.

        Examples
        --------
        >>> round(Qcn(sources=10).equilibrium().queue_bytes)
        33002
        """
        _, _, gap, rise = self._increase()
        share, bits = self._frames_per_s() / self.sources, self._bits
        feedback = rise / (self.cut_per_byte * self.sampling_probability * share)
        full = (1 + 2 * self.w) * self.set_point_bytes
        if feedback > full:
            raise AnalysisError(
                f"{self.NAME}: no equilibrium: {self.sources} sources need feedback of "
                f"{feedback:.3g} B to hold their increase, and full feedback is {full:.3g} B"
            )
        return QcnEquilibrium(
            queue_bytes=self.set_point_bytes + feedback,
            current_rate_bps=share * bits,
            target_rate_bps=(share + gap) * bits,
            feedback_bytes=feedback,
        )

    def loops(self) -> dict[str, Loop]:
        """Return the loop with the first cycle restarted, as published, and with it kept."""
        published = self.with_(first_cycle="restarted")
        kept = self.with_(first_cycle="kept")
        return {"as published": published.loop(), "first cycle kept": kept.loop()}

    def published_loops(self) -> dict[str, Loop]:
        """Return the loop with the first cycle restarted."""
        return {"as published": self.with_(first_cycle="restarted").loop()}

    def loop(self) -> Loop:
        """Return the open loop at its delay, with `first_cycle` as it is.

        Raises
        ------
        AnalysisError
            There is no equilibrium.
        """
        self.equilibrium()
        zeta, eta, gap, rise = self._increase()
        p, capacity = self.sampling_probability, self._frames_per_s()
        share = capacity / self.sources
        gain = self.cut_per_byte * self.frame_bytes * p * capacity * share
        lead, gamma = [self.w / (capacity * p), 1.0], p * share
        if self.first_cycle == "kept":
            end = share * self.frame_bytes / self.cycle_bytes
            later = gamma + eta * share / 2
            answer = [1.0, end / 2 + later, end * gamma / 2]
            inner = total([1.0, end + later, end * later, 0.0], rise * np.array(answer))
            den = [*inner, 0.0]
        else:
            answer = [1.0, gamma]
            alpha = eta * zeta * self.ai_rate_bps / self._bits * share / 2
            den = [1.0, gamma + eta * (share + gap) / 2, alpha, 0.0]
        num = gain * product(lead, answer)
        return Loop(num, den, self.delay_s, title=self.title())

    def without_averaging(self) -> Loop:
        """Return the open loop of plain AIMD with the same gains: no target rate, no fast recovery.

        Rc' = -Gd p F(t-d) Rc Rc(t-d) + a Rc(t-d) with a steady increase a that balances the same
        F, so L = K (1 + s/z) e^{-s d} / (s (s + Gd p F Rc)). It lacks the averaging principle.

        Raises
        ------
        AnalysisError
            There is no equilibrium.
        """
        rest = self.equilibrium()
        p, capacity = self.sampling_probability, self._frames_per_s()
        share = capacity / self.sources
        cut = self.cut_per_byte * self.frame_bytes * p
        num = [cut * capacity * share * self.w / (capacity * p), cut * capacity * share]
        pole = cut * rest.feedback_bytes / self.frame_bytes * share
        return Loop(num, [1.0, pole, 0.0], self.delay_s, title=self.title("AIMD of equal gain"))

    def margins(self) -> Margins:
        """Return the margins of `loop`; raises as it does."""
        return self.loop().margins()

    def critical_delay(self) -> float | None:
        """Return the RTT, s, at which `loop` turns unstable; `None` if none does.

        Examples
        --------
        >>> [round(1e6 * Qcn(sources=n).critical_delay()) for n in (2, 10, 100)]
        [211, 284, 312]
        """
        return self.loop().critical_delay()

    @property
    def _bits(self) -> float:
        return 8 * self.frame_bytes

    def _frames_per_s(self) -> float:
        return self.capacity_bps / self._bits

    def _increase(self) -> tuple[float, float, float, float]:
        """Return zeta, eta, the gap between target and current rate, frames/s, and the rise.

        The rise is the relative increase of the current rate by the gap, for each frame of a
        source.
        """
        p, cycle = self.sampling_probability, self.cycle_bytes / self.frame_bytes
        unsampled, kept = cycle * math.log1p(-p), self.first_cycle == "kept"
        eta = p / math.expm1(-unsampled)
        fast = self.fast_recovery_cycles - (1 if kept else 0)
        zeta = eta * math.exp(fast * unsampled) / (1 + cycle * p if kept else 1)
        gap = zeta * self.ai_rate_bps / self._bits / p
        if kept:
            return zeta, eta, gap * (1 + cycle * eta), eta * gap
        return zeta, eta, gap, eta * gap / 2
