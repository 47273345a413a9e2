"""What a search says on stderr while it runs: its step, runs made, runs a minute."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from qcnlab.progress import wanted

if TYPE_CHECKING:
    from types import TracebackType


class Line:
    """One line on a terminal, which is written anew; elsewhere a line for each step."""

    def __init__(self) -> None:
        self._terminal = wanted()
        self._step = ""
        self._runs = 0
        self._started = time.monotonic()

    def __enter__(self) -> Line:
        """Start the clock."""
        self._started = time.monotonic()
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
        if not self._terminal and sys.stderr is not None:
            print(
                f"{self._seconds():.0f} s, {self._runs} runs: {step}", file=sys.stderr, flush=True
            )

    def moved(self, runs: int, left: float) -> None:
        """Tell how many runs were made, and the seconds that are left of the step."""
        self._runs = runs
        if self._terminal:
            ends = f", {left / 60:.0f} min left" if left >= 60 else f", {left:.0f} s left"
            print(f"\r\033[K{self._step}: {runs} runs{ends}", end="", file=sys.stderr, flush=True)

    def _seconds(self) -> float:
        return time.monotonic() - self._started
