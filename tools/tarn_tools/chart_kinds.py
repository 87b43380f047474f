# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
chart_kinds: the four ways in which results are drawn: lines over a quantity, rates over threads, dots by
workload, memory over time. Each returns a function for Chart.
"""

from . import chart


def _mark(style):
    return {"color": style.light, "marker": style.marker, "markersize": 5, "linestyle": style.dashes,
            "linewidth": style.width, "zorder": 4 if style.name == "tarn" else 3}


def lines(series, palette, x_axis, x_label, y_label, y_limits, y_ticks=chart.time_label):
    """series: {allocator: [(x, y, low, high)]}. The band from low to high is what the repetitions spread over."""
    def draw(axes):
        for name in palette.in_order(series):
            points = sorted(series[name])
            xs = [point[0] for point in points]
            axes.plot(xs, [point[1] for point in points], label=name, **_mark(palette[name]))
            if any(point[2] and point[3] for point in points):
                axes.fill_between(xs, [point[2] or point[1] for point in points],
                                  [point[3] or point[1] for point in points],
                                  color=palette[name].light, alpha=0.15, linewidth=0)
        all_x = [point[0] for points in series.values() for point in points]
        chart.use_log(axes.yaxis, y_ticks, y_limits)
        if x_axis == "size":
            chart.use_powers_of_two(axes.xaxis, chart.size_label, min(all_x), max(all_x))
        elif x_axis == "threads":
            chart.use_powers_of_two(axes.xaxis, chart.count_label, min(all_x), max(max(all_x), 2), 9)
        else:
            chart.use_log(axes.xaxis, chart.count_label)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
    return draw


def dots(rows, palette, x_label, x_limits, x_ticks):
    """
    rows: [(label, {allocator: (value, low, high)})], the first at the top. Within a row each allocator has its own
    height, so that equal ones are all seen.
    """
    def draw(axes):
        names = palette.in_order(name for _, values in rows for name in values)
        for place in range(0, len(rows), 2):
            axes.axhspan(-place - 0.5, -place + 0.5, color=chart.AREA, alpha=0.6, linewidth=0, zorder=0)
        for number, name in enumerate(names):
            style = palette[name]
            shift = 0.6 * (0.5 - (number + 0.5) / len(names))
            points = [(values[name], shift - place) for place, (_, values) in enumerate(rows) if name in values]
            for (_, low, high), y in points:
                if low and high and high > 1.02 * low:
                    axes.plot([low, high], [y, y], color=style.light, linewidth=2.5, alpha=0.4,
                              solid_capstyle="butt", zorder=2)
            axes.plot([value for (value, _, _), _ in points], [y for _, y in points], label=name,
                      color=style.light, marker=style.marker, linestyle="", markersize=7 if name == "tarn" else 5.5,
                      zorder=4 if name == "tarn" else 3)
        axes.set_yticks([-place for place in range(len(rows))], [label for label, _ in rows])
        axes.tick_params(axis="y", length=0, labelcolor=chart.INK)
        axes.grid(False, axis="y")
        axes.set_ylim(-len(rows) + 0.5, 0.5)
        chart.use_log(axes.xaxis, x_ticks, x_limits)
        axes.set_xlabel(x_label)
    return draw


def memory(live, held_by, palette, y_max):
    """live: [(event, bytes)], drawn as an area; held_by: {allocator: [(event, bytes)]}, as steps."""
    def draw(axes):
        from matplotlib.ticker import FuncFormatter, MultipleLocator
        axes.fill_between([point[0] for point in live], [point[1] for point in live], color=chart.SOFT, alpha=0.28,
                          step="post", linewidth=0, label="live")
        for name in palette.in_order(held_by):
            style = palette[name]
            points = held_by[name]
            axes.plot([point[0] for point in points], [point[1] for point in points], label=name,
                      color=style.light, linestyle=style.dashes, linewidth=style.width, drawstyle="steps-post",
                      marker=style.marker, markersize=4.5, markevery=0.12, zorder=4 if name == "tarn" else 3)
        axes.set_ylim(0, y_max * 1.05)
        axes.xaxis.set_major_formatter(FuncFormatter(chart.count_label))
        axes.yaxis.set_major_locator(MultipleLocator(1 << max(int(y_max) // 5, 1).bit_length()))
        axes.yaxis.set_major_formatter(FuncFormatter(chart.size_label))
        axes.set_xlabel("event")
        axes.set_ylabel("held from the vendor")
    return draw
