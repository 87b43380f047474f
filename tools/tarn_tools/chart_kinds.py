# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
chart_kinds: the three kinds of plots: lines over a quantity, dots by workload, memory over time. Each returns a
function for Chart, which draws and returns the names of the allocators that are shown.
"""

import math

from . import chart


class Value:
    """A figure of a plot, with its spread; `measured` is the value before a correction."""

    def __init__(self, median, low=None, high=None, measured=None):
        self.median, self.low, self.high, self.measured = median, low, high, measured


# Lines that lie on each other over at least this share of their points are drawn apart.
TOGETHER_SHARE = 0.4
TOGETHER_OF_AXIS = 0.012 # nearer than this part of the axis
APART_POINTS = 2.6 # of 1/72 inch
MARKERS_A_LINE = 8


def _look(style):
    return {"color": style.light, "marker": style.marker, "markerfacecolor": chart.PAPER if style.is_hollow else None,
            "zorder": 4 if style.name == "tarn" else 3}


def _label(style):
    """Legends leave out names that begin with an underscore."""
    return chart.short_label(f"\u200b{style.name}" if style.name.startswith("_") else style.name)


def _axis_label(text, values):
    return f"{text}\n(hollow: less Python's share)" if any(value.measured for value in values) else text


def offsets_of(lines, extent):
    """
    {name: points of 1/72 inch}: how far each line is moved up, so that none hides another. lines: {name: {x: y}}, y as
    drawn, on a logarithmic axis the logarithm; extent: the length of the y axis.
    """
    offsets, groups = {}, []
    for name, line in lines.items():
        group = next((group for group in groups if any(_are_together(line, lines[other], extent) for other in group)),
                     None)
        if group is None:
            groups.append(group := [])
        group.append(name)
    for group in groups:
        for place, name in enumerate(group):
            offsets[name] = APART_POINTS * ((len(group) - 1) / 2 - place)
    return offsets


def _are_together(line, other, extent):
    shared = line.keys() & other.keys()
    near = sum(abs(line[x] - other[x]) <= TOGETHER_OF_AXIS * extent for x in shared)
    return bool(shared) and near >= TOGETHER_SHARE * len(shared)


def _move_up(axes, line, points):
    """After it was added, so that the limits of the axes are those of the values."""
    from matplotlib.transforms import ScaledTranslation
    line.set_transform(axes.transData + ScaledTranslation(0, points / 72, axes.figure.dpi_scale_trans))


def _on_log_axis(points):
    return {x: math.log10(value.median) for x, value in points}


def lines(series, palette, x_axis, x_label, y_label, y_limits, y_ticks=chart.time_label):
    """series: {allocator: [(x, Value)]}. The band from low to high is the spread of the repetitions."""
    def draw(axes):
        names = palette.in_order(series)
        offsets = offsets_of({name: _on_log_axis(series[name]) for name in names},
                             math.log10(y_limits[1] / y_limits[0]))
        for name in names:
            style, points = palette[name], sorted(series[name], key=lambda point: point[0])
            xs = [x for x, _ in points]
            line, = axes.plot(xs, [value.median for _, value in points], label=_label(style), markersize=5,
                              linestyle=style.dashes, linewidth=style.width, **_look(style))
            _move_up(axes, line, offsets[name])
            if any(value.low and value.high for _, value in points):
                axes.fill_between(xs, [value.low or value.median for _, value in points],
                                  [value.high or value.median for _, value in points],
                                  color=style.light, alpha=0.15, linewidth=0)
        all_x = [x for points in series.values() for x, _ in points]
        chart.use_log(axes.yaxis, y_ticks, y_limits)
        if x_axis == "size":
            chart.use_powers_of_two(axes.xaxis, chart.size_label, min(all_x), max(all_x))
        elif x_axis == "threads":
            chart.use_powers_of_two(axes.xaxis, chart.power_label, min(all_x), max(max(all_x), 2), 9)
        else:
            chart.use_log(axes.xaxis, chart.count_label)
        axes.set_xlabel(x_label)
        axes.set_ylabel(_axis_label(y_label, [value for points in series.values() for _, value in points]))
        return names
    return draw


def dots(rows, palette, x_label, x_limits, x_ticks):
    """
    rows: [(label, {allocator: Value})], the first at the top. Within a row each allocator has its own height, so
    that equal values stay visible. A thin line leads to the measured value.
    """
    def draw(axes):
        names = palette.in_order(name for _, values in rows for name in values)
        for place in range(0, len(rows), 2):
            axes.axhspan(-place - 0.5, -place + 0.5, color=chart.AREA, alpha=0.6, linewidth=0, zorder=0)
        for number, name in enumerate(names):
            style = palette[name]
            shift = 0.66 * (0.5 - (number + 0.5) / len(names))
            points = [(values[name], shift - place) for place, (_, values) in enumerate(rows) if name in values]
            for value, y in points:
                if value.low and value.high and value.high > 1.02 * value.low:
                    axes.plot([value.low, value.high], [y, y], color=style.light, linewidth=2.5, alpha=0.4,
                              solid_capstyle="butt", zorder=2)
                if value.measured:
                    axes.plot([value.median, value.measured], [y, y], color=style.light, linewidth=0.9, zorder=2)
            axes.plot([value.median for value, _ in points], [y for _, y in points], label=_label(style),
                      linestyle="", markersize=7 if name == "tarn" else 5.5, **_look(style))
        axes.set_yticks([-place for place in range(len(rows))], [chart.short_label(label) for label, _ in rows])
        axes.tick_params(axis="y", length=0, labelcolor=chart.INK)
        axes.grid(False, axis="y")
        axes.set_ylim(-len(rows) + 0.5, 0.5)
        chart.use_log(axes.xaxis, x_ticks, x_limits)
        # To the right end, as it may be longer than an axis beside long names.
        axes.set_xlabel(_axis_label(x_label, [value for _, values in rows for value in values.values()]), loc="right")
        return names
    return draw


def memory(live, held_by, not_drawn, palette, y_max):
    """
    live: [(event, bytes)], drawn as an area; held_by: {allocator: [(event, bytes)]}, as steps. not_drawn:
    {allocator: its peak}, which a line of text says.
    """
    def draw(axes):
        from matplotlib.ticker import FuncFormatter, MultipleLocator
        axes.fill_between([point[0] for point in live], [point[1] for point in live], color=chart.SOFT, alpha=0.28,
                          step="post", linewidth=0, label="live")
        names = palette.in_order(held_by)
        offsets = offsets_of({name: dict(held_by[name]) for name in names}, y_max)
        for number, name in enumerate(names):
            style, points = palette[name], held_by[name]
            line, = axes.plot([point[0] for point in points], [point[1] for point in points], label=_label(style),
                              linestyle=style.dashes, linewidth=style.width, drawstyle="steps-post", markersize=4.5,
                              markevery=(number / len(names) / MARKERS_A_LINE, 1 / MARKERS_A_LINE), **_look(style))
            _move_up(axes, line, offsets[name])
        if not_drawn:
            axes.set_title("; ".join(f"{_label(palette[name])}: up to {chart.size_label(most)}, not drawn"
                                     for name, most in not_drawn.items()), loc="left", fontsize=9, color=chart.SOFT)
        axes.set_ylim(0, y_max * 1.05)
        axes.xaxis.set_major_formatter(FuncFormatter(chart.count_label))
        axes.yaxis.set_major_locator(MultipleLocator(1 << max(int(y_max) // 5, 1).bit_length()))
        axes.yaxis.set_major_formatter(FuncFormatter(chart.size_label))
        axes.set_xlabel("event")
        axes.set_ylabel("held from the vendor")
        return names
    return draw
