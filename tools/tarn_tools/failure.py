# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
failure: how these programs end when they cannot do what was requested.

Exit status of all three: 0 success; 1 the input is damaged (a trace), or the machine lacks something; 2 the command
line is wrong, a named file is not of the expected kind, or an output exists and --force is not given; 130 or 143
interrupted by Ctrl-C or SIGTERM.
"""

import contextlib
import os
import signal
import sys

from .shown import escaped

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 128 # plus the signal's number


class Failure(Exception):
    """A message for the user, and the exit status."""

    def __init__(self, text, status=EXIT_FAILED):
        super().__init__(text)
        self.status = status


class BadInput(Failure):
    """If the message is about a file, it begins with the file's name."""

    def __init__(self, text):
        super().__init__(text, EXIT_BAD_INPUT)


class Interrupted(BaseException):
    """A signal, by its number. Not an Exception, so that handlers of those let it pass."""

    def __init__(self, number):
        super().__init__(number)
        self.status = EXIT_INTERRUPTED + number


def reason_of(error):
    """Returns the system's message for an OSError, without the number and path that Python adds."""
    return error.strerror or str(error)


def say(program, text):
    """Writes a line to stderr, after all earlier output. It may quote files: what is not printable is escaped."""
    for stream, line in ((sys.stdout, ""), (sys.stderr, f"{program}: {escaped(text)}\n")):
        if stream: # Python has None for a closed one
            with contextlib.suppress(OSError):
                stream.write(line)
                stream.flush()


def _set_up_streams():
    """File names and contents may not be text in the user's locale. They are printed all the same."""
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def _interrupt(number, _frame):
    raise Interrupted(number)


def _stdout_failed(error):
    return f"the standard output cannot be written: {reason_of(error)}"


def _status_of(program, main):
    """Returns the result of main(). If it ends otherwise, prints why."""
    try:
        return main() or 0
    except Failure as failure:
        say(program, str(failure))
        return failure.status
    except Interrupted as interruption:
        say(program, "interrupted")
        return interruption.status
    except BrokenPipeError: # the reader has seen enough
        return EXIT_FAILED
    except OSError as error: # the code that opens a file reports its errors
        say(program, f"{error.filename}: {reason_of(error)}" if error.filename else _stdout_failed(error))
        return EXIT_FAILED
    except MemoryError:
        say(program, "there is not enough memory for that")
        return EXIT_FAILED


def _end_stdout(program, status):
    """Discards output that cannot be written. Otherwise Python would try again, and fail with its own message."""
    try:
        if sys.stdout:
            sys.stdout.flush()
        return status
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not status and not isinstance(error, BrokenPipeError):
            say(program, _stdout_failed(error))
        return status or EXIT_FAILED


def run(program, main):
    """Runs main() as the program and returns its exit status."""
    _set_up_streams()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    return _end_stdout(program, _status_of(program, main))
