"""The figure of a fabric's configurations: what is wrong where, and how far ECN is below PFC."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Literal

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import DASHES, FAINT, INK, SOURCES, TITLE, style
from qcnlab.printing import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.lint.told import ToldFinding, ToldMargin, Verdict

KB = 1000.0
SHOWN = 3
CURVES = 4
"""Margins that are drawn, those with the least room first."""
LEAST_PORTS, MOST_PORTS = 8, 16
LEVELS: tuple[tuple[Literal["k_min_bytes", "k_max_bytes"], str], ...] = (
    ("k_min_bytes", "-"),
    ("k_max_bytes", ":"),
)
"""Thresholds that are drawn, each with its dashes."""
MARKS = {"error": ("X", SOURCES[1]), "warning": ("o", SOURCES[5])}


def lint_figure(told: Verdict) -> Figure:
    """Draw findings by device and rule, and from how many congested ports PFC comes before ECN.

    Parameters
    ----------
    told : dict
        What `qcnlab lint` tells as JSON.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window; `figure.savefig(path)` writes it.
    """
    rules = list(dict.fromkeys(each["rule"] for each in told["findings"]))
    with style():
        tall = 2.9 + 0.22 * max(len(rules) - 6, 0)
        figure = ShownFigure(figsize=(9.6, tall), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _findings(left, told["findings"], rules)
        _margins(right, told["margins"])
        counts = [
            text.counted(sum(each["severity"] == kind for each in told["findings"]), kind)
            for kind in MARKS
        ]
        title = (
            f"{', '.join(counts)}: {told['rules']} rules, switches: {told['switches']}, "
            f"adapters: {told['adapters']}"
        )
        figure.suptitle(textwrap.fill(title, TITLE), x=0.01, ha="left")
    return figure


def _findings(axes: Axes, findings: list[ToldFinding], rules: list[str]) -> None:
    devices = sorted({each["device"] for each in findings})
    if not findings:
        axes.set_axis_off()
        axes.text(0.0, 0.5, "no finding", color=FAINT, transform=axes.transAxes)
        return
    for kind, (marker, color) in MARKS.items():
        at = [
            (devices.index(each["device"]), rules.index(each["rule"]))
            for each in findings
            if each["severity"] == kind
        ]
        if at:
            xs, ys = zip(*at, strict=True)
            axes.plot(xs, ys, ls="none", marker=marker, color=color, ms=7, mec=INK, label=kind)
    axes.set_xticks(range(len(devices)), devices, rotation=45, ha="right")
    axes.set_yticks(range(len(rules)), rules)
    axes.set_xlim(-0.6, len(devices) - 0.4)
    axes.set_ylim(len(rules) - 0.4, -0.6)
    axes.grid(visible=True, color="#e4dfd5", lw=0.6)
    axes.set_title("findings by device and rule", color=FAINT, fontsize=8)
    axes.legend(loc="best")


def _margins(axes: Axes, margins: list[ToldMargin]) -> None:
    if not margins:
        axes.set_axis_off()
        axes.text(
            0.0, 0.5, "no port has both ECN and a dynamic threshold", color=FAINT,
            transform=axes.transAxes,
        )  # fmt: skip
        return
    first = sorted(margins, key=lambda each: each["ports_until_k_min"])[:CURVES]
    needed = max(int(each["ports_until_k_min"]) + 2 for each in first)
    most = min(max(LEAST_PORTS, needed), MOST_PORTS)
    ports = range(1, most + 1)
    for number, each in enumerate(first):
        color = SOURCES[number % len(SOURCES)]
        points = [each["pause_bytes"] / n / KB for n in ports]
        axes.plot(
            ports, points, color=color, ls=DASHES[number % len(DASHES)], marker="o", ms=3,
            label=f"{_some(each['devices'])} (alpha {text.number(each['alpha'])})",
        )  # fmt: skip
    for key, ls in LEVELS:
        for octets in sorted({each[key] for each in first}):
            axes.axhline(octets / KB, color=FAINT, lw=0.9, ls=ls)
            words = "Kmin" if key == "k_min_bytes" else "Kmax"
            axes.text(
                most, octets / KB, f"{words} {octets / KB:,.0f} KB", fontsize=6, color=FAINT,
                ha="right", va="center", bbox={"fc": "white", "ec": "none", "pad": 0.8},
            )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlim(0.5, most + 0.5)
    axes.set_xlabel("congested ports that one link feeds")
    axes.set_ylabel("queue at which PFC pauses (KB)")
    left_out = f"; {len(margins) - len(first)} with more room left out" * (
        len(margins) > len(first)
    )
    axes.set_title(
        f"below Kmin, PFC comes before the first mark{left_out}", color=FAINT, fontsize=8
    )
    axes.legend(loc="best", fontsize=7)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
