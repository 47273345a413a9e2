"""Control theory beside the packets: linear loops, fluid models, and both over a scenario's run.

>>> from qcnlab import analysis
>>> loop = analysis.Qcn(sources=10, delay_s=200e-6).loop()
>>> loop.margins().critical_delay_s              # 284 us
>>> loop.step().plot()
>>> analysis.Qcn(sources=10).fluid(0.1)["queue_bytes"]
>>> analysis.overlay(qcnlab.load("og-hotspot-2src-10g-to-500m-rtt200us")).plot()

Needs scipy for some answers: `pip install 'qcnlab[analysis]'`.
"""

from qcnlab.analysis.averaging import averaging_means, derivative_means, with_averaging
from qcnlab.analysis.boundary import Boundary, boundary
from qcnlab.analysis.dcqcn import Dcqcn, DcqcnPoint
from qcnlab.analysis.ecm import Ecm
from qcnlab.analysis.fluid import models as fluid_models
from qcnlab.analysis.lag import LagLoop, delay_family, sampling_family, ultimate_gain
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.overlay import Overlay, Verdict, overlay
from qcnlab.analysis.qcn import Qcn, QcnEquilibrium
from qcnlab.analysis.responses import Bode, Nyquist, Response, Step, Trajectory
from qcnlab.analysis.timely import Timely, TimelyPoint

__all__ = [
    "Bode",
    "Boundary",
    "Dcqcn",
    "DcqcnPoint",
    "Ecm",
    "LagLoop",
    "Loop",
    "Margins",
    "Nyquist",
    "Overlay",
    "Qcn",
    "QcnEquilibrium",
    "Response",
    "Step",
    "Timely",
    "TimelyPoint",
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
