"""What a search says on stderr while it runs: its step, runs made, time left of the step."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from qcnlab.progress import wanted

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
        self._tell("")

    def moved(self, runs: int, left: float) -> None:
        """Tell how many runs were made, and the seconds that are left of what is under way."""
        self._runs = runs
        if self._terminal or time.monotonic() - self._told >= EACH_S:
            self._tell(f", {left / 60:.0f} min left" if left >= 60 else f", {left:.0f} s left")

    def _tell(self, left: str) -> None:
        if sys.stderr is None:
            return
        now = time.monotonic()
        words = f"{now - self._started:.0f} s, {self._runs} runs: {self._step}{left}"
        self._told = now
        if self._terminal:
            print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)
        else:
            print(words, file=sys.stderr, flush=True)
