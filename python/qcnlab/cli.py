"""The `qcnlab` command: signals, errors and exit codes around `commands.py`.

Exit codes: 0 done, 1 ran and a check failed, 2 could not run, 130 interrupted. A reader that
closes the pipe early is no error.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

DONE, CHECK_FAILED, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    stdout = sys.stdout
    try:
        signal.signal(signal.SIGTERM, _terminated)
        pipe: Any = _Pipe(stdout)
        sys.stdout = pipe
        code = _guarded(arguments)
        sys.stdout.flush()
    except _ReaderGone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        code = DONE
    except _Unwritable as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        print(f"error: standard output cannot be written: {error}", file=sys.stderr)
        code = COULD_NOT_RUN
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        sys.stdout = stdout
    if code == INTERRUPTED:
        print("interrupted", file=sys.stderr)
    sys.exit(code)


class _ReaderGone(Exception):
    """Whoever read our output has closed the pipe."""


class _Unwritable(Exception):
    """Our output cannot be written: a full disk, say."""


class _Pipe:
    """Standard output that tells its own troubles apart from every other `OSError`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _told_apart():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with _told_apart():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise _ReaderGone from None
    except OSError as error:
        raise _Unwritable(error.strerror) from None


def _guarded(arguments: Sequence[str] | None) -> int:
    from qcnlab.commands import app
    from qcnlab.errors import Error, LawViolation

    try:
        code = app(arguments, prog_name="qcnlab", standalone_mode=False)
    except LawViolation as error:
        return _tell(error, CHECK_FAILED)
    except Error as error:
        return _tell(error, COULD_NOT_RUN)
    except Exception as error:
        # Typer's own usage errors; their class has moved between its releases.
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            sys.stdout.flush()
            error.show()
            return int(error.exit_code)
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        raise
    return code if isinstance(code, int) else DONE


def rendered(error: Exception) -> str:
    """Give the message for stderr; the core's own begin with `error:` already."""
    text = str(error).rstrip("\n")
    return text if text.startswith("error: ") else f"error: {text}"


def _tell(error: Exception, code: int) -> int:
    sys.stdout.flush()
    print(rendered(error), file=sys.stderr)
    return code


def _terminated(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)
