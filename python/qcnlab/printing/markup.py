"""One table as text, CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv as csv_module
import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
WIDE = 5
"""Columns that fit one column of a page."""


def csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return CSV with a header; `None` is an empty cell, booleans are `true` and `false`.

    >>> print(csv(["a", "b"], [[1, None], [True, "x,y"]]), end="")
    a,b
    1,
    true,"x,y"
    """
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in row])
    return out.getvalue()


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    r"""Return a Markdown table; the first `left` columns are aligned to the left.

    >>> print(markdown(["a", "b"], [["x|y", "1"]]))
    | a | b |
    |---|---:|
    | x\|y | 1 |
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = "|" + "|".join("---" if i < left else "---:" for i in range(len(header))) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])


def latex(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, left: int = 1) -> str:
    r"""Return a LaTeX table with `caption`; it takes the package booktabs.

    >>> print(latex(["a", "b"], [["x_1", ">= 2"]], "Two cells").splitlines()[6])
    x\_1 & $\geq$ 2 \\
    """

    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(escaped, cells)) + r" \\"

    columns = "l" * left + "r" * (len(header) - left)
    # A wide table takes both columns of a page, in small print.
    wide = len(header) > WIDE
    kind = "table*" if wide else "table"
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            rf"\begin{{{kind}}}",
            r"\centering" + (r"\footnotesize" if wide else ""),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule " + line(header),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{escaped(caption)}}}",
            rf"\end{{{kind}}}",
        ]
    )


def escaped(text: str) -> str:
    """Return `text` so that LaTeX prints it; `>=` and a minus become signs."""
    parts = text.split(">=")
    plain = r"$\geq$".join("".join(LATEX.get(mark, mark) for mark in part) for part in parts)
    return re.sub(r"(?<![\w-])-(?=\d| \w)", "$-$", plain)
