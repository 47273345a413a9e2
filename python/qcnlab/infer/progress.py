"""What a search says on stderr while it runs: its step, runs made, time left of the step."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from qcnlab.printing.progress import wanted

if TYPE_CHECKING:
    from types import TracebackType

EACH_S = 60.0
"""Off a terminal a step is told when it begins, and then so often."""


class Line:
    """One line on a terminal, which is written anew; elsewhere lines now and then."""

    def __init__(self, *, terminal: bool | None = None) -> None:
        self._terminal = wanted() if terminal is None else terminal
        self._step = ""
        self._runs = 0
        self._share = 0.0
        self._whole = 0
        self._started = self._told = time.monotonic()

    def __enter__(self) -> Line:
        """Start the clock."""
        self._started = self._told = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave a clean line."""
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def said(self, step: str) -> None:
        """Tell the step that begins."""
        self._step = step
        self._tell()

    def expect(self, runs: int) -> None:
        """Take how many runs the search makes at most: before steps end, they tell the share."""
        self._whole = runs

    def done(self, share: float) -> None:
        """Take the share of the search that is done, as far as it can be known."""
        self._share = share

    def moved(self, runs: int) -> None:
        """Tell how many runs were made, and about how long the rest takes."""
        self._runs = runs
        if self._terminal or time.monotonic() - self._told >= EACH_S:
            self._tell()

    def _left(self, seconds: float) -> str:
        of_runs = self._runs / self._whole if self._whole else 0.0
        share = min(0.99, max(self._share, of_runs))
        if share <= 0:
            return ""
        left = seconds * (1 - share) / share
        return f", about {left / 60:.0f} min left" if left >= 60 else f", about {left:.0f} s left"

    def _tell(self) -> None:
        if sys.stderr is None:
            return
        now = time.monotonic()
        seconds = now - self._started
        words = f"{seconds:.0f} s, {self._runs} runs: {self._step}{self._left(seconds)}"
        self._told = now
        if self._terminal:
            print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)
        else:
            print(words, file=sys.stderr, flush=True)
