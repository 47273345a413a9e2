"""The program: `qcnlab`, and `python -m qcnlab`.

What Ctrl-C does is settled before anything is imported that the interpreter has not loaded itself,
so that it never shows a traceback. `signal` would import `enum` and more; `_signal` is built in.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130


def _leave(*_: object) -> None:
    os._exit(INTERRUPTED)


if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _leave)


def program() -> NoReturn:
    """Run the command line of this process and leave with its exit code."""
    from qcnlab.cli.program import main

    main()


if __name__ == "__main__":
    program()
