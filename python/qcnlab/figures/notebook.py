"""What results look like in a notebook: HTML without scripts, figures as images in it."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

PNG_DPI = 110
COLUMNS = 140
"""Characters that a table may be wide."""
RIGHT = ' style="text-align:right"'
LEFT = ' style="text-align:left"'


class ShownFigure(Figure):
    """A figure that a notebook shows by itself, without `%matplotlib inline`.

    What it saves as PDF or PostScript has TrueType fonts (Type 42), whatever matplotlib is set to.
    """

    def savefig(self, *arguments: Any, **settings: Any) -> None:
        """Write the figure, as matplotlib does."""
        with mpl.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(*arguments, **settings)

    def _repr_png_(self) -> bytes:
        octets = io.BytesIO()
        self.savefig(octets, format="png", dpi=PNG_DPI, metadata={"Software": None})
        return octets.getvalue()


def part(title: str, under: str, *blocks: str) -> str:
    """Return a title, a line in small type, and blocks of HTML."""
    return f"<div><b>{escape(title)}</b><br><small>{escape(under)}</small>{''.join(blocks)}</div>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table; the first `left` columns are aligned to the left.

    >>> table(("a", "b"), [("x<y", "1")]).count("x&lt;y")
    1
    """

    def line(cells: Sequence[str], tag: str) -> str:
        sides = (LEFT if number < left else RIGHT for number in range(len(cells)))
        parts = [
            f"<{tag}{side}>{escape(cell)}</{tag}>" for cell, side in zip(cells, sides, strict=True)
        ]
        return f"<tr>{''.join(parts)}</tr>"

    head = f"<thead>{line(header, 'th')}</thead>" if header else ""
    return f"<table>{head}<tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


def words(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def unfolded(title: str, text: str) -> str:
    """Return text that is shown when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def image(figure: Figure) -> str:
    """Return a figure as an image in the HTML."""
    octets = io.BytesIO()
    figure.savefig(octets, format="png", dpi=PNG_DPI, metadata={"Software": None})
    data = base64.b64encode(octets.getvalue()).decode()
    return f'<img alt="figure" style="max-width:100%" src="data:image/png;base64,{data}">'
