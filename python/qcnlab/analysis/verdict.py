"""What linear theory says of one phase of a scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.analysis.responses import Response

if TYPE_CHECKING:
    from qcnlab.analysis.bottleneck import Phase
    from qcnlab.analysis.loops import Margins
    from qcnlab.analysis.model import Equilibrium, ScenarioModel
    from qcnlab.analysis.responses import Array

SOURCES = (1, 2, 5, 10, 20, 50, 100, 400)
"""For so many sources critical delays are computed."""


@dataclass(frozen=True)
class Verdict:
    """The linear theory of one phase of a scenario."""

    phase: Phase
    """The phase, with its capacity."""
    model: ScenarioModel
    """The model at the scenario's parameters."""
    loops: dict[str, Margins]
    """Margins of each of the model's loops, by name."""
    equilibrium: Equilibrium
    """The state of rest."""

    def critical_delays(self) -> Response:
        """Return the critical RTT for other numbers of sources.

        Returns
        -------
        Response
            `sources`, and a column, s, for each loop; NaN where no delay makes it unstable and
            where so many sources have no equilibrium.
        """
        delays = [self.model.with_(sources=n).critical_delays() for n in SOURCES]
        columns: dict[str, Array] = {"sources": np.array(SOURCES, dtype=float)}
        for name in self.loops:
            each_s = [of_n.get(name) for of_n in delays]
            column = f"{name.replace(' ', '_')}_s"
            columns[column] = np.array([math.nan if s is None else s for s in each_s])
        units = {name: "s" for name in columns if name != "sources"}
        return Response(f"Critical RTT, {self.phase.capacity_bps / 1e9:g} Gb/s", columns, units)
