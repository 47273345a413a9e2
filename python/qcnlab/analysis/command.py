"""The files and the text of `qcnlab analyse`."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, TypedDict

from qcnlab.analysis.boundary import Boundary, boundary
from qcnlab.analysis.overlay import Overlay, OverlaySummary, overlay
from qcnlab.analysis.spans import span, spans
from qcnlab.analysis.verdict import Verdict
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

    from qcnlab.analysis.bottleneck import Phase
    from qcnlab.analysis.modelled import ModelledScenario
    from qcnlab.analysis.responses import Array
    from qcnlab.api import Scenario

DEFAULT_REPS = 3


class BoundarySummary(TypedDict):
    """Edges of stability as plain values.

    `edges` have the columns of `Boundary.to_polars` and how `fluid` and `packets` behave where they
    have none. Swings are shares of the queue's level, for each number of sources at each RTT.
    """

    scenario: str
    title: str
    edges: list[dict[str, object]]
    rtts_s: list[float]
    packets_swing: list[list[float | None]]
    fluid_swing: list[list[float | None]]
    fluid_bistable: list[list[bool]]


def analyse(scenario: Scenario, folder: Path, seed: int | None) -> tuple[OverlaySummary, str]:
    """Write `analysis.json`, `overlay.svg` and `overlay.png`; return summary and text."""
    answer = overlay(scenario, seed=seed)
    summary = answer.summary()
    _write(folder, scenario, summary, "overlay", answer.plot())
    return summary, _overlay_text(answer)


def sweep(
    scenario: Scenario, folder: Path, seed: int | None, reps: int | None, jobs: int | None
) -> tuple[BoundarySummary, str]:
    """Write `analysis.json`, `boundary.svg` and `boundary.png`; return summary and text."""
    answer = boundary(scenario, reps=reps or DEFAULT_REPS, seed=seed, jobs=jobs)
    summary = _boundary_summary(scenario, answer)
    _write(folder, scenario, summary, "boundary", answer.plot())
    return summary, _boundary_text(answer)


def _write(
    folder: Path, scenario: Scenario, summary: Mapping[str, object], name: str, figure: Figure
) -> None:
    from qcnlab.figures.plots import save

    (folder / "config.toml").write_text(scenario.to_toml(), encoding="utf-8")
    words = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "analysis.json").write_text(words + "\n", encoding="utf-8")
    for suffix in (".svg", ".png"):
        save(figure, folder / f"{name}{suffix}")


def _overlay_text(answer: Overlay) -> str:
    known = answer.scenario
    blocks = [f"{known.title}\nscheme {known.scheme}, bottleneck {known.bottleneck.port}"]
    blocks += [_verdict_text(known, each) for each in answer.verdicts]
    blocks.append(_comparison_text(answer))
    left_out = f"Not in the model: {'; '.join(known.left_out())}."
    return "\n\n".join([*blocks, text.paragraphs(left_out, text.width())])


def _verdict_text(known: ModelledScenario, verdict: Verdict) -> str:
    rest = verdict.equilibrium
    phase, model = verdict.phase, verdict.model
    sources, capacity = text.counted(model.sources, "source"), phase.capacity_bps / 1e9
    queue, rate = rest.queue_bytes / 1e3, rest.current_rate_bps / 1e9
    head = (
        f"{phase.name}: {sources}, {capacity:.4g} Gb/s, RTT {_rtt_text(known, phase)}\n"
        f"{model.description()}\n"
        f"rests at {queue:.4g} KB, {rate:.4g} Gb/s each"
    )
    rows = [
        (
            name,
            "yes" if each.stable else "no",
            _or_none(each.phase_margin_deg, "{:.1f}"),
            _or_none(each.gain_margin, "{:.2f}"),
            "any" if each.delay_margin_s is None else span(each.delay_margin_s),
            "none" if each.critical_delay_s is None else span(each.critical_delay_s),
        )
        for name, each in verdict.loops.items()
    ]
    header = ("loop", "stable", "phase margin, deg", "gain margin", "delay margin", "critical RTT")
    table = text.table(header, rows)
    if not all(each.stable for each in verdict.loops.values()):
        table += "\n(gain margin of an unstable loop: what its gain must be multiplied by)"
    return f"{head}\n\n{table}\n\n{_critical_text(verdict)}"


def _rtt_text(known: ModelledScenario, phase: Phase) -> str:
    """Return the model's RTT as text and, where sources differ, theirs."""
    delays = known.feedback_delay(phase)
    return span(delays.mean) if delays.uniform else f"{span(delays.mean)} ({spans(delays)})"


