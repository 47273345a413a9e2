"""A progress bar with the time left, on stderr, for work longer than two seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

PATIENCE_S = 2.0


def wanted() -> bool:
    """Return whether a bar would be seen: stderr is a terminal, or this is a notebook."""
    return (sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules


class Bar:
    """A bar on stderr; call it with the fraction done (0..1). It shows itself after two seconds."""

    def __init__(self, label: str, enabled: bool | None = None) -> None:
        self._label = label
        self._enabled = wanted() if enabled is None else enabled
        self._started = time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Bar:
        """Start the clock."""
        self._started = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._shown[0].stop()

    def __call__(self, fraction: float) -> None:
        """Move the bar to `fraction`."""
        if not self._enabled:
            return
        if self._shown is None:
            if time.monotonic() - self._started < PATIENCE_S:
                return
            self._shown = self._show(fraction)
        progress, task = self._shown
        progress.update(task, completed=fraction, left=self._left(fraction))

    def _show(self, fraction: float) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        progress.start()
        task = progress.add_task(self._label, total=1.0, left=self._left(fraction))
        return progress, task

    def _left(self, fraction: float) -> str:
        if fraction <= 0:
            return ""
        seconds = round((time.monotonic() - self._started) * (1 - fraction) / fraction)
        return f"{seconds // 60}:{seconds % 60:02d} left"
