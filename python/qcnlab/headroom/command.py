"""`qcnlab headroom`: what a lossless class of a port has to keep free."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from qcnlab import _core
from qcnlab.cli.options import Drawing, Json, print_json
from qcnlab.errors import Error
from qcnlab.headroom import sums
from qcnlab.headroom.platforms import Platform, platform
from qcnlab.printing import text

if TYPE_CHECKING:
    from qcnlab.headroom.told import Column, Confirmed, Difference, Taken, Told

CABLE = re.compile(r"(\d+(?:\.\d+)?) ?m")
RATE = re.compile(r"(\d+(?:\.\d+)?) ?([GM])")
MOST_CABLE = 200_000
LEAST_MTU, MOST_MTU = 64, 65_535


def headroom(
    rate: Annotated[
        str, typer.Option("--rate", metavar="RATE", help="Rate of the port: 100G, '100 Gb/s'.")
    ],
    cable: Annotated[
        str, typer.Option("--cable", metavar="LENGTH", help="Length of the cable in metres: 40m.")
    ],
    mtu: Annotated[
        str,
        typer.Option(
            "--mtu", metavar="OCTETS", help="The longest frame of any class, with its FCS: 9216."
        ),
    ],
    lossless_mtu: Annotated[
        str | None,
        typer.Option(
            "--lossless-mtu",
            metavar="OCTETS",
            help="The longest frame of the class; if not given, --mtu, or that of the platform.",
        ),
    ] = None,
    platform_name: Annotated[
        str | None,
        typer.Option("--platform", metavar="NAME", help="A switch, such as SN5600 or TH2."),
    ] = None,
    reaction: Annotated[
        str | None,
        typer.Option(
            "--reaction",
            metavar="TIME",
            help="Time from a pause frame's end to its effect; 802.3's response time if not given.",
        ),
    ] = None,
    latency: Annotated[
        str,
        typer.Option(
            "--latency", metavar="TIME", help="Time until the switch counts a received frame."
        ),
    ] = "0 s",
    small_packets: Annotated[
        int | None,
        typer.Option(
            "--small-packets",
            metavar="PERCENT",
            min=0,
            max=100,
            help="Packets of 64 B in a vendor's formula; as in the platform's rows if not given.",
        ),
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="The port has 8 lanes, as a vendor's formula counts it.")
    ] = False,
    ports: Annotated[
        int, typer.Option("--ports", min=1, max=1024, help="Ports that keep headroom.")
    ] = 32,
    classes: Annotated[
        int, typer.Option("--classes", min=1, max=8, help="Lossless classes of each port.")
    ] = 2,
    shared_headroom: Annotated[
        bool,
        typer.Option("--shared-headroom", help="All groups of the switch draw on one headroom."),
    ] = False,
    scenario: Annotated[
        bool,
        typer.Option("--scenario", help="Print the run that takes most headroom, as a scenario."),
    ] = False,
    out: Drawing = None,
    as_json: Json = False,
) -> None:
    """Tell how much headroom PFC takes, and confirm it by simulation.

    Headroom is what still arrives after a switch has told a link to stop. Beside each other stand
    the sum of IEEE 802.1Q's annex, what a vendor gives, and what the laboratory's own switch takes,
    which runs confirm.
    """
    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    port = sums.Port(
        rate_bps=_rate(rate),
        cable_m=_cable(cable),
        mtu=_octets("--mtu", mtu),
        lossless_mtu=None if lossless_mtu is None else _octets("--lossless-mtu", lossless_mtu),
        reaction_s=None if reaction is None else _time("--reaction", reaction),
        latency_s=_time("--latency", latency),
        small_packets=small_packets,
        wide=wide,
    )
    if port.class_mtu > port.mtu:
        raise Error(
            f"--lossless-mtu is {port.class_mtu} B, above --mtu of {port.mtu} B, which is for any "
            "class: lower it, or raise --mtu"
        )
    switch = None if platform_name is None else platform(platform_name)
    shared = shared_headroom or (switch is not None and switch.shared_headroom)
    report = _report(port, switch, ports, classes, shared)
    if out is not None:
        from qcnlab.figures.plots import save
        from qcnlab.headroom.figure import headroom_figure

        save(headroom_figure(report, sums.TERMS), out)
    if scenario:
        print(report["laboratory"]["worst"]["scenario"], end="")
    elif as_json:
        print_json(report)
    else:
        print("\n".join(_lines(report)))


def _report(
    port: sums.Port, switch: Platform | None, ports: int, classes: int, shared: bool
) -> Told:
    cell = 1 if switch is None else switch.cell
    columns = [sums.standard(port)]
    vendor = _vendor(port, switch, shared)
    columns.extend(vendor)
    own, runs = sums.laboratory(port, cell, [each.xoff for each in columns])
    columns.append(own)
    return {
        "rate_bps": port.rate_bps,
        "cable_m": port.cable_m,
        "mtu_bytes": port.mtu,
        "lossless_mtu_bytes": port.class_mtu,
        "reaction_s": port.response_s,
        "latency_s": port.latency_s,
        "sums": [_column(each, port, cell) for each in columns],
        "with_interfaces_bytes": _with_interfaces(port),
        "interface_bit_times": sums.INTERFACE.get(port.gbps or 0),
        "laboratory": _confirmed(own, runs, columns[:-1], cell),
        "platform": None
        if switch is None
        else _taken(switch, columns[0], columns[1:-1], ports, classes, shared),
        "notes": _notes(port, switch, vendor),
    }


def _vendor(port: sums.Port, switch: Platform | None, shared: bool) -> list[sums.Sum]:
    if switch is None:
        return []
    if switch.formula is not None:
        return [sums.mellanox(port, switch, shared)]
    row = sums.shipped(port, switch)
    return [] if row is None else [row]


def _with_interfaces(port: sums.Port) -> int | None:
    return sums.standard(port, interface=True).xoff if port.gbps in sums.INTERFACE else None


def _column(each: sums.Sum, port: sums.Port, cell: int) -> Column:
    return {
        "name": each.name,
        "terms": [
            {
                "name": name,
                "bytes": octets,
                "bit_times": 8 * octets,
                "source": each.sources.get(name),
            }
            for name, octets in each.terms.items()
        ],
        "source": each.sources.get("xoff"),
        "xoff_bytes": each.xoff,
        "xon_bytes": each.xon,
        "size_bytes": each.size,
        "cells": -(-each.xoff // cell),
        "seconds": each.xoff * 8 / port.rate_bps,
    }


def _confirmed(own: sums.Sum, runs: sums.Runs, others: list[sums.Sum], cell: int) -> Confirmed:
    """Return what the runs say, and what lies between the standard's sum and what they take."""
    annex, lost = others[0], [each.frames for each in runs.lost]
    crossing = own.terms["crossing"]
    latency = own.terms["latency"]
    cells = own.terms.get("cells", 0.0)
    tight = runs.worst.bytes
    sure = own.xoff - tight
    return {
        "cell_bytes": cell,
        "headroom_bytes": own.xoff,
        "worst": {
            "bytes": tight,
            "frames": runs.worst.frames,
            "scenario": runs.scenario,
        },
        "lost_frames": {
            "with_headroom": lost[0],
            "with_worst": lost[1],
            "with_a_cell_less": lost[2],
        },
        "others": [
            {"name": each.name, "headroom_bytes": each.xoff, "lost_frames": frames}
            for each, frames in zip(others, lost[3:], strict=True)
        ],
        "over_the_annex_bytes": {
            "crossing": crossing,
            "latency": latency,
            "cells": cells,
            "not_in_memory": -float(sure),
            "rounding": tight + sure - annex.xoff - crossing - latency - cells,
        },
    }


