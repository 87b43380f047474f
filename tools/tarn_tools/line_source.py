# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
line_source: the lines of a file that is text or gzip'd text, in bounded memory.

It reads as zlib's gzgets does under bench/workloads/trace_reader.c, so that a damaged file is found out at the same line
with the same words: in rounds of 256 KiB of text; of a round that is damaged nothing is given out; what follows
the gzip'd data and is none is ignored.
"""

import os
import zlib

from .failure import Failure, reason_of

INPUT_BYTES = 1 << 17
ROUND_BYTES = 2 * INPUT_BYTES
LINE_BYTES_MAX = (1 << 16) - 2
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 15 + 16


class Fault(Failure):
    """A trace is not what it should be. The sentence names the file and, if it has to do with one, the line."""


class LineSource:
    """After blocks() has ended, finish() says whether the file has."""

    def __init__(self, path):
        self.path = path
        self.bytes_read = 0
        self.bytes_in_all = 0 # 0: of a pipe nobody knows
        self.line_number = 0 # of the line that was handed out last, kept by the caller
        self._rest = b""
        self._pending = None # an error behind what was given out: a text, or a function of the line's number
        try:
            self._file = None if os.path.isdir(path) else open(path, "rb", buffering=0)
        except OSError as error:
            raise Fault(f"{path}: {reason_of(error)}") from None
        if self._file:
            self.bytes_in_all = os.fstat(self._file.fileno()).st_size
        self._input = self._read() if self._file else b""
        self.is_gzip = self._input[:2] == GZIP_MAGIC
        if path.endswith(".gz") and not self.is_gzip:
            raise Fault(f"{path}: is not gzip'd, though its name ends in .gz")
        if self._file is None:
            self._pending = "cannot be read: Is a directory"

    def _read(self):
        try:
            data = self._file.read(INPUT_BYTES)
            self.bytes_read += len(data)
            return data
        except OSError as error:
            self._pending = f"cannot be read: {reason_of(error)}"
            return b""

    def blocks(self):
        """Yields lists of whole lines, without their newlines."""
        for data in self._gzip_rounds() if self.is_gzip else self._plain_rounds():
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()
            yield lines
            if len(self._rest) > LINE_BYTES_MAX:
                return

    def check(self, line):
        """Of a line of a block: whether the reader can take it."""
        if len(line) > LINE_BYTES_MAX or b"\0" in line:
            self._fail(line, is_last=False)

    def finish(self):
        """The number of the line that is cut or missing is one more than that of the last one."""
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
        """Of a zlib.error the words behind "Error -3 while decompressing data: "."""
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
