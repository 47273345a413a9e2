"""Advice: the settings that do well in all cases, as text, table and figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.advising.candidates import Candidates
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Advice(Candidates):
    """All trials of a search over cases, and the one whose largest regret is least.

    Comes from `qcnlab.advise`. `patch` has the robust settings as changes, `summary` everything
    that is told, and `to_polars` a row for each trial.

    Examples
    --------
    >>> import qcnlab, tempfile
    >>> fabric = qcnlab.load("incast-16-to-1-100g").with_("duration=100 us")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = qcnlab.advise(
    ...         fabric, cases=["own"], trials=1, flatness=False, seed=1, out=f"{folder}/advice"
    ...     )
    >>> [case.name for case in told.cases], told.summary["goal"]["metric"]
    (['own'], 'slowdown_p99')
    """

    def __repr__(self) -> str:
        """Return the scenario's name and how many trials there are."""
        return f"<Advice {self.known['name']}: {counted(len(self.trials) - 1, 'trial')}>"

    def text(self) -> str:
        """Return what `qcnlab advise` prints.

        Returns
        -------
        str
            Tables of regrets and values, the patch, and the commands that reproduce it.
        """
        from qcnlab.advising.words import advice_text

        return advice_text(self)

    def plot(self) -> Figure:
        """Return a figure of regrets by case, and of what a change of one setting costs.

        Returns
        -------
        matplotlib.figure.Figure
            `figure.savefig(path)` writes it.
        """
        from qcnlab.advising.figure import advice_figure

        return advice_figure(self)
