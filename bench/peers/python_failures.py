# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong; each failure has a line of text."""


class NotFound(Exception):
    """An allocator is not there."""


class BadTrace(Exception):
    """The text names the file and, if one is concerned, the line."""


class CannotPlay(Exception):
    """A workload cannot be run here, or not with this library: it is skipped."""


class Failed(Exception):
    """A measurement ends."""


class FailedAt(Failed):
    """The text names the place in the workload, and the allocator."""


class BadBlock(Failed):
    """The allocator has handed out a block that it may not hand out."""


def escaped(text):
    """What is not printable as \\xNN, byte by byte: a text may quote a trace, and a terminal must not obey it."""
    return "".join(letter if letter.isprintable() else
                   "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))
                   for letter in text)


def first_line(error):
    """The first line; PyTorch's further lines tell how to set its options."""
    return next(iter(str(error).splitlines()), type(error).__name__)
