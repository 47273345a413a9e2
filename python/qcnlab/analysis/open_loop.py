"""What rules about loops ask of an open loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qcnlab.analysis.polynomials import Array, Complex


class Judged(Protocol):
    """What a loop's margins say in a sentence."""

    @property
    def verdict(self) -> str:
        """One sentence."""


class OpenLoop(Protocol):
    """An open loop: sums of numerators with delays over one denominator."""

    @property
    def terms(self) -> list[tuple[Array, float]]:
        """Numerator, highest power first, and delay, s, of each term."""

    @property
    def num(self) -> Array:
        """The numerator of a loop with one delay."""

    @property
    def den(self) -> Array:
        """The denominator, highest power first."""

    @property
    def delay_s(self) -> float:
        """The delay, of several the shortest."""

    @property
    def title(self) -> str:
        """One line for people."""

    @property
    def time_unit(self) -> str:
        """The unit of time."""

    def __call__(self, s: complex | NDArray[Any]) -> Complex:
        """Return L(s)."""

    def scaled(self, gain: float) -> Self:
        """Return the loop with `gain` times its gain."""

    def stable(self) -> bool:
        """Return whether the closed loop is stable."""

    def margins(self) -> Judged:
        """Return its margins."""

    def grid(self) -> Array:
        """Return frequencies, rad/s, that reach beyond the loop's own."""
