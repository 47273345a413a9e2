"""The command line: signals, streams, errors and exit codes around `commands.py`.

Exit codes: 0 done, 1 ran and a check failed or a run ended in a deadlock, 2 could not run, 130
interrupted. A reader that
closes the pipe early is no error.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

DONE, CHECK_FAILED, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130
ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end a command after it has removed what is half written."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``qcnlab``; those of this process by default.

    Raises
    ------
    SystemExit
        Always, with the exit code.
    """
    stdout = sys.stdout
    try:
        _catch_signals()
        _open_streams()
        stdout = sys.stdout
        pipe: Any = _Pipe(stdout)
        sys.stdout = pipe
        code = _guarded(arguments)
        sys.stdout.flush()
    except _ReaderGone:
        _discard(stdout)
        code = DONE
    except _Unwritable as error:
        _discard(stdout)
        _say(f"error: standard output cannot be written: {error}")
        code = COULD_NOT_RUN
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        sys.stdout = stdout
    if code == INTERRUPTED:
        _say("interrupted")
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


class _Closed:
    """Stands for a standard output that was closed before we started: every write fails."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return 1


@contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise _ReaderGone from None
    except OSError as error:
        raise _Unwritable(error.strerror) from None


def _catch_signals() -> None:
    """Turn signals that end a process into exceptions; leave those alone that are ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminated)


def _open_streams() -> None:
    """Make both streams usable: closed ones lead nowhere, unknown characters are escaped."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken; otherwise the next file opened would get it.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        closed: Any = _Closed()
        sys.stdout = closed
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _guarded(arguments: Sequence[str] | None) -> int:
    from qcnlab.cli import shell_words
    from qcnlab.cli.commands import command_line
    from qcnlab.errors import Error, LawViolation

    def run() -> object:
        return command_line()(arguments, prog_name="qcnlab", standalone_mode=False)

    try:
        _refuse_what_is_no_text(sys.argv[1:] if arguments is None else arguments)
        if os.environ.get("_QCNLAB_COMPLETE") == "complete_bash":
            shell_words.in_bash(run)
        code = run()
    except LawViolation as error:
        return _tell(error, CHECK_FAILED)
    except Error as error:
        return _tell(error, COULD_NOT_RUN)
    except OSError as error:
        if error.filename is None:
            raise
        return _tell(Error(f"'{error.filename}' cannot be used: {error.strerror}"), COULD_NOT_RUN)
    except Exception as error:
        # Typer's own usage errors; their class has moved between its releases.
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            from qcnlab.cli.usage import in_words

            sys.stdout.flush()
            if hasattr(error, "message"):
                error.message = in_words(str(error.message))
            error.show()
            return int(error.exit_code)
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        raise
    return code if isinstance(code, int) else DONE


def _refuse_what_is_no_text(arguments: Sequence[str]) -> None:
    """Refuse words that are not UTF-8: nothing that prints or stores them could do so."""
    from qcnlab.errors import Error

    for word in arguments:
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = word.encode(errors="surrogateescape").decode(errors="backslashreplace")
            raise Error(
                f"'{shown}' is not UTF-8 text; rename a file of that name, or write it in UTF-8"
            ) from None


def _tell(error: Exception, code: int) -> int:
    from qcnlab.errors import rendered

    sys.stdout.flush()
    _say(rendered(error))
    return code


def _say(words: str) -> None:
    """Print to standard error; where that cannot be written nobody can be told."""
    with suppress(OSError):
        print(words, file=sys.stderr)


def _discard(stream: Any) -> None:
    """Lead what `stream` still holds nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _terminated(signum: int, frame: FrameType | None) -> None:
    from qcnlab.errors import Terminated

    raise Terminated(128 + signum)
