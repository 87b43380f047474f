# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
trace_cut: a part of a trace, as a trace.

Allocations before the part are left out, with their frees: a cut trace starts empty. The whole trace is read, so
that damage is found wherever it is.
"""

from .failure import Failure
from .line_source import Fault
from .trace_reader import Alloc, TraceReader
from .trace_writer import TraceWriter


class Part:
    """Events in [first, last) at times in [from_ns, to_ns), all counted from 0."""

    def __init__(self, first=0, last=None, from_ns=0, to_ns=None):
        self.first, self.last, self.from_ns, self.to_ns = first, last, from_ns, to_ns

    def has(self, number, time_ns):
        return (number >= self.first and (self.last is None or number < self.last) and
                time_ns >= self.from_ns and (self.to_ns is None or time_ns < self.to_ns))


def cut(path, output, part, name=None, frees_rest=False, until_damage=False):
    """Returns (events written, the Fault that ended the reading, or None)."""
    reader = TraceReader(path)
    writer = TraceWriter(output)
    kept, fault = {}, None
    try:
        for number, event in enumerate(reader.events()):
            if not part.has(number, event.time_ns - reader.first_time_ns):
                continue
            if isinstance(event, Alloc):
                kept[event.id] = event
                writer.alloc(event.id, event.bytes, event.stream, event.thread, event.time_ns, event.label)
            elif kept.get(event.id) is event.alloc:
                del kept[event.id]
                writer.free(event.id, event.alloc.bytes, event.stream, event.thread, event.time_ns)
    except Fault as found:
        if not until_damage:
            raise
        fault = found
    if writer.counts["events"] == 0:
        raise fault or Failure(f"{path}: nothing is allocated in that part")
    if frees_rest:
        for alloc in kept.values():
            writer.free(alloc.id, alloc.bytes, alloc.stream, alloc.thread, writer.last_time_ns)
    metadata = [pair for pair in reader.metadata if pair[0] not in ("name", "cut")]
    was = f"{writer.counts['events']} events, of {reader.event_count} of {reader.name}" + (
        " before its damage" if fault else "")
    writer.finish([("name", name or f"{reader.name}-cut"), *metadata, ("cut", was)])
    return writer.counts["events"], fault