def _taken(
    switch: Platform,
    annex: sums.Sum,
    vendor: list[sums.Sum],
    ports: int,
    classes: int,
    shared: bool,
) -> Taken:
    """Return what the headroom of all ports and classes takes of a switch's buffer.

    It is the vendor's; where there is none, the annex's in whole cells.
    """
    of = vendor[0] if vendor else annex
    cells = -(-of.xoff // switch.cell) * switch.cell
    size = cells if of.size is None else of.size
    total = size * ports * classes
    buffer = switch.buffer
    return {
        "name": switch.name,
        "chip": switch.chip,
        "cell_bytes": switch.cell,
        "buffer_bytes": buffer,
        "sure": switch.sure,
        "source": switch.source,
        "ports": ports,
        "classes": classes,
        "shared_headroom": shared,
        "sum": of.name,
        "size_bytes": size,
        "total_bytes": total,
        "shared_headroom_bytes": of.xoff * ports * classes if shared else None,
        "part": None if buffer is None else total / buffer,
    }


def _notes(port: sums.Port, switch: Platform | None, vendor: list[sums.Sum]) -> list[str]:
    notes = []
    if port.cable_m == 0:
        notes.append("SONiC takes a cable of 0m for a port without lossless classes")
    if port.response_s == 0:
        notes.append("a reaction of 0 s is no real port's")
    if switch is not None:
        if not vendor:
            known = ", ".join(f"{rate}G {cable}m" for rate, cable, _ in switch.rows)
            rows = f"; shipped rows are for {known}" if known else ""
            notes.append(f"no formula of {switch.name}'s headroom is published{rows}")
        if switch.note is not None:
            notes.append(f"{switch.name}: {switch.note}")
    return notes


def _lines(report: Told) -> list[str]:
    lines = [
        f"One lossless class: {text.rate(report['rate_bps'])}, {report['cable_m']:g} m of cable, "
        f"frames of {report['mtu_bytes']} B, of {report['lossless_mtu_bytes']} B in the class; "
        f"response {text.duration(report['reaction_s'])}, "
        f"latency {text.duration(report['latency_s'])}",
        "",
        *_terms(report["sums"]).splitlines(),
        "",
        *_sources(report["sums"]),
    ]
    if report["with_interfaces_bytes"] is not None:
        bits = report["interface_bit_times"]
        lines += text.paragraphs(
            f"With both interfaces, of {bits:,} bit times each (an upper bound, of vendors' "
            f"texts), which the response may hold already, the annex gives "
            f"{report['with_interfaces_bytes']:,} B.",
            text.width(),
        ).splitlines()
    lines.extend(["", *_run_lines(report["laboratory"], report["sums"][0])])
    if report["platform"] is not None:
        lines.extend(["", *_platform_lines(report["platform"])])
    lines.extend(f"note: {note}" for note in report["notes"])
    return lines


def _terms(columns: list[Column]) -> str:
    terms = [{each["name"]: each["bytes"] for each in column["terms"]} for column in columns]
    rows = [
        [words, *(_cell(term.get(name)) for term in terms)]
        for name, words in sums.TERMS.items()
        if any(round(term.get(name, 0.0), 1) for term in terms)
    ]
    for words, values in (
        ("headroom (xoff)", [column["xoff_bytes"] for column in columns]),
        ("xon", [column["xon_bytes"] for column in columns]),
        ("size", [column["size_bytes"] for column in columns]),
    ):
        if any(value is not None for value in values):
            rows.append([words, *(_cell(value) for value in values)])
    rows.append(
        ["headroom in KiB (1024 B)", *(f"{each['xoff_bytes'] / 1024:,.1f}" for each in columns)]
    )
    if any(each["cells"] != each["xoff_bytes"] for each in columns):
        rows.append(["headroom in cells", *(f"{each['cells']:,}" for each in columns)])
    return text.table(["octets", *(column["name"] for column in columns)], rows)


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value - round(value)) < TENTH / 2 else f"{value:,.1f}"


