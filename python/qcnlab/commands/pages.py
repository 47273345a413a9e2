"""The pages of schemes: the catalogue's text of each, and its figure in a standard hotspot."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab import catalogue
from qcnlab.api import load, run_many
from qcnlab.catalogue.listings import generations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.catalogue.entries import Parameter, Scheme
    from qcnlab.results.result import Result


HOTSPOT = "og-hotspot-2src-10g-to-500m-rtt10us"
CHANGES = (
    "title=Two sources at a hotspot of 0.5 s, 10 Gb/s to 0.5 Gb/s, RTT 40 us",
    "topology.rtt=40 us", "warmup=100 ms", "hotspot.from=200 ms", "hotspot.until=700 ms",
    "duration=1250 ms", "record.queue_every=500 us", "record.throughput_bin=5 ms",
    "record.rates_every=5 ms",
)  # fmt: skip
"""The standard hotspot: deck 001's at RTT 40 us, for half a second."""
OWN_CHANGES = {
    "dcqcn": ("topology.buffer=500 KB",),
    "dctcp": ("traffic.transport=roce", "topology.buffer=500 KB"),
    "timely": ("traffic.transport=roce", "topology.buffer=5 MB"),
    "hpcc": ("traffic.transport=roce", "topology.buffer=500 KB"),
    "swift": ("traffic.transport=roce", "topology.buffer=5 MB"),
    "powertcp": ("traffic.transport=roce", "topology.buffer=500 KB"),
    "theta_powertcp": ("traffic.transport=roce", "topology.buffer=500 KB"),
    "nscc": ("traffic.transport=roce", "topology.buffer=500 KB"),
    "rccc": ("traffic.transport=roce", "topology.buffer=500 KB"),
    "bfc": ("traffic.transport=roce", "topology.buffer=500 KB"),
    "hpcc_pint": ("traffic.transport=roce", "topology.buffer=500 KB", "scheme.cp.mean_over=40 us"),
    "qcz": ("topology.buffer=500 KB", "pause.kind=priority", "switch.input_memory=250 KB"),
    "e2cm": ("feedback.kind=frames",),
}
"""Changes without which a scheme does nothing here: marks start at 200 KB; probes must queue;
acknowledgements need a transport."""
INDEX = "README.md"
FIGURE_DPI, COLOURS = 80, 48
"""Resolution and colours of a figure: legible, and small enough to keep in the repository."""


def write(folder: Path) -> list[Path]:
    """Write a page and a figure for every scheme, and an index, into `folder`; return the paths."""
    from qcnlab.figures import plots

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, words in pages().items():
        paths.append(folder / name)
        paths[-1].write_text(words, encoding="utf-8")
    base = load(HOTSPOT)
    names = [entry.name for entry in catalogue.schemes()]
    runs = [
        base.with_(*CHANGES, f"scheme.name={name}", *OWN_CHANGES.get(name, ())) for name in names
    ]
    for name, result in zip(names, run_many(runs, reps=1, progress=False), strict=True):
        paths.append(_draw(result, folder / f"{name}.png", plots))
    return paths


def pages() -> dict[str, str]:
    """Return the text of every page by its file's name."""
    schemes = catalogue.schemes()
    return {INDEX: _index(schemes)} | {f"{entry.name}.md": _page(entry) for entry in schemes}


def _draw(result: Result, path: Path, plots: Any) -> Path:
    from PIL import Image

    drawn = io.BytesIO()
    with plots.style():
        plots.run_figure(result).savefig(drawn, format="png", dpi=FIGURE_DPI)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    return path


