"""The two regions of ECM: their loops and whether they swing, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from qcnlab.analysis import Ecm
from qcnlab.analysis.ecm import REGIONS, Region

# Samples of 64 B at 2^20 bit/s: 2^11 messages a second, and k = w 2^-11 s. Per bit of queue that
# is 2^11 / 2^9 = 4 /s, and with gains of 1 n = 4 * 2^20 / s^2, so that k^2 n = w^2.
ONE = Ecm(
    sources=1, capacity_bps=2.0**20, sample_bytes=64, gi=1.0, gd=1.0, rate_unit_bps=2.0**20
)  # fmt: skip


@pytest.mark.parametrize("region", REGIONS)
def test_the_loop_of_a_region_is_a_double_integrator_with_a_lead(region: Region) -> None:
    # n (1 + k s) / s^2 with w = 2: n = 2^22, k = 2^-10.
    loop = ONE.with_(w=2.0, delay_s=1e-5).loop(region)
    assert loop.num.tolist() == [2**12, 2**22]
    assert loop.den.tolist() == [1, 0, 0]
    assert loop.delay_s == 1e-5


@pytest.mark.parametrize(("w", "settles"), [(1.9, False), (2.0, True), (2.1, True)])
def test_a_region_with_real_poles_settles_without_swinging(w: float, settles: bool) -> None:
    """s^2 + n k s + n has real roots where (n k)^2 >= 4 n: w^2 is 3.6, 4 and 4.4.

    At 4 just the two meet at -n k / 2.
    """
    model = ONE.with_(w=w)
    assert [model.is_node(region) for region in REGIONS] == [settles] * 2
    n, k = model.stiffness("increase"), model.lead_s
    assert (np.roots([1.0, n * k, n]).imag == 0).all() == settles
