"""The list of models. A new model is a file of its own and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.analysis.dcqcn import Dcqcn
from qcnlab.analysis.ecm import Ecm
from qcnlab.analysis.model import ScenarioModel
from qcnlab.analysis.qcn import Qcn
from qcnlab.analysis.timely import Timely

if TYPE_CHECKING:
    from qcnlab.analysis.model import Model

MODELS: tuple[type[Model], ...] = (
    Qcn,
    Ecm,
    Dcqcn,
    Timely,
)


def by_scheme() -> dict[str, type[ScenarioModel]]:
    """Return the model of each scheme that has one, by the scheme's name."""
    models = [model for model in MODELS if issubclass(model, ScenarioModel)]
    return {scheme: model for model in models for scheme in model.SCHEMES}
