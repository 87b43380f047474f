# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""figures: the plots for a set of runs. Those of device_heap_bench are in heap_figures.py."""

from . import chart, chart_kinds, workload_name
from .chart_kinds import Value
from .figure import Figure, chart_of, dots_height, file_name, limits_of_series, number_equal_names
from .heap_figures import heap_figures
from .paper_figures import paper_figures
from .page_words import title_of_kind
from .workload_name import live_and_sizes_of, parts_of, size_of

# Benches with their own kind of plot; for all others every workload is a row of dots.
WITH_LINES = ("sweep", "live", "churn", "threads")

STRETCHES = 100 # of memory over time


# --- figures of a result -----------------------------------------------------------------------------

def _time(result, triple):
    """Returns a time of pairs, and its value before Python's share was subtracted."""
    if not triple:
        return None
    return Value(*triple, measured=triple[0] + result.python_ns if result.python_ns else None)


def _pair(result):
    return _time(result, result.pair_ns)


def _thread(result):
    """For streams, the time of the thread that serves them."""
    return _time(result, result.less_python("ns_per_pair"))


def _rate(result):
    return Value(*result.rates, measured=result["pairs_per_second"] if result.python_ns else None) \
        if result.rates else None


def _call(name):
    """Returns a percentile of single calls."""
    return lambda result: Value(result[name]) if result[name] else None


def _repeated(name):
    return lambda result: Value(result[name], result[f"{name}_min"], result[f"{name}_max"]) if result[name] else None


def _held(result):
    return Value(result.held_by_live) if result.held_by_live else None


# --- lines -------------------------------------------------------------------------------------------

WAYS = (("an allocation and its free", _pair),
        ("an allocation, median", _call("alloc_ns.p50")), ("a free, median", _call("free_ns.p50")),
        ("an allocation, 99th percentile", _call("alloc_ns.p99")), ("a free, 99th percentile", _call("free_ns.p99")))

SPREAD = ("The band around a pair's line is the spread of the repetitions. Lines that lie on each other are drawn a "
          "little apart.")


def _series(run, keys, x_of, value_of):
    """{allocator: [(x, Value)]}"""
    series = {}
    for key in keys:
        x = x_of(key)
        for name, result in run.by_workload[key].items():
            value = value_of(result)
            if x and value: # a logarithmic axis has no place for zero
                series.setdefault(name, []).append((x, value))
    return series


def _groups(runs, bench, group_of):
    """{group: {run: keys}} of a bench, in order of appearance."""
    groups = {}
    for run in runs:
        for key in run.by_workload:
            if key[0] == bench:
                groups.setdefault(group_of(key), {}).setdefault(run, []).append(key)
    return groups


def _lines_figure(name, bench, keys_of, runs, palette, title, x_axis, x_label, x_of):
    """Pairs, allocations and frees over a quantity."""
    rows = []
    for what, value_of in WAYS:
        of_runs = [(run, _series(run, keys, x_of, value_of)) for run, keys in keys_of.items()]
        limits = limits_of_series(series for _, series in of_runs)
        rows.append([chart_of(f"{name} {what}", what[0].upper() + what[1:], run, runs,
                            chart_kinds.lines(series, palette, x_axis, x_label, "time", limits))
                     for run, series in of_runs if series])
    return Figure(bench, title, SPREAD, rows[:1], rows[1:], "Single calls")


def _how(qualifiers):
    return "".join(f", {qualifier}" for qualifier in qualifiers)


def sweep_figures(runs, palette):
    groups = _groups(runs, "sweep", lambda key: parts_of(key[1])[1])
    return [_lines_figure(file_name("sweep", *qualifiers), "sweep", keys_of, runs, palette,
                          f"Time against size{_how(qualifiers)}", "size", "size of the block",
                          lambda key: size_of(key[1]))
            for qualifiers, keys_of in groups.items()]


