"""Numbers of the page of readings, computed again."""

from __future__ import annotations

from pathlib import Path

import pytest

import qcnlab

PAGE = Path(__file__).parents[1] / "docs/concepts/readings.md"
HOTSPOT = "og-hotspot-2src-10g-to-500m-rtt10us"

ROWS = {
    "QCN itself gives {jain:.3f}, {onset_ms:.0f} ms, {drops:.0f}": [],
    "to the nearest of 127 steps (`code_bits=8`): {rec95_ms:.0f} ms at RTT 10 us": [
        "scheme.name=ecm_q"
    ],
    "half (`scheme.cp.alpha=0.5`): {jain:.3f}, {onset_ms:.0f} ms": ["scheme.name=af_qcn"],
}
"""What the page says, with metrics to be filled in, and the scenario's other keys."""


@pytest.mark.parametrize("words", ROWS)
def test_the_page_says_what_a_run_gives(words: str) -> None:
    scenario = qcnlab.load(HOTSPOT).with_("record.tables=false", *ROWS[words])
    result = qcnlab.run(scenario, reps=20)
    medians = {name: result.metric(name) for name in ("jain", "onset_ms", "drops", "rec95_ms")}
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert words.format(**medians) in page
