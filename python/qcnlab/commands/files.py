"""The commands for files that are there already: `plot`, `frames` and `dissector`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from qcnlab.cli.options import Json, Style, Styled


def plot(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder `run`, `sweep` or `demo` wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="PATH",
            help="A file (.svg, .png, .pdf) for a run, a new folder for a demo; DIR if not given.",
        ),
    ] = None,
    style: Styled = Style.screen,
) -> None:
    """Draw the figures of a run, sweep or demo; print their paths."""
    from qcnlab.commands.redraw import redraw

    for path in redraw(folder, out, style):
        print(path)


def frames(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A capture, pcapng or pcap, of any program.")
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only such frames: CNM, PFC. May be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what a capture holds, a frame in each line.

    It shows when which port paused a link, which switch told a sender to slow down and by how much,
    and what data came and went. Columns: time, port, kind, then of messages the feedback (Fb), the
    queue (CPID) and flow (RPID) that they name, the queue's distance from its set point (offset)
    and its growth (delta), and of pauses their times (quanta).
    """
    from qcnlab import captures

    kinds = frozenset(name.lower() for name in kind or [])
    if not as_json:
        for line in captures.lines(file, kinds):
            print(line)
        return
    separator = "["
    for frame in captures.frames(file):
        if not kinds or frame["kind"].lower() in kinds:
            print(separator, json.dumps(frame), sep="\n", end="")
            separator = ","
    print("\n]" if separator == "," else "[]")


def dissector(
    install: Annotated[
        bool, typer.Option("--install", help="Write it into Wireshark's personal folder.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="With --install: another folder."),
    ] = None,
) -> None:
    """Print or install a dissector for Wireshark.

    It is written in Lua and knows CN-TAG and CNM.
    """
    import qcnlab.dissector

    if install:
        print(qcnlab.dissector.install(folder))
    elif folder is not None:
        raise typer.BadParameter("--folder goes with --install")
    else:
        print(qcnlab.dissector.source(), end="")
