# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results as tables on stdout, one kind for each method."""

from python_workloads import GROWTH, PASSES, STREAMS, THREADS


def show_ns(ns):
    return f"{ns:.0f}" if ns < 10e3 else f"{ns / 1e3:.1f}us" if ns < 10e6 else f"{ns / 1e6:.1f}ms"


def show_count(count):
    """To three digits."""
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K"), (1, "")):
        value = count / power
        if value >= 1:
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}{letter}"
    return "0"


def show_bytes(count):
    return f"{show_count(count)}B"


def _held(row):
    held = row["peak_footprint_bytes"] / row["peak_live_bytes"] if row["peak_live_bytes"] else 0
    return f"{held:.2f}" if held else "-"


def _range(row, name, show):
    return f"{show(row[name + '_min'])}-{show(row[name + '_max'])}"


def _times_one_thread(row):
    return f"{row['ratio_to_one_thread']:.2f}" if "ratio_to_one_thread" in row else "-"


# A column: two lines of head, width, and its text for a row.
_PAIRS = ("", "pairs", 7, lambda row: row["pairs"])
_PAIR = ("ns/", "pair", 8, lambda row: show_ns(row["ns_per_pair"]))
_SPREAD = ("", "min-max", 15, lambda row: _range(row, "ns_per_pair", show_ns))
_SHARE = ("Python's", "share", 8, lambda row: show_ns(row["harness_ns_per_pair"]))
_HELD = ("held/", "live", 6, _held)
_CALLS = ("vendor", "calls", 7, lambda row: row["vendor_calls"] or "-")


def _call(head, kind, percentile):
    return (head, percentile, 7, lambda row: show_ns(row[kind][percentile]))


_SINGLE_CALLS = (_call("alloc", "alloc_ns", "p50"), _call("", "alloc_ns", "p99"), _call("free", "free_ns", "p50"),
                 _call("", "free_ns", "p99"))

COLUMNS = {
    PASSES: (_PAIRS, _PAIR, _SPREAD, _SHARE, *_SINGLE_CALLS, _HELD, _CALLS),
    THREADS: (
        ("pairs/s", "of all", 8, lambda row: show_count(row["pairs_per_second"])),
        ("", "min-max", 15, lambda row: _range(row, "pairs_per_second", show_count)),
        ("ns/pair", "a thread", 9, lambda row: show_ns(row["ns_per_pair"])),
        _SHARE,
        ("times one", "thread", 9, _times_one_thread),
        _HELD, _CALLS),
    STREAMS: (
        ("thread", "ns/pair", 8, lambda row: show_ns(row["ns_per_pair"])), _SPREAD,
        ("the work", "alone", 8, lambda row: show_ns(row["harness_ns_per_pair"])),
        ("without", "it", 8, lambda row: f"{row['allocator_ns_per_pair']:.0f}"),
        ("until", "done", 8, lambda row: show_ns(row["total_ns_per_pair"])), _HELD, _CALLS),
    GROWTH: (
        ("", "blocks", 7, lambda row: row["pairs"]),
        ("first", "alloc", 8, lambda row: show_ns(row["first_alloc_ns"])),
        ("ns/", "alloc", 8, lambda row: show_ns(row["ns_per_alloc"])), _SPREAD, _SHARE,
        ("ns/", "free", 8, lambda row: show_ns(row["ns_per_free"])), _HELD, _CALLS,
        ("left", "free", 8, lambda row: show_bytes(row["held_after_free_bytes"])),
        ("after", "trim", 8, lambda row: show_bytes(row["held_after_trim_bytes"]))),
}


def _line(first, method, texts):
    cells = "".join(f" {text:>{column[2]}}" for column, text in zip(COLUMNS[method], texts))
    return f"  {first:<14}{cells}".rstrip()


def head(method):
    first, second = (_line(name, method, [column[place] for column in COLUMNS[method]])
                     for place, name in enumerate(("", "allocator")))
    return f"\n{first}\n{second}"


def title(workload):
    extent = workload.extent
    return (f"\n{workload.bench} {workload.name}: at most {extent.live_bytes_max / 1e6:.3g} MB live, at most "
            f"{extent.live_count_max} blocks")


def row_line(method, row):
    if not row["verified"]:
        return f"  {row['allocator']:<14} FAILED: {row['error']}"
    return _line(row["allocator"], method, [column[3](row) for column in COLUMNS[method]])


def skipped_line(entry):
    return f"  {entry['allocator']:<14} skipped: {entry['reason']}"
