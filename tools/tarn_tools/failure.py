# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
failure: how a program of these ends when it cannot do what it was asked.

Exit status, of all three: 0 it is done; 1 what was looked at is not right (a trace that is damaged), or the
machine lacks something; 2 the command line is wrong, or a file that was named is none of ours.
"""

import os
import sys

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2


class Failure(Exception):
    """A sentence for the user, and the exit status."""

    def __init__(self, text, status=EXIT_FAILED):
        super().__init__(text)
        self.status = status


class BadInput(Failure):
    """The sentence begins with the name of the file, if it is about one."""

    def __init__(self, text):
        super().__init__(text, EXIT_BAD_INPUT)


def reason_of(error):
    """What the system says of an OSError, without the number and the path that Python adds."""
    return error.strerror or str(error)


def complain(program, text):
    """Writes a line to stderr. Bytes of a file that are no text go out as they came."""
    sys.stdout.flush()
    sys.stderr.flush()
    sys.stderr.buffer.write(f"{program}: {text}\n".encode("utf-8", "surrogateescape"))
    sys.stderr.flush()


def run(program, main):
    """Runs main() as the program; returns its exit status."""
    try:
        status = main()
        sys.stdout.flush()
        return status or 0
    except Failure as failure:
        complain(program, str(failure))
        return failure.status
    except BrokenPipeError:
        # Who read has seen enough. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except KeyboardInterrupt:
        complain(program, "interrupted")
        return 130
