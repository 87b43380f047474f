# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trace_merge: merges several independent traces in order of time."""

import heapq

from .progress import Progress
from .trace_reader import Alloc, TraceReader
from .trace_writer import TraceWriter


class Numbers:
    """Numbers from 0 on, in order of first appearance."""

    def __init__(self):
        self._of = {}

    def __getitem__(self, key):
        return self._of.setdefault(key, len(self._of))


class Ids:
    """New ids for live allocations. Each id is used once."""

    def __init__(self):
        self._of = {}
        self._next = 0

    def begin(self, key):
        self._of[key] = self._next
        self._next += 1
        return self._of[key]

    def end(self, key):
        return self._of.pop(key)


def _timed(number, reader, is_aligned, progress):
    """Yields the events of one trace for the heap: at equal times, those of earlier traces come first."""
    for event in reader.events(progress):
        time_ns = event.time_ns - (reader.first_time_ns if is_aligned else 0)
        yield time_ns, number, event


def merge(paths, output, name=None, is_aligned=False):
    """is_aligned: every trace begins at time 0. Returns the number of events written."""
    readers = [TraceReader(path) for path in paths]
    writer = TraceWriter(output)
    ids, streams, threads = Ids(), Numbers(), Numbers()
    progress = Progress("tarn-trace", "reading")
    sources = [_timed(number, reader, is_aligned, progress) for number, reader in enumerate(readers)]
    for time_ns, number, event in heapq.merge(*sources, key=lambda item: item[:2]):
        stream, thread = streams[number, event.stream], threads[number, event.thread]
        if isinstance(event, Alloc):
            writer.alloc(ids.begin((number, event.id)), event.bytes, stream, thread, time_ns, event.label)
        else:
            writer.free(ids.end((number, event.id)), event.alloc.bytes, stream, thread, time_ns)
    names = ", ".join(reader.name for reader in readers)
    writer.finish([("name", name or "merged"), ("merged", names), ("events", 0), ("streams", 0), ("threads", 0)])
    return writer.counts["events"]
