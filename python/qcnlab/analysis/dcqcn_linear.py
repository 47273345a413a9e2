"""The linear loops of DCQCN: as published, and the exact linearisation of the fluid's equations.

With all sources alike and x = (Rc, Rt, alpha), the fluid is q' = N Rc - C, x' = f(x, p~, R~), where
p~ and R~ are marking probability and current rate one delay ago. At rest, with c = cut(p, R) the
probability of a mark within tau, y = the cycles without a mark per second, z = those beyond fast
recovery, m = the probability of a mark within tau', and the gap D = Rt - Rc:

    Rc'    = -Rc alpha cut / (2 tau) + D y / 2
    Rt'    = -D cut / tau + RAI z
    alpha' = g / tau' (m - alpha)

The slopes of cut, y, z and m over p and R are in closed form (`Slopes`). As p~ = k q~ and
q = N Rc / s, both delayed inputs hang on Rc alone, and one delay is left:

    (s - Acc)(s - Att) s (s + ga) - Act Atc s (s + ga) = den
    num = -[(fp k N + fR s)(s - Att)(s + ga) + Act (tp k N + tR s)(s + ga)
            + Aca ga (mp k N + mR s)(s - Att)]

The published loop is of a Taylor expansion of the equations, as the authors' `stability.m` has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from qcnlab.analysis.polynomials import Array, product, total

if TYPE_CHECKING:
    from collections.abc import Sequence


class Parameters(Protocol):
    """DCQCN's parameters, and its state of rest by the marking probability; units as in `Dcqcn`."""

    @property
    def sources(self) -> int:
        """N."""

    @property
    def capacity_bps(self) -> float:
        """C, bit/s."""

    @property
    def frame_bytes(self) -> float:
        """Octets of a frame."""

    @property
    def k_min_bytes(self) -> float:
        """Queue at which marking begins, B."""

    @property
    def k_max_bytes(self) -> float:
        """Queue at which the ramp of marking ends, B."""

    @property
    def p_max(self) -> float:
        """Marking probability at the end of the ramp."""

    @property
    def g(self) -> float:
        """Weight of a new sample in alpha."""

    @property
    def cut_interval_s(self) -> float:
        """tau, s."""

    @property
    def alpha_interval_s(self) -> float:
        """tau', s."""

    @property
    def timer_s(self) -> float:
        """T, s."""

    @property
    def cycle_bytes(self) -> float:
        """B."""

    @property
    def ai_rate_bps(self) -> float:
        """RAI, bit/s."""

    @property
    def fast_recovery_cycles(self) -> int:
        """F."""

    def target_gap(self, p: float) -> float:
        """Return the target rate less the current rate at rest with marking `p`, frames/s."""

    def alpha_at(self, p: float) -> float:
        """Return alpha at rest with marking `p`."""


@dataclass(frozen=True)
class Slopes:
    """A quantity of the marking probability p and a source's rate R, and its slopes."""

    value: float
    p: float
    """Slope over p."""
    rate: float
    """Slope over R."""

    def __add__(self, other: Slopes) -> Slopes:
        """Return the sum."""
        return Slopes(self.value + other.value, self.p + other.p, self.rate + other.rate)

    def __mul__(self, other: Slopes) -> Slopes:
        """Return the product."""
        return Slopes(
            self.value * other.value,
            self.p * other.value + self.value * other.p,
            self.rate * other.value + self.value * other.rate,
        )


@dataclass(frozen=True)
class Linear:
    """The linear equations of one source about a state of rest; rates in frames/s."""

    own: tuple[tuple[float, float, float], ...]
    """Slopes of (Rc', Rt', alpha') over (Rc, Rt, alpha) of the same time."""
    by_p: tuple[float, float, float]
    """Slopes of (Rc', Rt', alpha') over the delayed p."""
    by_rate: tuple[float, float, float]
    """Slopes of (Rc', Rt', alpha') over the delayed Rc."""


def unmarked(p: float, rate: float, frames: float, seconds: float) -> Slopes:
    """Return (1-p)^n for n = `frames` + `seconds` * R frames."""
    n, log = frames + seconds * rate, math.log1p(-p)
    value = math.exp(n * log)
    return Slopes(value, -n * value / (1 - p), seconds * log * value)


def cycles(p: float, rate: float, frames: float, seconds: float) -> Slopes:
    """Return R p / ((1-p)^-n - 1), n = `frames` + `seconds` * R: cycles without a mark, 1/s."""
    passed = unmarked(p, rate, frames, seconds)
    left = -math.expm1((frames + seconds * rate) * math.log1p(-p))
    # 1 / (u^-1 - 1) = u / (1 - u), of slope u' / (1 - u)^2.
    share = passed.value / left
    return Slopes(
        rate * p * share,
        rate * (share + p * passed.p / left**2),
        p * (share + rate * passed.rate / left**2),
    )