def _critical_text(verdict: Verdict) -> str:
    critical = verdict.critical_delays()
    names = [name for name in critical.columns if name != "sources"]
    header = ("critical RTT at N =", *(f"{n:.0f}" for n in critical["sources"]))
    rows = [
        (name.removesuffix("_s").replace("_", " "), *(_span_or_none(v) for v in critical[name]))
        for name in names
    ]
    return text.fitted_table(header, rows, text.width())


def _comparison_text(answer: Overlay) -> str:
    numbers = answer.comparison()
    rows = [
        (
            name,
            f"{numbers[f'{name}_queue_mean_bytes'] / 1e3:.2f}",
            f"{numbers[f'{name}_queue_std_bytes'] / 1e3:.2f}",
            f"{100 * numbers[f'{name}_queue_empty_frac']:.1f}",
        )
        for name in ("packets", "fluid")
    ]
    start, end = answer.fluid["time_s"][0], answer.fluid["time_s"][-1]
    head = ("second half of what is drawn", "queue mean, KB", "std, KB", "empty, %")
    return f"{text.table(head, rows)}\n(drawn: {start:g} s to {end:g} s)"


def _boundary_summary(scenario: Scenario, answer: Boundary) -> BoundarySummary:
    return {
        "scenario": scenario.name,
        "title": answer.title,
        "edges": [
            {
                **{name: None if math.isnan(row[name]) else row[name] for name in row},
                "fluid": answer.behaviour("fluid")[i],
                "packets": answer.behaviour("packets")[i],
            }
            for i, row in enumerate(answer.to_polars().to_dicts())
        ],
        "rtts_s": list(answer.rtts_s),
        "packets_swing": _plain(answer.packets_swing),
        "fluid_swing": _plain(answer.fluid_swing),
        "fluid_bistable": answer.bistable().tolist(),
    }


def _plain(table: Array) -> list[list[float | None]]:
    return [[None if math.isnan(each) else float(each) for each in row] for row in table]


def _boundary_text(answer: Boundary) -> str:
    rows = [
        (
            f"{n:.0f}",
            _span_or_none(answer["linear_s"][i]),
            _edge_text(answer, "fluid", i),
            _edge_text(answer, "packets", i),
            _or_none(None if math.isnan(ratio) else ratio, "{:.2f}"),
        )
        for i, (n, ratio) in enumerate(zip(answer["sources"], answer.ratio(), strict=True))
    ]
    header = ("N", "linear theory", "fluid with clamps", "packets", "packets / fluid")
    level = "set point" if answer.has_set_point else "resting level"
    about = (
        "Edge of packets and fluid: the shortest RTT from which on the queue swings by a quarter "
        f"of its {level}, the packets' noise taken off. RTTs from "
        f"{span(answer.rtts_s[0])} to {span(answer.rtts_s[-1])} were run; where there is no edge "
        "between them: steady at each, swings at each, or steady again at the longest. "
    )
    if not answer.has_set_point:
        about += "No rest: the ramp of marks ends below what so many sources need. "
    about += (
        "Packets on a star of the bottleneck's capacity and links that can fill it, without timer "
        "and drift, sources saturated, feedback ideal."
    )
    for n, row in zip(answer["sources"], answer.bistable(), strict=True):
        if row.any():
            both = [each for each, two in zip(answer.rtts_s, row, strict=True) if two]
            about += (
                f" N = {n:.0f}: the fluid is bistable from {span(both[0])} to {span(both[-1])}; a "
                "limit cycle stands beside its rest."
            )
    table = text.table(header, rows)
    return f"{answer.title}\n\n{table}\n\n{text.paragraphs(about, text.width())}"


def _edge_text(answer: Boundary, name: str, index: int) -> str:
    edge = float(answer[f"{name}_s"][index])
    return answer.behaviour(name)[index] if math.isnan(edge) else span(edge)


def _or_none(value: float | None, form: str) -> str:
    return "none" if value is None else form.format(value)


def _span_or_none(value: float) -> str:
    return "none" if math.isnan(value) else span(float(value))
