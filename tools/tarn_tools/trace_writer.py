# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
trace_writer: writes a trace, gzip'd when the name ends in .gz.

The head has the number of events, which is known only at the end. So the events wait in a temporary file. In gzip'd
data head and events are two members, which every reader joins. Numbers of more than 64 bits, which a reader would
refuse, are not written.
"""

import gzip
import shutil
import tempfile

from .failure import Failure, reason_of
from .replaced_file import replaced_file
from .trace_reader import NUMBER_MAX

LINES_AT_ONCE = 4096
GZIP_LEVEL = 6
LABEL_BYTES_MAX = 60_000 # so that its line can be read

# Counting keys of a head; they are counted anew for a changed trace.
COUNTED = ("events", "allocations", "zero_size_allocations", "live_at_end", "peak_live_bytes", "live_count_at_peak",
           "streams", "threads", "duration_ns")


class TraceWriter:
    """Takes events and counts them. Nothing is at `path` before finish()."""

    def __init__(self, path):
        self._path = path
        self._is_gzip = path.endswith(".gz")
        self._spool = tempfile.TemporaryFile()
        self._to = self._compressed(self._spool) if self._is_gzip else self._spool
        self._lines = []
        self._streams, self._threads = set(), set()
        self._live_count = self._live_bytes = 0
        self._first_time_ns = None
        self.last_time_ns = 0
        self.counts = dict.fromkeys(COUNTED, 0)

    @staticmethod
    def _compressed(file):
        return gzip.GzipFile(filename="", mode="wb", compresslevel=GZIP_LEVEL, fileobj=file, mtime=0)

    def alloc(self, number, size, stream, thread, time_ns, label=""):
        counts = self.counts
        counts["allocations"] += 1
        counts["zero_size_allocations"] += size == 0
        self._live_count += 1
        self._live_bytes += size
        if self._live_bytes > NUMBER_MAX:
            raise Failure(f"{self._path}: more bytes would be live than 64 bits can count")
        if self._live_bytes > counts["peak_live_bytes"]:
            counts["peak_live_bytes"] = self._live_bytes
            counts["live_count_at_peak"] = self._live_count
        if label:
            self._lines.append(_label_line(number, label))
        self._write(f"a {number} {size} {stream} {thread} {time_ns}\n", stream, thread, time_ns)

    def free(self, number, size, stream, thread, time_ns):
        self._live_count -= 1
        self._live_bytes -= size
        self._write(f"f {number} {stream} {thread} {time_ns}\n", stream, thread, time_ns)

    def _write(self, line, stream, thread, time_ns):
        self.counts["events"] += 1
        self._streams.add(stream)
        self._threads.add(thread)
        if self._first_time_ns is None:
            self._first_time_ns = time_ns
        if time_ns > NUMBER_MAX:
            raise Failure(f"{self._path}: a time would not fit in 64 bits")
        self.last_time_ns = time_ns
        self._lines.append(line)
        if len(self._lines) >= LINES_AT_ONCE:
            self._flush()

    def _flush(self):
        try:
            self._to.write("".join(self._lines).encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise Failure(f"events wait in a file in {tempfile.gettempdir()}, which cannot be written: "
                          f"{reason_of(error)}") from None
        self._lines.clear()

    def finish(self, metadata):
        """metadata: (key, value); counting keys get their value here. `events` is always written."""
        self._flush()
        self.counts.update(live_at_end=self._live_count, streams=len(self._streams), threads=len(self._threads),
                           duration_ns=self.last_time_ns - (self._first_time_ns or 0))
        if not any(key == "events" for key, _ in metadata):
            metadata = [*metadata, ("events", 0)]
        head = ["# tarn-trace 1\n"]
        head += [f"# {key}: {self.counts.get(key, value)}\n" for key, value in metadata]
        with replaced_file(self._path) as file:
            if self._is_gzip:
                self._to.close()
                with self._compressed(file) as compressed:
                    compressed.write("".join(head).encode("utf-8", "surrogateescape"))
            else:
                file.write("".join(head).encode("utf-8", "surrogateescape"))
            self._spool.seek(0)
            shutil.copyfileobj(self._spool, file, 1 << 20)
        self._spool.close()


def _label_line(number, label):
    text = label.encode("utf-8", "surrogateescape")[:LABEL_BYTES_MAX].decode("utf-8", "surrogateescape")
    return f"# label: {number} {text}\n"
