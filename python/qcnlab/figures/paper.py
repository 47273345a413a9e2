"""Figures for a paper: the width of one column or two, type of 8 pt, no titles.

Fonts in PDF and PostScript files are TrueType (Type 42) in every figure of qcnlab, and lines differ
in dashes as well as in colour.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from matplotlib.gridspec import GridSpec
from matplotlib.text import Text

from qcnlab.figures import plots

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

WIDTHS = {1: 3.3, 2: 7.0}
"""Inches, by how many columns of a page a figure takes."""
HEIGHTS = {1: 1.9, 2: 2.3}
"""Inches of a panel."""
TYPE_PT = 8.0
LEGEND = {1: 2, 2: 4}
"""So many entries stand in a line of a legend."""
LINE = 0.2
"""Inches of a line of a legend."""
LABEL = 22
"""Characters in a line beside an axis."""


def for_paper(figure: Figure, columns: int = 1) -> str:
    """Change a figure for print; return the words that its caption has to say instead.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        A figure of qcnlab. In one column its panels stand one below the other.
    columns : int, default 1
        1 for a width of 3.3 in, 2 for 7 in.

    Returns
    -------
    str
        What stood in titles: scenario, scheme, ports, replications. Empty where there was none.

    Raises
    ------
    ValueError
        For another number of columns.

    Examples
    --------
    >>> import qcnlab
    >>> from qcnlab.figures.paper import for_paper
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=3 ms", "warmup=0 s")
    >>> figure = qcnlab.run(scenario, reps=1).plot()
    >>> caption = for_paper(figure)
    >>> float(figure.get_size_inches()[0]), figure.axes[0].get_title()
    (3.3, '')
    """
    if columns not in WIDTHS:
        raise ValueError(f"a figure takes 1 column of a page or 2, not {columns}")
    with plots.style():
        said = _titles(figure, columns)
        _panels(figure, columns)
        _type(figure, columns)
    # A title over several lines is one sentence in a caption.
    told = dict.fromkeys(" ".join(each.split()) for each in said if each.strip())
    return "; ".join(told)


def _titles(figure: Figure, columns: int) -> list[str]:
    """Take titles away, and what legends are headed by; return them."""
    said = [figure.get_suptitle()]
    figure.suptitle("")
    for axes in figure.axes:
        for side in ("left", "center", "right"):
            said.append(axes.get_title(loc=side))
            axes.set_title("", loc=side)
    for legend in tuple(figure.legends):
        said.append(legend.get_title().get_text())
        handles, words = _entries(legend)
        legend.remove()
        figure.legend(handles, words, loc="outside lower left", ncols=LEGEND[columns])
    return said


def _panels(figure: Figure, columns: int) -> None:
    """Set the size; in one column put panels one below the other."""
    panels = figure.axes
    across = _across(figure) if columns > 1 else 1
    rows = -(-len(panels) // across)
    if columns == 1 and _across(figure) > 1:
        grid = GridSpec(rows, 1, figure=figure)
        for row, axes in enumerate(panels):
            axes.set_subplotspec(grid[row])
    entries = sum(-(-len(each.get_texts()) // LEGEND[columns]) for each in figure.legends)
    figure.set_size_inches(WIDTHS[columns], HEIGHTS[columns] * rows + LINE * entries)


def _type(figure: Figure, columns: int) -> None:
    """Set all type in one size; wrap what is beside axes and in legends to the room there."""
    for axes in figure.axes:
        axes.tick_params(labelsize=TYPE_PT)
        label = axes.get_ylabel()
        axes.set_ylabel(label if "\n" in label else textwrap.fill(label, LABEL))
        above = axes.get_legend()
        if above is not None and getattr(above, "_ncols", 1) > LEGEND[columns]:
            # In one row above the panel they would be wider than the column.
            axes.legend(*_entries(above), **plots.above(LEGEND[columns]))
    for text in figure.findobj(Text):
        text.set_fontsize(TYPE_PT)


def _entries(legend: Legend) -> tuple[list[Artist], list[str]]:
    """Return what a legend shows, and the words beside it."""
    handles = [handle for handle in legend.legend_handles if handle is not None]
    return handles, [text.get_text() for text in legend.get_texts()]


def _across(figure: Figure) -> int:
    """Return how many panels stand side by side."""
    specs = [axes.get_subplotspec() for axes in figure.axes]
    return max((spec.get_gridspec().ncols for spec in specs if spec is not None), default=1)
