# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
heap_figures: the plots for results of device_heap_bench.

Tests over a quantity are lines. Other tests are dots, a row for each workload, if there is more than one heap to
compare. The rest is in tables only.
"""

from . import chart, chart_kinds
from .chart_kinds import Value
from .figure import Figure, chart_of, dots_height, limits_of_series
from .heap_verdicts import groups_of, heap_verdicts_of
from .heap_words import anchor_of, in_order, title_of

# {test: (kind of the axis, its label, what the workloads of a plot have in common)}
OVER = {"one-size": ("size", "size of an object", lambda verdict: ""),
        "scaling": ("threads", "threads", lambda verdict: verdict.workload.rpartition(", ")[0])}


def heap_figures(runs, palette):
    judged = [(run, heap_verdicts_of(run)) for run in runs if run.heap_files]
    tests = in_order(dict.fromkeys(verdict.test for _, verdicts in judged for verdict in verdicts))
    return [_figure(test, judged, palette) for test in tests]


def _figure(test, judged, palette):
    """Without a title: the page has a heading above it that describes the test."""
    draw = _lines if test in OVER else _dots
    return Figure(anchor_of(test), "", "", [draw(plot, palette) for plot in _plots(test, judged)])


class _Plot:
    """One figure of one test, on all machines."""

    def __init__(self, test, part, figure, unit, runs):
        self.test, self.unit, self.runs = test, unit, runs
        self.name = f"device heap {test} {part} {figure}"
        self.title = f"{title_of(test)}: {figure}{', ' if part else ''}{part}"
        self.axis = unit.axis.format(figure=figure)
        self.of_runs = [] # (run, verdicts)

    def charts(self, drawn, **options):
        """drawn: [(run, arguments of Chart)]"""
        return [chart_of(self.name, self.title, run, self.runs, draw, **options) for run, draw in drawn]


def _plots(test, judged):
    plots, runs = {}, [run for run, _ in judged]
    part_of = OVER[test][2] if test in OVER else lambda verdict: ""
    for run, verdicts in judged:
        for (of_test, figure, unit), group in groups_of(verdicts).items():
            if of_test == test and unit.ticks:
                for part in dict.fromkeys(map(part_of, group)):
                    plot = plots.setdefault((part, figure, unit), _Plot(test, part, figure, unit, runs))
                    plot.of_runs.append((run, [verdict for verdict in group if part_of(verdict) == part]))
    return list(plots.values())


def _value(result, unit):
    return Value(result.median * unit.base, result.low * unit.base, result.high * unit.base)


def _series(verdicts):
    """{heap: [(x, Value)]}; a logarithmic axis has no place for zero."""
    series = {}
    for verdict in verdicts:
        for name, result in verdict.results.items():
            if result.x and result.median:
                series.setdefault(name, []).append((result.x, _value(result, verdict.unit)))
    return series


def _lines(plot, palette):
    x_axis, x_label, _ = OVER[plot.test]
    of_runs = [(run, _series(verdicts)) for run, verdicts in plot.of_runs]
    limits = limits_of_series(series for _, series in of_runs)
    return plot.charts([(run, chart_kinds.lines(series, palette, x_axis, x_label, plot.axis, limits, plot.unit.ticks))
                        for run, series in of_runs if series])


def _dots_rows(verdicts):
    rows = [(verdict.workload, {name: _value(result, verdict.unit) for name, result in verdict.results.items()
                                if result.median}) for verdict in verdicts]
    return [(label, values) for label, values in rows if values]


def _dots(plot, palette):
    of_runs = [(run, _dots_rows(verdicts)) for run, verdicts in plot.of_runs]
    of_runs = [(run, rows) for run, rows in of_runs if rows]
    by_heap = [pair for _, rows in of_runs for _, values in rows for pair in values.items()]
    if len({name for name, _ in by_heap}) < 2:
        return []
    limits = chart.limits_of(edge for _, value in by_heap for edge in (value.median, value.low, value.high))
    height = max(dots_height(rows) for _, rows in of_runs)
    return plot.charts([(run, chart_kinds.dots(rows, palette, plot.axis, limits, plot.unit.ticks))
                        for run, rows in of_runs], height=height)
