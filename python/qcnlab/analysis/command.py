"""What `qcnlab analyse` writes and prints."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from qcnlab import text
from qcnlab.analysis.boundary import Boundary, boundary
from qcnlab.analysis.dcqcn import Dcqcn
from qcnlab.analysis.given import span
from qcnlab.analysis.overlay import Overlay, Verdict, overlay
from qcnlab.analysis.qcn import Qcn

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from qcnlab.analysis.place import Phase
    from qcnlab.analysis.responses import Array
    from qcnlab.analysis.setting import Model, Setting
    from qcnlab.api import Scenario

DEFAULT_REPS = 3


def analyse(scenario: Scenario, folder: Path, seed: int | None) -> tuple[dict[str, Any], str]:
    """Write `analysis.json`, `overlay.svg` and `overlay.png`; give summary and text."""
    found = overlay(scenario, seed=seed)
    summary = found.summary()
    _write(folder, scenario, summary, "overlay", found.plot())
    return summary, _overlay_text(found)


def sweep(
    scenario: Scenario, folder: Path, seed: int | None, reps: int | None, jobs: int | None
) -> tuple[dict[str, Any], str]:
    """Write `analysis.json`, `boundary.svg` and `boundary.png`; give summary and text."""
    found = boundary(scenario, reps=reps or DEFAULT_REPS, seed=seed, jobs=jobs)
    summary = _boundary_summary(scenario, found)
    _write(folder, scenario, summary, "boundary", found.plot())
    return summary, _boundary_text(found)


def _write(
    folder: Path, scenario: Scenario, summary: dict[str, Any], name: str, figure: Figure
) -> None:
    from qcnlab.plots import save

    (folder / "config.toml").write_text(scenario.to_toml(), encoding="utf-8")
    words = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "analysis.json").write_text(words + "\n", encoding="utf-8")
    for suffix in (".svg", ".png"):
        save(figure, folder / f"{name}{suffix}")


def _overlay_text(found: Overlay) -> str:
    setting = found.setting
    blocks = [f"{setting.title}\nscheme {setting.scheme}, bottleneck {setting.place.port}"]
    blocks += [_verdict_text(setting, each) for each in found.verdicts]
    blocks.append(_comparison_text(found))
    left_out = f"Not in the model: {'; '.join(setting.left_out())}."
    return "\n\n".join([*blocks, text.paragraphs(left_out, text.width())])


def _verdict_text(setting: Setting, verdict: Verdict) -> str:
    rest = verdict.equilibrium
    phase, model = verdict.phase, verdict.model
    sources, capacity = text.counted(model.sources, "source"), phase.capacity_bps / 1e9
    queue, rate = rest["queue_bytes"] / 1e3, rest["current_rate_bps"] / 1e9
    head = (
        f"{phase.name}: {sources}, {capacity:.4g} Gb/s, RTT {_rtt_text(setting, phase)}\n"
        f"{_parameters_text(model)}\n"
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


def _rtt_text(setting: Setting, phase: Phase) -> str:
    """Write the RTT of the model and, where sources differ, theirs."""
    delays = setting.crowd(phase).delay_s(setting.scheme)
    return span(delays.mean) if delays.one else f"{span(delays.mean)} ({delays.spans()})"


def _parameters_text(model: Model) -> str:
    if isinstance(model, Dcqcn):
        return (
            f"marking {model.k_min_bytes / 1e3:g} to {model.k_max_bytes / 1e3:g} KB, "
            f"Pmax {100 * model.p_max:g} %, g {model.g:.3g}, RAI {model.ai_rate_bps / 1e6:g} Mb/s\n"
            "critical RTT at N: none where the ramp does not mark enough to hold N sources"
        )
    shared = f"Qeq {model.set_point_bytes / 1e3:g} KB, w {model.w:g}"
    if isinstance(model, Qcn):
        return (
            f"{shared}, sampling {100 * model.sampling_probability:.3g} %, "
            f"Gd {model.cut_per_byte * 1e3:.3g} per KB, cycle {model.cycle_bytes / 1e3:g} KB, "
            f"F {model.fast_recovery_cycles}, RAI {model.ai_rate_bps / 1e6:g} Mb/s"
        )
    return (
        f"{shared}, a sample every {model.sample_bytes / 1e3:g} KB, "
        f"Gi {model.gi:g}, Gd {model.gd:g}, Ru {model.rate_unit_bps / 1e6:g} Mb/s"
    )


def _critical_text(verdict: Verdict) -> str:
    critical = verdict.critical_delays()
    names = [name for name in critical.columns if name != "sources"]
    header = ("critical RTT at N =", *(f"{n:.0f}" for n in critical["sources"]))
    rows = [
        (name.removesuffix("_s").replace("_", " "), *(_span_or_none(v) for v in critical[name]))
        for name in names
    ]
    return text.fitted_table(header, rows, text.width())


def _comparison_text(found: Overlay) -> str:
    numbers = found.comparison()
    rows = [
        (
            name,
            f"{numbers[f'{name}_queue_mean_bytes'] / 1e3:.2f}",
            f"{numbers[f'{name}_queue_std_bytes'] / 1e3:.2f}",
            f"{100 * numbers[f'{name}_queue_empty_frac']:.1f}",
        )
        for name in ("packets", "fluid")
    ]
    start, end = found.fluid["time_s"][0], found.fluid["time_s"][-1]
    head = ("second half of what is drawn", "queue mean, KB", "std, KB", "empty, %")
    return f"{text.table(head, rows)}\n(drawn: {start:g} s to {end:g} s)"


def _boundary_summary(scenario: Scenario, found: Boundary) -> dict[str, Any]:
    return {
        "scenario": scenario.name,
        "title": found.title,
        "edges": [
            {
                **{name: None if math.isnan(row[name]) else row[name] for name in row},
                "fluid": found.behaviour("fluid")[i],
                "packets": found.behaviour("packets")[i],
            }
            for i, row in enumerate(found.to_polars().to_dicts())
        ],
        "rtts_s": list(found.rtts_s),
        "packets_swing": _plain(found.packets_swing),
        "fluid_swing": _plain(found.fluid_swing),
    }


def _plain(table: Array) -> list[list[float | None]]:
    return [[None if math.isnan(each) else float(each) for each in row] for row in table]


def _boundary_text(found: Boundary) -> str:
    rows = [
        (
            f"{n:.0f}",
            _span_or_none(found["linear_s"][i]),
            _edge_text(found, "fluid", i),
            _edge_text(found, "packets", i),
            _or_none(None if math.isnan(ratio) else ratio, "{:.2f}"),
        )
        for i, (n, ratio) in enumerate(zip(found["sources"], found.ratio(), strict=True))
    ]
    header = ("N", "linear theory", "fluid with clamps", "packets", "packets / fluid")
    level = "resting level" if found.rests else "set point"
    about = (
        "Edge of packets and fluid: the shortest RTT from which on the queue swings by a quarter "
        f"of its {level}, the packets' noise taken off. RTTs from "
        f"{span(found.rtts_s[0])} to {span(found.rtts_s[-1])} were run; where there is no edge "
        "between them: steady at each, swings at each, or steady again at the longest. "
    )
    if found.rests:
        about += "No rest: the ramp of marks ends below what so many sources need. "
    about += (
        "Packets on a star of the bottleneck's capacity and links that can fill it, without timer "
        "and drift, sources saturated, feedback ideal."
    )
    table = text.table(header, rows)
    return f"{found.title}\n\n{table}\n\n{text.paragraphs(about, text.width())}"


def _edge_text(found: Boundary, name: str, index: int) -> str:
    edge = float(found[f"{name}_s"][index])
    return found.behaviour(name)[index] if math.isnan(edge) else span(edge)


def _or_none(value: float | None, form: str) -> str:
    return "none" if value is None else form.format(value)


def _span_or_none(value: float) -> str:
    return "none" if math.isnan(value) else span(float(value))
