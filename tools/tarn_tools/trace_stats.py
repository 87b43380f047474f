# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
trace_stats: statistics of a trace: sizes, lifetimes, live memory over time, threads, streams.

Memory: live allocations, the distinct sizes and labels, and some hundreds of numbers; nothing grows with the number
of events.
"""

from collections import Counter

from .live_curve import LiveCurve
from .log_histogram import LogHistogram, percentile_of
from .trace_reader import Alloc, TraceReader

PER_MILLE = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
COMMON_SIZES = 10
LARGEST_LABELS = 20
CURVE_POINTS = 500


def size_class(size):
    """Returns the power of two that holds it; 0 is its own class."""
    return 1 << (size - 1).bit_length() if size > 0 else 0


class _Tally:
    """Counts of a thread or a stream."""

    def __init__(self):
        self.allocations = self.frees = self.bytes = 0

    def as_json(self, number):
        return {"number": number, "allocations": self.allocations, "frees": self.frees, "bytes": self.bytes}


def _percentiles(histogram):
    return {name: histogram.percentile(per_mille) for name, per_mille in PER_MILLE.items()} | {
        "max": histogram.percentile(1000)}


def _of_labels(tallies):
    """Returns the labels with the most bytes; "" are allocations without one, if others have any."""
    if set(tallies) <= {""}:
        return []
    largest = sorted(tallies.items(), key=lambda item: (-item[1].bytes, item[0]))[:LARGEST_LABELS]
    return [{"label": label, "allocations": tally.allocations, "bytes": tally.bytes} for label, tally in largest]


def trace_stats(path, curve_points=CURVE_POINTS):
    """Returns all statistics as values for JSON."""
    reader = TraceReader(path)
    sizes, lifetimes_ns, lifetimes_events = Counter(), LogHistogram(), LogHistogram()
    threads, streams, labels = {}, {}, {}
    curve = LiveCurve(max(1, curve_points // 2))
    peak_bytes, peak_count, frees = (0, 0, 0), (0, 0, 0), 0
    other_stream = other_thread = number = 0
    began = {} # event of each live id
    for number, event in enumerate(reader.events()):
        thread = threads.get(event.thread) or threads.setdefault(event.thread, _Tally())
        stream = streams.get(event.stream) or streams.setdefault(event.stream, _Tally())
        time_ns = event.time_ns - reader.first_time_ns
        if isinstance(event, Alloc):
            sizes[event.bytes] += 1
            began[event.id] = number
            label = labels.get(event.label) or labels.setdefault(event.label, _Tally())
            for tally in (thread, stream, label):
                tally.allocations += 1
                tally.bytes += event.bytes
            if reader.live_bytes > peak_bytes[0]:
                peak_bytes = (reader.live_bytes, time_ns, len(reader.live))
            if len(reader.live) > peak_count[0]:
                peak_count = (len(reader.live), time_ns, reader.live_bytes)
        else:
            frees += 1
            thread.frees += 1
            stream.frees += 1
            alloc = event.alloc
            lifetimes_ns.add(event.time_ns - alloc.time_ns)
            lifetimes_events.add(number - began.pop(event.id))
            other_stream += event.stream != alloc.stream
            other_thread += event.thread != alloc.thread
        curve.add(time_ns, reader.live_bytes, len(reader.live))
    by_class = {}
    for size, count in sizes.items():
        entry = by_class.setdefault(size_class(size), [0, 0])
        entry[0] += count
        entry[1] += size * count
    return {
        "trace": reader.name, "file": reader.path, "metadata": dict(reader.metadata),
        "events": reader.event_count, "allocations": reader.event_count - frees, "frees": frees,
        "left_live": {"blocks": len(reader.live), "bytes": reader.live_bytes},
        "duration_ns": reader.last_time_ns - reader.first_time_ns,
        "allocated_bytes": sum(size * count for size, count in sizes.items()),
        "sizes": {"distinct": len(sizes), "zero": sizes.get(0, 0),
                  **{name: percentile_of(sizes, per_mille) for name, per_mille in PER_MILLE.items()}, "max": max(sizes),
                  "most_common": [{"bytes": size, "count": count}
                                  for size, count in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
                                  [:COMMON_SIZES]],
                  "by_power_of_two": [{"up_to": key, "count": by_class[key][0], "bytes": by_class[key][1]}
                                      for key in sorted(by_class)]},
        "lifetime_ns": _percentiles(lifetimes_ns), "lifetime_events": _percentiles(lifetimes_events),
        "peak_bytes": {"bytes": peak_bytes[0], "time_ns": peak_bytes[1], "blocks": peak_bytes[2]},
        "peak_blocks": {"blocks": peak_count[0], "time_ns": peak_count[1], "bytes": peak_count[2]},
        "live_over_time": [list(point) for point in curve.points()],
        "labels": _of_labels(labels), "distinct_labels": len(labels.keys() - {""}),
        "threads": [threads[key].as_json(key) for key in sorted(threads)],
        "streams": [streams[key].as_json(key) for key in sorted(streams)],
        "freed_on_another_stream": other_stream, "freed_by_another_thread": other_thread,
    }
