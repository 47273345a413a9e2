"""Entries of the book that are read or worked out: the reviewer's, models, completion times."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from made_up_book import INF, book, claim, row
from qcnlab.book import completion, derived, models
from qcnlab.book.traces import Losses, Traces


def test_entries_of_the_reviewer_end_where_the_next_begins(tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "deck009.md").write_text(
        '# Nine\n\n### 009-1-a · Recovery · slide\n- Quote: "94 ms" \n- Status: claim.\n'
        "### 009-2-b · Plain\nStatus: shown\n### 009-3-c · Bare\n"
    )
    assert [(e.id, e.title, e.status, e.quote) for e in derived.read(tmp_path, "deck009")] == [
        ("009-1-a", "Recovery", "claim", '"94 ms"'),
        ("009-2-b", "Plain", "shown", ""),
        ("009-3-c", "Bare", "", ""),
    ]
    assert derived.read(tmp_path, "deck010") == []
    whole = book(row("9.1", claim(entry="009-9-z")))
    assert [each.id for each in derived.without_row(whole, tmp_path)["deck009"]] == ["009-1-a"]
    named = book(row("9.1", claim()))
    assert derived.without_row(named, tmp_path) == {"deck009": []}


def test_fair_shares_of_the_parking_lot() -> None:
    """Four hot flows and a cold one on each of two links of 10 Gb/s.

    Max-min: 10 / 5 for each. Proportional: hot is half of cold, 4 hot + 2 hot = 10.
    """
    assert models.parking_lot([]) == {"share_hot": 2.0, "share_cold": 2.0}
    shares = models.parking_lot(["proportional=1"])
    assert shares == pytest.approx({"share_hot": 10 / 6, "share_cold": 20 / 6})
    assert models.parking_lot(["hot=1", "rate=9"]) == {"share_hot": 4.5, "share_cold": 4.5}
    with pytest.raises(ValueError, match="'cold' is none of rate, hot, proportional"):
        models.parking_lot(["cold=1"])


def test_the_lag_loop_of_a_row() -> None:
    """K e^{-s} / (1 + s T): with K = 2 the edge is at tau / T = 1.209, with 1 nowhere."""
    stable = models.lag_loop(["gain=2", "lag=40", "delay=19"])
    assert stable["stable"] == 1
    assert stable["critical_ratio"] == pytest.approx(1.2092, abs=1e-4)
    assert stable["overshoot"] == pytest.approx(0.398, abs=0.005)
    unstable = models.lag_loop(["gain=2", "lag=10", "delay=19"])
    assert (unstable["stable"], unstable["overshoot"]) == (0.0, INF)
    assert models.lag_loop(["gain=1", "lag=10", "delay=19"])["critical_ratio"] == INF
    assert models.loop_of(["gain=2", "lag=1", "delay=1"]).form == "lag"
    lead = models.loop_of(["gain=2", "lag=1", "delay=1", "w=0.1"])
    assert (lead.form, lead.w, lead.time_unit) == ("lead", 0.1, "")
    assert models._degrees(None) == INF


def test_margins_take_their_delays_in_microseconds() -> None:
    at_50 = models.dcqcn_margin(["sources=10", "delay_us=50"])["phase_margin"]
    assert at_50 == pytest.approx(-6.58, abs=0.05)
    # Beyond the ramp nothing rests, and the published curve goes on.
    beyond = models.dcqcn_margin(["sources=64", "delay_us=50"])["phase_margin"]
    assert beyond == pytest.approx(29.56, abs=0.01)
    # Without propagation: the published curve of ten sources.
    assert models.timely_margin(["sources=10"])["phase_margin"] == pytest.approx(28.53, abs=0.05)


def flows_of(
    visitor: dict[str, list[Any]],
    monkeypatch: pytest.MonkeyPatch,
    rates: list[float],
    step: float = 20e-6,
) -> Any:
    """Return a run of one endless flow with these rates, in bins of `step` s, and a visitor."""
    frame = pl.DataFrame(visitor)
    bins = np.arange(len(rates), dtype=np.float64) * step
    none = Losses(np.zeros(0), np.zeros(0), np.zeros(0))
    one = Traces(
        np.zeros(0), np.zeros(0), bins,
        {"visitor": np.zeros(len(rates)), "endless": np.array(rates)}, none, none,
    )  # fmt: skip
    monkeypatch.setattr(completion, "traces", lambda _: [one])
    monkeypatch.setattr(completion, "facts", lambda _: SimpleNamespace(throughput_bin_s=step))
    return SimpleNamespace(table=lambda _: SimpleNamespace(to_polars=lambda: frame))


def test_how_long_an_endless_flow_takes_to_have_its_rate_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The visitor stays from 200 us (bin 10) to 410 us, within bin 20.

    Before it 10 Gb/s flow, counted from 100 us on. 9.5 Gb/s must hold for 50 us, two bins of 20:
    they do from bin 24, at 480 us, 70 us after the end. Held for 100 us, five bins, from bin 27 on.
    """
    visitor: dict[str, list[Any]] = {
        "replication": [0], "source": ["visitor"], "size_bytes": [1000], "start_s": [200e-6],
        "finished_s": [410e-6],
    }  # fmt: skip
    rates = [1.0] * 5 + [10.0] * 5 + [5.0] * 14 + [9.5, 9.5, 5.0] + [10.0] * 20
    run = flows_of(visitor, monkeypatch, rates)
    back = completion.MEASURES["back_ms"][2]
    assert back(run, 0, None) == pytest.approx(0.070)
    assert back(run, 0, 0.1) == pytest.approx(27 * 0.02 - 0.41)
    # Never: the rate stays low. At once: it never fell, and a time is not below 0.
    low = flows_of(visitor, monkeypatch, [10.0] * 10 + [9.4] * 30)
    assert back(low, 0, None) == INF
    calm = flows_of(visitor, monkeypatch, [10.0] * 40)
    assert back(calm, 0, None) == 0
    unfinished = flows_of(visitor | {"finished_s": [None]}, monkeypatch, rates)
    assert back(unfinished, 0, None) == INF


