"""A scenario as a model sees it: its bottleneck, its scheme, and the model of each phase."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab._core import AnalysisError
from qcnlab.analysis import left_out
from qcnlab.analysis.bottleneck import Bottleneck, Contenders, Phase, locate
from qcnlab.analysis.registry import by_scheme

if TYPE_CHECKING:
    from qcnlab.analysis.model import ScenarioModel
    from qcnlab.api import Scenario
    from qcnlab.records import JsonObject
    from qcnlab.runs.contention import MinMeanMax


@dataclass(frozen=True)
class ModelledScenario:
    """A scenario that a model describes."""

    name: str
    """The scenario's name."""
    title: str
    """Its title."""
    bottleneck: Bottleneck
    """The congested port and its phases."""
    tree: JsonObject
    """The resolved scenario, quantities as text."""
    base: JsonObject
    """The resolved scenario, quantities as numbers in octets, bit/s or s."""
    kind: type[ScenarioModel]
    """The model of its scheme."""

    @property
    def scheme(self) -> str:
        """Name of the scheme."""
        return str(self.tree["scheme"]["name"])

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Phases in order of time, without the warm-up."""
        return self.bottleneck.phases

    def model(self, phase: Phase) -> ScenarioModel:
        """Return the model of a phase.

        Raises
        ------
        AnalysisError
            The phase is not congested, or the limiters cannot fill the link: there is no
            equilibrium.
        """
        contenders = self.contenders(phase)
        most = len(contenders.sends_bps) * self.line_rate_bps(phase)
        if most <= phase.capacity_bps:
            raise AnalysisError(
                f"{self.name}, {phase.name}: no equilibrium: limiters let at most "
                f"{most / 1e9:g} Gb/s pass and {self.bottleneck.port} carries "
                f"{phase.capacity_bps / 1e9:g} Gb/s; raise scheme.rp.max_rate"
            )
        return self.kind.from_scenario(self.base["scheme"], contenders)

    def congested(self) -> Phase:
        """Return the phase that is analysed: the first congested hotspot, or the first phase."""
        congested = [phase for phase in self.phases if phase.contenders is not None]
        return ([phase for phase in congested if phase.name == "hotspot"] or congested)[0]

    def contenders(self, phase: Phase) -> Contenders:
        """Return the contenders of a phase; raises `AnalysisError` if it is not congested."""
        if phase.contenders is None:
            port = self.bottleneck.port
            raise AnalysisError(
                f"{self.name}, {phase.name}: no equilibrium: {port} is not congested"
            )
        return phase.contenders

    def feedback_delay(self, phase: Phase) -> MinMeanMax:
        """Return the delay from a change of a rate to its answer in a congested phase, s."""
        return self.kind.feedback_delay(self.contenders(phase))

    def line_rate_bps(self, phase: Phase) -> float:
        """Return the highest rate of a source in a congested phase, bit/s; the sources' mean."""
        sends = self.contenders(phase).sends.mean
        limit = self.base["scheme"]["rp"].get("max_rate")
        return sends if limit is None else min(sends, limit)

    def left_out(self) -> tuple[str, ...]:
        """Return, in words, what the scenario has and the model does not."""
        phase = self.congested()
        contenders = self.contenders(phase)
        return (
            *self.kind.left_out(self.base["scheme"]),
            *left_out.contenders_left_out(contenders, self.feedback_delay(phase)),
            *left_out.traffic_left_out(self.tree, contenders),
            *left_out.fabric_left_out(self.tree),
        )


def read(scenario: Scenario) -> ModelledScenario:
    """Return a scenario as its model sees it.

    Raises
    ------
    AnalysisError
        No model describes the scheme or its parameters, or there is no single bottleneck.
    """
    tree, base = scenario.to_dict(), json.loads(scenario._core.to_base_json())
    scheme, models = tree["scheme"]["name"], by_scheme()
    if scheme not in models:
        *most, last = models
        why = f"scheme '{scheme}' has no model here; {', '.join(most)} and {last} have"
        raise AnalysisError(f"{scenario.name}: no model: {why}")
    kind = models[scheme]
    refusal = kind.refusal(base["scheme"])
    if refusal is not None:
        raise AnalysisError(f"{scenario.name}: no model: {refusal}")
    return ModelledScenario(scenario.name, scenario.title, locate(scenario), tree, base, kind)
