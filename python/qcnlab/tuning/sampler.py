"""Proposals of Optuna for the next trial."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from qcnlab.errors import MissingPackage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.tuning.goals import Objective
    from qcnlab.tuning.result import Trial
    from qcnlab.tuning.space import Dimension


class Sampler:
    """Optuna's tree-structured Parzen estimator, told of every trial."""

    def __init__(
        self,
        space: Sequence[Dimension],
        objectives: Sequence[Objective],
        constrained: bool,
        seed: int,
    ) -> None:
        try:
            optuna: Any = import_module("optuna")
        except ImportError as error:
            raise MissingPackage(
                f"tuning needs {error.name}: pip install 'qcnlab[tune]'"
            ) from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._failed = optuna.trial.TrialState.FAIL
        bounds: Any = (lambda trial: (trial.user_attrs["violation"],)) if constrained else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(seed=seed % 2**32, constraints_func=bounds)
        self._study = optuna.create_study(
            sampler=sampler,
            directions=["minimize" if each.smallest else "maximize" for each in objectives],
        )
        self._asked: Any = None

    def ask(self) -> dict[str, str]:
        """Return the values of the next trial."""
        self._asked = self._study.ask()
        return {dimension.key: dimension.suggest(self._asked) for dimension in self._space}

    def tell(self, trial: Trial) -> None:
        """Take the outcome of the trial that was asked for last."""
        if trial.refused is not None:
            self._asked.set_user_attr("violation", 1e300)
            self._study.tell(self._asked, state=self._failed)
            return
        self._asked.set_user_attr("violation", min(trial.violation, 1e300))
        self._study.tell(self._asked, list(trial.scores))
