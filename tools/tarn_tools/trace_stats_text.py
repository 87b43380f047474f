# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trace_stats_text: the statistics of a trace for people."""

from . import shown

BAR_WIDTH = 40
CURVE_ROWS = 16
LISTED_MAX = 16 # threads, streams, labels


def _size(value):
    return shown.plain(shown.size(value))


def _count(value):
    return shown.plain(shown.count(value))


def _time(ns):
    return shown.plain(shown.duration_with_unit(ns))


def _bar(part, whole):
    length = round(BAR_WIDTH * part / whole) if whole else 0
    return "#" * max(length, 1 if part else 0)


def _percentiles(values, show):
    names = (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))
    return ", ".join(f"{label} {show(values[name])}" for name, label in names if values[name] is not None)


def _sizes(stats):
    sizes = stats["sizes"]
    yield f"sizes: {_count(sizes['distinct'])} distinct; requests of zero bytes: {_count(sizes['zero'])}"
    yield f"  {_percentiles(sizes, _size)}"
    yield "  most common: " + ", ".join(f"{_count(entry['count'])} of {_size(entry['bytes'])}"
                                        for entry in sizes["most_common"][:5])
    rows = sizes["by_power_of_two"]
    most = max(row["count"] for row in rows)
    yield f"  {'up to':>10} {'allocations':>14} {'bytes in all':>12}"
    for row in rows:
        yield f"  {_size(row['up_to']):>10} {_count(row['count']):>14} {_size(row['bytes']):>12}  " \
              f"{_bar(row['count'], most)}"


def _live(stats):
    bytes_peak, blocks_peak = stats["peak_bytes"], stats["peak_blocks"]
    yield f"most bytes live: {_size(bytes_peak['bytes'])} in {shown.counted(bytes_peak['blocks'], 'block')}, after " \
          f"{_time(bytes_peak['time_ns'])}"
    yield f"most blocks live: {_count(blocks_peak['blocks'])} of {_size(blocks_peak['bytes'])}, after " \
          f"{_time(blocks_peak['time_ns'])}"
    points = stats["live_over_time"]
    step = max(1, -(-len(points) // CURVE_ROWS))
    yield f"live over time:\n  {'time':>10} {'bytes':>10} {'blocks':>10}"
    for first in range(0, len(points), step):
        time_ns, live_bytes, blocks = max(points[first:first + step], key=lambda point: point[1])
        yield f"  {_time(time_ns):>10} {_size(live_bytes):>10} {_count(blocks):>10}  " \
              f"{_bar(live_bytes, bytes_peak['bytes'])}"


def _tallies(stats, key):
    tallies = stats[key]
    yield f"{key}: {len(tallies)}"
    for tally in tallies[:LISTED_MAX]:
        yield f"  {tally['number']:>8}: {shown.counted(tally['allocations'], 'allocation')} of {_size(tally['bytes'])}, " \
              f"{shown.counted(tally['frees'], 'free')}"
    if len(tallies) > LISTED_MAX:
        yield f"  and {len(tallies) - LISTED_MAX} more"


def _labels(stats):
    if not stats["labels"]:
        return
    yield f"labels: {_count(stats['distinct_labels'])} distinct; those with the most bytes"
    for entry in stats["labels"][:LISTED_MAX]:
        yield f"  {_count(entry['allocations']):>8} of {_size(entry['bytes']):>10} in all: " \
              f"{shown.escaped(entry['label']) or '(no label)'}"


def stats_text(stats):
    lines = [f"{stats['trace']} ({shown.escaped(stats['file'])})",
             f"{shown.counted(stats['events'], 'event')} in {_time(stats['duration_ns'])}: "
             f"{shown.counted(stats['allocations'], 'allocation')} of {_size(stats['allocated_bytes'])} in all, "
             f"{shown.counted(stats['frees'], 'free')}",
             f"left live at the end: {shown.counted(stats['left_live']['blocks'], 'block')}, "
             f"{_size(stats['left_live']['bytes'])}",
             *_sizes(stats)]
    if stats["frees"]:
        lines += [f"lifetimes: {_percentiles(stats['lifetime_ns'], _time)}",
                  f"  in events: {_percentiles(stats['lifetime_events'], _count)}"]
    lines += [*_live(stats), *_tallies(stats, "threads"), *_tallies(stats, "streams"), *_labels(stats),
              f"freed on another stream: {_count(stats['freed_on_another_stream'])}, by another thread: "
              f"{_count(stats['freed_by_another_thread'])}"]
    return "\n".join(lines) + "\n"
