"""The core's fluid models: their parameters and trajectories."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from qcnlab import _core
from qcnlab.analysis.responses import Trajectory
from qcnlab.records import Record, read

ROWS = 4000
"""Rows of a trajectory without `every_s`."""


Setting = float | str | bool
"""A value of a parameter: a number in its base unit, a word, or whether something is so."""
Settings = dict[str, Setting]
"""Values of a fluid model's parameters, by name."""
State = dict[str, float | str | list[float]]
"""An initial state of a fluid by its keys: base units, the rate of each source, a word for rest."""

Start = Mapping[str, float | str | list[float]]
"""A `State`, or what is like it."""


@dataclass(frozen=True, slots=True)
class FluidParameter(Record):
    """A parameter of a fluid model.

    Attributes
    ----------
    name, unit : str
        Its name, and the base unit; empty for a bare number.
    type : str
        ``number``, ``count``, ``delay``, ``switch`` or ``word``.
    default : optional
        In the base unit; `None` where the model computes it.
    range : str, optional
        The limits in words.
    choices : tuple, optional
        What a switch or a word can be.
    about : str
        What it is.
    """

    name: str
    unit: str
    type: str
    default: Setting | None
    range: str | None
    choices: tuple[str | bool, ...] | None
    about: str


@dataclass(frozen=True, slots=True)
class FluidColumn(Record):
    """A column of a fluid model's trajectory: its name and unit."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class FluidModel(Record):
    """A fluid model of the core.

    Attributes
    ----------
    name, title, source : str
        Its name, a line about it, and where its equations are printed.
    parameters : tuple of FluidParameter
        What can be set.
    initial : tuple of str
        Keys of an initial state.
    columns : tuple of FluidColumn
        What a trajectory has, `time_s` first.
    """

    name: str
    title: str
    source: str
    parameters: tuple[FluidParameter, ...]
    initial: tuple[str, ...]
    columns: tuple[FluidColumn, ...]


@cache
def models() -> tuple[FluidModel, ...]:
    """Return the fluid models of the core.

    Returns
    -------
    tuple of FluidModel
        Each with its parameters, the keys of its initial state, and its columns.

    Examples
    --------
    >>> [model.name for model in models()]
    ['qcn', 'ecm', 'dcqcn', 'timely', 'timely_patched']
    """
    return read(tuple[FluidModel, ...], json.loads(_core.fluid_models()), "the core's answer")


@cache
def defaults(model: str) -> Mapping[str, Setting | None]:
    """Return the defaults of a fluid model's parameters, in base units, by name."""
    known = next(each for each in models() if each.name == model)
    return {parameter.name: parameter.default for parameter in known.parameters}


def numbers(model: str) -> Mapping[str, float]:
    """Return those defaults of a fluid model that are numbers, in base units, by name."""
    return {
        name: value
        for name, value in defaults(model).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def trajectory(
    model: str,
    parameters: Mapping[str, Setting],
    end_s: float,
    *,
    every_s: float | None = None,
    step_s: float | None = None,
    start: Start | None = None,
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