def linear(model: Parameters, p: float) -> Linear:
    """Return the exact linear equations at marking probability `p` and a rate of C / N."""
    bits = 8 * model.frame_bytes
    rate, rai = model.capacity_bps / bits / model.sources, model.ai_rate_bps / bits
    steps, tau = model.fast_recovery_cycles, model.cut_interval_s
    frames, timer = model.cycle_bytes / model.frame_bytes, model.timer_s
    cut, marked = (_marked(p, rate, span) for span in (tau, model.alpha_interval_s))
    counted, timed = cycles(p, rate, frames, 0.0), cycles(p, rate, 0.0, timer)
    events = counted + timed
    rises = unmarked(p, rate, steps * frames, 0.0) * counted
    rises = rises + unmarked(p, rate, 0.0, steps * timer) * timed
    alpha, gap = marked.value, tau * rai * rises.value / cut.value
    gain = model.g / model.alpha_interval_s
    loss = rate * alpha / (2 * tau)
    return Linear(
        own=(
            (
                -alpha * cut.value / (2 * tau) - events.value / 2,
                events.value / 2,
                -rate * cut.value / (2 * tau),
            ),
            (cut.value / tau, -cut.value / tau, 0.0),
            (0.0, 0.0, -gain),
        ),
        by_p=(
            -loss * cut.p + gap / 2 * events.p,
            -gap / tau * cut.p + rai * rises.p,
            gain * marked.p,
        ),
        by_rate=(
            -loss * cut.rate + gap / 2 * events.rate,
            -gap / tau * cut.rate + rai * rises.rate,
            gain * marked.rate,
        ),
    )


def exact(model: Parameters, p: float) -> tuple[Array, Array]:
    """Return numerator and denominator of the exact loop at marking probability `p`."""
    at = linear(model, p)
    ramp = (model.k_max_bytes - model.k_min_bytes) / model.frame_bytes
    per_rate = model.sources * model.p_max / ramp
    # p~ = per_rate Rc~ / s; times s.
    inputs = [[rate, slope * per_rate] for slope, rate in zip(at.by_p, at.by_rate, strict=True)]
    den = product(_alone(at), [1.0, 0.0])
    return -_driven(at, inputs), den


def difference(model: Parameters, p: float) -> tuple[Array, Array]:
    """Return the loop of the difference of two sources' rates, which the queue does not feel."""
    at = linear(model, p)
    return -_driven(at, [[rate] for rate in at.by_rate]), _alone(at)


def published(model: Parameters, p: float) -> tuple[Array, Array]:
    """Return numerator and denominator of the loop, as in the authors' `stability.m`."""
    n, bits = float(model.sources), 8 * model.frame_bytes
    c = model.capacity_bps / bits
    rc, rai = c / n, model.ai_rate_bps / bits
    rt = rc + model.target_gap(p)
    alpha, steps = model.alpha_at(p), model.fast_recovery_cycles
    events = model.frame_bytes / model.cycle_bytes + 1 / (model.timer_s * rc)
    ramp = (model.k_max_bytes - model.k_min_bytes) / model.frame_bytes
    k, half = n * model.p_max / ramp, 0.5 + events / 4
    late = (1 + 2 * steps + events / 2) * rai
    up = events * rc / 2 - half * p * rc
    aa = (-(rc**2) * alpha / 2 - half * (rc * rt - rc**2)) * k
    bb = -p * rc * alpha / 2 - up
    cc = -p * rc * alpha / 2 - events * rc / 2 + events * rt / 2 + half * p * (rc - rt)
    dd = -p * rc**2 * model.g * c * k / 2
    ee = up * (p * rc + events * rai)
    ff = up * (-p * rt + p * rc + events * rai - late * p)
    gg = up * (-rc * rt + rc**2 - late * rc) * k
    slope, pole, s = [n, model.g * c], [1.0, p * rc], [1.0, 0.0]
    num = total(
        product(slope, pole, [aa]), product(slope, pole, s, [bb]), product(pole, [dd]),
        product(slope, s, [ff]), product(slope, [gg]),
    )  # fmt: skip
    den = total(
        product(s, s, slope, pole, [-1.0]), product(slope, pole, s, [cc]),
        product(s, slope, [ee]),
    )  # fmt: skip
    return num, den


def _marked(p: float, rate: float, seconds: float) -> Slopes:
    """Return 1 - (1-p)^n for n = `seconds` * R frames."""
    passed = unmarked(p, rate, 0.0, seconds)
    return Slopes(-math.expm1(seconds * rate * math.log1p(-p)), -passed.p, -passed.rate)


def _alone(at: Linear) -> Array:
    """Return the characteristic polynomial of a source without delayed inputs."""
    (cc, ct, _), (tc, tt, _), (_, _, aa) = at.own
    return product([1.0, -aa], total(product([1.0, -cc], [1.0, -tt]), [-ct * tc]))


def _driven(at: Linear, inputs: Sequence[Sequence[float]]) -> Array:
    """Return what delayed inputs, polynomials in s, do to Rc, over `_alone`."""
    (_, ct, ca), (_, tt, _), (_, _, aa) = at.own
    current, target, alpha = inputs
    return total(
        product(current, [1.0, -tt], [1.0, -aa]),
        product([ct], target, [1.0, -aa]),
        product([ca], alpha, [1.0, -tt]),
    )