TENTH = 0.1


def _sources(columns: list[Column]) -> list[str]:
    lines = ["Sources:"]
    for column in columns:
        told = [
            f"{sums.TERMS[term['name']]}: {term['source']}"
            for term in column["terms"]
            if term["source"] and round(term["bytes"], 1)
        ]
        if column["source"]:
            told.append(f"{column['source']}, without its terms")
        if told:
            words = text.paragraphs(f"{column['name']}: {'; '.join(told)}.", text.width() - 2, "  ")
            lines.extend(words.splitlines())
    return lines


def _run_lines(told: Confirmed, annex: Column) -> list[str]:
    worst, lost, cell = told["worst"], told["lost_frames"], told["cell_bytes"]
    unit = "octet" if cell == 1 else f"cell of {cell} B"
    over = told["over_the_annex_bytes"]
    words: dict[Difference, str] = {
        "crossing": "the frame that crosses the threshold",
        "latency": "latency",
        "cells": "whole cells",
        "not_in_memory": "preambles and gaps, which take no memory"
        if cell == 1
        else "what these frames leave free",
        "rounding": "rounding",
    }
    parts = [f"{over[key]:+,.0f} B {word}" for key, word in words.items() if round(over[key])]
    return [
        "Runs of the laboratory's switch, with every delay at its longest at the same time:",
        f"  {told['headroom_bytes']:,} B: {_lost(lost['with_headroom'])}, laboratory",
        f"  {worst['bytes']:,} B: {_lost(lost['with_worst'])}; "
        f"{worst['frames']} frames take all of it",
        f"  one {unit} less: {_lost(lost['with_a_cell_less'])}",
        *(
            f"  {each['headroom_bytes']:,} B: {_lost(each['lost_frames'])}, {each['name']}"
            for each in told["others"]
        ),
        f"{worst['bytes']:,} B are the annex's {annex['xoff_bytes']:,} B, {', '.join(parts)}.",
    ]