def test_bins_between_half_a_start_and_the_start_and_those_after_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bins of 2^-14 s, so that all times are exact: the visitor stays for bins 8 to 15.

    Bins 4 to 7 make the level, (6 + 10 + 10 + 6) / 4 = 8, of which 95 % are 7.6. Bin 15 has as
    much, but ends with the visitor; after its end it takes two bins until 7.7, for one bin only.
    """
    step = 2.0**-14
    visitor: dict[str, list[Any]] = {
        "replication": [0], "source": ["visitor"], "size_bytes": [1000], "start_s": [8 * step],
        "finished_s": [16 * step],
    }  # fmt: skip
    rates = [0.0] * 4 + [6.0, 10.0, 10.0, 6.0] + [1.0] * 7 + [8.0, 1.0, 1.0, 7.7, 1.0, 1.0]
    run = flows_of(visitor, monkeypatch, rates, step)
    back = completion.MEASURES["back_ms"][2]
    assert back(run, 0, step * 1e3) == pytest.approx(2 * step * 1e3)
    # Of less than a bin nothing is known but the bin's mean.
    assert back(run, 0, step * 1e2) == pytest.approx(2 * step * 1e3)
    assert back(run, 0, 2 * step * 1e3) == INF
    # Where the visitor ends with the last bin there is none after it.
    short = flows_of(visitor, monkeypatch, rates[:16], step)
    assert back(short, 0, step * 1e3) == INF


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("lag_loop", "gain=2 lag=40 delay=19 beta=2"),
        ("lag_loop", "gain=2 lag=40 delay=19 lag=-1"),
        ("lag_loop", "gain=2 lag=40 delay=nan"),
        ("lag_loop", "gain=0 lag=40 delay=19"),
        ("dcqcn_margin", "sources=2 delay=85"),
        ("dcqcn_margin", "sources=0 delay_us=85"),
        ("dcqcn_margin", "sources=2 delay_us=-1"),
        ("timely_margin", "sources=two"),
        ("timely_margin", "sources=0"),
    ],
)
def test_settings_are_refused_without_the_numbers(model: str, settings: str) -> None:
    """Reading the book checks each case; working out all its models takes seconds."""
    with pytest.raises(ValueError) as by_check:
        models.CHECKS[model](settings.split())
    with pytest.raises(ValueError) as by_model:
        models.MODELS[model](settings.split())
    assert str(by_check.value) == str(by_model.value)


def test_every_model_that_takes_long_has_a_check_of_its_own() -> None:
    assert models.CHECKS.keys() == models.MODELS.keys() - {"parking_lot"}
