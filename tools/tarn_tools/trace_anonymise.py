# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
trace_anonymise: removes everything from a trace but how memory was used.

Only counts stay in the head. Ids, streams and threads are numbered in order of appearance, and time begins at 0.
Sizes and times may identify a program, too: both can be made coarser.
"""

from fractions import Fraction

from .trace_merge import Ids, Numbers
from .trace_reader import Alloc, TraceReader
from .trace_writer import TraceWriter


def rounded_up(value, step):
    return -(-value // step) * step


def anonymise(path, output, name="anonymous", size_step=1, time_step_ns=1, time_scale=Fraction(1)):
    """Rounds sizes up to size_step, multiplies times by time_scale, then rounds them down to time_step_ns."""
    reader = TraceReader(path)
    writer = TraceWriter(output)
    ids, streams, threads = Ids(), Numbers(), Numbers()
    for event in reader.events():
        scaled = (event.time_ns - reader.first_time_ns) * time_scale.numerator // time_scale.denominator
        time_ns = scaled // time_step_ns * time_step_ns
        stream, thread = streams[event.stream], threads[event.thread]
        if isinstance(event, Alloc):
            writer.alloc(ids.begin(event.id), rounded_up(event.bytes, size_step), stream, thread, time_ns)
        else:
            writer.free(ids.end(event.id), rounded_up(event.alloc.bytes, size_step), stream, thread, time_ns)
    writer.finish([("name", name), ("events", 0), ("streams", 0), ("threads", 0)])
    return writer.counts["events"]
