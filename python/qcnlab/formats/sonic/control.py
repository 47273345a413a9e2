"""Adapters' parameters of congestion control as those of the scheme DCQCN."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from qcnlab.formats.sonic.values import bare
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from qcnlab.formats.report import Report
    from qcnlab.formats.sonic.adapters import Adapter
    from qcnlab.formats.sonic.reading import Fabric
    from qcnlab.formats.sonic.values import Value

COUNTER_UNIT = 64
"""Octets that `rpg_byte_reset` counts in, as we read the adapters' default of 32767."""
FEWEST_DOUBLINGS = 10
"""The least `rpg_gd`: the whole of alpha."""
SHOWN = 3


def control(fabric: Fabric, unit: int, report: Report) -> tuple[list[str], int | None]:
    """Return the table of the scheme, and the class of CNPs where adapters say it.

    Parameters
    ----------
    fabric : Fabric
        Its adapters.
    unit : int
        Octets that `rpg_byte_reset` counts in.
    report : Report
        Gets what was read and what is not modelled.
    """
    known = [each for each in fabric.adapters.values() if each.parameters]
    for adapter in fabric.adapters.values():
        report.not_modelled += adapter.told
        kinds = {
            "PFC": adapter.pfc,
            "DSCP to class": adapter.dscp,
            "traffic classes": adapter.tsa,
            "buffers": adapter.buffers,
        }
        for what, kind in kinds.items():
            if kind:
                report.not_modelled.append(
                    (f"{adapter.name}: {what}", "hosts send and obey as switches say; qcnlab lint")
                )
    out = ["[scheme]", 'name = "dcqcn"', 'preset = "CONNECTX"']
    if not known:
        report.not_modelled.append(("adapters", "none was read: preset CONNECTX, their defaults"))
        return [*out, ""], None
    sets = Counter(_set(adapter) for adapter in known)
    common = sets.most_common(1)[0][0]
    chosen = next(adapter for adapter in known if _set(adapter) == common)
    others = [adapter.name for adapter in known if _differs(adapter, chosen)]
    if others:
        names = ", ".join(others[:SHOWN])
        report.not_modelled.append(
            (
                f"{counted(len(others), 'adapter')} with other parameters, {names}",
                f"all hosts have one set here: that of {chosen.name}",
            )
        )
    lines = []
    for name, value in chosen.parameters.items():
        if name == CNP_CLASS:
            continue
        told = _parameter(chosen, name, value, unit)
        if told is None:
            why = UNMODELLED.get(name, "no counterpart here")
            report.not_modelled.append((f"{chosen.name}: {name} {value.text[:20]}", why))
        else:
            lines += told
            report.mapped.append((f"{name} {value.text[:20]}", "; ".join(told) or "rp.clamp"))
    if "rpg_byte_reset" in chosen.parameters:
        report.not_modelled.append(
            (
                f"unit of rpg_byte_reset ({chosen.parameters['rpg_byte_reset'].where})",
                f"{unit} B; NVIDIA's text says bytes: --byte-reset-unit 1 reads it so",
            )
        )
    priority = chosen.parameters.get(CNP_CLASS)
    return [*out, *lines, ""], None if priority is None else priority.whole("cnp_802p_prio", 7)


CNP_CLASS = "cnp_802p_prio"
UNMODELLED = {
    "cnp_dscp": "signals have a class here: see cnp_802p_prio",
    "rpg_max_rate": "hosts send up to their link's rate",
    "roce_cc_algorithm": "DCQCN",
    "roce_cc_prio_mask": "all classes are controlled here",
}
TIMES = {
    "rpg_time_reset": "time_reset",
    "dce_tcp_rtt": "alpha_period",
    "rate_reduce_monitor_period": "reduce_period",
    "min_time_between_cnps": "cnp_interval",
}
RATES = {"rpg_ai_rate": "ai_rate", "rpg_hai_rate": "hai_rate", "rpg_min_rate": "min_rate"}
MOST = 2**32 - 1
OF_1024 = 1024


def _set(adapter: Adapter) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value.text) for name, value in adapter.parameters.items()))


def _differs(adapter: Adapter, chosen: Adapter) -> bool:
    """Return whether an adapter says something that another does not; it may say less."""
    return any(
        name not in chosen.parameters or bare(chosen.parameters[name].text) != bare(value.text)
        for name, value in adapter.parameters.items()
    )


def _parameter(adapter: Adapter, name: str, value: Value, unit: int) -> list[str] | None:
    """Return the keys that say a parameter of the adapter; `None` where none does."""
    if name in TIMES:
        return [f'rp.{TIMES[name]} = "{value.whole(f"{name} in us", MOST, 1)} us"']
    if name in RATES:
        return [f'rp.{RATES[name]} = "{value.whole(f"{name} in Mb/s", MOST, 1)} Mb/s"']
    if name == "rpg_byte_reset":
        count = value.whole(name, MOST)
        return [f'rp.byte_reset = "{count * unit} B"' if count else 'rp.byte_reset = "none"']
    if name == "rpg_threshold":
        return [f"rp.threshold = {value.whole(name, 31, 1)}"]
    if name == "rpg_gd":
        doublings = value.whole(name, 15, FEWEST_DOUBLINGS)
        return [f"rp.cut_share = {2.0 ** (FEWEST_DOUBLINGS - doublings):.10g}"]
    if name == "rpg_min_dec_fac":
        return [f"rp.min_dec_fac = {value.whole(f'{name} in percent', 100, 1) / 100:.10g}"]
    if name == "rate_to_set_on_first_cnp":
        rate = value.whole(f"{name} in Mb/s", MOST)
        return [f'rp.first_rate = "{rate} Mb/s"' if rate else 'rp.first_rate = "none"']
    if name == "dce_tcp_g":
        return [f"rp.g = {1 - value.whole(name, OF_1024 - 1) / OF_1024:.10g}"]
    if name == "initial_alpha_value":
        return [f"rp.alpha_initial = {value.whole(name, OF_1024) / OF_1024:.10g}"]
    if name == "clamp_tgt_rate":
        return ['rp.clamp = "always"'] if value.flag(name) else []
    if name == "clamp_tgt_rate_after_time_inc":
        always = adapter.parameters.get("clamp_tgt_rate")
        if always is not None and always.flag("clamp_tgt_rate"):
            return []
        kind = "after_increase" if value.flag(name) else "after_byte_increase"
        return [f'rp.clamp = "{kind}"']
    return None
