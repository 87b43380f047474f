# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
failure: how a program of these ends when it cannot do what it was asked.

Exit status, of all three: 0 it is done; 1 what was looked at is not right (a trace that is damaged), or the
machine lacks something; 2 the command line is wrong, or a file that was named is none of ours; 130 or 143 it was
interrupted, by Ctrl-C or SIGTERM.
"""

import contextlib
import os
import signal
import sys

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 128 # and the signal's number


class Failure(Exception):
    """A sentence for the user, and the exit status."""

    def __init__(self, text, status=EXIT_FAILED):
        super().__init__(text)
        self.status = status


class BadInput(Failure):
    """The sentence begins with the name of the file, if it is about one."""

    def __init__(self, text):
        super().__init__(text, EXIT_BAD_INPUT)


class Interrupted(BaseException):
    """By a signal, whose number it has. No Exception: whoever handles those lets it pass."""

    def __init__(self, number):
        super().__init__(number)
        self.status = EXIT_INTERRUPTED + number


def reason_of(error):
    """What the system says of an OSError, without the number and the path that Python adds."""
    return error.strerror or str(error)


def say(program, text):
    """Writes a line to stderr, behind what was printed before. Bytes of a file that are no text go as they came."""
    for stream, line in ((sys.stdout, ""), (sys.stderr, f"{program}: {text}\n")):
        if stream: # Python has None for one that is closed
            with contextlib.suppress(OSError):
                stream.write(line)
                stream.flush()


def _set_up_streams():
    """Names of files and of what is in them may be no text of the user's locale, and are printed all the same."""
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def _interrupt(number, _frame):
    raise Interrupted(number)


def _stdout_failed(error):
    return f"the standard output cannot be written: {reason_of(error)}"


def _status_of(program, main):
    """What main() returns; how it ended otherwise is said."""
    try:
        return main() or 0
    except Failure as failure:
        say(program, str(failure))
        return failure.status
    except Interrupted as interruption:
        say(program, "interrupted")
        return interruption.status
    except BrokenPipeError: # who read has seen enough
        return EXIT_FAILED
    except OSError as error: # files are opened by those who know what to say of them
        say(program, f"{error.filename}: {reason_of(error)}" if error.filename else _stdout_failed(error))
        return EXIT_FAILED
    except MemoryError:
        say(program, "there is not enough memory for that")
        return EXIT_FAILED


def _end_stdout(program, status):
    """Python would try once more, and fail in its own words, if what cannot be written were still there."""
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
    """Runs main() as the program; returns its exit status."""
    _set_up_streams()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    return _end_stdout(program, _status_of(program, main))
