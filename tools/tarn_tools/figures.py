# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
figures: which plots a set of runs gives.

A figure is one question. It has rows of charts, those of a row with one scale, so that charts side by side can
be compared by eye: a row has a chart for each run, and there are several rows where there are several ways of
looking. Of one run these stand side by side.
"""

import re

from . import chart, chart_kinds
from .chart import Chart
from .workload_name import live_and_sizes_of, size_of

# Benches with a plot of their own kind; of all others every workload is a row of dots.
WITH_LINES = ("sweep", "live", "churn", "threads")

PAIR = ("an allocation and its free", lambda result: result.pair_ns)
ALLOC = ("an allocation, median", lambda result: _call_ns(result, "alloc_ns"))
FREE = ("a free, median", lambda result: _call_ns(result, "free_ns"))


class Figure:
    def __init__(self, name, section, title, text, rows):
        self.name = name
        self.section = section
        self.title = title
        self.text = text
        self.rows = [row for row in rows if row]
        if self.rows and max(map(len, self.rows)) == 1:
            self.rows = [[row[0] for row in self.rows]]

    @property
    def charts(self):
        return [chart for row in self.rows for chart in row]


def _spread_of(result, name):
    """(median, least, most) of a figure that was repeated, or None."""
    return (result[name], result[f"{name}_min"], result[f"{name}_max"]) if result[name] else None


def _call_ns(result, call):
    """The median, and the band up to the 99th percentile."""
    value = result[f"{call}.p50"]
    return (value, value, result[f"{call}.p99"]) if value else None


def _file_name(*parts):
    return re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower()).strip("-")[:90]


def _chart(figure_name, run, runs, draw, what="", **options):
    title = run.label if not what else what if len(runs) == 1 else f"{what}\n{run.label}"
    return Chart(_file_name(figure_name, what, run.label if len(runs) > 1 else ""), title, draw, **options)


def _with_results(runs, bench):
    return [run for run in runs if any(key[0] == bench for key in run.by_workload())]


# --- lines -------------------------------------------------------------------------------------------

def _series(run, bench, x_of, value_of):
    """{allocator: [(x, value, low, high)]}"""
    series = {}
    for key, by_allocator in run.by_workload().items():
        x = x_of(key) if key[0] == bench else None
        for name, result in by_allocator.items():
            values = value_of(result)
            if x is not None and values:
                series.setdefault(name, []).append((x, *values))
    return series


def _lines_figure(name, bench, runs, palette, title, text, x_axis, x_label, x_of):
    """Pairs, allocations and frees over a quantity."""
    rows = []
    for what, value_of in (PAIR, ALLOC, FREE):
        of_runs = [(run, _series(run, bench, x_of, value_of)) for run in runs]
        limits = chart.limits_of(point[1] for _, series in of_runs for points in series.values() for point in points)
        rows.append([_chart(name, run, runs,
                            chart_kinds.lines(series, palette, x_axis, x_label, "time", limits), what)
                     for run, series in of_runs if series])
    return Figure(name, bench, title, text, rows)


# Further figures of some benches.
MORE_DOTS = {
    "streams": [("ns_per_pair", "Time of the thread", "What the thread that serves the streams spends in a pair, "
                 "without the wait for the streams at the end.")],
    "growth": [("first_alloc_ns", "The first allocation", "What a program waits for when it begins.")],
}

SPREAD = ("The band around a pair's line is the spread of the repetitions; single calls have one reading of the "
          "clock in them, and their band reaches up to the 99th percentile.")


def sweep_figure(runs, palette):
    runs = _with_results(runs, "sweep")
    return [_lines_figure("sweep", "sweep", runs, palette, "Time against size",
                          f"One block at a time, allocated and freed, by its size. {SPREAD}",
                          "size", "size of the block", lambda key: size_of(key[1]) or None)]


def _sizes_in(runs, bench):
    """The ranges of sizes of a bench's workloads, each once."""
    found = [live_and_sizes_of(key[1])[1] for run in runs for key in run.by_workload() if key[0] == bench]
    return list(dict.fromkeys(sizes for sizes in found if sizes))


def live_figures(bench, runs, palette):
    runs = _with_results(runs, bench)
    what = {"live": "A tenth of the blocks, at random places, is allocated and freed again.",
            "churn": "A random block is freed, and one of a new random size allocated."}[bench]
    figures = []
    for sizes in _sizes_in(runs, bench):
        def x_of(key, sizes=sizes):
            count, of_sizes = live_and_sizes_of(key[1])
            return count if of_sizes == sizes else None
        figures.append(_lines_figure(
            _file_name(bench, sizes), bench, runs, palette, f"Time against live blocks, of {sizes} bytes",
            f"{what} {SPREAD}", "count", "live blocks", x_of))
    return figures


def _rate(result):
    return _spread_of(result, "pairs_per_second")


def threads_figures(runs, palette):
    runs = _with_results(runs, "threads")
    figures = []
    kinds = list(dict.fromkeys(live_and_sizes_of(key[1]) for run in runs for key in run.by_workload()
                               if key[0] == "threads"))
    for live, sizes in kinds:
        def x_of(key, kind=(live, sizes)):
            return key[2] if live_and_sizes_of(key[1]) == kind else None
        of_runs = [(run, _series(run, "threads", x_of, _rate)) for run in runs]
        limits = chart.limits_of(point[1] for _, series in of_runs for points in series.values() for point in points)
        name = _file_name("threads", str(live or ""), sizes or "")
        charts = [_chart(name, run, runs, chart_kinds.lines(
            series, palette, "threads", "threads", "pairs a second, all threads", limits, chart.count_label))
            for run, series in of_runs if series]
        kind = f"{live} blocks of {sizes} bytes a thread" if sizes else "threads"
        figures.append(Figure(name, "threads", f"Rate against threads: {kind}",
                              "Pairs of an allocation and a free that all threads make together in a second; "
                              "higher is better.", [charts]))
    return figures


