"""Figures of the analysis: responses, loops, families of loops."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from qcnlab.analysis.responses import Bode, Nyquist, Response, Step, Trajectory
from qcnlab.plots import DASHES, FAINT, INK, SOURCES, above, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from qcnlab.analysis.loops import Loop
    from qcnlab.analysis.polynomials import Array

COLORS = (*SOURCES[:4], INK, SOURCES[5])
LINES = (*DASHES, (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
WIDE, SQUARE = (7.2, 3.0), (3.5, 3.2)
LETTERS_PER_INCH = 12


def look(index: int) -> dict[str, Any]:
    """Give colour and dashes of line `index`; the dashes alone tell lines apart in grey."""
    return {"color": COLORS[index % len(COLORS)], "ls": LINES[index % len(LINES)], "lw": 1.2}


def response(given: Response) -> Figure:
    """Draw one response."""
    with style():
        if isinstance(given, Bode):
            figure = Figure(figsize=(3.5, 3.6), layout="constrained")
            gain, phase = figure.subplots(2, 1, sharex=True)
            bode_gain(gain, given)
            bode_phase(phase, given)
        elif isinstance(given, Nyquist):
            figure = Figure(figsize=SQUARE, layout="constrained")
            nyquist(figure.subplots(), given)
        elif isinstance(given, Step):
            figure = Figure(figsize=SQUARE, layout="constrained")
            steps(figure.subplots(), [given])
        else:
            figure = _columns(given)
        title(figure, given.title)
    return figure


def loop(given: Loop) -> Figure:
    """Draw gain and phase, Nyquist and step response of a loop."""
    with style():
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        grid: Any = figure.subplots(2, 2)
        spectrum = _near_crossover(given)
        bode_gain(grid[0][0], spectrum)
        bode_phase(grid[1][0], spectrum)
        nyquist(grid[0][1], given.nyquist())
        if given.margins().unstable_poles is None:
            grid[1][1].text(0.5, 0.5, "no step response:\nunstable with any delay", ha="center")
        else:
            steps(grid[1][1], [given.step()])
        found = given.margins()
        title(figure, given.title)
        grid[0][0].set_title(found.verdict, color=FAINT)
    return figure


def family(
    loops: Sequence[Loop], labels: Sequence[str], heading: str, end: float, top: float = 2.6
) -> Figure:
    """Draw step responses (to `end`) and Bode gain and phase of several loops over one another.

    The step axis reaches to `top`; an unstable curve ends where it first passes that.
    """
    with style():
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        halves: Any = figure.subfigures(1, 2, width_ratios=(1.25, 1))
        axes = halves[0].subplots()
        gain, phase = halves[1].subplots(2, 1, sharex=True)
        steps(axes, [each.step(end) for each in loops], labels, top)
        axes.set_ylim(-0.6, top)
        for index, each in enumerate(loops):
            spectrum = each.bode(np.geomspace(0.02 / end, 3e3 / end, 1500))
            bode_gain(gain, spectrum, look(index))
            bode_phase(phase, spectrum, look(index))
        gain.set_xlabel("")
        gain.set_ylim(0.03, 4)
        phase.set_ylim(-720, 30)
        title(figure, heading)
    return figure


def steps(
    axes: Axes,
    given: Sequence[Step],
    labels: Sequence[str] | None = None,
    top: float = float("inf"),
) -> None:
    """Draw step responses; an unstable one is called so, and ends where it first passes `top`."""
    end = max(float(each["time_s"][-1]) for each in given)
    scale, unit = time_scale(end, given[0].units.get("time_s", ""))
    for index, each in enumerate(given):
        label = labels[index] if labels else each.title
        time, output = each["time_s"], each["output"]
        if each.settles_at is None:
            label = f"{label}: unstable"
            shown = _until_it_leaves(output, top)
            time, output = time[:shown], output[:shown]
        axes.plot(time * scale, output, label=label, **look(index))
    axes.set_xlim(0, end * scale)
    axes.set_xlabel(with_unit("time", unit))
    axes.set_ylabel("output after a unit step")
    if labels:
        axes.legend(**above(3))


def bode_gain(axes: Axes, given: Bode, line: dict[str, Any] | None = None) -> None:
    """Draw |L| over frequency, with the line |L| = 1."""
    axes.loglog(given["frequency_rad_per_s"], given["gain"], **(line or look(0)))
    axes.axhline(1.0, color=INK, lw=0.7, ls=(0, (1, 2)))
    axes.set_ylabel("gain |L|")
    axes.margins(x=0)


def bode_phase(axes: Axes, given: Bode, line: dict[str, Any] | None = None) -> None:
    """Draw the phase over frequency, with the line at -180 degrees."""
    axes.semilogx(given["frequency_rad_per_s"], given["phase_deg"], **(line or look(0)))
    axes.axhline(-180.0, color=INK, lw=0.7, ls=(0, (1, 2)))
    axes.set_yticks(np.arange(-720, 91, 180))
    axes.set_ylim(-540, 60)
    axes.set_xlabel(with_unit("frequency", given.units["frequency_rad_per_s"]))
    axes.set_ylabel("phase (deg)")
    axes.margins(x=0)


def nyquist(axes: Axes, given: Nyquist) -> None:
    """Draw L(jw) near -1, with the unit circle."""
    turn: Array = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color=FAINT, lw=0.7, ls=(0, (1, 2)))
    axes.plot(given["real"], given["imaginary"], **look(0))
    axes.plot(-1, 0, "+", color=INK, ms=8, mew=1.2)
    axes.set_xlim(-2.6, 1.8)
    axes.set_ylim(-1.8, 1.8)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("real part of L(jw)")
    axes.set_ylabel("imaginary part")


def time_scale(end_s: float, unit: str = "s") -> tuple[float, str]:
    """Give factor and unit for a time axis that reaches to `end_s`."""
    if unit != "s" or end_s >= 1:
        return 1.0, unit
    return (1e3, "ms") if end_s >= 1e-3 else (1e6, "us")


def _until_it_leaves(output: Array, top: float) -> int:
    beyond = np.flatnonzero(np.abs(output) > top)
    return int(beyond[0]) + 1 if beyond.size else output.size


def title(figure: Figure, words: str) -> None:
    """Write the figure's title, in as many lines as its width needs."""
    columns = int(figure.get_figwidth() * LETTERS_PER_INCH)
    figure.suptitle("\n".join(textwrap.wrap(words, columns)), x=0.01, ha="left")


