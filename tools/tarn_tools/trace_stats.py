# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
trace_stats: what a trace is like: sizes, lifetimes, what is live over time, threads, streams.

Memory: what is live, the distinct sizes, and some hundreds of numbers; nothing grows with the number of events.
"""

from collections import Counter

from .live_curve import LiveCurve
from .log_histogram import LogHistogram
from .trace_reader import Alloc, TraceReader

PERCENTILES = (50, 90, 99, 99.9, 100)
COMMON_SIZES = 10
CURVE_POINTS = 500


def size_class(size):
    """The power of two that holds it; 0 is its own class."""
    return 1 << (size - 1).bit_length() if size > 0 else 0


class _Tally:
    """What a thread or a stream did."""

    def __init__(self):
        self.allocations = self.frees = self.bytes = 0

    def as_json(self, number):
        return {"number": number, "allocations": self.allocations, "frees": self.frees, "bytes": self.bytes}


def _percentiles(histogram):
    return {f"p{percent:g}".replace(".", ""): histogram.percentile(percent) for percent in PERCENTILES[:-1]} | {
        "max": histogram.percentile(100)}


def _weighted_percentile(counter, percent):
    """Of {value: how often}, exactly."""
    wanted = max(1, -(-sum(counter.values()) * percent // 100))
    seen = 0
    for value in sorted(counter):
        seen += counter[value]
        if seen >= wanted:
            return value
    return None


def trace_stats(path, curve_points=CURVE_POINTS):
    """All that is known of it, as what JSON can hold."""
    reader = TraceReader(path)
    sizes, lifetimes_ns, lifetimes_events = Counter(), LogHistogram(), LogHistogram()
    threads, streams = {}, {}
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
            for tally in (thread, stream):
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
                  **{f"p{percent:g}".replace(".", ""): _weighted_percentile(sizes, percent)
                     for percent in PERCENTILES[:-1]}, "max": max(sizes),
                  "most_common": [{"bytes": size, "count": count}
                                  for size, count in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
                                  [:COMMON_SIZES]],
                  "by_power_of_two": [{"up_to": key, "count": by_class[key][0], "bytes": by_class[key][1]}
                                      for key in sorted(by_class)]},
        "lifetime_ns": _percentiles(lifetimes_ns), "lifetime_events": _percentiles(lifetimes_events),
        "peak_bytes": {"bytes": peak_bytes[0], "time_ns": peak_bytes[1], "blocks": peak_bytes[2]},
        "peak_blocks": {"blocks": peak_count[0], "time_ns": peak_count[1], "bytes": peak_count[2]},
        "live_over_time": [list(point) for point in curve.points()],
        "threads": [threads[key].as_json(key) for key in sorted(threads)],
        "streams": [streams[key].as_json(key) for key in sorted(streams)],
        "freed_on_another_stream": other_stream, "freed_by_another_thread": other_thread,
    }
