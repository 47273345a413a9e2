"""Tables and anchors of the book's pages."""

from __future__ import annotations


def header(*names: str) -> list[str]:
    """Return the first two lines of a table."""
    return [cells(*names), "|---" * len(names) + "|"]


def cells(*texts: str) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def anchor(row: str) -> str:
    """Return where a row stands on its page."""
    return f"row-{row.replace('.', '-')}"
