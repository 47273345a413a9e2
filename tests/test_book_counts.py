"""A claim about something that never happened cannot hold, whatever its measure says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from made_up_book import CASE, chapter, claim, row
from qcnlab.book import verdicts
from qcnlab.book.comparisons import FAILS, HOLDS
from qcnlab.book.counts import EVENTS, counted, happened
from qcnlab.book.runner import CaseResult
from qcnlab.book.words import Word


def of(**numbers: float) -> CaseResult:
    return CaseResult(CASE, None, numbers)


class Summary:
    """A result of which nothing but the summary is read."""

    def __init__(self, summary: SimpleNamespace) -> None:
        self.summary = summary

    def forget_tables(self) -> None:
        """Have none."""


SAME = Word("same", "", "equivalence", ratios=(0.8, 1.25))


@pytest.mark.parametrize(("pauses", "verdict"), [((0, 0), FAILS), ((0, 3), HOLDS), ((7, 0), HOLDS)])
def test_identical_runs_are_not_the_same_in_spite_of_pause(
    pauses: tuple[int, int], verdict: str
) -> None:
    """Two cases with and without PAUSE, in which the queue is the same."""
    runs = {"a": of(drops=2.0, pause_frames=pauses[0]), "b": of(drops=2.0, pause_frames=pauses[1])}
    bound = claim("limit", above=1.0, below=5.0, than="b", about=("pause_frames",))
    said, checks = verdicts._claim(bound, runs, verdicts._Rules(False, 1, 20, few=False))
    assert (said, checks[0].verdict, checks[0].of) == (verdict, verdict, "pause_frames")
    # The measure itself holds in each.
    assert checks[1].verdict == HOLDS


def test_each_event_must_happen_and_the_case_with_most_is_shown() -> None:
    runs = {"a": of(messages=1.0, timeouts=0.0), "b": of(messages=4.0, timeouts=0.0)}
    bound = claim("order", than="b", about=("messages", "timeouts"))
    messages, timeouts = happened(bound, runs)
    assert (messages.verdict, messages.claim.case, messages.values.median) == (HOLDS, "b", 4.0)
    assert (timeouts.verdict, timeouts.claim.entry) == (FAILS, bound.entry)
    assert happened(claim("order", than="b"), runs) == []


def test_a_count_that_is_unknown_did_not_happen() -> None:
    (event,) = happened(claim(about=("messages",)), {"a": of()})
    assert event.verdict == FAILS


def test_a_model_counts_nothing() -> None:
    assert counted(of(messages=1.0)) == []


def test_frames_that_sources_refuse_are_not_said_to_be_lost() -> None:
    counts = {"messages": 4, "pause_frames": 0, "drops": 7, "refused": 746_000, "timeouts": 1}
    metrics = {name: SimpleNamespace(values=[count]) for name, count in counts.items()}
    result: Any = Summary(SimpleNamespace(metrics=metrics))
    shown = dict(zip(EVENTS.values(), counted(CaseResult(CASE, result, {})), strict=True))
    assert (shown["lost in the network"], shown["refused at sources"]) == (7, 746_000)
    assert (shown["messages"], shown["pause frames"], shown["timeouts"]) == (4, 0, 1)


def test_what_a_claim_is_about_is_part_of_its_fingerprint() -> None:
    one = row("9.1", claim())
    other = replace(one, claims=(claim(about=("messages",)),))
    assert chapter(one).digest(one) != chapter(other).digest(other)
