"""A bar with the time left for work longer than two seconds, on stderr or in a notebook."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

PATIENCE_S = 2.0


def wanted() -> bool:
    """Return whether a bar would be seen: stderr is a terminal, or this is a notebook."""
    return (sys.stderr is not None and sys.stderr.isatty()) or _in_notebook()


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


class Bar:
    """A bar; call it with the fraction done (0..1). It shows itself after two seconds."""

    def __init__(self, label: str, enabled: bool | None = None) -> None:
        self._label = label
        self._enabled = wanted() if enabled is None else enabled
        self._started = time.monotonic()
        self._shown: _Terminal | _Notebook | None = None

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
            self._shown.remove()

    def __call__(self, fraction: float, messages: int = 0, of: int = 0) -> None:
        """Move the bar to `fraction`, and say how many messages `of` how many are complete."""
        if not self._enabled:
            return
        if self._shown is None:
            if time.monotonic() - self._started < PATIENCE_S:
                return
            self._shown = _Notebook() if _in_notebook() else _Terminal(self._label)
        said = (f"{messages:,} of {of:,} messages" if of else "", self._left(fraction))
        self._shown.show(self._label, fraction, ", ".join(filter(None, said)))

    def _left(self, fraction: float) -> str:
        if fraction <= 0:
            return ""
        seconds = round((time.monotonic() - self._started) * (1 - fraction) / fraction)
        return f"{seconds // 60}:{seconds % 60:02d} left"


class _Terminal:
    """A bar in a terminal."""

    def __init__(self, label: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task(label, total=1.0, left="")

    def show(self, label: str, fraction: float, left: str) -> None:
        self._progress.update(self._task, completed=fraction, left=left)

    def remove(self) -> None:
        self._progress.stop()


class _Notebook:
    """A bar in the output of a notebook's cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, label: str, fraction: float, left: str) -> None:
        from html import escape

        bar = f'<progress max="1" value="{fraction:.3f}"></progress>'
        self._put(f"<small>{escape(label)} {bar} {fraction:.0%} {left}</small>")

    def remove(self) -> None:
        self._put("")

    def _put(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))
