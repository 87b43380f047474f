# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
chart: the common basis of all plots, through matplotlib.

On a page a plot is SVG with variables of the page's style sheet for colours, so that it follows light and dark
paper, and with the page's own font. As a file it is an ordinary SVG, or a PNG, on white.
"""

import functools
import io
import logging
import re
import textwrap
import warnings

from .failure import Failure
from .shown import plain
from .shown import size as size_shown

WIDTH_IN = 5.2
HEIGHT_IN = 3.5
PNG_DPI = 160
LABEL_LETTERS_MAX = 36
TITLE_LETTERS_MAX = 54

# Colours of the paper; on a page each becomes a variable.
INK = "#1b1e23"
SOFT = "#5b616a"
GRID = "#dfe2e6"
AREA = "#e9ebee"
PAPER = "#ffffff"
_VARIABLES = {INK: "--ink", SOFT: "--soft", GRID: "--grid", AREA: "--area", PAPER: "--paper"}


def load_matplotlib():
    """Returns matplotlib, set up. If it is missing, a Failure says what to install."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR) # do not print where it keeps its fonts
    try:
        import matplotlib
    except ImportError:
        raise Failure("plots need matplotlib, which this Python lacks. Install the package "
                      "python3-matplotlib on Debian and Ubuntu, or `python3 -m pip install matplotlib`") from None
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10.5,
        "text.color": INK, "axes.labelcolor": SOFT, "axes.edgecolor": SOFT,
        "figure.titlesize": 11, "figure.titleweight": "bold",
        "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelsize": 9.5, "ytick.labelsize": 9.5,
        "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8,
        "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.7, "axes.axisbelow": True,
        "figure.facecolor": PAPER, "axes.facecolor": PAPER, "savefig.facecolor": PAPER,
        "legend.frameon": False, "text.parse_math": False, "legend.fontsize": 9, "path.simplify": True})
    return matplotlib


class Chart:
    """
    One plot. draw(axes) returns the names of the allocators that it shows. `name`, the file's, must be unique when it
    is written. On a page the legend is that of the page; a file has its own.
    """

    def __init__(self, name, title, draw, height=HEIGHT_IN):
        self.name = name
        self.title = title
        self._draw = draw
        self._height = height
        self._figure, self.names = self._drawn(has_legend=False) # at once, so that it fails early

    def _drawn(self, has_legend):
        load_matplotlib()
        from matplotlib.figure import Figure
        figure = Figure(figsize=(WIDTH_IN, self._height), layout="constrained")
        axes = figure.add_subplot()
        lines = [line for part in self.title.split("\n") for line in textwrap.wrap(part, TITLE_LETTERS_MAX)]
        figure.suptitle("\n".join(lines), x=0.01, ha="left")
        names = self._draw(axes)
        if has_legend:
            _add_legend(figure, axes)
        return figure, names

    def _saved(self, figure, **options):
        import matplotlib
        matplotlib.rcParams["svg.hashsalt"] = self.name # so that a plot is identical every time
        content = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore") # about letters that its font lacks: the viewer has others
            figure.savefig(content, **options)
        return content.getvalue()

    @functools.cached_property
    def _file_figure(self):
        return self._drawn(has_legend=True)[0]

    @functools.cached_property
    def svg_file(self):
        return self._svg(self._file_figure)

    @property
    def png_file(self):
        return self._saved(self._file_figure, format="png", dpi=PNG_DPI, metadata={"Software": None})

    def _svg(self, figure):
        return self._saved(figure, format="svg", metadata={"Date": None, "Creator": None})

    @functools.cached_property
    def page_file(self):
        """Without a legend, for svg_on_page."""
        return self._svg(self._figure)

    def svg_on_page(self, styles):
        """Returns an element of a page that refers to nothing outside."""
        svg = self.page_file.decode("utf-8")
        svg = svg[svg.index("<svg"):]
        svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
        colours = dict(_VARIABLES)
        colours.update({style.light: style.variable for style in styles})
        return re.sub(r"<[^>]*>", lambda tag: _tag_on_page(tag[0], colours), svg) # tags only, not text


def _tag_on_page(tag, colours):
    if tag.startswith("<svg "):
        box = re.search(r'viewBox="[^"]*"', tag)[0]
        return f'<svg {box} role="img">'
    tag = re.sub(r'^<g id="[^"]*"', "<g", tag)
    tag = re.sub(r"font-family: [^;\"]*|font: ([\d.]+px) [^;\"]*", _own_font, tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: f"var({colours[match[0]]})" if match[0] in colours else match[0],
                  tag)


def _own_font(match):
    return f"font-size: {match[1]}; font-family: inherit" if match[1] else "font-family: inherit"


def _add_legend(figure, axes):
    """Adds a legend below the axes, over the whole width; the axes get the rest."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    longest = max(map(len, labels))
    columns = min(len(labels), 4 if longest < 12 else 3 if longest < 20 else 2)
    row_count = -(-len(labels) // columns)
    height = (0.12 + 0.19 * row_count) / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, height, 1, 1 - height))
    figure.legend(handles, labels, loc="lower center", ncol=columns, handlelength=2.6, columnspacing=1.4,
                  borderaxespad=0.3)


# --- axes --------------------------------------------------------------------------------------------

def short_label(text):
    """Shortens a long name to its begin and end, to fit beside an axis."""
    if len(text) <= LABEL_LETTERS_MAX:
        return text
    half = (LABEL_LETTERS_MAX - 1) // 2
    return f"{text[:half]}\u2026{text[-half:]}"


def time_label(ns, _position=None):
    for unit, factor in (("ns", 1), ("\u00b5s", 1e3), ("ms", 1e6)):
        if ns < 999.5 * factor:
            return f"{ns / factor:g} {unit}"
    return f"{ns / 1e9:g} s"


def size_label(value, _position=None):
    return plain(size_shown(value))


def count_label(value, _position=None):
    for unit, factor in (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if value < 999.5 * factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def power_label(value, _position=None):
    """A count on an axis of powers of two: 4096 as 4 Ki."""
    for unit, factor in (("", 1), (" Ki", 1 << 10), (" Mi", 1 << 20), (" Gi", 1 << 30)):
        if value < 1024 * factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def ratio_label(value, _position=None):
    return f"{value:g}\u00d7"


def use_log(axis, label, limits=None):
    """
    Makes an axis, x or y, logarithmic, with a label for each power of ten, and more between them if there are few.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    axis.axes.set_xscale("log") if axis.axis_name == "x" else axis.axes.set_yscale("log")
    if limits:
        axis.axes.set_xlim(limits) if axis.axis_name == "x" else axis.axes.set_ylim(limits)
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 120 * low else (1.0, 3.0) if high < 2000 * low else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(label))
    axis.set_minor_locator(NullLocator())


def use_powers_of_two(axis, label, low, high, ticks_max=7):
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    first, last = int(low).bit_length() - 1, (int(high) - 1).bit_length()
    step = max(1, -(-(last - first) // (ticks_max - 1)))
    axis.axes.set_xscale("log", base=2)
    axis.set_major_locator(FixedLocator([2.0 ** power for power in range(first, last + 1, step)]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(label))


def limits_of(values):
    """Returns limits of a logarithmic axis that holds all values, with a little room."""
    values = [value for value in values if value and value > 0]
    return (min(values) / 1.35, max(values) * 1.35) if values else None
