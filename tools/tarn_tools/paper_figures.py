# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
paper_figures: plots as the papers have them that tarn comes from: the time of single calls over time and by size, their
worst, and the time of a whole program. docs/papers.md says which is which.
"""

from . import chart, chart_kinds
from .chart_kinds import Value
from .figure import Figure, chart_of, dots_height, file_name, limits_of_series
from .page_words import full_name
from .workload_name import parts_of

WHAT = {"alloc": "an allocation", "free": "a free"}
FIGURES = (("median", lambda calls: calls.median), ("worst", lambda calls: calls.worst))

HOW = ("From an empty allocator on, each call with one reading of the clock inside; of each call the shortest of the "
       "passes, so that only those are slow that are slow each time. ")
OVER_TIME = HOW + "A point is a stretch of the calls: its median, or the worst call in it."
BY_SIZE = HOW + "A point has the blocks from its size to four times that."
WORST = HOW + "The bar leads to the slowest call of a single pass, in which the system may have taken the processor."
PROGRAM = "The whole program, with its work beside the allocations. Further left is better."


def paper_figures(runs, palette):
    """For results that have such figures; a list without any for others."""
    figures = []
    for key in _keys(runs, lambda result: result.latency):
        figures.append(_lines_figure("latency over time", key, runs, OVER_TIME, lambda latency: latency.over_time,
                                     lambda series, limits: _over_time(series, palette, limits)))
        if any(len(result.latency.by_size) > 2 for _, result in _results(runs, key)):
            figures.append(_lines_figure("latency by size", key, runs, BY_SIZE, lambda latency: latency.by_size,
                                         lambda series, limits: chart_kinds.lines(
                                             series, palette, "size", "size of the block", "time", limits)))
    for bench in dict.fromkeys(key[0] for key in _keys(runs, lambda result: result.latency)):
        figures.append(_dots_figure(f"{bench} worst call", bench, "The worst call", WORST, _worst_rows, runs, palette))
    for bench in dict.fromkeys(key[0] for key in _keys(runs, lambda result: result["program_ns"])):
        figures.append(_dots_figure(f"{bench} program", bench, "The whole program", PROGRAM, _program_rows, runs,
                                    palette))
    return [figure for figure in figures if figure.rows]


def _keys(runs, is_wanted):
    return list(dict.fromkeys(key for run in runs for key, row in run.by_workload.items()
                              if any(is_wanted(result) for result in row.values())))


def _results(runs, key):
    """[(run, result)] with latency"""
    return [(run, result) for run in runs for result in run.by_workload.get(key, {}).values() if result.latency]


# --- lines -------------------------------------------------------------------------------------------

def _series(run, key, kind, figure_of, parts_of_latency):
    """{allocator: [(x, Value)]}; a logarithmic axis has no place for zero."""
    series = {}
    for of_run, result in _results([run], key):
        points = [(part.first, Value(figure_of(part.calls[kind]))) for part in parts_of_latency(result.latency)
                  if part.calls[kind].count and figure_of(part.calls[kind])]
        if points:
            series[result.allocator] = points
    return series


def _lines_figure(name, key, runs, text, parts_of_latency, draw):
    rows = []
    for kind, what in WHAT.items():
        for figure, figure_of in FIGURES:
            of_runs = [(run, _series(run, key, kind, figure_of, parts_of_latency)) for run in runs]
            limits = limits_of_series(series for _, series in of_runs)
            title = f"{what[0].upper()}{what[1:]}, {figure}"
            rows.append([chart_of(file_name(key[0], key[1], name, what, figure), title, run, runs, draw(series, limits))
                         for run, series in of_runs if series])
    return Figure(key[0], f"{name[0].upper()}{name[1:]}: {full_name(key)}", text, rows)


def _over_time(series, palette, limits):
    def draw(axes):
        from matplotlib.ticker import FuncFormatter
        names = palette.in_order(series)
        for name in names:
            style = palette[name]
            axes.plot([x for x, _ in series[name]], [value.median for _, value in series[name]], label=name,
                      color=style.light, linestyle=style.dashes, linewidth=style.width, marker=style.marker,
                      markerfacecolor=chart.PAPER if style.is_hollow else None, markersize=4.5, markevery=0.12,
                      zorder=4 if name == "tarn" else 3)
        chart.use_log(axes.yaxis, chart.time_label, limits)
        axes.xaxis.set_major_formatter(FuncFormatter(chart.count_label))
        axes.set_xlim(left=0)
        axes.set_xlabel("calls before it")
        axes.set_ylabel("time")
        return names
    return draw


# --- dots --------------------------------------------------------------------------------------------

def _worst_rows(run, bench):
    """[(label, {allocator: Value})]"""
    rows = []
    for key, by_allocator in run.by_workload.items():
        for kind, what in WHAT.items():
            worst = {name: result.latency.worst[kind] for name, result in by_allocator.items()
                     if result.latency and key[0] == bench}
            values = {name: Value(each_time, each_time, once) for name, (each_time, once) in worst.items() if each_time}
            if values:
                rows.append((f"{parts_of(key[1])[0]}: {what}", values))
    return rows


def _program_rows(run, bench):
    rows = [(key[1], {name: Value(result["program_ns"]) for name, result in by_allocator.items()
                      if result["program_ns"]})
            for key, by_allocator in run.by_workload.items() if key[0] == bench]
    return [(label, values) for label, values in rows if values]


def _dots_figure(name, bench, title, text, rows_of, runs, palette):
    of_runs = [(run, rows_of(run, bench)) for run in runs]
    limits = chart.limits_of(edge for _, rows in of_runs for _, values in rows for value in values.values()
                             for edge in (value.median, value.low, value.high))
    return Figure(bench, title, text, [[
        chart_of(file_name(name), title, run, runs,
                 chart_kinds.dots(rows, palette, "time", limits, chart.time_label), height=dots_height(rows))
        for run, rows in of_runs if rows]])
