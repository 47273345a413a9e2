"""Live runs: a scenario on real frames between network namespaces of this machine.

Needs Linux, and root or an unprivileged user namespace; `qcnlab live doctor` tells what is missing.
"""

from qcnlab.live.running import CAPTURE, INVALID, SCALE, Doctor, examine, run, slowed

__all__ = ["CAPTURE", "INVALID", "SCALE", "Doctor", "examine", "run", "slowed"]
