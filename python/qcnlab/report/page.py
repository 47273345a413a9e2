"""The shell of a page that loads nothing: style, figures inside it, definitions, origin."""

from __future__ import annotations

import re
import tempfile
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from qcnlab import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from qcnlab.runs.meta import Meta

HERE = Path(__file__).parent
UPLOT = "1.6.32"
"""The version of uPlot in `vendor`."""


def shell(title: str, under: str, body: str, *, charts: str = "") -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
        Its title, as text.
    under : str
        The line below the title, as HTML.
    body : str
        What stands below, as HTML.
    charts : str, optional
        What the page's curves are drawn from, as JSON; the scripts that draw are left out without.
    """
    return Template(_read("page.html")).substitute(
        title=escape(title),
        under=under,
        body=body,
        styles=_read("vendor/uPlot.min.css") + _read("charts.css") if charts else "",
        scripts=_scripts(charts) if charts else "",
    )


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _scripts(charts: str) -> str:
    # Within a script element only its own end has a meaning.
    data = charts.replace("</", "<\\/")
    licence = " ".join(_read("vendor/uPlot-LICENSE.txt").split())
    return (
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>/* uPlot {UPLOT}. {licence} */\n{_read('vendor/uPlot.iife.min.js')}</script>\n"
        f"<script>{_read('charts.js')}</script>\n"
    )


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    wrapped: Sequence[int] = (),
) -> str:
    """Return a table that scrolls by itself where it is too wide.

    The first `left` columns lean left; words of the columns `wrapped`, from 0, take several lines.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        sides = (
            ' class="w"' if index in wrapped else ' class="l"' if index < left else ""
            for index in range(len(cells))
        )
        return "".join(
            f"<{tag}{side}>{escape(cell)}</{tag}>" for cell, side in zip(cells, sides, strict=True)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    head = f"<thead><tr>{line(header, 'th')}</tr></thead>" if header else ""
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'


def definitions(names: Iterable[str]) -> str:
    """Return what metrics are, as entries of a list of definitions."""
    known = {entry.name: entry for entry in catalogue.metrics()}
    parts = []
    for name in names:
        if name in known:
            entry = known[name]
            unit = f", in {entry.unit}" if entry.unit else ""
            parts.append(
                f"<dt>{escape(entry.title)} <span>({name}{escape(unit)})</span></dt>"
                f"<dd>{escape(entry.about)}</dd>"
            )
    return "\n".join(parts)


def versions(meta: Meta) -> str:
    """Return the versions behind a run in a line."""
    return ", ".join(f"{name} {version}" for name, version in meta["versions"].items())


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and long values."""
    cells = "".join(
        f'<tr><th>{escape(name)}</th><td class="hash">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<div class="wide"><table class="facts">{cells}</table></div>'


def drawn(figure: Figure, name: str, label: str, caption: str = "") -> str:
    """Return a figure of matplotlib as part of a page."""
    from qcnlab.figures.plots import save

    with tempfile.TemporaryDirectory() as folder:
        path = save(figure, Path(folder) / "figure.svg")
        svg = path.read_text(encoding="utf-8")
    return captioned(inline(svg, name, label), name, caption)


def captioned(svg: str, name: str, caption: str) -> str:
    """Return an SVG with a caption below."""
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure id="{name}"><div class="wide">{svg}</div>{words}</figure>'


def inline(svg: str, name: str, label: str) -> str:
    """Return an SVG file's text as part of a page: no prolog, ids of its own, no fixed size."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r'^(<svg[^>]*?) width="[^"]*"', r"\1", body)
    body = re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", body)
    return body.replace("<svg", f'<svg class="drawn" role="img" aria-label="{escape(label)}"', 1)
