"""Figures of the analysis: responses, loops, families of loops."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from matplotlib.figure import Figure

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import DASHES, FAINT, INK, SOURCES, LineStyle, above, style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from qcnlab.analysis.polynomials import Array

COLORS = (*SOURCES[:4], INK, SOURCES[5])
LINES = (*DASHES, (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
WIDE, SQUARE = (7.2, 3.0), (3.5, 3.2)
CHARACTERS_PER_INCH = 12


class Drawn(Protocol):
    """Columns of one length; the first is the axis."""

    @property
    def title(self) -> str:
        """One line for people."""

    @property
    def columns(self) -> Mapping[str, Array]:
        """Name to values."""

    @property
    def units(self) -> Mapping[str, str]:
        """Name to unit."""

    def __getitem__(self, name: str) -> Array:
        """Return a column."""


class DrawnStep(Drawn, Protocol):
    """A step response."""

    @property
    def settles_at(self) -> float | None:
        """The last value of a stable loop."""


class DrawnMargins(Protocol):
    """What a figure of a loop says of its margins."""

    @property
    def unstable_poles(self) -> int | None:
        """Closed-loop poles in the right half plane; `None` if there are infinitely many."""

    @property
    def gain_crossover_rad_per_s(self) -> float | None:
        """Where |L| = 1."""

    @property
    def verdict(self) -> str:
        """One sentence."""


class DrawnLoop(Protocol):
    """An open loop with what is drawn of it."""

    @property
    def title(self) -> str:
        """One line for people."""

    def margins(self) -> DrawnMargins:
        """Return its margins."""

    def bode(self, frequency: Array | None = None) -> Drawn:
        """Return gain and phase over frequency, rad/s."""

    def nyquist(self) -> Drawn:
        """Return L(jw)."""

    def step(self, end: float | None = None) -> DrawnStep:
        """Return the step response up to `end`, s."""


def line_style(index: int) -> LineStyle:
    """Return colour and dashes of line `index`; the dashes alone tell lines apart in grey."""
    return {"color": COLORS[index % len(COLORS)], "ls": LINES[index % len(LINES)], "lw": 1.2}


def bode(spectrum: Drawn) -> Figure:
    """Return a figure of gain and phase over frequency."""
    with style():
        figure = ShownFigure(figsize=(3.5, 3.6), layout="constrained")
        gain, phase = figure.subplots(2, 1, sharex=True)
        bode_gain(gain, spectrum)
        bode_phase(phase, spectrum)
        title(figure, spectrum.title)
    return figure


def nyquist_plane(curve: Drawn) -> Figure:
    """Return a figure of L(jw) near -1."""
    with style():
        figure = ShownFigure(figsize=SQUARE, layout="constrained")
        nyquist(figure.subplots(), curve)
        title(figure, curve.title)
    return figure


def step(response: DrawnStep) -> Figure:
    """Return a figure of one step response."""
    with style():
        figure = ShownFigure(figsize=SQUARE, layout="constrained")
        steps(figure.subplots(), [response])
        title(figure, response.title)
    return figure


def loop(of: DrawnLoop) -> Figure:
    """Return a figure of gain and phase, Nyquist and step response of a loop."""
    margins = of.margins()
    with style():
        figure = ShownFigure(figsize=(7.2, 4.6), layout="constrained")
        grid: Any = figure.subplots(2, 2)
        spectrum = _near_crossover(of)
        bode_gain(grid[0][0], spectrum)
        bode_phase(grid[1][0], spectrum)
        nyquist(grid[0][1], of.nyquist())
        if margins.unstable_poles is None:
            grid[1][1].text(0.5, 0.5, "no step response:\nunstable with any delay", ha="center")
        else:
            steps(grid[1][1], [of.step()])
        title(figure, of.title)
        grid[0][0].set_title(margins.verdict, color=FAINT)
    return figure


def family(
    loops: Sequence[DrawnLoop], labels: Sequence[str], heading: str, end: float, top: float = 2.6
) -> Figure:
    """Return a figure of step responses (to `end`) and Bode gain and phase of several loops.

    The step axis reaches to `top`; an unstable curve ends where it first passes that.
    """
    with style():
        figure = ShownFigure(figsize=(7.2, 3.6), layout="constrained")
        halves: Any = figure.subfigures(1, 2, width_ratios=(1.25, 1))
        axes = halves[0].subplots()
        gain, phase = halves[1].subplots(2, 1, sharex=True)
        steps(axes, [each.step(end) for each in loops], labels, top)
        axes.set_ylim(-0.6, top)
        for index, each in enumerate(loops):
            spectrum = each.bode(np.geomspace(0.02 / end, 3e3 / end, 1500))
            bode_gain(gain, spectrum, line_style(index))
            bode_phase(phase, spectrum, line_style(index))
        gain.set_xlabel("")
        gain.set_ylim(0.03, 4)
        phase.set_ylim(-720, 30)
        title(figure, heading)
    return figure


def steps(
    axes: Axes,
    responses: Sequence[DrawnStep],
    labels: Sequence[str] | None = None,
    top: float = float("inf"),
) -> None:
    """Draw step responses; an unstable one is labelled so, and ends where it first passes `top`."""
    end = max(float(each["time_s"][-1]) for each in responses)
    scale, unit = time_scale(end, responses[0].units.get("time_s", ""))
    for index, each in enumerate(responses):
        label = labels[index] if labels else each.title
        time, output = each["time_s"], each["output"]
        if each.settles_at is None:
            label = f"{label}: unstable"
            shown = _until_it_leaves(output, top)
            time, output = time[:shown], output[:shown]
        axes.plot(time * scale, output, label=label, **line_style(index))
    axes.set_xlim(0, end * scale)
    axes.set_xlabel(with_unit("time", unit))
    axes.set_ylabel("output after a unit step")
    if labels:
        axes.legend(**above(3))


def bode_gain(axes: Axes, spectrum: Drawn, line: LineStyle | None = None) -> None:
    """Draw |L| over frequency, with the line |L| = 1."""
    axes.loglog(spectrum["frequency_rad_per_s"], spectrum["gain"], **(line or line_style(0)))
    axes.axhline(1.0, color=INK, lw=0.7, ls=(0, (1, 2)))
    axes.set_ylabel("gain |L|")
    axes.margins(x=0)


def bode_phase(axes: Axes, spectrum: Drawn, line: LineStyle | None = None) -> None:
    """Draw the phase over frequency, with the line at -180 degrees."""
    axes.semilogx(spectrum["frequency_rad_per_s"], spectrum["phase_deg"], **(line or line_style(0)))
    axes.axhline(-180.0, color=INK, lw=0.7, ls=(0, (1, 2)))
    axes.set_yticks(np.arange(-720, 91, 180))
    axes.set_ylim(-540, 60)
    axes.set_xlabel(with_unit("frequency", spectrum.units["frequency_rad_per_s"]))
    axes.set_ylabel("phase (deg)")
    axes.margins(x=0)


def nyquist(axes: Axes, curve: Drawn) -> None:
    """Draw L(jw) near -1, with the unit circle."""
    angle: Array = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(angle), np.sin(angle), color=FAINT, lw=0.7, ls=(0, (1, 2)))
    axes.plot(curve["real"], curve["imaginary"], **line_style(0))
    axes.plot(-1, 0, "+", color=INK, ms=8, mew=1.2)
    axes.set_xlim(-2.6, 1.8)
    axes.set_ylim(-1.8, 1.8)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("real part of L(jw)")
    axes.set_ylabel("imaginary part")


def time_scale(end_s: float, unit: str = "s") -> tuple[float, str]:
    """Return factor and unit for a time axis that reaches to `end_s`."""
    if unit != "s" or end_s >= 1:
        return 1.0, unit
    return (1e3, "ms") if end_s >= 1e-3 else (1e6, "us")


def _until_it_leaves(output: Array, top: float) -> int:
    beyond = np.flatnonzero(np.abs(output) > top)
    return int(beyond[0]) + 1 if beyond.size else output.size


def title(figure: Figure, words: str) -> None:
    """Write the figure's title, in as many lines as its width needs."""
    columns = int(figure.get_figwidth() * CHARACTERS_PER_INCH)
    figure.suptitle("\n".join(textwrap.wrap(words, columns)), x=0.01, ha="left")


