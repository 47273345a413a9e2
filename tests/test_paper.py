"""Figures for print: size, letters and dashes, and the words that a caption has to say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.text import Text

import qcnlab
from qcnlab.figures.paper import for_paper
from qcnlab.results.completion_table import CompletionTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from conftest import CommandLine

SHORT = ("duration=60 ms", "stop_arrivals=40 ms")


@pytest.fixture(scope="module")
def runs() -> list[qcnlab.Result]:
    """DCQCN and no control, two replications each."""
    base = qcnlab.load("dumbbell-web-search-10g").with_(*SHORT)
    return qcnlab.run_many(
        [base.with_(f"scheme.name={name}") for name in ("dcqcn", "none")], reps=2
    )


def sizes(figure: Figure) -> set[float | str]:
    shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    return {text.get_fontsize() for text in shown}


@pytest.mark.parametrize(("columns", "width"), [(1, 3.3), (2, 7.0)])
def test_a_comparison_fits_columns(
    runs: list[qcnlab.Result], columns: int, width: float, tmp_path: Path
) -> None:
    figure = qcnlab.compare(runs).plot()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    caption = for_paper(figure, columns)
    assert figure.get_size_inches()[0] == width
    figure.savefig(tmp_path / "figure.pdf")
    assert figure.get_suptitle() == ""
    assert not any(axes.get_title(loc=side) for axes in figure.axes for side in ("left", "center"))
    assert sizes(figure) == {8.0}
    # Nothing of what was taken away is lost.
    assert titles[0] == "queue at left->right"
    for words in (*filter(None, titles), "dcqcn and none", "2 replications pooled"):
        assert words in caption
    across = {axes.get_subplotspec().get_gridspec().ncols for axes in figure.axes}  # type: ignore[union-attr]
    assert across == {columns}
    left = [axes.get_position().x0 for axes in figure.axes]
    assert (max(left) > min(left) + 0.3) == (columns == 2)
    octets = (tmp_path / "figure.pdf").read_bytes()
    assert b"/Type42" in octets or b"/TrueType" in octets or b"/CIDFontType2" in octets
    assert b"/Type3" not in octets


def test_legends_above_panels_fit_a_column(runs: list[qcnlab.Result]) -> None:
    hotspot = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(
        "duration=40 ms", "warmup=5 ms", "hotspot.from=10 ms", "hotspot.until=20 ms"
    )
    figure = qcnlab.run(hotspot, reps=2).plot()
    caption = for_paper(figure)
    figure.draw_without_rendering()
    for axes in figure.axes:
        legend = axes.get_legend()
        box = axes.get_tightbbox()
        assert box is not None and box.x0 >= 0 and box.x1 <= figure.bbox.x1
        # Constrained layout gave the panel most of the column.
        assert axes.get_position().width > 0.6
        assert legend is None or len(legend.get_texts()) in (3, 4)
    assert caption.endswith("scheme qcn (DECK001), seed 1, replication 0 of 2")


def test_other_columns_are_refused(runs: list[qcnlab.Result]) -> None:
    with pytest.raises(ValueError, match="1 column of a page or 2, not 3"):
        for_paper(runs[0].plot(), 3)


def test_runs_differ_without_colour(runs: list[qcnlab.Result]) -> None:
    table = CompletionTable(runs)
    distribution = table.cdf().axes[0]
    named = [line for line in distribution.get_lines() if not str(line.get_label()).startswith("_")]
    assert len({str(line.get_linestyle()) for line in named}) == len(named) == 2
    slowdowns = table.slowdowns().axes[0]
    assert slowdowns.get_xscale() == slowdowns.get_yscale() == "log"
    marks = {line.get_marker() for line in slowdowns.get_lines()} - {"None", "^"}
    assert len(marks) == 2
    largest = max(group.largest_bytes for each in table.completions for group in each.groups)
    drawn: list[Any] = [x for line in slowdowns.get_lines() for x in list(line.get_xdata())]  # type: ignore[arg-type]
    assert max(drawn) == largest


def test_pooled_values_say_so(runs: list[qcnlab.Result]) -> None:
    table = CompletionTable(runs)
    assert "2 replications pooled" in table.plot().get_suptitle()
    assert "2 replications pooled" in table.cdf().axes[0].get_ylabel()
    assert "2 replications pooled" in table.slowdowns().axes[0].get_ylabel()
    said = runs[0].fct().definitions()
    assert "Percentiles are of the flows of 2 replications, pooled." in said
    one = qcnlab.run(qcnlab.load("dumbbell-web-search-10g").with_(*SHORT), reps=1)
    assert "pooled" not in " ".join(one.fct().definitions())
    assert "pooled" not in CompletionTable([one]).cdf().axes[0].get_ylabel()
    # Of runs with one and two replications both numbers are named.
    assert "1 to 2 replications pooled" in CompletionTable([one, runs[1]]).plot().get_suptitle()


def test_the_commands_take_styles_and_panels(cli: CommandLine) -> None:
    words = ("-s", "duration=20 ms", "-s", "stop_arrivals=10 ms", "--reps", "1")
    done = cli("compare", "dumbbell-web-search-10g", "-s", "scheme.name=dcqcn,none", *words,
               "--keep", "kept", "--style", "paper-wide", "-o", "wide.pdf")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "for the caption: dcqcn and none; queue at left->right" in done.stderr
    for panel, style in (("both", "paper-wide"), ("cdf", "screen"), ("slowdown", "paper")):
        out = f"{panel}-{style}.svg"
        done = cli("fct", "kept", "--panel", panel, "--style", style, "-o", out)
        assert done.returncode == 0, done.stderr
        drawn = (cli.folder / out).read_text()
        assert ("completion time" in drawn) is (panel != "slowdown")
        assert ("slowdown" in drawn) is (panel != "cdf")
        points = {"paper": 3.3 * 72, "paper-wide": 7.0 * 72}.get(style)
        assert points is None or f'width="{points:g}pt"' in drawn
    # One run has panels, too.
    assert cli("fct", "kept/1-dcqcn", "--panel", "cdf", "-o", "one.svg").returncode == 0
    assert "slowdown" not in (cli.folder / "one.svg").read_text()
    done = cli("plot", "kept/1-dcqcn", "--style", "paper", "-o", "run.svg")
    assert done.returncode == 0 and "seed 1" in done.stderr
    assert 'width="237.6pt"' in (cli.folder / "run.svg").read_text()
    for option in ("--panel", "--style"):
        done = cli("fct", "kept", option, {"--panel": "cdf", "--style": "paper"}[option])
        assert done.returncode == 2 and f"{option} is for a figure: give -o FILE" in done.stderr
    done = cli("compare", "kept/1-dcqcn", "kept/2-none", "--style", "paper")
    assert done.returncode == 2 and "--style is for a figure" in done.stderr
