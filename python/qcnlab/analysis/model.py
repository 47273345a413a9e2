"""The protocol of a model: its loops, its equilibrium, its fluid, and how it reads a scenario.

A model is a frozen dataclass of parameters. `Model` is a model alone; `ScenarioModel` describes the
schemes of scenarios, too. `qcnlab.analysis.registry` lists all of them; everything else in this
package asks them by this protocol.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

from qcnlab._core import AnalysisError
from qcnlab.analysis.fluid import trajectory
from qcnlab.analysis.spans import span
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qcnlab.analysis.bottleneck import Contenders
    from qcnlab.analysis.fluid import Settings, Start, State
    from qcnlab.analysis.loops import Loop
    from qcnlab.analysis.responses import Trajectory
    from qcnlab.records import JsonObject
    from qcnlab.runs.contention import MinMeanMax


class ContenderValues(TypedDict):
    """The parameters that every model takes from the contenders."""

    sources: int
    capacity_bps: float
    delay_s: float
    frame_bytes: float


class Switches(TypedDict, total=False):
    """Parameters of fluid models that no scheme has: what stands for the noise of single frames."""

    sampling: str
    cycles: str
    feedback_spread_bytes: float
    line_rate_bps: float


@dataclass(frozen=True)
class Equilibrium:
    """The state in which a model rests."""

    queue_bytes: float
    """Queue, B."""
    current_rate_bps: float
    """Current rate of each source, bit/s."""


@dataclass(frozen=True)
class Model(ABC):
    """N equal sources at one bottleneck, under one scheme."""

    NAME: ClassVar[str]
    """The scheme's name in titles and messages."""
    FLUID: ClassVar[str]
    """The name of its fluid model in `qcnlab.analysis.fluid_models()`."""

    sources: int
    """N."""
    capacity_bps: float
    """C, bit/s."""

    @abstractmethod
    def loops(self) -> dict[str, Loop]:
        """Return the open loops by name.

        Returns
        -------
        dict of str to Loop
            Several where the model has regions, or where its source can be read in several ways.

        Raises
        ------
        AnalysisError
            The model has no equilibrium to be made linear at.
        """

    @abstractmethod
    def equilibrium(self) -> Equilibrium:
        """Return the state of rest.

        Raises
        ------
        AnalysisError
            There is none.
        """

    @abstractmethod
    def initial(self, queue_bytes: float, current_rate_bps: float, target_rate_bps: float) -> State:
        """Return the fluid's initial state for a queue, B, and mean rates of a source, bit/s."""

    def with_(self, **changes: Any) -> Self:
        """Return the model with other values of some parameters.

        Parameters
        ----------
        **changes
            Parameters and their new values.

        Raises
        ------
        AnalysisError
            A value is out of its range.
        """
        return replace(self, **changes)

    def parameters(self) -> Settings:
        """Return the parameters by the names of the fluid model, without those left to the core."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def critical_delays(self) -> dict[str, float | None]:
        """Return the delay, s, at which each loop turns unstable.

        Returns
        -------
        dict of str to float or None
            By the names of `loops`; `None` where no delay makes the loop unstable. Empty where the
            model has no equilibrium.
        """
        try:
            loops = self.loops()
        except AnalysisError:
            return {}
        return {name: loop.critical_delay() for name, loop in loops.items()}

    def fluid(
        self,
        end_s: float,
        *,
        every_s: float | None = None,
        step_s: float | None = None,
        start: Start | None = None,
        **switches: Any,
    ) -> Trajectory:
        """Integrate the fluid model.

        Parameters
        ----------
        end_s : float
            End, s; the trajectory begins at 0.
        every_s : float, optional
            Time between two rows, s; by default a 4000th of `end_s`.
        step_s : float, optional
            Integration step, s; by default the core's.
        start : mapping, optional
            Initial state: the keys that `qcnlab.analysis.fluid_models()` lists as `initial`, or
            `{"from": "equilibrium"}`.
        **switches
            Further parameters of the fluid model.

        Returns
        -------
        Trajectory
            `time_s` and the columns of the fluid model; `unbounded_s` tells of a solution that
            grows without bound, whose rows end early.

        Raises
        ------
        AnalysisError
            The core refuses a name, a value or the step.
        """
        return trajectory(
            self.fluid_name,
            {**self.parameters(), **switches},
            end_s,
            every_s=every_s,
            step_s=step_s,
            start=start,
            title=self.title(),
        )

    @property
    def fluid_name(self) -> str:
        """The name of the fluid model in the core."""
        return self.FLUID

    def title(self, name: str | None = None) -> str:
        """Return one line for figures: scheme, sources, capacity and delay."""
        rate = f"{self.capacity_bps / 1e9:g} Gb/s"
        return ", ".join(
            [name or self.NAME, counted(self.sources, "source"), rate, *self._delay_words()]
        )

    def _delay_words(self) -> list[str]:
        return []


@dataclass(frozen=True)
class ScenarioModel(Model):
    """A model that describes the schemes of scenarios."""

    SCHEMES: ClassVar[tuple[str, ...]]
    """Names of the schemes that it describes."""
    HAS_SET_POINT: ClassVar[bool] = True
    """Whether the scheme has a set point; without one its queue rests where rates balance."""
    MOST_OF_SHARE: ClassVar[float] = math.inf
    """The highest rate of a source in a search for the edge of stability, in fair shares."""
    STAR: ClassVar[JsonObject] = {}
    """Keys of `topology` that a star for the edge of stability has beside the shared ones."""

    delay_s: float
    """Feedback delay, s."""
    frame_bytes: float
    """Octets of a frame."""

    @classmethod
    @abstractmethod
    def from_scenario(cls, scheme: JsonObject, contenders: Contenders) -> Self:
        """Return the model of contenders under a scheme.

        Parameters
        ----------
        scheme : dict
            The resolved table `scheme` with its quantities in base units.
        contenders : Contenders
            The sources at the bottleneck.
        """

    @classmethod
    @abstractmethod
    def left_out(cls, scheme: JsonObject) -> Iterable[str]:
        """Return, in words, what the scheme does and the model does not."""

    @abstractmethod
    def description(self) -> str:
        """Return the parameters as one or two lines of text."""

    @classmethod
    def refusal(cls, scheme: JsonObject) -> str | None:
        """Return why the model does not cover a scheme's parameters; `None` if it does."""
        return None

    @classmethod
    def feedback_delay(cls, contenders: Contenders) -> MinMeanMax:
        """Return the delay from a change of a rate to its answer, s."""
        return contenders.loop_delay_s

    @classmethod
    def star_scheme(cls, scheme: JsonObject, line_rate: str) -> JsonObject:
        """Return the scheme, as a file has it, without what the model leaves out.

        Parameters
        ----------
        scheme : dict
            The resolved table `scheme`, quantities as text; a copy that may be changed.
        line_rate : str
            The highest rate of a source, with its unit.
        """
        scheme["rp"].pop("max_rate", None)
        scheme["rp"]["drift_every"] = "0 s"
        return scheme

    def scaled_scheme(self, scheme: JsonObject, factor: int) -> JsonObject:
        """Return the scheme, as a file has it, with its queue thresholds times `factor`.

        Raises
        ------
        AnalysisError
            The model's source does not say how the scheme scales with flows and capacity.
        """
        if factor != 1:
            raise AnalysisError(f"{self.NAME}: flows_factor is {factor}; only DCQCN scales, use 1")
        return scheme

    def queue_level(self) -> float:
        """Return the queue's level, B: set point or equilibrium; NaN if there is neither."""
        try:
            return self.equilibrium().queue_bytes
        except AnalysisError:
            return math.nan

    def noise(self) -> Switches:
        """Return switches of the fluid that stand for the noise of single frames."""
        return {}

    def edge_switches(self, noise: bool) -> Switches:
        """Return switches of the fluid in a search for the edge of stability."""
        return {}

    def starts(self) -> list[State | None]:
        """Return the fluid's initial states in a search for the edge; `None` is the fluid's own."""
        return [None]

    def published_loops(self) -> dict[str, Loop]:
        """Return those of `loops` that the model's source prints."""
        return self.loops()

    def _delay_words(self) -> list[str]:
        return [f"RTT {span(self.delay_s)}"]


def contender_values(model: type[ScenarioModel], contenders: Contenders) -> ContenderValues:
    """Return the parameters that every model takes from the contenders."""
    return {
        "sources": len(contenders.sends_bps),
        "capacity_bps": contenders.capacity_bps,
        "delay_s": model.feedback_delay(contenders).mean,
        "frame_bytes": contenders.frame_bytes.mean,
    }
