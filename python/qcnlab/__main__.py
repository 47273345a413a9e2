"""The program: `qcnlab`, and `python -m qcnlab`.

What Ctrl-C does is settled before anything large is imported, so that it never shows a traceback.
"""

import os
import signal
from typing import NoReturn

INTERRUPTED = 130


def _leave(*_: object) -> None:
    os._exit(INTERRUPTED)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)


def program() -> NoReturn:
    """Run the command line of this process and leave with its exit code."""
    from qcnlab.cli import main

    main()


if __name__ == "__main__":
    program()
