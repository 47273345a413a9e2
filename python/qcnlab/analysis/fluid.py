"""Trajectories of the fluid models, integrated by the core."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from qcnlab import _core
from qcnlab.analysis.responses import Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS = 4000


def models() -> list[dict[str, Any]]:
    """List the fluid models: `name`, `title`, `source`, `parameters`, `initial`, `columns`."""
    listed: list[dict[str, Any]] = json.loads(_core.fluid_models())
    return listed


def trajectory(
    model: str,
    parameters: Mapping[str, Any],
    end_s: float,
    *,
    every_s: float | None = None,
    step_s: float | None = None,
    start: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Trajectory:
    """Integrate a fluid model from 0 to `end_s`, with a row `every_s` (4000 rows if not given).

    `parameters` and `start` are SI numbers, words and switches as `models()` lists them; what is
    left out has its default. `step_s`: integration step; `title`: for figures. Raises
    `AnalysisError` for names no model has, values out of their range, a negative delay, an
    equilibrium asked for where there is none, a step above the delay, and a solution that diverges.
    """
    import polars as pl

    table = _core.fluid(
        model,
        json.dumps(dict(parameters)),
        end_s=end_s,
        step_s=step_s,
        every_s=end_s / ROWS if every_s is None else every_s,
        initial=None if start is None else json.dumps(dict(start)),
    )
    frame = pl.DataFrame(table)
    columns = {column.name: column.to_numpy().astype(np.float64) for column in frame}
    units = {name: unit for name, unit in table.units.items() if unit}
    return Trajectory(title or model, columns, units, model)