# --- dots --------------------------------------------------------------------------------------------

def _dots_figure(name, section, runs, palette, title, text, is_wanted, value_of, x_label, ticks):
    rows_of = []
    for run in runs:
        rows = []
        for key, by_allocator in run.by_workload().items():
            values = {allocator: value_of(result) for allocator, result in by_allocator.items() if is_wanted(key)}
            values = {allocator: value for allocator, value in values.items() if value}
            if values:
                rows.append((key[1], values))
        rows_of.append((run, rows))
    limits = chart.limits_of(value for _, rows in rows_of for _, values in rows
                             for triple in values.values() for value in triple)
    charts = [_chart(name, run, runs, chart_kinds.dots(rows, palette, x_label, limits, ticks),
                     height=1.5 + (0.3 + 0.03 * max(len(values) for _, values in rows)) * len(rows)) for run, rows in rows_of if rows]
    return Figure(name, section, title, text, [charts])


def _held(result):
    value = result.held_by_live
    return (value, None, None) if value else None


def _ratio_label(value, _position=None):
    return f"{value:g}\u00d7"


def bench_figures(bench, runs, palette):
    """Of a bench whose workloads are names: recorded traces, streams, growth, and what may come."""
    def is_wanted(key):
        return key[0] == bench

    def value_of(result):
        return _rate(result) if result.is_rated else result.pair_ns
    runs = _with_results(runs, bench)
    is_rated = any(result.is_rated for run in runs for key, row in run.by_workload().items() if key[0] == bench
                   for result in row.values())
    time_axis = ("pairs a second", chart.count_label) if is_rated else ("time of an allocation and its free",
                                                                       chart.time_label)
    figures = [
        _dots_figure(_file_name(bench, "time"), bench, runs, palette, "Time",
                     "An allocation and its free together" + (", until the streams have done their work" if
                     bench == "streams" else "") + ", median of the repetitions; the bar behind a dot is their spread. " + ("Further right is better." if is_rated else "Further left is better."),
                     is_wanted, value_of, *time_axis),
        _dots_figure(_file_name(bench, "memory"), bench, runs, palette, "Memory",
                     "Most bytes held from the vendor at any time, by most bytes live at any time. 1\u00d7 holds "
                     "nothing but what is used; further left is better.",
                     is_wanted, _held, "most bytes held by most bytes live", _ratio_label)]
    figures += [_dots_figure(_file_name(bench, more), bench, runs, palette, title, text, is_wanted,
                             lambda result, more=more: _spread_of(result, more), "time", chart.time_label)
                for more, title, text in MORE_DOTS.get(bench, ())]
    return figures[:1] if bench == "hot" else figures # one small block says nothing about memory


# --- memory over time --------------------------------------------------------------------------------

def _memory_workloads(runs):
    """{(bench, workload): [(run, {allocator: points})]}"""
    table = {}
    for run in runs:
        for key, by_allocator in run.by_workload().items():
            held = {name: result.memory_over_time for name, result in by_allocator.items()
                    if len(result.memory_over_time) > 1}
            if held:
                table.setdefault(key[:2], []).append((run, held))
    return table


def _memory_row(bench, workload, of_runs, palette, title=""):
    """A chart for each run, all with one scale."""
    y_max = max(max(point[1], point[2]) for _, held in of_runs for points in held.values() for point in points)
    name = _file_name("memory over time", bench, workload)
    row = []
    for run, held in of_runs:
        live = [(point[0], point[1]) for point in next(iter(held.values()))]
        held_by = {allocator: [(point[0], point[2]) for point in points] for allocator, points in held.items()}
        draw = chart_kinds.memory(live, held_by, palette, y_max or 1)
        row.append(_chart(name, run, [run for run, _ in of_runs], draw, title))
    return row


def memory_figures(runs, palette):
    """With one run a figure is a bench, and its charts are workloads; with several it is a workload."""
    table = _memory_workloads(runs)
    if len(runs) > 1:
        return [Figure(_file_name("memory", *key), "memory", f"{key[0]}: {key[1]}", "",
                       [_memory_row(*key, of_runs, palette)]) for key, of_runs in table.items()]
    return [Figure(_file_name("memory", bench), "memory", bench, "",
                   [[_memory_row(*key, of_runs, palette, key[1])[0] for key, of_runs in table.items()
                     if key[0] == bench]]) for bench in dict.fromkeys(key[0] for key in table)]


def all_figures(runs, palette):
    """In the order in which a page has them."""
    benches = list(dict.fromkeys(key[0] for run in runs for key in run.by_workload()))
    figures = []
    for bench in benches:
        if bench not in WITH_LINES:
            figures += bench_figures(bench, runs, palette)
    figures += sweep_figure(runs, palette)
    figures += live_figures("live", runs, palette) + live_figures("churn", runs, palette)
    figures += threads_figures(runs, palette)
    figures += memory_figures(runs, palette)
    return [figure for figure in figures if figure.rows]
