"""Typer's words about a wrong option or argument, in the words of this program."""

from __future__ import annotations

import re
from difflib import get_close_matches

NUMBERS = {
    "greater than or equal to": "{} or more",
    "less than or equal to": "{} or less",
    "greater than": "more than {}",
    "less than": "less than {}",
}
"""What Typer says of limits, and how it is said here."""


def in_words(message: str) -> str:
    """Return what Typer says of a value without the words of the libraries behind it.

    Examples
    --------
    >>> in_words("Value error, 'sise' is not one of 'size', 'entry', 'all'.")
    "'sise' is none of size, entry, all; did you mean size?"
    >>> in_words("Input should be greater than or equal to 1")
    'it must be 1 or more'
    """
    choice = re.fullmatch(r"(?:Value error, )?'(.*)' is not one of (.*?)\.?", message, re.DOTALL)
    if choice is not None:
        known = re.findall(r"'([^']*)'", choice[2])
        near = get_close_matches(choice[1], known, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        return f"'{choice[1]}' is none of {', '.join(known)}{meant}"
    limit = re.fullmatch(rf"Input should be ({'|'.join(NUMBERS)}) (\S+)", message)
    if limit is not None:
        return f"it must be {NUMBERS[limit[1]].format(limit[2])}"
    if message.startswith("Input should be a valid integer"):
        return "it must be a whole number"
    if message.startswith(("Input should be a valid number", "Input should be a finite number")):
        return "it must be a number"
    return re.sub(r"^(?:Value error, |Input should be )", "", message)
