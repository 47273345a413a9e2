"""The page of the demonstration: one HTML file that loads nothing from the network."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from qcnlab.demo.cells import HEADER, table_row
from qcnlab.demo.figures import FIGURES, TITLES
from qcnlab.printing import text
from qcnlab.report.page import captioned, definitions, inline, shell, versions
from qcnlab.report.page import facts as origin
from qcnlab.runs.facts import Facts, facts

if TYPE_CHECKING:
    from qcnlab.demo.cells import Cell, Demo

TEMPLATE = Path(__file__).with_name("body.html")
TITLE = "QCN and ECM in an output-generated hotspot"
SHOWN_METRICS = (
    "recovery_ms",
    "onset_ms",
    "util_during",
    "util_after",
    "queue_mean_bytes",
    "queue_std_bytes",
    "queue_empty_frac",
    "drops",
    "messages",
    "jain",
)
CAPTIONS = {
    "recovery": "Circles are replications, the bar is their median, the diamond is the value "
    "deck 001 prints, which is a single run. Compare the two panels: a scheme that is robust "
    "stands at the same place in both. The time is measured against each scheme's own throughput "
    "before the hotspot, so a scheme that swings all the time has little to recover to.",
    "return": "Throughput of the link in 1 ms bins after it is given back its full rate. Fast is "
    "good, but only if the curve then stays at the top: swings after the return are bandwidth "
    "lost outside the hotspot.",
    "queue": "A good controller brings the queue from the full buffer down to the dashed set "
    "point soon after the hotspot starts, and then keeps it between two walls: at zero the link "
    "idles, at the top of the axis the buffer overflows and frames are lost.",
    "throughput": "Outside the hotspot the line should lie at the link's rate, inside at the "
    "hotspot's. The dotted line marks the recovery time of this replication.",
    "rates": "Logarithmic axis. During the hotspot both current rates should meet at half of the "
    "hotspot's rate; a gap between the two sources is unfairness. The target rate is where a QCN "
    "limiter climbs back to; its distance from the current rate is what a message took away.",
}


def page(demo: Demo, folder: Path) -> str:
    """Return the page's HTML; the figures' SVG files are read from `folder/figures`."""
    first = demo.cells[0].result
    known = facts(first)
    replications = text.counted(first.summary.replications, "replication")
    under = (
        f"The baseline of deck 001, replayed by qcnlab {first.meta['versions']['qcnlab']}: "
        f"six ways to control it, round-trip times of {' and '.join(map(_us, demo.rtts))}, "
        f"{replications} each."
    )
    body = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        lead=_lead(demo),
        sketch=_sketch(known),
        scene=_scene(known, demo),
        many=replications,
        note=escape(demo.note, quote=False),
        tables="\n".join(_table(demo, rtt) for rtt in demo.rtts),
        figures="\n".join(_figure(name, folder) for name in FIGURES),
        definitions=definitions(name for name in SHOWN_METRICS if name in first.summary.metrics),
        command=escape(" ".join(first.meta["command"])),
        commands=escape("\n".join(cell.command for cell in demo.cells)),
        origin=_origin(demo),
    )
    return shell(TITLE, under, body)


def _us(rtt: str) -> str:
    return escape(rtt.replace(" us", "\N{NO-BREAK SPACE}\N{MICRO SIGN}s"))


def _lead(demo: Demo) -> str:
    sentences = []
    for rtt in demo.rtts:
        shown = [cell for cell in demo.cells if cell.rtt == rtt and cell.published_ms is not None]
        words = [
            f"{escape(cell.row.label)} recovers in <b>{_recovery(cell)}</b> "
            f"(published {text.number(cell.published_ms or 0)}&nbsp;ms)"
            for cell in shown
        ]
        sentences.append(f"At a round-trip time of {_us(rtt)} {'; '.join(words)}.")
    return (
        "<p>A link loses most of its rate for a while and gets it back. A congestion-management "
        "scheme has to slow the sources soon after the loss, hold the queue between empty and "
        "overflowing in the meantime, and hand the bandwidth back afterwards. The argument of the "
        "deck: ECM's gain Gi has to be chosen for the round-trip time, for the value that answers "
        "fast at a short one swings at a long one, and the value that is steady there is slow; "
        "QCN keeps one set of parameters for both.</p>\n"
        f"<p>{' '.join(sentences)}</p>"
    )


def _recovery(cell: Cell) -> str:
    median = cell.metrics["recovery_ms"].median
    return "no time: it did not" if median is None else f"{text.number(median, 3)}&nbsp;ms"


def _scene(known: Facts, demo: Demo) -> str:
    hot = known.hotspots[0]
    set_points = sorted({facts(cell.result).set_point_bytes or 0.0 for cell in demo.cells} - {0.0})
    points = " or ".join(f"{point / 1e3:g}" for point in set_points)
    return (
        f"<p>{known.sources} sources, each able to fill {known.rate_bps / 1e9:g}&nbsp;Gb/s, send "
        f"through one switch to one sink. From {hot.start_s:g}&nbsp;s to {hot.end_s:g}&nbsp;s the "
        f"switch's link to the sink serves only {hot.rate_bps / 1e9:g}&nbsp;Gb/s. The queue in "
        f"front of it holds {(known.buffer_bytes or 0.0) / 1e3:g}&nbsp;KB; the schemes aim at "
        f"a set point of {points}&nbsp;KB.</p>"
    )


def _sketch(known: Facts) -> str:
    rate, hot = known.rate_bps / 1e9, known.hotspots[0].rate_bps / 1e9
    box = 'fill="#fff" stroke="#222" stroke-width="1.2" rx="4"'
    line = 'stroke="#222" stroke-width="1.2" fill="none"'
    return f"""<svg viewBox="0 0 640 170" role="img"
 aria-label="Two sources, a switch with a queue, a slow link, a sink; messages travel back"
 font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13" fill="#222">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><path d="M0 0L8 4L0 8z" fill="#222"/></marker>