def live_figures(bench, runs, palette):
    groups = _groups(runs, bench, lambda key: (live_and_sizes_of(key[1])[1], parts_of(key[1])[1]))
    return [_lines_figure(file_name(bench, sizes or "", *qualifiers), bench, keys_of, runs, palette,
                          f"Time against live blocks, of {sizes or 'some'} bytes{_how(qualifiers)}", "count",
                          "live blocks", lambda key: live_and_sizes_of(key[1])[0])
            for (sizes, qualifiers), keys_of in groups.items()]


def _blocks_of_threads(key):
    """Returns what the workloads of a line have in common: all but the number of threads."""
    live, sizes = live_and_sizes_of(key[1])
    name, qualifiers = parts_of(key[1])
    return workload_name.joined(f"{live} blocks of {sizes} bytes a thread" if sizes else name, qualifiers)


def threads_figures(runs, palette):
    figures = []
    for blocks, keys_of in _groups(runs, "threads", _blocks_of_threads).items():
        of_runs = [(run, _series(run, keys, lambda key: key[2], _rate)) for run, keys in keys_of.items()]
        limits = limits_of_series(series for _, series in of_runs)
        name = file_name("threads", blocks.replace(" blocks", "").replace(" bytes a thread", ""))
        figures.append(Figure("threads", f"Rate against threads: {blocks}",
                              "Pairs of an allocation and a free that all threads make together in a second: "
                              f"higher is better. {SPREAD}",
                              [[chart_of(name, f"Rate: {blocks}", run, runs, chart_kinds.lines(
                                  series, palette, "threads", "threads", "pairs a second, all threads", limits,
                                  chart.count_label)) for run, series in of_runs if series]]))
    return figures


# --- dots --------------------------------------------------------------------------------------------

def _dots_rows(run, keys, value_of):
    rows = []
    for key in keys:
        values = {name: value_of(result) for name, result in run.by_workload[key].items()}
        values = {name: value for name, value in values.items() if value}
        if values:
            rows.append((parts_of(key[1])[0], values))
    return rows


class _Dots:
    """The common data of all figures for one kind of workloads."""

    def __init__(self, kind, keys_of, runs, palette):
        self.kind, self.runs, self.palette = kind, runs, palette
        self.bench = next(iter(keys_of.values()))[0][0]
        self._keys_of = keys_of

    @property
    def is_rated(self):
        return any(result.is_rated for run, keys in self._keys_of.items() for key in keys
                   for result in run.by_workload[key].values())

    def figure(self, name, title, text, value_of, x_label, ticks):
        rows_of = [(run, _dots_rows(run, keys, value_of)) for run, keys in self._keys_of.items()]
        limits = chart.limits_of(
            edge for _, rows in rows_of for _, values in rows for value in values.values()
            for edge in (value.median, value.low, value.high, value.measured))
        title = f"{title_of_kind(self.kind)}: {title}"
        return Figure(self.bench, title, text, [[
            chart_of(f"{self.kind} {name}", title, run, self.runs,
                   chart_kinds.dots(rows, self.palette, x_label, limits, ticks), height=dots_height(rows))
            for run, rows in rows_of if rows]])


REPEATED = "Median of the repetitions; the bar behind a dot is their spread."


def _time_figure(dots):
    if dots.is_rated:
        return dots.figure("time", "rate", f"{REPEATED} Further right is better.", _rate, "pairs a second",
                           chart.count_label)
    until = ", until the streams have done their work" if dots.bench == "streams" else ""
    return dots.figure("time", "time", f"An allocation and its free together{until}. {REPEATED} Further left is "
                       "better.", _pair, "time of an allocation and its free", chart.time_label)


def _memory_figure(dots):
    return dots.figure("memory", "memory",
                       "Most bytes held from the vendor at any time, by most bytes live at any time. 1\u00d7 holds "
                       "nothing but what is used; further left is better.", _held, "most bytes held by most bytes live",
                       chart.ratio_label)


# More figures of some benches.
MORE_DOTS = {
    "streams": [("ns per pair", "time of the thread", "What the thread that serves the streams spends in a pair, "
                 "without the wait for the streams at the end.", _thread)],
    "growth": [("first alloc ns", "the first allocation", "What a program waits for when it begins.",
                _repeated("first_alloc_ns"))],
}


