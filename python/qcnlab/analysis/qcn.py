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

Timer and hyper-active increase are in neither. The fluid model of
the core is the same before it is made linear, with the clamps of the real thing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis import given
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.polynomials import product, total
from qcnlab.text import counted

if TYPE_CHECKING:
    from qcnlab.analysis.responses import Trajectory

NAME = "QCN"


@dataclass(frozen=True)
class QcnEquilibrium:
    """Where the linear model rests."""

    queue_bytes: float
    """Queue, B."""
    current_rate_bps: float
    """Current rate of each source, bit/s."""
    target_rate_bps: float
    """Target rate of each source, bit/s."""
    feedback_bytes: float
    """Congestion F that balances the increase, B; the queue stands that far above its set point."""


@dataclass(frozen=True)
class Qcn:
    """QCN with N equal sources at one bottleneck; defaults are deck 001's at 10 Gb/s.

    Raises `AnalysisError` for a value out of its range.
    """

    sources: int = 10
    """N."""
    capacity_bps: float = 10e9
    """C, bit/s."""
    delay_s: float = 200e-6
    """Loop delay: source, congestion point and back, s."""
    frame_bytes: float = 1500.0
    """Octets of a frame."""
    set_point_bytes: float = 33e3
    """Qeq, B."""
    w: float = 2.0
    """Weight of the queue's change."""
    gain_per_byte: float | None = None
    """Relative cut for each byte of F, 1/B; `None`: full feedback (1 + 2 w) Qeq halves the rate."""
    sampling_probability: float = 0.01
    """p without congestion; also where the loop is made linear."""
    sampling_probability_max: float = 0.1
    """p at full feedback, in the fluid model with adaptive sampling."""
    cycle_bytes: float = 150e3
    """Byte counter's cycle, B."""
    fast_recovery_cycles: int = 5
    """Cycles of fast recovery."""
    ai_rate_bps: float = 5e6
    """Active increase, bit/s."""
    first_cycle: Literal["restarted", "kept"] = "restarted"
    """What a message in the first byte counter cycle does: as published, or as in QCN."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        given.above_zero(
            NAME,
            sources=self.sources,
            capacity_bps=self.capacity_bps,
            frame_bytes=self.frame_bytes,
            set_point_bytes=self.set_point_bytes,
            cycle_bytes=self.cycle_bytes,
            ai_rate_bps=self.ai_rate_bps,
            gain_per_byte=self.cut_per_byte,
        )
        given.not_negative(NAME, delay_s=self.delay_s, w=self.w)
        if self.first_cycle not in ("restarted", "kept"):
            raise AnalysisError(
                f"{NAME}: first_cycle is '{self.first_cycle}'; it must be 'restarted' or 'kept'"
            )
        given.probability(
            NAME,
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
        """By how much F strays because frames arrive whole, as a standard deviation, B.

        N sources that send at equal distances, their phases at random, put the queue off by
        sqrt(N / 12) frames; F weighs this sample with 1 + w and the one before with -w.
        """
        w = self.w
        return self.frame_bytes * math.sqrt(self.sources / 12 * ((1 + w) ** 2 + w**2))

    def with_(self, **changes: Any) -> Qcn:
        """Give the model with some values changed."""
        return replace(self, **changes)

    def equilibrium(self) -> QcnEquilibrium:
        """Give the rest point at constant sampling.

        Raises `AnalysisError` where it would need more than full feedback.
        """
        _, _, gap, rise = self._increase()
        share, bits = self._frames_per_s() / self.sources, self._bits
        feedback = rise / (self.cut_per_byte * self.sampling_probability * share)
        full = (1 + 2 * self.w) * self.set_point_bytes
        if feedback > full:
            raise AnalysisError(
                f"{NAME}: no equilibrium: {self.sources} sources need feedback of {feedback:.3g} B "
                f"to hold their increase, and full feedback is {full:.3g} B"
            )
        return QcnEquilibrium(
            queue_bytes=self.set_point_bytes + feedback,
            current_rate_bps=share * bits,
            target_rate_bps=(share + gap) * bits,
            feedback_bytes=feedback,
        )

    def loop(self) -> Loop:
        """Give the open loop at its delay; raises `AnalysisError` as `equilibrium` does."""
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
        return Loop(num, den, self.delay_s, title=self._title("QCN"))

    def without_averaging(self) -> Loop:
        """Give the open loop of plain AIMD with the same gains: no target rate, no fast recovery.

        Rc' = -Gd p F(t-d) Rc Rc(t-d) + a Rc(t-d) with a steady increase a that balances the same
        F, so L = K (1 + s/z) e^{-s d} / (s (s + Gd p F Rc)). What it lacks is the averaging
        principle.
        """
        rest = self.equilibrium()
        p, capacity = self.sampling_probability, self._frames_per_s()
        share = capacity / self.sources
        cut = self.cut_per_byte * self.frame_bytes * p
        num = [cut * capacity * share * self.w / (capacity * p), cut * capacity * share]
        pole = cut * rest.feedback_bytes / self.frame_bytes * share
        return Loop(num, [1.0, pole, 0.0], self.delay_s, title=self._title("AIMD of equal gain"))

    def margins(self) -> Margins:
        """Give the loop's margins."""
        return self.loop().margins()

    def critical_delay(self) -> float | None:
        """Give the RTT, s, at which the linear loop turns unstable; `None` if none does."""
        return self.loop().critical_delay()

    def fluid(
        self,
        end_s: float,
        *,
        every_s: float | None = None,
        step_s: float | None = None,
        start: dict[str, Any] | None = None,
        **switches: Any,
    ) -> Trajectory:
        """Integrate the fluid model from 0 to `end_s`, with a row `every_s`.

        `start`: `queue_bytes`, `current_rate_bps`, `target_rate_bps`, or `{"from":
        "equilibrium"}`; each source begins 10 % above its share if not given. `switches` are the
        core's: `sampling` (`"adaptive"`, `"fixed"`), `one_sided`, `clip_feedback`, `clamp_target`,
        `rate_cap`, `clamp_queue`, `line_rate_bps`, `min_rate_bps`, `feedback_spread_bytes`,
        `cycles` (`"published"`, or `"remembered"`: sources have a place in their byte counter
        cycle; this needs `first_cycle="kept"`), `cycle_steps` (of a remembered cycle).
        `step_s`: integration step. Raises `AnalysisError` for what the core refuses.
        """
        from qcnlab.analysis.fluid import trajectory

        values = {**self.parameters(), **switches}
        return trajectory(
            "qcn",
            values,
            end_s,
            every_s=every_s,
            step_s=step_s,
            start=start,
            title=self._title(NAME),
        )

    def parameters(self) -> dict[str, Any]:
        """Give the model's parameters as the core names them."""
        names = self.__dataclass_fields__
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def _bits(self) -> float:
        return 8 * self.frame_bytes

    def _frames_per_s(self) -> float:
        return self.capacity_bps / self._bits

    def _increase(self) -> tuple[float, float, float, float]:
        """Give zeta, eta, the gap between target and current rate, frames/s, and its pull.

        The pull is by how much of the current rate the gap raises it, for each frame of a source.
        """
        p, cycle = self.sampling_probability, self.cycle_bytes / self.frame_bytes
        quiet, kept = cycle * math.log1p(-p), self.first_cycle == "kept"
        eta = p / math.expm1(-quiet)
        fast = self.fast_recovery_cycles - (1 if kept else 0)
        zeta = eta * math.exp(fast * quiet) / (1 + cycle * p if kept else 1)
        gap = zeta * self.ai_rate_bps / self._bits / p
        if kept:
            return zeta, eta, gap * (1 + cycle * eta), eta * gap
        return zeta, eta, gap, eta * gap / 2

    def _title(self, word: str) -> str:
        rate = f"{self.capacity_bps / 1e9:g} Gb/s"
        return f"{word}, {counted(self.sources, 'source')}, {rate}, RTT {given.span(self.delay_s)}"
