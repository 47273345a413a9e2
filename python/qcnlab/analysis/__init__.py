"""Control theory beside the packets: linear loops, fluid models, and both over a scenario's run.

Some answers need scipy: `pip install 'qcnlab[analysis]'`.

Examples
--------
>>> from qcnlab import analysis
>>> loop = analysis.Qcn(sources=10, delay_s=200e-6).loop()
>>> round(1e6 * loop.margins().critical_delay_s)
284
>>> float(loop.step().overshoot) > 0
True
>>> len(analysis.Qcn(sources=10).fluid(0.01)["queue_bytes"])
4001

`analysis.overlay(scenario).plot()` draws a scenario's packets beside its fluid model.
"""

from qcnlab.analysis.averaging import averaging_means, derivative_means, with_averaging
from qcnlab.analysis.boundary import Boundary, boundary
from qcnlab.analysis.dcqcn import Dcqcn, DcqcnEquilibrium
from qcnlab.analysis.ecm import Ecm
from qcnlab.analysis.fluid import FluidColumn, FluidModel, FluidParameter
from qcnlab.analysis.fluid import models as fluid_models
from qcnlab.analysis.lag import LagLoop, delay_family, sampling_family, ultimate_gain
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.model import Equilibrium, Model, ScenarioModel
from qcnlab.analysis.overlay import Overlay, overlay
from qcnlab.analysis.qcn import Qcn, QcnEquilibrium
from qcnlab.analysis.responses import Bode, Nyquist, Response, Step, Trajectory
from qcnlab.analysis.timely import Timely
from qcnlab.analysis.verdict import Verdict

__all__ = [
    "Bode",
    "Boundary",
    "Dcqcn",
    "DcqcnEquilibrium",
    "Ecm",
    "Equilibrium",
    "FluidColumn",
    "FluidModel",
    "FluidParameter",
    "LagLoop",
    "Loop",
    "Margins",
    "Model",
    "Nyquist",
    "Overlay",
    "Qcn",
    "QcnEquilibrium",
    "Response",
    "ScenarioModel",
    "Step",
    "Timely",
    "Trajectory",
    "Verdict",
    "averaging_means",
    "boundary",
    "delay_family",
    "derivative_means",
    "fluid_models",
    "overlay",
    "sampling_family",
    "ultimate_gain",
    "with_averaging",
]