def with_unit(word: str, unit: str) -> str:
    """Return `word (unit)`, or `word` alone."""
    return f"{word} ({unit})" if unit else word


def columns(response: Drawn, names: Sequence[str]) -> Figure:
    """Return a figure with a panel for each of some columns over the first one."""
    axis = next(iter(response.columns))
    with style():
        figure = ShownFigure(figsize=(7.2, 1.2 + 1.6 * len(names)), layout="constrained")
        scale, unit = time_scale(float(response[axis][-1]), response.units.get(axis, ""))
        panels: Any = figure.subplots(len(names), 1, sharex=True, squeeze=False)
        for panel, name in zip(panels[:, 0], names, strict=True):
            values, label = _readable(name, response)
            panel.plot(response[axis] * scale, values, color=SOURCES[0])
            panel.set_ylabel(label)
            panel.margins(x=0)
        panels[-1, 0].set_xlabel(with_unit("time", unit))
        title(figure, response.title)
    return figure


def _near_crossover(of: DrawnLoop) -> Drawn:
    at = of.margins().gain_crossover_rad_per_s
    if at is None:
        return of.bode()
    return of.bode(np.geomspace(at / 300, at * 100, 1200))


def _readable(name: str, response: Drawn) -> tuple[Array, str]:
    unit = response.units.get(name, "")
    word = name.removesuffix("_bytes").removesuffix("_bps").replace("_", " ")
    if unit == "B":
        return response[name] / 1e3, f"{word} (KB)"
    if unit == "bit/s":
        return response[name] / 1e9, f"{word} (Gb/s)"
    return response[name], with_unit(word, unit)
