"""Draw deck 004's two families of loops with a lag and a delay, and check where they turn unstable.

Run it with `python examples/03_lag_and_delay.py [FOLDER]`; with a folder it writes the
figures there. Needs the extra `[analysis]`.
"""

import sys
from pathlib import Path

from qcnlab.analysis import LagLoop, delay_family, sampling_family, ultimate_gain
from qcnlab.analysis.draw import family
from qcnlab.figures.plots import save

# The slides print no loop gain; 1.5 shows all that can happen.
GAIN = 1.5
by_sampling = sampling_family(GAIN)
by_delay = delay_family(GAIN)

print(f"{'1/Ps = T':>10}{'RTT':>6}{'RTT/T':>8}{'critical RTT/T':>16}  verdict")
for loop in (*by_sampling, *by_delay):
    critical = loop.critical_ratio()
    assert critical is not None
    verdict = "stable" if loop.margins().stable else "unstable"
    print(
        f"{loop.lag:>10g}{loop.delay:>6g}{loop.delay / loop.lag:>8.2f}{critical:>16.3f}  {verdict}"
    )
    assert (verdict == "stable") == (loop.delay / loop.lag < critical)

# "Critical when the delay exceeds the lag" holds for one gain.
print(f"delay = lag is critical at the gain {ultimate_gain(1):.5f}")
assert abs(ultimate_gain(1) - 2.26183) < 1e-5

# The lead w helps the loop with the queue's integrator up to a point, and then harms it.
room = {w: LagLoop(0.1, 1, 0, w=w, form="integrator").critical_ratio() or 0 for w in (0, 2, 8, 32)}
print("critical RTT/T over w:", ", ".join(f"{w:g}: {ratio:.2f}" for w, ratio in room.items()))
assert room[2] > room[0] > room[32]

figures = {
    "lag-sampling": family(
        [each.loop() for each in by_sampling],
        [f"1/Ps {each.lag:g}" for each in by_sampling],
        f"RTT 19, sampling varied, gain {GAIN:g}",
        end=150,
    ),
    "lag-delay": family(
        [each.loop() for each in by_delay],
        [f"RTT {each.delay:g}" for each in by_delay],
        f"1/Ps 2, RTT varied, gain {GAIN:g}",
        end=40,
    ),
}
for folder in sys.argv[1:]:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        print(save(figure, Path(folder) / f"{name}.png"))
