"""Reference values of three delay equations by JiTCDDE, for the tests of the fluid stepper.

Not run by the tests: JiTCDDE compiles C. Run it by hand in an environment of its own and paste
what it prints into `crates/fluid/src/tests/stepper.rs`. It must not run in a folder with a
`pyproject.toml`, which its build of the C code would read:

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install jitcdde==1.8.3
    script=$PWD/tests/oracles/jitcdde_reference.py; (cd /tmp && oracle/bin/python $script)

Tolerances are 1e-11 absolute and 1e-10 relative; starts are constant pasts, and the jumps they make
at time 0 are stepped on exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import symengine  # type: ignore[import-not-found]
from jitcdde import jitcdde, t, y  # type: ignore[import-not-found]


def solve(
    name: str, equations: Sequence[Any], start: list[float], delay: float, times: list[float]
) -> None:
    """Print the state at `times`, one line each."""
    dde = jitcdde(equations, max_delay=delay, verbose=False)
    dde.constant_past(start)
    dde.set_integration_parameters(
        atol=1e-11, rtol=1e-10, first_step=1e-3 * delay, max_step=0.05 * delay
    )
    dde.step_on_discontinuities()
    for time in times:
        state = ", ".join(f"{value:.12e}" for value in dde.integrate(time))
        print(f"{name}: ({time}, [{state}])")


def logistic() -> None:
    """Hutchinson's delayed logistic equation, y' = 1.4 y (1 - y(t - 1))."""
    solve("logistic", [1.4 * y(0) * (1 - y(0, t - 1))], [0.5], 1.0, [8.0, 12.0, 20.0])


def mackey_glass() -> None:
    """Mackey and Glass, y' = 0.2 y(t - 17) / (1 + y(t - 17)^10) - 0.1 y."""
    past = y(0, t - 17)
    solve(
        "mackey_glass",
        [0.2 * past / (1 + past**10) - 0.1 * y(0)],
        [1.2],
        17.0,
        [100.0, 150.0, 200.0],
    )


def queue_loop() -> None:
    """Model of a queue and a rate with two delays and a saturating gain."""
    q, r = y(0, t - 0.5), y(1, t - 0.8)
    pull = -symengine.tanh(q + 0.6 * (r - 1))
    solve("queue_loop", [y(1) - 1, 0.9 * y(1) * pull], [0.4, 1.3], 0.8, [5.0, 10.0, 20.0])


if __name__ == "__main__":
    logistic()
    mackey_glass()
    queue_loop()
