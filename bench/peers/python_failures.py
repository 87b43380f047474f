# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong, each with a line that says it."""


class NotFound(Exception):
    """An allocator is not there."""


class BadTrace(Exception):
    """It names the file and, if it has to do with one, the line."""


class CannotPlay(Exception):
    """A workload cannot be run here, or not with this library: it is skipped."""


class Failed(Exception):
    """A measurement ends."""


class FailedAt(Failed):
    """The line names the place in the workload, and the allocator."""


class BadBlock(Failed):
    """The allocator has handed out what it may not."""


def first_line(error):
    """The others of PyTorch's tell how to set its options."""
    return next(iter(str(error).splitlines()), type(error).__name__)
