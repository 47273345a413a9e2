"""Proposals of Optuna for the next trial."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from qcnlab.errors import MissingPackage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qcnlab.tuning.goals import Objective
    from qcnlab.tuning.trial import Trial


class Searched(Protocol):
    """A key that is searched."""

    @property
    def key(self) -> str:
        """Its name."""

    def suggest(self, trial: Any) -> str:
        """Return the value that a trial of Optuna gets."""


def _optuna() -> Any:
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        raise MissingPackage(f"tuning needs {error.name}: pip install 'qcnlab[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


class Sampler:
    """Optuna's tree-structured Parzen estimator, told of every trial."""

    def __init__(
        self,
        space: Sequence[Searched],
        objectives: Sequence[Objective],
        constrained: bool,
        seed: int,
    ) -> None:
        optuna = _optuna()
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


class RescoringSampler:
    """The same estimator for scores that each further trial changes, such as regrets.

    Parameters
    ----------
    space : sequence
        What is searched.
    scores : callable
        Returns the scores of trials, small ones good, from all trials so far.
    seed : int
        Of the estimator.
    """

    def __init__(
        self,
        space: Sequence[Searched],
        scores: Callable[[Sequence[Trial]], Sequence[float]],
        seed: int,
    ) -> None:
        self._optuna = _optuna()
        self._space = space
        self._scores = scores
        self._sampler = self._optuna.samplers.TPESampler(seed=seed % 2**32)
        self._done: list[tuple[Trial, Any]] = []
        self._asked: Any = None

    def ask(self) -> dict[str, str]:
        """Return the values of the next trial."""
        study = self._optuna.create_study(sampler=self._sampler, direction="minimize")
        scores = self._scores([trial for trial, _ in self._done])
        for (_, asked), score in zip(self._done, scores, strict=True):
            study.add_trial(
                self._optuna.trial.create_trial(
                    params=asked.params, distributions=asked.distributions, value=score
                )
            )
        proposed = study.ask()
        values = {each.key: each.suggest(proposed) for each in self._space}
        self._asked = study.get_trials(deepcopy=False)[-1]
        return values

    def tell(self, trial: Trial) -> None:
        """Take the outcome of the trial that was asked for last; refused ones do not count."""
        if trial.refused is None:
            self._done.append((trial, self._asked))
