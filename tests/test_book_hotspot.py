"""Measures of the book's words by hand: each on a trace short enough to work it out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import qcnlab
from qcnlab.book.cases import Hot
from qcnlab.book.hotspot import MEASURES, values
from qcnlab.book.traces import Losses, Traces
from qcnlab.book.values import unit_of
from qcnlab.book.view import View

SET_POINT = 1e4
HOT = Hot(0.0, 1.0, 2.0, SET_POINT, 1e5, "", 1.0, 8.0)


def losses(frames: dict[float, float]) -> Losses:
    """Return frames by the time of the last of them; its bin of 1 ms starts at or before it."""
    times = np.array(list(frames), dtype=np.float64)
    return Losses(np.floor(times * 1e3) * 1e-3, times, np.array(list(frames.values()), dtype=float))


def view(
    queue: list[float] | None = None,
    flows: dict[str, list[float]] | None = None,
    *,
    window: tuple[float, float] = (0.0, 1.0),
    bin_ms: float = 1.0,
    queue_ms: float = 1.0,
    start_s: float = 0.0,
    lost: dict[float, float] | None = None,
    refused: dict[float, float] | None = None,
    patterns: str = "",
    of_hotspot: str = "",
    limit: float | None = None,
) -> View:
    """Return traces from time zero: queue in set points of 10 KB, rates in Gb/s.

    The hot link serves 1 Gb/s during the hotspot; 8 Gb/s flow after it.
    """
    samples = np.array(queue or [0.0]) * SET_POINT
    rates = {name: np.array(rate, dtype=float) for name, rate in (flows or {"x": [1.0]}).items()}
    bins = max(len(rate) for rate in rates.values())
    traces = Traces(
        np.arange(len(samples), dtype=np.float64) * queue_ms * 1e-3,
        samples,
        np.arange(bins, dtype=np.float64) * bin_ms * 1e-3,
        rates,
        losses(lost or {}),
        losses(refused or {}),
    )
    hot = replace(HOT, start_s=start_s, flows=of_hotspot)
    return View(traces, hot, window, bin_ms, queue_ms, patterns, limit)


def of(name: str, seen: View) -> float:
    return MEASURES[name].of(seen)


def test_a_window_has_its_first_instant_and_not_its_last() -> None:
    seen = view([1.0, 2.0, 3.0, 4.0, 5.0], window=(0.001, 0.003))
    assert list(seen.queue) == [2.0, 3.0]
    rates = view(flows={"a": [1.0, 2.0, 3.0], "b": [5.0, 6.0, 7.0]}, window=(0.001, 0.003))
    assert rates.rates.tolist() == [[2.0, 3.0], [6.0, 7.0]]
    assert list(rates.total) == [8.0, 10.0]


def test_flows_are_those_of_the_claim_else_of_the_hotspot_else_all() -> None:
    flows = {"a->x": [1.0], "b->x": [2.0], "b->y": [4.0]}
    assert list(view(flows=flows).total) == [7.0]
    assert list(view(flows=flows, of_hotspot="*->x").total) == [3.0]
    assert list(view(flows=flows, of_hotspot="*->x", patterns="b->*").total) == [6.0]
    assert list(view(flows=flows, patterns="a->x b->y").total) == [5.0]


def test_the_size_of_a_queue() -> None:
    seen = view([0.0, 1.0, 1.0, 6.0])
    assert of("level", seen) == 2.0
    # (4 + 1 + 1 + 16) / 4 = 5.5.
    assert of("deviation", seen) == pytest.approx(math.sqrt(5.5))
    assert of("peak", seen) == 6.0
    assert of("empty_share", seen) == 0.25
    # 0 to 100: the quantiles are 5 and 95.
    assert of("span", view([float(n) for n in range(101)])) == pytest.approx(90.0)


def test_a_queue_is_full_at_19_of_20_of_its_limit() -> None:
    # The limit is 10 set points: 9.5 counts, 9.49 does not.
    assert of("full_share", view([9.5, 9.49, 10.0, 0.0, 0.0])) == 0.4


def test_growth_is_deviation_of_the_second_half_by_that_of_the_first() -> None:
    assert of("growth", view([1.0, 3.0, 2.0, 8.0])) == 3.0
    # 2 by 4, which is not 2 times 4.
    assert of("growth", view([0.0, 8.0, 2.0, 6.0])) == 0.5
    # Half a frame is 750 B, 0.075 set points. 0.01 and 0.05 are both noise; 0.3 is four times it.
    assert of("growth", view([1.0, 1.02, 1.0, 1.1])) == 1.0
    assert of("growth", view([1.0, 1.02, 1.0, 1.6])) == pytest.approx(4.0)
    assert of("growth", view([1.0, 1.6, 1.0, 1.0])) == pytest.approx(0.25)


def test_an_empty_queue_is_not_calm() -> None:
    empty = view([0.0, 0.0, 0.0, 0.0])
    assert (of("deviation", empty), of("error", empty)) == (0.0, 1.0)
    # Above the set point only the deviation counts; at a mean of 0.6 with a deviation of 0.3 the
    # missing 0.4 make it 0.5.
    assert of("error", view([2.0, 4.0])) == 1.0
    assert of("error", view([0.3, 0.9])) == pytest.approx(0.5)


def test_a_swing_sees_peaks_of_a_queue_that_is_mostly_empty() -> None:
    # Of 40 samples of 1 ms four are 3, one in each 10 ms: the span of all samples is 0 to 3 only
    # where more than 5 % are high; the largest of 10 ms are all 3.
    peaks = ([0.0] * 9 + [3.0]) * 4
    assert of("swing", view(peaks)) == 3.0
    rare = ([0.0] * 39 + [3.0]) * 2
    assert of("span", view(rare)) == 0.0
    # Largest of 10 ms: six times 0, twice 3; the 95 % quantile lies at 6.65 of 0 to 7.
    assert of("swing", view(rare)) == 3.0
    # Lowest 1, 1 and highest 2, 4: quantiles of 3.9 and 1.
    assert of("swing", view([1.0] + [2.0] * 9 + [4.0] * 9 + [1.0])) == pytest.approx(2.9)
    # Samples of 20 ms stand for themselves; a trace of less than 10 ms is one part.
    assert of("swing", view([1.0, 1.0, 1.0], queue_ms=20.0)) == 0.0
    # 20 samples make 10 ms: of two parts one has a peak of 4, so 95 % of that is left.
    assert of("swing", view([0.0] * 30 + [4.0] + [0.0] * 9, queue_ms=0.5)) == pytest.approx(3.8)
    assert of("swing", view([1.0, 4.0])) == 3.0


def test_jitter_is_the_step_between_means_of_a_millisecond() -> None:
    # Two samples in each: 1, 3, 2; the seventh sample makes no whole millisecond.
    seen = view([0.0, 2.0, 3.0, 3.0, 4.0, 0.0, 9.0], queue_ms=0.5)
    assert of("jitter", seen) == pytest.approx(1.5)


def test_alternations_go_from_empty_to_the_ceiling_of_a_swing() -> None:
    # The ceiling is 95 % of four set points, 3.8.
    assert of("alternations", view([3.8, 0.0, 2.0, 0.0, 3.8, 5.0, 0.0, 3.79, 0.0, 9.0])) == 2.0
    assert of("alternations", view([3.8, 0.0, 3.7])) == 0.0
    # A swing from 0.5 is none; the one that starts with the first sample is.
    assert of("alternations", view([0.5, 3.8, 0.5, 3.8])) == 0.0
    assert of("alternations", view([0.0, 3.8])) == 1.0
    # A queue of at most 2 set points: 1.9. One of 40: still 3.8.
    small = replace(view([0.0, 1.9, 0.0, 1.89]), hot=replace(HOT, full=2e4))
    assert of("alternations", small) == 1.0
    assert of("alternations", view([0.0, 4.0])) == 1.0


def test_empties_are_falls_to_empty() -> None:
    assert of("empties", view([0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 3.0])) == 2.0


def test_underrun_leaves_out_the_first_ten_milliseconds_of_the_hotspot() -> None:
    rates = [0.0] * 10 + [0.75] * 10
    assert of("underrun", view(flows={"x": rates}, window=(0.0, 0.02))) == 0.25
    # Of another window nothing is left out: 0.375 on average.
    assert of("underrun", view(flows={"x": rates}, window=(0.0, 0.02), start_s=-1.0)) == 0.625
    # Before the hotspot, and from its end on, the link could have served 8 Gb/s.
    before = view(flows={"x": [6.0] * 20}, window=(0.0, 0.02), start_s=0.02)
    assert of("underrun", before) == 0.25
    after = replace(before, hot=replace(HOT, start_s=-1.0, end_s=0.0))
    assert of("underrun", after) == 0.25
    # What comes right after them counts: 0.3 in one bin and 0.9 in nine are 0.84 on average.
    late = {"x": [0.0] * 10 + [0.3] + [0.9] * 9}
    assert of("underrun", view(flows=late, window=(0.0, 0.02))) == pytest.approx(0.16)
    # Of 1.5 Gb/s instead of the 1 Gb/s that the hot link serves: half.
    assert of("underrun", view(flows={"x": rates}, window=(0.0, 0.02), limit=1.5)) == 0.5


def test_recovery_lasts_a_millisecond_and_ten() -> None:
    # Of 8 Gb/s: 7.6. Bins of 0.5 ms: two make a millisecond, 20 make ten. From bin 5 on all are 8.
    rates = {"x": [0.0] * 5 + [8.0] * 40}
    # The 20 bins from the fourth have 19 * 8 / 20 = 7.6 on average, its first two 4.
    assert of("recovery", view(flows=rates, bin_ms=0.5)) == 2.5
    # Two bins, not the first alone: 8 and 5 have a mean of 6.5, while 20 have more than 7.6.
    dip = {"x": [8.0, 5.0] + [8.0] * 40}
    assert of("recovery", view(flows=dip, bin_ms=0.5)) == 1.0
    # With bins of 1 ms the first one alone counts beside ten.
    assert of("recovery", view(flows=rates)) == 5.0
    # One bin of 7 among 8s lowers the mean of ten to 7.9, and that of its own millisecond to 7.
    assert of("recovery", view(flows={"x": [8.0] * 3 + [7.0] + [8.0] * 20})) == 0.0
    assert of("recovery", view(flows={"x": [7.0] + [8.0] * 20})) == 1.0
    # Just the level lasts, a thousandth less does not.
    assert of("recovery", view(flows={"x": [0.0] + [7.6] * 20})) == 1.0
    assert of("recovery", view(flows={"x": [0.0] + [7.599] * 20})) == math.inf
    # 4 for the level of the claim: 3.8.
    assert of("recovery", view(flows={"x": [0.0, 3.7] + [3.9] * 20}, limit=4.0)) == 2.0
    # 7.2 is 90 %, 7.92 is 99 %.
    ramp = {"x": [7.1] * 3 + [7.2] * 20 + [7.92] * 20}
    assert of("recovery_90", view(flows=ramp)) == 3.0
    assert of("recovery_99", view(flows=ramp)) == 23.0


def test_recovery_needs_ten_milliseconds_of_trace() -> None:
    assert of("recovery", view(flows={"x": [8.0] * 9})) == math.inf
    assert of("recovery", view(flows={"x": [8.0] * 10})) == 0.0
    assert of("recovery", view(flows={"x": [7.0] * 30})) == math.inf
    # Bins of 20 ms are each longer than both.
    assert of("recovery", view(flows={"x": [0.0, 8.0]}, bin_ms=20.0)) == 20.0


def test_the_transient_ends_before_fifty_milliseconds_near_the_later_level() -> None:
    # Samples of 10 ms. The second half has 2.5 on average, so that 3.5 is near and 3.6 is not: a
    # level of two and a half set points is no transient without end.
    queue = [9.0, 3.6, 3.6, 3.5, 3.0, 2.0, 2.0, 3.0, 2.5, 2.5, 2.5, 2.5]
    window = (0.0, 0.12)
    assert of("transient", view(queue, window=window, queue_ms=10.0)) == pytest.approx(30.0)
    # Two samples, 20 ms, above it after 30 ms of calm: their mean with the calm around is below
    # two set points, and the queue has not settled before them.
    late = [0.0, 1.0, 1.0, 4.0, 4.0, *[1.0] * 9]
    assert of("transient", view(late, window=(0.0, 0.14), queue_ms=10.0)) == pytest.approx(50.0)
    # Calm for exactly 50 ms is enough; for 40 it is not.
    early = [0.0] * 5 + [9.0] + [0.0] * 14
    assert of("transient", view(early, window=(0.0, 0.2), queue_ms=10.0)) == 0.0
    early = [0.0] * 4 + [9.0] + [0.0] * 15
    assert of("transient", view(early, window=(0.0, 0.2), queue_ms=10.0)) == pytest.approx(50.0)
    # It counts from the window's start, and lasts for all of one that never settles.
    seen = view(queue, window=(0.01, 0.12), queue_ms=10.0)
    assert of("transient", seen) == pytest.approx(20.0)
    swings = [0.0, 9.0] * 6
    assert of("transient", view(swings, window=window, queue_ms=10.0)) == pytest.approx(120.0)
    # Frames that are dropped are another measure's.
    seen = view(queue, window=window, queue_ms=10.0, lost={0.11: 5.0})
    assert of("transient", seen) == pytest.approx(30.0)


def test_the_last_loss_is_the_last_frame_and_no_bin() -> None:
    lost = {0.0013: 2.0, 0.0417: 1.0, 0.06: 3.0}
    refused = {0.045: 7.0}
    seen = view(lost=lost, refused=refused, window=(0.001, 0.05))
    assert of("last_loss", seen) == pytest.approx(40.7)
    assert of("last_loss", view(refused=refused, window=(0.0, 0.05))) == 0.0


def test_reaction_is_the_end_of_the_first_maximum_with_a_fall_of_a_tenth() -> None:
    # 2 falls to 1.9 only, 3 to 2.7: it is the third millisecond.
    assert of("reaction", view([2.0, 1.9, 3.0, 2.8, 2.7, 5.0])) == 3.0
    assert of("reaction", view([1.0, 2.0, 3.0])) == math.inf
    # Of two equal maxima the first; the fall is one from the first millisecond too.
    assert of("reaction", view([2.0, 2.0, 1.0])) == 1.0
    assert of("reaction", view([1.5, 0.5])) == 1.0
    # An empty queue has no maximum.
    assert of("reaction", view([0.0, 0.0, 0.0, 1.0, 0.5])) == 4.0


def test_how_flows_share() -> None:
    flows = {"a": [1.0, 3.0], "b": [6.0, 6.0]}
    # (2 + 6)^2 / (2 * (4 + 36)) = 0.8.
    assert of("fairness", view(flows=flows)) == pytest.approx(0.8)
    assert of("largest_by_smallest", view(flows=flows)) == 3.0
    assert of("largest_by_smallest", view(flows={"a": [1.0], "b": [0.0]})) == math.inf
    assert of("largest_by_smallest", view(flows={"a": [1.0], "b": [0.5]})) == 2.0
    assert math.isnan(of("fairness", view(flows={"a": [0.0], "b": [0.0]})))
    assert of("carried", view(flows=flows)) == 8.0


def test_fluctuation_is_over_ten_milliseconds_of_each_flow() -> None:
    # Two bins of 5 ms in each: means of 2 and 4 have 1 / 3; a flow that does not vary has 0; one
    # that never sends does not count.
    flows = {"a": [1.0, 3.0, 3.0, 5.0], "b": [2.0] * 4, "c": [0.0] * 4}
    assert of("fluctuation", view(flows=flows, bin_ms=5.0)) == pytest.approx(1 / 6)
    # Bins of 20 ms stand for themselves; a flow of less than 1 Gb/s counts: 0.25 and 0.75.
    assert of("fluctuation", view(flows={"a": [0.25, 0.75]}, bin_ms=20.0)) == pytest.approx(0.5)


def test_lost_and_refused_frames_are_those_of_the_window_and_of_their_kind() -> None:
    lost, refused = {0.001: 2.0, 0.002: 3.0, 0.004: 8.0}, {0.0011: 16.0, 0.003: 32.0, 0.005: 64.0}
    seen = view(lost=lost, refused=refused, window=(0.002, 0.004))
    assert of("lost_frames", seen) == 3.0
    assert of("refused_frames", seen) == 32.0


def test_silence_is_the_longest_of_any_flow() -> None:
    flows = {"a": [0.0, 0.5, 0.0, 0.0, 1.0, 0.0], "b": [1.0] * 6}
    assert of("silence", view(flows=flows, bin_ms=0.5)) == 1.0
    assert of("silence", view(flows={"a": [1.0, 0.5]})) == 0.0
    assert of("silence", view(flows={"b": [1.0] * 3, "a": [0.0] * 3})) == 3.0


def test_flows_are_apart_for_some_bins_of_some_milliseconds() -> None:
    # Three bins of 0.5 ms differ by 4, 2 and 1 Gb/s; the fourth by half.
    flows = {"a": [4.0, 3.0, 2.0, 1.5], "b": [0.0, 1.0, 1.0, 1.0]}
    assert of("apart", view(flows=flows, bin_ms=0.5, limit=0.5)) == 1.5


def test_underrun_of_a_chain() -> None:
    """Hosts 1, 4, ... 55 start a switch; the second of its three goes through all trunks after it.

    Each sends 1/40 of the link: trunk k carries k + 2 of them, so that (38 - k) / 40 are unused,
    28 / 40 on average over 1 to 19. The last link carries 11 of them, that of host 56 too: 29 / 40.
    """
    flows = {f"host{n}->host{n + 3}": [1 / 40] for n in range(1, 58)}
    flows |= {f"host{n}->host59": [1 / 40] for n in (58, 60)}
    flows |= {f"host{n}->host59": [1 / 40] for n in range(61, 69)}
    assert of("chain_underrun", view(flows=flows)) == pytest.approx((19 * 28 + 29) / 20 / 40)
    # Trunk 1 carries three of 40.
    assert of("chain_worst", view(flows=flows)) == pytest.approx(37 / 40)
    # Twice as much from the first switch's second host: 1/40 less on every trunk. Thrice as much
    # from its third host: 2/40 on the first trunk alone.
    flows["host2->host5"], flows["host3->host6"] = [2 / 40], [3 / 40]
    less = (19 * 28 - 19 - 2 + 29) / 20 / 40
    assert of("chain_underrun", view(flows=flows)) == pytest.approx(less)
    # Half of everything is unused of a link of half the rate as of the whole one.
    half = view(flows={name: [rate[0] / 2] for name, rate in flows.items()})
    half = replace(half, hot=replace(HOT, rate=0.5))
    assert of("chain_underrun", half) == pytest.approx(less)
    # The first switch's own second host is on its trunk; the last switch's, 56, only on the last.
    flows["host56->host59"] = [3 / 40]
    assert of("chain_underrun", view(flows=flows)) == pytest.approx(less - (2 + 2) / 20 / 40)


def test_shares_of_time_and_of_a_link_are_shown_in_percent() -> None:
    percent = {name for name, shape in MEASURES.items() if shape.percent}
    assert percent == {"full_share", "empty_share", "underrun", "chain_underrun", "chain_worst"}
    assert unit_of("underrun") == (100.0, "%")
    assert unit_of("recovery") == (1.0, "ms")


@pytest.mark.parametrize("width", ["0.1 ms", "1 ms"])
def test_the_metric_and_the_book_give_a_run_one_recovery(width: str) -> None:
    """Adjusted ECM, with fine and coarse bins; the same level is asked of both."""
    scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us")
    changed = scenario.with_("scheme.name=ecm", f"record.throughput_bin={width}")
    run = qcnlab.run(changed, seed=3, reps=1)
    hot = Hot(1.0, 2.0, 2.5, 33e3, 150e3, "", 0.5, 10.0)
    (book,) = values(run, hot, "recovery", hot.window("rec"))
    assert run.metric("recovery_ms") == pytest.approx(book, abs=1e-9)
    assert run.metric("regain_ms", window=(2.0, 2.5), limit=9.5) == pytest.approx(book, abs=1e-9)
    assert 0.5 < book < 5.0
