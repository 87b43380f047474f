# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
trace_timeline: a trace as a timeline in the trace-event format of Perfetto and chrome://tracing.

Counters: bytes and blocks live. Slices: each allocation from its begin to its free, in a process for each stream, in
as many lanes (threads, to those programs) as blocks are live at once. A slice's name is its label and size. If there
are more allocations than wanted slices, those with the most bytes times nanoseconds are shown.
"""

import heapq
import json

from . import shown
from .live_curve import LiveCurve
from .replaced_file import replaced_file
from .trace_reader import Alloc, TraceReader

SLICES_MAX = 100_000
COUNTER_POINTS = 10_000
_COUNTERS = 0 # process of the counters; a stream's process is its number, from 1


class _Largest:
    """The slices_max slices with the most bytes times time."""

    def __init__(self, slices_max):
        self._max = slices_max
        self._heap = []
        self.count = 0

    def add(self, alloc, end_ns):
        self.count += 1
        weight = (alloc.bytes + 1) * (end_ns - alloc.time_ns + 1)
        entry = (weight, -alloc.line, alloc, end_ns)
        if len(self._heap) < self._max:
            heapq.heappush(self._heap, entry)
        elif self._max and entry > self._heap[0]:
            heapq.heapreplace(self._heap, entry)

    def in_order(self):
        return sorted(((alloc, end) for _, _, alloc, end in self._heap), key=lambda pair: pair[0].line)


class _Lanes:
    """Finds the lowest empty lane: a viewer's thread cannot have overlapping slices."""

    def __init__(self):
        self._busy, self._empty, self._count = [], [], 0

    def take(self, begin_ns, end_ns):
        while self._busy and self._busy[0][0] <= begin_ns:
            heapq.heappush(self._empty, heapq.heappop(self._busy)[1])
        if self._empty:
            lane = heapq.heappop(self._empty)
        else:
            lane, self._count = self._count, self._count + 1
        heapq.heappush(self._busy, (max(end_ns, begin_ns + 1), lane))
        return lane


def _micros(ns):
    return ns / 1000


def _slice_events(slices, first_ns):
    lanes, processes = {}, {}
    for alloc, end_ns in slices:
        if alloc.stream not in processes:
            processes[alloc.stream] = len(processes) + 1
            yield {"ph": "M", "name": "process_name", "pid": processes[alloc.stream], "tid": 0,
                   "args": {"name": f"stream {alloc.stream}"}}
        lane = lanes.setdefault(alloc.stream, _Lanes()).take(alloc.time_ns, end_ns)
        name = " ".join(filter(None, (shown.printable(alloc.label), shown.plain(shown.size(alloc.bytes)))))
        yield {"ph": "X", "name": name, "cat": "allocation",
               "pid": processes[alloc.stream], "tid": lane, "ts": _micros(alloc.time_ns - first_ns),
               "dur": _micros(end_ns - alloc.time_ns),
               "args": {"bytes": alloc.bytes, "id": alloc.id, "thread": alloc.thread, "line": alloc.line}}


def _counter_events(points):
    yield {"ph": "M", "name": "process_name", "pid": _COUNTERS, "tid": 0, "args": {"name": "live"}}
    for time_ns, live_bytes, live_count in points:
        yield {"ph": "C", "name": "live bytes", "pid": _COUNTERS, "ts": _micros(time_ns), "args": {"bytes": live_bytes}}
        yield {"ph": "C", "name": "live blocks", "pid": _COUNTERS, "ts": _micros(time_ns),
               "args": {"blocks": live_count}}


def timeline(path, output, slices_max=SLICES_MAX):
    """Returns (slices written, allocations in all)."""
    reader = TraceReader(path)
    largest, curve = _Largest(slices_max), LiveCurve(COUNTER_POINTS // 2)
    for event in reader.events():
        if not isinstance(event, Alloc):
            largest.add(event.alloc, event.time_ns)
        curve.add(event.time_ns - reader.first_time_ns, reader.live_bytes, len(reader.live))
    for alloc in reader.live.values():
        largest.add(alloc, reader.last_time_ns)
    slices = largest.in_order()
    with replaced_file(output) as file:
        file.write(b'{"displayTimeUnit": "ns", "otherData": %s, "traceEvents": [\n' % json.dumps(
            {"trace": reader.name, "allocations": largest.count, "slices": len(slices)}).encode())
        separator = b""
        for event in [*_counter_events(curve.points()), *_slice_events(slices, reader.first_time_ns)]:
            file.write(separator + json.dumps(event, separators=(",", ":")).encode())
            separator = b",\n"
        file.write(b"\n]}\n")
    return len(slices), largest.count
