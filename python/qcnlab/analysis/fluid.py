"""The core's fluid models: their parameters and trajectories."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qcnlab import _core
from qcnlab.analysis.responses import Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS = 4000
"""Rows of a trajectory without `every_s`."""


@cache
def _listed() -> str:
    return _core.fluid_models()


def models() -> list[dict[str, Any]]:
    """Return the fluid models of the core.

    Returns
    -------
    list of dict
        Each has `name`, `title`, `source`, `parameters` (`name`, `unit`, `type`, `default`,
        `range`, `choices`, `about`), `initial` (keys of an initial state) and `columns`.

    Examples
    --------
    >>> [model["name"] for model in models()]
    ['qcn', 'ecm', 'dcqcn', 'timely', 'timely_patched']
    """
    listed: list[dict[str, Any]] = json.loads(_listed())
    return listed


@cache
def defaults(model: str) -> Mapping[str, Any]:
    """Return the defaults of a fluid model's parameters, in base units, by name."""
    table = next(each for each in models() if each["name"] == model)["parameters"]
    return {parameter["name"]: parameter["default"] for parameter in table}


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
    """Integrate a fluid model of the core.

    Parameters
    ----------
    model : str
        Name of the model.
    parameters : mapping
        SI numbers, words and switches by name, as `models()` lists them; others have defaults.
    end_s : float
        End, s; the trajectory begins at 0.
    every_s : float, optional
        Time between two rows, s; by default a 4000th of `end_s`.
    step_s : float, optional
        Integration step, s; by default the core's.
    start : mapping, optional
        Initial state.
    title : str, optional
        Title of figures; by default the model's name.

    Returns
    -------
    Trajectory
        `time_s` and the columns of the model; `unbounded_s` tells of a solution that grows
        without bound, whose rows end early.

    Raises
    ------
    AnalysisError
        No model has such a name, a value is out of its range, a delay is negative, an equilibrium
        is asked for where there is none, or the step exceeds the delay.
    """
    table, unbounded_s = _core.fluid(
        model,
        json.dumps(dict(parameters)),
        end_s=end_s,
        step_s=step_s,
        every_s=end_s / ROWS if every_s is None else every_s,
        initial=None if start is None else json.dumps(dict(start)),
    )
    octets = {name: table.take(i)[1] for i, name in enumerate(table.columns)}
    columns = {name: np.frombuffer(values).copy() for name, values in octets.items()}
    units = {name: unit for name, unit in table.units.items() if unit}
    return Trajectory(title or model, columns, units, model, unbounded_s)