def dots_figures(bench, runs, palette):
    """For benches whose workloads are names: recorded traces, streams, growth, and future ones."""
    figures = []
    for kind, keys_of in _groups(runs, bench, workload_name.kind_of).items():
        dots = _Dots(kind, keys_of, runs, palette)
        figures.append(_time_figure(dots))
        if bench != "hot": # one small block says nothing about memory
            figures.append(_memory_figure(dots))
        figures += [dots.figure(name, title, text, value_of, "time", chart.time_label)
                    for name, title, text, value_of in MORE_DOTS.get(bench, ())]
    return figures


# --- memory over time --------------------------------------------------------------------------------

def _memory_workloads(runs):
    """{(bench, workload): [(run, {allocator: points})]}"""
    table = {}
    for run in runs:
        for key, by_allocator in run.by_workload.items():
            held = {name: result.memory_over_time for name, result in by_allocator.items()
                    if len(result.memory_over_time) > 1}
            if held:
                table.setdefault(key[:2], []).append((run, held))
    return table


def envelope(points, stretches=STRETCHES):
    """
    [(event, bytes)]: the maximum in each of `stretches` equal parts of the events. A plot cannot resolve changes
    within one.
    """
    first, last = points[0][0], points[-1][0]
    width = max((last - first) / stretches, 1)
    found, before, place = [], 0, 0
    for number in range(stretches):
        end = first + (number + 1) * width
        most = before
        while place < len(points) and (points[place][0] < end or number == stretches - 1):
            before = points[place][1]
            most = max(most, before)
            place += 1
        found.append((first + number * width, most))
        if place == len(points):
            break
    return [*found, (last, before)]


def live_of(held):
    """What is live over time is the same for all; one that was cut short does not have all of it."""
    longest = max(held.values(), key=lambda points: points[-1][0])
    return envelope([(point[0], point[1]) for point in longest])


def _most(held):
    return max(point[2] for point in held)


def _too_high(held):
    """Returns allocators that would press all others to the bottom: raw, if it holds several times as much."""
    others = [_most(points) for name, points in held.items() if name != "raw"]
    return ["raw"] if others and "raw" in held and _most(held["raw"]) > 2 * max(others) else []


def _memory_chart(run, runs, bench, workload, held, too_high, y_max, palette):
    live = live_of(held)
    held_by = {name: envelope([(point[0], point[2]) for point in points]) for name, points in held.items()
               if name not in too_high}
    not_drawn = {name: _most(held[name]) for name in too_high if name in held}
    return chart_of(f"memory over time {bench} {workload}", f"Memory, {bench}: {workload}", run, runs,
                  chart_kinds.memory(live, held_by, not_drawn, palette, y_max or 1))


def memory_figures(runs, palette):
    figures = []
    for (bench, workload), of_runs in _memory_workloads(runs).items():
        too_high = [name for _, held in of_runs for name in _too_high(held)]
        y_max = max(max(point[1], point[2]) for _, held in of_runs for name, points in held.items()
                    if name not in too_high for point in points)
        figures.append(Figure("memory", f"{bench}: {workload}", "",
                              [[_memory_chart(run, runs, bench, workload, held, too_high, y_max, palette)
                                for run, held in of_runs]]))
    return figures


# --- all ---------------------------------------------------------------------------------------------

def all_figures(runs, palette):
    """Returns all figures in the order of the page."""
    heaps = heap_figures(runs, palette)
    runs = [run for run in runs if run.files]
    benches = list(dict.fromkeys(key[0] for run in runs for key in run.by_workload))
    figures = []
    for bench in benches:
        if bench not in WITH_LINES:
            figures += dots_figures(bench, runs, palette)
    figures += sweep_figures(runs, palette)
    figures += live_figures("live", runs, palette) + live_figures("churn", runs, palette)
    figures += threads_figures(runs, palette)
    figures += paper_figures(runs, palette)
    figures += memory_figures(runs, palette) + heaps
    figures = [figure for figure in figures if figure.charts]
    number_equal_names(figures)
    return figures