def _index(schemes: Sequence[Scheme]) -> str:
    tables = []
    for heading, entries in generations(schemes).items():
        tables += [
            "",
            f"## {heading}",
            "",
            "| scheme | title | source | status |",
            "|---|---|---|---|",
        ]
        tables += [
            f"| [{entry.name}]({entry.name}.md) | {entry.title} | {entry.source} | {entry.status} |"
            for entry in entries
        ]
    lines = [
        "# Schemes",
        "",
        "A scheme is a set of rules for congestion: what a switch port measures and says, what a",
        "receiver answers, and how a sender changes its rate. Each page has the rules in words, a",
        "diagram, a figure, and every parameter. The [glossary](../reference/glossary.md) explains",
        "the words.",
        "",
        "The status says how much the source defines. *As published*: all of it.",
        "*Readings chosen*: it leaves choices, each of which is a parameter here.",
        "*Reconstruction*: it outlines the scheme, and the rest is ours.",
        "",
        "Figures show the first preset in a standard hotspot: deck 001's at a round trip of 40 us,",
        "for half a second. `make docs` writes these pages from what `qcnlab explain NAME` prints.",
        *tables,
    ]
    return "\n".join(lines) + "\n"


def _page(entry: Scheme) -> str:
    prose, diagram = _split(entry.about)
    title = entry.title
    if entry.status == "reconstruction" and "reconstruction" not in title:
        title += " (reconstruction)"
    lines = [
        f"# {title}",
        "",
        f'`scheme.name = "{entry.name}"`. Source: {entry.source}. Status: {entry.status}.',
        "",
        prose,
    ]
    if diagram:
        lines += ["", "```text", diagram, "```"]
    hears, speaks = (", ".join(side) or "nothing" for side in (entry.hears, entry.speaks))
    words = f"Senders hear: {hears}. Ports and receivers send: {speaks}."
    lines += ["", words, "", f"![{title}]({entry.name}.png)"]
    if entry.name in OWN_CHANGES:
        changes = ", ".join(f"`{change}`" for change in OWN_CHANGES[entry.name])
        lines += ["", f"Its figure is of the hotspot with {changes}."]
    lines += ["", "## Presets", ""]
    lines += ["A preset is a set of values with its source: `scheme.preset`.", ""]
    lines += [
        f"* `{preset.name}`: {_line(catalogue.about(entry.name, preset))}"
        for preset in entry.presets
    ]
    for role, words in (("cp", "Congestion point"), ("rp", "Reaction point")):
        own = [p for p in entry.parameters if p.key.startswith(f"scheme.{role}.")]
        if own:
            lines += ["", f"## {words}, `[scheme.{role}]`", "", *_parameters(own)]
    readings = [p for p in entry.parameters if p.type in ("choice", "boolean")]
    if readings:
        lines += ["", "## Readings", ""]
        lines.append(
            "Where the sources leave a choice, it is a parameter with a word for each reading; "
            "[readings](../concepts/readings.md) tells what the others give."
        )
        lines.append("")
        lines += [_reading(parameter) for parameter in readings]
    return "\n".join(lines) + "\n"


def _parameters(parameters: Sequence[Parameter]) -> list[str]:
    rows = ["| key | default | type and range | also called | meaning |", "|---|---|---|---|---|"]
    for entry in parameters:
        kind = entry.type + (f", {entry.range}" if entry.range else "")
        cells = (
            f"`{entry.key.rsplit('.', 1)[-1]}`", entry.default or "", kind,
            entry.aliases or "", entry.about,
        )  # fmt: skip
        rows.append(
            "| " + " | ".join(_line(str(cell)).replace("|", "\\|") for cell in cells) + " |"
        )
    return rows


def _reading(entry: Parameter) -> str:
    words = f"* `{entry.key}`, {entry.default or 'unset'}: {_line(entry.about)}"
    others = [f"`{choice.name}`: {_line(choice.about)}" for choice in entry.choices or []]
    return words + "".join(f"\n  * {other}" for other in others)


def _split(about: str) -> tuple[str, str]:
    """Return the prose of a scheme's text and its state diagram, whose lines are indented."""
    blocks = re.split(r"\n{2,}", about.strip("\n"))
    prose = [_line(block) for block in blocks if not block.startswith("  ")]
    diagram = [block for block in blocks if block.startswith("  ")]
    return "\n\n".join(prose), "\n\n".join(diagram)


def _line(words: str) -> str:
    return " ".join(words.split())


if __name__ == "__main__":
    for written in write(Path(sys.argv[1])):
        print(written)