<marker id="back" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><path d="M0 0L8 4L0 8z" fill="#0072B2"/></marker></defs>
<rect x="10" y="22" width="92" height="34" {box}/>
<text x="56" y="44" text-anchor="middle">source 1</text>
<rect x="10" y="94" width="92" height="34" {box}/>
<text x="56" y="116" text-anchor="middle">source {known.sources}</text>
<path d="M102 39L264 66" {line} marker-end="url(#tip)"/>
<path d="M102 111L264 84" {line} marker-end="url(#tip)"/>
<text x="178" y="36" text-anchor="middle">{rate:g} Gb/s</text>
<rect x="268" y="45" width="118" height="60" {box}/>
<text x="327" y="38" text-anchor="middle">switch</text>
<g stroke="#222" fill="#e8e2d4"><rect x="296" y="62" width="14" height="26"/>
<rect x="312" y="62" width="14" height="26"/><rect x="328" y="62" width="14" height="26"/>
<rect x="344" y="62" width="14" height="26"/></g>
<path d="M386 75L522 75" stroke="#a33c00" stroke-width="2.4" marker-end="url(#tip)"/>
<text x="452" y="46" text-anchor="middle" fill="#a33c00">
{rate:g} &#8594; {hot:g} &#8594; {rate:g} Gb/s</text>
<text x="452" y="63" text-anchor="middle" fill="#a33c00">hotspot</text>
<rect x="526" y="58" width="80" height="34" {box}/>
<text x="566" y="80" text-anchor="middle">sink</text>
<path d="M327 105C327 152 200 158 66 131" stroke="#0072B2" stroke-width="1.4" fill="none"
 stroke-dasharray="5 3" marker-end="url(#back)"/>
<text x="262" y="160" fill="#0072B2">messages back to the source of a sampled frame</text>
</svg>"""


def _table(demo: Demo, rtt: str) -> str:
    head = "".join(f"<th>{_lines(name.strip())}</th>" for name in HEADER)
    rows = []
    for row in demo.rows:
        cell = demo.cell(row, rtt)
        texts = table_row(cell)
        cells = "".join(f"<td>{_cell(words)}</td>" for words in texts)
        rows.append(f'<tr class="main">{cells}</tr>' if row.key == "qcn" else f"<tr>{cells}</tr>")
    return (
        f"<h3>Round-trip time {_us(rtt)}</h3>\n"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(words: str) -> str:
    html = _lines(words)
    return f'<span class="none">{html}</span>' if "did not" in words or words == "never" else html


def _lines(words: str) -> str:
    joined = words.replace("-\n", "")
    return "<br>".join(escape(line) for line in joined.split("\n"))


def _figure(name: str, folder: Path) -> str:
    svg = (folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    return captioned(inline(svg, name, TITLES[name]), name, CAPTIONS[name])


def _origin(demo: Demo) -> str:
    meta = demo.cells[0].result.meta
    cpu_s = sum(cell.result.meta["cpu_s"] for cell in demo.cells)
    rows = [
        ("versions", versions(meta)),
        ("seed", str(meta["seed"])),
        ("date", meta["date"]),
        ("time", f"{meta['wall_s'] or 0.0:.1f} s wall, {cpu_s:.1f} s CPU of the engine"),
        *((f"hash, {cell.folder}", cell.result.summary.hash) for cell in demo.cells),
    ]
    return origin(rows)