def with_unit(word: str, unit: str) -> str:
    """Give `word (unit)`, or `word` alone."""
    return f"{word} ({unit})" if unit else word


def _near_crossover(given: Loop) -> Bode:
    at = given.margins().gain_crossover_rad_per_s
    if at is None:
        return given.bode()
    return given.bode(np.geomspace(at / 300, at * 100, 1200))


def _columns(given: Response) -> Figure:
    axis, *rest = given.columns
    if isinstance(given, Trajectory):
        rest = [name for name in rest if name in ("queue_bytes", "rate_bps")] or rest
    figure = Figure(figsize=(7.2, 1.2 + 1.6 * len(rest)), layout="constrained")
    scale, unit = time_scale(float(given[axis][-1]), given.units.get(axis, ""))
    panels: Any = figure.subplots(len(rest), 1, sharex=True, squeeze=False)
    for panel, name in zip(panels[:, 0], rest, strict=True):
        values, label = _readable(name, given)
        panel.plot(given[axis] * scale, values, color=SOURCES[0])
        panel.set_ylabel(label)
        panel.margins(x=0)
    panels[-1, 0].set_xlabel(with_unit("time", unit))
    return figure


def _readable(name: str, given: Response) -> tuple[Array, str]:
    unit = given.units.get(name, "")
    word = name.removesuffix("_bytes").removesuffix("_bps").replace("_", " ")
    if unit == "B":
        return given[name] / 1e3, f"{word} (KB)"
    if unit == "bit/s":
        return given[name] / 1e9, f"{word} (Gb/s)"
    return given[name], with_unit(word, unit)
