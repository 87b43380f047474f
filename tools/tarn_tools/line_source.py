# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
line_source: the lines of a file that is text, gzip'd text, or a file of events, in bounded memory.

It reads like zlib's gzgets in bench/workloads/trace_reader.c, so that both report damage at the same line in the same words:
in rounds of 256 KiB of text. A damaged round yields nothing. Other data after the gzip'd data is ignored.
"""

import os
import zlib

from .event_source import MAGIC, EventSource
from .failure import Failure, reason_of

INPUT_BYTES = 1 << 17
ROUND_BYTES = 2 * INPUT_BYTES
LINE_BYTES_MAX = (1 << 16) - 2
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 15 + 16


class Fault(Failure):
    """A damaged trace. The message names the file, and the line if there is one."""


class LineSource:
    """After blocks() has ended, finish() checks that the file has ended properly."""

    def __init__(self, path):
        self.path = path
        self.bytes_read = 0
        self.bytes_in_all = 0 # 0: unknown, for a pipe
        self.line_number = 0 # of the last line that was read; the caller counts
        self._rest = b""
        self._pending = None # an error after the text so far: a text, or a function of the line's number
        try:
            self._file = None if os.path.isdir(path) else open(path, "rb", buffering=0)
        except OSError as error:
            raise Fault(f"{path}: {reason_of(error)}") from None
        if self._file:
            self.bytes_in_all = os.fstat(self._file.fileno()).st_size
        self._input = self._read() if self._file else b""
        if self._input.startswith(MAGIC):
            self._read_events()
            return
        self.is_gzip = self._input[:2] == GZIP_MAGIC
        if path.endswith(".gz") and not self.is_gzip:
            raise Fault(f"{path}: is not gzip'd, though its name ends in .gz")
        if self._file is None:
            self._pending = "cannot be read: Is a directory"

    def _read_events(self):
        self.is_gzip = False
        self.bytes_in_all = 0
        self._file.close()
        self._file = EventSource(self.path)
        self._input = self._read()

    def _read(self):
        try:
            data = self._file.read(INPUT_BYTES)
            self.bytes_read += len(data)
            if not data and getattr(self._file, "failure", None):
                raise Fault(self._file.failure)
            return data
        except OSError as error:
            self._pending = f"cannot be read: {reason_of(error)}"
            return b""

    def blocks(self):
        """Yields lists of whole lines, without their newlines, or carriage returns and newlines."""
        for data in self._gzip_rounds() if self.is_gzip else self._plain_rounds():
            text = self._rest + data
            lines = text.split(b"\n")
            self._rest = lines.pop()
            if b"\r" in text:
                lines = [line.removesuffix(b"\r") for line in lines]
            yield lines
            if len(self._rest) > LINE_BYTES_MAX:
                return

    def check(self, line):
        """Checks that the reader can accept a line of a block."""
        if len(line) > LINE_BYTES_MAX or b"\0" in line:
            self._fail(line, is_last=False)

    def finish(self):
        """A cut or missing line has the number after the last one."""
        if self._rest or self._pending:
            self.line_number += 1
            self._fail(self._rest, is_last=len(self._rest) <= LINE_BYTES_MAX)

    def _fail(self, line, is_last):
        place = f"{self.path}:{self.line_number}"
        if callable(self._pending):
            raise Fault(self._pending(self.line_number))
        if self._pending:
            raise Fault(f"{place}: {self._pending}")
        if len(line) > LINE_BYTES_MAX and b"\0" not in line[:LINE_BYTES_MAX + 1]:
            raise Fault(f"{place}: the line is longer than {LINE_BYTES_MAX} bytes")
        if is_last:
            raise Fault(f"{place}: the last line has no newline: the file is cut")
        raise Fault(f"{place}: the line has a zero byte")

    def close(self):
        if self._file:
            self._file.close()

    # --- text ----------------------------------------------------------------------------------------

    def _plain_rounds(self):
        while self._input:
            yield self._input
            self._input = self._read()

    def _damage(self, error):
        """Returns the words of a zlib.error after "Error -3 while decompressing data: "."""
        words = str(error).split(": ", 1)[1] if ": " in str(error) else "compressed data error"
        return lambda line: f"{self.path}: the gzip'd data are damaged at line {line} or after it: {words}"

    def _gzip_rounds(self):
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        while True:
            parts, room = [], ROUND_BYTES
            try:
                while room > 0 and not inflater.eof:
                    self._input = self._input or self._read()
                    if not self._input:
                        self._pending = self._pending or "the gzip'd data end here: the file is cut"
                        break
                    part = inflater.decompress(self._input, room)
                    self._input = inflater.unconsumed_tail or inflater.unused_data
                    parts.append(part)
                    room -= len(part)
            except zlib.error as error:
                self._pending = self._damage(error)
                return
            if parts:
                yield b"".join(parts)
            if self._pending:
                return
            if inflater.eof:
                while len(self._input) < 2:
                    more = self._read()
                    if not more:
                        return
                    self._input += more
                if self._input[:2] != GZIP_MAGIC:
                    return
                inflater = zlib.decompressobj(_GZIP_WINDOW)