def _lost(frames: int) -> str:
    return f"{text.counted(frames, 'frame')} lost" if frames else "nothing lost"


def _platform_lines(told: Taken) -> list[str]:
    buffer = (
        "not known" if told["buffer_bytes"] is None else f"about {text.size(told['buffer_bytes'])}"
    )
    sure = "" if told["sure"] else "; not read in a source"
    lines = [
        f"{told['name']} ({told['chip']}): cells of {told['cell_bytes']} B, buffer {buffer}{sure}; "
        f"{told['source']}"
    ]
    part = "" if told["part"] is None else f", {100 * told['part']:.0f} % of the buffer"
    more = ": more than there is" if (told["part"] or 0) > 1 else ""
    lines.append(
        f"  {told['sum']}: {text.counted(told['ports'], 'port')} x "
        f"{told['classes']} {'class' if told['classes'] == 1 else 'classes'} x "
        f"{told['size_bytes']:,} B = {told['total_bytes']:,} B{part}{more}"
    )
    if told["shared_headroom_bytes"] is not None:
        lines.append(
            f"  and a headroom that all share, of {told['shared_headroom_bytes']:,} B if no port "
            "is to borrow from another"
        )
    return lines


def _rate(value: str) -> int:
    short = RATE.fullmatch(value.strip())
    known = _core.quantity(f"{short[1]} {short[2]}b/s" if short else value)
    if known is None or known[1] != "bit/s" or not 1e6 <= known[0] <= 1e13:
        raise Error(
            f"--rate is {value!r}; write it as in 100G or '100 Gb/s', from 1 Mb/s to 10 Tb/s"
        )
    return round(known[0])


def _cable(value: str) -> float:
    known = CABLE.fullmatch(value.strip())
    if known is None or float(known[1]) > MOST_CABLE:
        raise Error(f"--cable is {value!r}; write it in metres as in 40m, up to {MOST_CABLE}m")
    return float(known[1])


def _octets(option: str, value: str) -> int:
    known = _core.quantity(f"{value} B" if value.isdecimal() else value)
    if known is None or known[1] != "B" or not LEAST_MTU <= known[0] <= MOST_MTU:
        raise Error(
            f"{option} is {value!r}; write octets as in 9216, from {LEAST_MTU} to {MOST_MTU}"
        )
    return round(known[0])


def _time(option: str, value: str) -> float:
    known = _core.quantity(value)
    if known is None or known[1] != "s" or not 0 <= known[0] <= 1e-2:
        raise Error(f"{option} is {value!r}; write it as in '2 us', up to 10 ms")
    return known[0]
