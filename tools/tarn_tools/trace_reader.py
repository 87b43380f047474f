# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
trace_reader: a trace of allocations, event by event, as strict as bench/workloads/trace_reader.c and in the same words.

    # tarn-trace 1                              first line
    # key: value                                any number of these, anywhere
    # label: <id> <text>                        of the allocation that follows
    a <id> <bytes> <stream> <thread> <t_ns>     an allocation
    f <id> <stream> <thread> <t_ns>             the free of one

Memory: live allocations, and the lines '# key: value' except labels. A fault is raised when its line is reached. So
a program that copies events must not finish its output before the trace has ended.
"""

import re
from typing import NamedTuple

from .line_source import LINE_BYTES_MAX, Fault, LineSource
from .progress import Progress

FIRST_LINE = b"# tarn-trace 1"
SHOWN_MAX = 60
NUMBER_MAX = (1 << 64) - 1

# Numbers of up to 19 digits fit in 64 bits; a line with a longer one takes the slow path.
_ALLOC = re.compile(rb"a ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,19})")
_FREE = re.compile(rb"f ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,19})")

_LABEL = re.compile(rb"([0-9]{1,20}) (.+)", re.DOTALL)

_ALLOC_FIELDS = ("id", "size", "stream", "thread", "time")
_FREE_FIELDS = ("id", "stream", "thread", "time")


class Alloc(NamedTuple):
    id: int
    bytes: int
    stream: int
    thread: int
    time_ns: int
    line: int
    label: str # empty if there is none


class Free(NamedTuple):
    id: int
    stream: int
    thread: int
    time_ns: int
    alloc: Alloc # of the freed block


def _shown(text):
    return text[:SHOWN_MAX].decode("utf-8", "surrogateescape")


def _number_of(text):
    """Returns None if it is not a number of 64 bits. Leading zeros are allowed."""
    digits = text.lstrip(b"0") or b"0"
    number = int(digits) if text.isdigit() and len(digits) <= 20 else NUMBER_MAX + 1
    return number if number <= NUMBER_MAX else None


class TraceReader:
    """metadata: (key, value) in order, as far as was read. live: {id: Alloc}. The caller may read both."""

    def __init__(self, path):
        self.path = str(path)
        self.metadata = []
        self.live = {}
        self.live_bytes = 0
        self.event_count = 0
        self.first_time_ns = None
        self.last_time_ns = 0
        self._promised = None
        self._label = (None, "") # of the next allocation, and its id

    @property
    def name(self):
        """The key `name`, else the file's name; in printable ASCII."""
        named = [value for key, value in self.metadata if key == "name" and value]
        name = named[-1] if named else self.path.rsplit("/", 1)[-1]
        return re.sub(r"[^ -~]", "?", name)

    def events(self, progress=None):
        """Yields Alloc and Free; raises a Fault at the first error. Several readers share a Progress."""
        self._source = LineSource(self.path)
        try:
            with progress or Progress("tarn-trace", "reading") as progress:
                yield from self._events_of(self._source, progress)
        finally:
            self._source.close()

    def _events_of(self, source, progress):
        has_first_line = False
        for lines in source.blocks():
            progress.tell(source.bytes_read, source.bytes_in_all, part=self)
            is_odd = any(len(line) > LINE_BYTES_MAX for line in lines) or b"\0" in b"\n".join(lines)
            for line in lines:
                source.line_number += 1
                if is_odd:
                    source.check(line)
                if not has_first_line:
                    self._check_first_line(line)
                    has_first_line = True
                elif line[:1] == b"#":
                    self._take_metadata(line)
                else:
                    yield self._event(line)
        source.finish()
        if not has_first_line:
            raise Fault(f"{self.path}: the file is empty")
        self._check_counts()

    def _fail(self, text):
        raise Fault(f"{self.path}:{self._source.line_number}: {text}")

    def _check_first_line(self, line):
        if line != FIRST_LINE:
            self._fail(f"the first line of a trace is '{_shown(FIRST_LINE)}', and not '{_shown(line)}'")

    def _check_counts(self):
        if self._promised is not None and self._promised != self.event_count:
            raise Fault(f"{self.path}: has {self.event_count} events and not {self._promised} as its metadata says: "
                        "the file is cut or was changed")
        if self.event_count == 0:
            raise Fault(f"{self.path}: the trace has no events")

    # --- metadata ------------------------------------------------------------------------------------

    def _take_metadata(self, line):
        colon = line.find(b":")
        if line[:2] != b"# " or colon < 0 or colon == 2:
            self._fail(f"'{_shown(line)}' is not a line '# key: value'")
        key, value = line[2:colon], line[colon + 1:].lstrip(b" ")
        if key == b"events":
            self._promised = _number_of(value)
            if self._promised is None:
                self._fail(f"the number of events '{_shown(value)}' is not a number")
        label = _LABEL.fullmatch(value) if key == b"label" else None
        if label:
            self._label = (int(label[1]), label[2].decode("utf-8", "surrogateescape"))
            return
        self.metadata.append((key.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")))

    # --- events --------------------------------------------------------------------------------------

    def _event(self, line):
        match = _ALLOC.fullmatch(line)
        if match:
            return self._alloc(*map(int, match.groups()))
        match = _FREE.fullmatch(line)
        if match:
            return self._free(*map(int, match.groups()))
        return self._odd_event(line)

    def _odd_event(self, line):
        """Finds the fault in the line, or that its numbers are only long."""
        kind, *fields = line.split(b" ")
        if kind not in (b"a", b"f"):
            self._fail(f"'{_shown(kind)}' is no event: they are 'a' and 'f'")
        names = _ALLOC_FIELDS if kind == b"a" else _FREE_FIELDS
        if len(fields) != len(names):
            wanted = "a id bytes stream thread time" if kind == b"a" else "f id stream thread time"
            self._fail(f"has {len(fields) + 1} fields where '{wanted}' has {len(names) + 1}")
        numbers = [self._number(name, text) for name, text in zip(names, fields)]
        return self._alloc(*numbers) if kind == b"a" else self._free(*numbers)

    def _number(self, name, text):
        if not text.isdigit():
            self._fail(f"the {name} '{_shown(text)}' is not a number")
        number = _number_of(text)
        if number is None:
            self._fail(f"the {name} '{_shown(text)}' does not fit in 64 bits")
        return number

    def _advance_time(self, time_ns):
        if time_ns < self.last_time_ns:
            self._fail(f"time goes back from {self.last_time_ns} to {time_ns} ns")
        if self.first_time_ns is None:
            self.first_time_ns = time_ns
        self.last_time_ns = time_ns

    def _alloc(self, number, size, stream, thread, time_ns):
        self.event_count += 1
        self._advance_time(time_ns)
        self.live_bytes += size
        if self.live_bytes > NUMBER_MAX:
            self._fail(f"with these {size} bytes, more are live than 64 bits can count")
        if number in self.live:
            self._fail(f"allocates id {number}, which is live since line {self.live[number].line}")
        label = self._label[1] if self._label[0] == number else ""
        alloc = Alloc(number, size, stream, thread, time_ns, self._source.line_number, label)
        self._label = (None, "")
        self.live[number] = alloc
        return alloc

    def _free(self, number, stream, thread, time_ns):
        self.event_count += 1
        self._advance_time(time_ns)
        alloc = self.live.pop(number, None)
        if alloc is None:
            self._fail(f"frees id {number}, which is not live")
        self.live_bytes -= alloc.bytes
        return Free(number, stream, thread, time_ns, alloc)
